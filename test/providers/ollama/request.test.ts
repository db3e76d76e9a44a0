import type { ChatRequest, Message, ToolCall } from 'ollama'
import { describe, expect, it } from 'vitest'
import { ollama } from '../../../providers/ollama/index.ts'
import { ConfigurationError } from '../../../src/messages/errors.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import {
  dataPart,
  linkPart,
  modelMessage,
  systemMessage,
  userMessage,
} from '../../../src/messages/messages.ts'
import type { ModelRequest } from '../../../src/model/chatModel.ts'
import { target } from './target.ts'

/** The SDK's request, and the ids of tool calls, which the server reads but the SDK's types do not have yet. */
type WireMessage = Omit<Message, 'tool_calls'> & {
  tool_calls?: (ToolCall & { id?: string })[]
  tool_call_id?: string
}
/** The client's types do not have the two newest fields of the API yet. */
type WireChatRequest = Omit<ChatRequest, 'messages'> & {
  messages: WireMessage[]
  truncate?: boolean
  shift?: boolean
}

const bodyOf = (request: Partial<ModelRequest>, changes: Partial<typeof target.profile> = {}): JsonObject =>
  ollama.request(
    { messages: [userMessage('hi')], ...request },
    { ...target, profile: { ...target.profile, ...changes } },
  ).body

const weather = {
  name: 'get_weather',
  description: 'Current weather in a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

it('asks for a stream at /chat without silent cuts, and sends nothing that was not set', () => {
  expect(ollama.request({ messages: [userMessage('hi')] }, target)).toEqual({
    path: '/chat',
    body: {
      model: 'qwen3:8b',
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
      truncate: false,
      shift: false,
    },
  })
})

it('writes a whole tool conversation the way the API wants it', () => {
  const golden = {
    model: 'qwen3:8b',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Weather in Oslo and Rome? This is me:', images: ['aGk='] },
      {
        role: 'assistant',
        content: 'I look.',
        thinking: 'Two cities, two calls.',
        tool_calls: [
          { id: 'call_a', function: { name: 'get_weather', arguments: { city: 'Oslo' } } },
          { id: 'call_b', function: { name: 'get_weather', arguments: {} } },
        ],
      },
      { role: 'tool', content: '{"celsius":21}', tool_name: 'get_weather', tool_call_id: 'call_a' },
      { role: 'tool', content: '{"error":"no city"}', tool_name: 'get_weather', tool_call_id: 'call_b' },
      { role: 'user', content: 'And now?' },
    ],
    stream: true,
    truncate: false,
    shift: false,
    tools: [
      {
        type: 'function',
        function: {
          name: 'get_weather',
          description: 'Current weather in a city',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      },
    ],
    think: true,
    keep_alive: '10m',
    options: {
      temperature: 0.2,
      top_p: 0.9,
      num_predict: 100,
      stop: ['END'],
      seed: 7,
      num_ctx: 8192,
    },
  } satisfies WireChatRequest

  const body = bodyOf({
    messages: [
      systemMessage('Be brief.'),
      userMessage([
        { type: 'text', text: 'Weather in Oslo and Rome? This is me:' },
        dataPart('image/png', 'aGk='),
      ]),
      modelMessage(
        [
          { type: 'text', text: 'I look.' },
          { type: 'toolCall', id: 'call_a', name: 'get_weather', arguments: { city: 'Oslo' } },
          {
            type: 'toolCall',
            id: 'uuid-1',
            name: 'get_weather',
            arguments: {},
            argumentsRaw: '{"ci',
            argumentsError: 'cut',
          },
        ],
        {
          thinking: 'Two cities, two calls.',
          ollama: { provider: 'ollama', ownThinking: true },
          providerCallIds: { 'uuid-1': 'call_b' },
        },
      ),
      userMessage([
        { type: 'text', text: 'And now?' },
        { type: 'toolResult', id: 'call_a', name: 'get_weather', result: '{"celsius":21}' },
        {
          type: 'toolResult',
          id: 'uuid-1',
          name: 'get_weather',
          result: '{"error":"no city"}',
          isError: true,
        },
      ]),
    ],
    tools: [weather],
    temperature: 0.2,
    topP: 0.9,
    maxOutputTokens: 100,
    stopSequences: ['END'],
    seed: 7,
    thinking: true,
    parallelToolCalls: false,
    providerOptions: { keep_alive: '10m', options: { num_ctx: 8192 } },
  })
  expect(body).toEqual(golden)
})

describe('settings', () => {
  it('sends the answer’s schema as the format', () => {
    const schema = { type: 'object', properties: { a: { type: 'number' } } }
    expect(bodyOf({ outputSchema: schema }).format).toEqual(schema)
  })

  it.each([
    [true, true],
    [false, false],
    [{}, true],
    [{ budgetTokens: 1000 }, 'low'],
    [{ effort: 'max' as const }, 'high'],
    [{ effort: 'minimal' as const }, 'low'],
    [{ effort: 'high' as const }, 'high'],
  ])('asks for thinking %j as %j', (thinking, think) => {
    expect(bodyOf({ thinking }).think).toBe(think)
  })

  it('does not ask a model to think that cannot', () => {
    expect(bodyOf({ thinking: true }, { thinking: false })).not.toHaveProperty('think')
  })

  it('merges the user’s options into the settings, the user’s winning', () => {
    const body = bodyOf({
      temperature: 0.2,
      seed: 1,
      providerOptions: { options: { seed: 2, num_ctx: 4096 } },
    })
    expect(body.options).toEqual({ temperature: 0.2, seed: 2, num_ctx: 4096 })
  })

  it('lets provider options replace anything else', () => {
    expect(bodyOf({ thinking: true, providerOptions: { think: 'low' } }).think).toBe('low')
  })

  it('hides tools that must not be called, since there is no tool choice to send', () => {
    const tools = [weather, { ...weather, name: 'other' }]
    const names = (request: Partial<ModelRequest>) =>
      (bodyOf({ tools, ...request }).tools as { function: { name: string } }[] | undefined)?.map(
        (tool) => tool.function.name,
      )
    expect(names({ toolChoice: 'none' })).toBeUndefined()
    expect(names({ toolChoice: { tool: 'other' } })).toEqual(['other'])
    expect(names({ toolChoice: 'required' })).toEqual(['get_weather', 'other'])
  })
})

describe('histories of other providers', () => {
  const call = { type: 'toolCall' as const, id: 'toolu_1', name: 'now', arguments: {} }

  it('are sent without their thinking and their opaque data', () => {
    const foreign = modelMessage([call], {
      thinking: 'secret',
      anthropic: { provider: 'anthropic', blocks: [] },
      ollama: { provider: 'another-server', ownThinking: true },
    })
    expect(bodyOf({ messages: [userMessage('hi'), foreign] }).messages).toEqual([
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'toolu_1', function: { name: 'now', arguments: {} } }],
      },
    ])
  })

  it('keep pictures a model made where the model can see, and lose them where not', () => {
    const messages = [modelMessage([{ type: 'text', text: 'Here' }, dataPart('image/png', 'aGk=')])]
    expect(bodyOf({ messages }).messages).toEqual([{ role: 'assistant', content: 'Here', images: ['aGk='] }])
    const blind = { ...target.profile.attachments, images: false }
    expect(bodyOf({ messages }, { attachments: blind }).messages).toEqual([
      { role: 'assistant', content: 'Here' },
    ])
  })

  it('send no empty messages', () => {
    const messages = [
      userMessage('hi'),
      modelMessage([]),
      modelMessage('', { thinking: 'x' }),
      userMessage(''),
    ]
    expect(bodyOf({ messages }).messages).toEqual([{ role: 'user', content: 'hi' }])
  })

  it('forget their own thinking where the profile says so', () => {
    const own = modelMessage([call], { thinking: 'mine', ollama: { provider: 'ollama', ownThinking: true } })
    const [sent] = bodyOf({ messages: [own] }, { forgetThinking: true }).messages as JsonObject[]
    expect(sent).not.toHaveProperty('thinking')
  })
})

