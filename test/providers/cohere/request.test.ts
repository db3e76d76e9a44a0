import { describe, expect, it } from 'vitest'
import type { V2ChatStreamRequest } from '../../../node_modules/cohere-ai/serialization/resources/v2/client/requests/V2ChatStreamRequest'
import { cohere } from '../../../providers/cohere/index.ts'
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

/** The SDK's request as it goes over the wire; its client adds `stream`. */
type WireChatRequest = V2ChatStreamRequest.Raw & { stream: true }

const bodyOf = (request: Partial<ModelRequest>, changes: Partial<typeof target.profile> = {}): JsonObject =>
  cohere.request(
    { messages: [userMessage('hi')], ...request },
    { ...target, profile: { ...target.profile, ...changes } },
  ).body

const weather = {
  name: 'get_weather',
  description: 'Current weather in a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

it('asks for a stream at /chat and sends nothing that was not set', () => {
  expect(cohere.request({ messages: [userMessage('hi')] }, target)).toEqual({
    path: '/chat',
    body: { model: 'command-a-03-2025', messages: [{ role: 'user', content: 'hi' }], stream: true },
  })
})

it('writes a whole tool conversation the way the API wants it', () => {
  const golden = {
    model: 'command-a-03-2025',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Weather in these cities?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ],
      },
      {
        role: 'assistant',
        tool_plan: 'I will look both up.',
        content: [{ type: 'thinking', thinking: 'Two cities.' }],
        tool_calls: [
          {
            id: 'w_1',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"city": "Oslo"}' },
          },
          { id: 'w_2', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
          { id: 'w_3', type: 'function', function: { name: 'get_weather', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'w_1', content: '{"celsius":21}' },
      { role: 'tool', tool_call_id: 'w_2', content: 'sunny' },
      { role: 'tool', tool_call_id: 'w_3', content: '{}' },
      { role: 'user', content: 'And now?' },
    ],
    stream: true,
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
    tool_choice: 'REQUIRED',
    temperature: 0.2,
    max_tokens: 100,
    p: 0.9,
    stop_sequences: ['END'],
    seed: 7,
    thinking: { type: 'enabled', token_budget: 500 },
    safety_mode: 'STRICT',
  } satisfies WireChatRequest

  const call = { type: 'toolCall' as const, name: 'get_weather' }
  const result = { type: 'toolResult' as const, name: 'get_weather' }
  const body = bodyOf({
    messages: [
      systemMessage('Be brief.'),
      userMessage([
        { type: 'text', text: 'Weather in these cities?' },
        dataPart('image/png', 'aGk='),
        linkPart('https://example.com/a.png'),
      ]),
      modelMessage(
        [
          { ...call, id: 'w_1', arguments: { city: 'Oslo' }, argumentsRaw: '{"city": "Oslo"}' },
          { ...call, id: 'uuid-2', arguments: { city: 'Rome' } },
          { ...call, id: 'w_3', arguments: {}, argumentsRaw: '{"ci', argumentsError: 'cut' },
        ],
        {
          thinking: 'Two cities.',
          toolPlan: 'I will look both up.',
          cohere: { provider: 'cohere', toolPlan: 'I will look both up.', ownThinking: true },
          providerCallIds: { 'uuid-2': 'w_2' },
        },
      ),
      userMessage([
        { type: 'text', text: 'And now?' },
        { ...result, id: 'w_1', result: '{"celsius":21}' },
        { ...result, id: 'uuid-2', result: 'sunny' },
        { ...result, id: 'w_3', result: '' },
      ]),
    ],
    tools: [weather],
    toolChoice: 'required',
    temperature: 0.2,
    topP: 0.9,
    maxOutputTokens: 100,
    stopSequences: ['END'],
    seed: 7,
    thinking: { budgetTokens: 500 },
    parallelToolCalls: false,
    providerOptions: { safety_mode: 'STRICT' },
  })
  expect(body).toEqual(golden)
})

describe('settings', () => {
  it('asks for an answer by schema', () => {
    const golden = {
      type: 'json_object',
      json_schema: {
        type: 'object',
        properties: { a: { type: 'number', description: '(minimum: 0)' } },
        required: ['a'],
      },
    } satisfies V2ChatStreamRequest.Raw['response_format']
    const outputSchema = {
      type: 'object',
      properties: { a: { type: 'number', minimum: 0 } },
      required: ['a'],
    }
    expect(bodyOf({ outputSchema }).response_format).toEqual(golden)
  })

  it.each([
    [true, { type: 'enabled' }],
    [false, { type: 'disabled' }],
    [{ effort: 'high' as const }, { type: 'enabled', token_budget: 24_576 }],
  ])('asks for thinking %j as %j', (thinking, wire) => {
    expect(bodyOf({ thinking }).thinking).toEqual(wire)
  })

  it('does not speak of thinking to a model that cannot', () => {
    expect(bodyOf({ thinking: false }, { thinking: false })).not.toHaveProperty('thinking')
  })

  it('asks for one certain tool by offering only that', () => {
    const body = bodyOf({ tools: [weather, { ...weather, name: 'other' }], toolChoice: { tool: 'other' } })
    expect(body.tool_choice).toBe('REQUIRED')
    expect(body.tools).toMatchObject([{ function: { name: 'other' } }])
  })

  it('refuses to ask for a tool that is not there', () => {
    expect(() => bodyOf({ tools: [weather], toolChoice: { tool: 'ghost' } })).toThrow(/ghost/)
  })

  it('leaves the choice to the model unless the user made one, and sends none without tools', () => {
    expect(bodyOf({ tools: [weather], toolChoice: 'auto' })).not.toHaveProperty('tool_choice')
    expect(bodyOf({ tools: [weather], toolChoice: 'none' }).tool_choice).toBe('NONE')
    expect(bodyOf({ toolChoice: 'required' })).not.toHaveProperty('tool_choice')
  })
})

describe('histories', () => {
  const call = { type: 'toolCall' as const, id: 'toolu_1', name: 'now', arguments: {} }
  const wireCall = { id: 'toolu_1', type: 'function', function: { name: 'now', arguments: '{}' } }

  it('of other providers put the text before a call where Cohere has its plan, without their thinking', () => {
    const foreign = modelMessage([{ type: 'text', text: 'Let me see.' }, call], {
      thinking: 'secret',
      cohere: { provider: 'another-host', toolPlan: 'theirs' },
    })
    expect(bodyOf({ messages: [foreign] }).messages).toEqual([
      { role: 'assistant', tool_plan: 'Let me see.', tool_calls: [wireCall] },
    ])
  })

  it('keep text and plan of Cohere’s own turns apart', () => {
    const own = modelMessage([{ type: 'text', text: 'Wait.' }, call], {
      cohere: { provider: 'cohere', toolPlan: 'Look at the clock.' },
    })
    expect(bodyOf({ messages: [own] }).messages).toEqual([
      {
        role: 'assistant',
        tool_plan: 'Look at the clock.',
        content: [{ type: 'text', text: 'Wait.' }],
        tool_calls: [wireCall],
      },
    ])
  })

  it('forget thinking where the profile says so', () => {
    const own = modelMessage([call], { thinking: 'x', cohere: { provider: 'cohere', ownThinking: true } })
    expect(bodyOf({ messages: [own] }, { forgetThinking: true }).messages).toEqual([
      { role: 'assistant', tool_calls: [wireCall] },
    ])
  })

  it('send no empty messages, and pictures of other models are left out', () => {
    const messages = [
      userMessage('hi'),
      modelMessage([]),
      modelMessage([dataPart('image/png', 'aGk=')]),
      modelMessage('', { thinking: 'x' }),
      userMessage(''),
    ]
    expect(bodyOf({ messages }).messages).toEqual([{ role: 'user', content: 'hi' }])
  })
})

describe('attachments', () => {
  const blind = { images: false, pdf: false, audio: false, links: false }
  const send = (part: ReturnType<typeof dataPart> | ReturnType<typeof linkPart>, attachments = {}) =>
    bodyOf(
      { messages: [userMessage([part])] },
      { attachments: { ...target.profile.attachments, ...attachments } },
    )

  it('of text become text', () => {
    expect(send(dataPart('text/csv', Buffer.from('a,b')), blind).messages).toEqual([
      { role: 'user', content: 'a,b' },
    ])
  })

  it('that the model cannot read are refused by name', () => {
    expect(() => send(dataPart('application/pdf', 'aGk='))).toThrow(ConfigurationError)
    expect(() => send(dataPart('application/pdf', 'aGk='))).toThrow(
      /cohere:command-a-03-2025.*application\/pdf/,
    )
    expect(() => send(dataPart('image/png', 'aGk='), blind)).toThrow(/image\/png/)
    expect(() => send(linkPart('https://example.com/a.pdf', 'application/pdf'))).toThrow(/a\.pdf/)
    expect(() => send(linkPart('https://example.com/a.png'), { links: false })).toThrow(/a\.png/)
  })
})