describe('attachments', () => {
  const send = (part: ReturnType<typeof dataPart> | ReturnType<typeof linkPart>) => () =>
    bodyOf({ messages: [userMessage([{ type: 'text', text: 'Read:' }, part])] })

  it('of text become text', () => {
    const attached = send(dataPart('text/csv', Buffer.from('a,b')))()
    expect(attached.messages).toEqual([{ role: 'user', content: 'Read:\n\na,b' }])
  })

  it('that Ollama cannot take are refused by name', () => {
    expect(send(dataPart('application/pdf', 'aGk='))).toThrow(ConfigurationError)
    expect(send(dataPart('application/pdf', 'aGk='))).toThrow(/ollama:qwen3:8b.*application\/pdf/)
    expect(send(linkPart('https://example.com/a.png'))).toThrow(/https:\/\/example.com\/a.png/)
  })

  it('of pictures are refused for a model that cannot see', () => {
    const blind = { ...target.profile.attachments, images: false }
    const messages = [userMessage([dataPart('image/png', 'aGk=')])]
    expect(() => bodyOf({ messages }, { attachments: blind })).toThrow(/image\/png/)
  })
})

it('loads the model with the context that the profile names', () => {
  const own = { ...target, profile: { ...target.profile, numCtx: 32_768 } }
  expect(ollama.request({ messages: [userMessage('hi')] }, own).body.options).toEqual({ num_ctx: 32_768 })
})
