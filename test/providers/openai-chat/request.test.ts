import type { ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions'
import { describe, expect, it } from 'vitest'
import { type OpenAIChatProfile, openaiChat } from '../../../providers/openai-chat/index.ts'
import { modelMessage, systemMessage, userMessage } from '../../../src/messages/messages.ts'
import type { ModelRequest } from '../../../src/model/chatModel.ts'
import { plainProfile } from './plainProfile.ts'

const hello = [userMessage('Hello')]
const weather = {
  name: 'get_weather',
  description: 'Current weather in a city',
  inputSchema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
}

const bodyOf = (request: ModelRequest, quirks: Partial<OpenAIChatProfile> = {}) =>
  openaiChat.request(
    { cache: 'off', ...request },
    { provider: 'openai', model: 'gpt-5-mini', profile: { ...plainProfile, ...quirks } },
  ).body

const settingsOf = (settings: Partial<ModelRequest>, quirks: Partial<OpenAIChatProfile> = {}) => {
  const {
    model: _,
    messages: __,
    stream: ___,
    stream_options: ____,
    ...rest
  } = bodyOf({ messages: hello, ...settings }, quirks)
  return rest
}

describe('a request to OpenAI', () => {
  it('is what the official client would send', () => {
    const golden = {
      model: 'gpt-5-mini',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Weather in Oslo and Rome?' },
        {
          role: 'assistant',
          content: 'Let me see.',
          tool_calls: [
            {
              id: 'call_1',
              type: 'function',
              function: { name: 'get_weather', arguments: '{ "city": "Oslo" }' },
            },
            {
              id: 'call_2',
              type: 'function',
              function: { name: 'get_weather', arguments: '{"city":"Rome"}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: '{"celsius":-3}' },
        { role: 'tool', tool_call_id: 'call_2', content: '{"error":"timeout"}' },
        { role: 'user', content: 'Hurry up.' },
      ],
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.2,
      top_p: 0.9,
      max_completion_tokens: 500,
      stop: ['END'],
      seed: 7,
      reasoning_effort: 'low',
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'Current weather in a city',
            parameters: {
              type: 'object',
              properties: { city: { type: 'string' } },
              required: ['city'],
              additionalProperties: false,
            },
            strict: true,
          },
        },
      ],
      tool_choice: 'required',
      parallel_tool_calls: false,
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'output',
          schema: {
            type: 'object',
            properties: { celsius: { type: 'number' } },
            required: ['celsius'],
            additionalProperties: false,
          },
          strict: true,
        },
      },
      service_tier: 'flex',
    } satisfies ChatCompletionCreateParamsStreaming

    const request: ModelRequest = {
      messages: [
        systemMessage('Be brief.'),
        userMessage('Weather in Oslo and Rome?'),
        modelMessage([
          { type: 'text', text: 'Let me see.' },
          {
            type: 'toolCall',
            id: 'call_1',
            name: 'get_weather',
            arguments: { city: 'Oslo' },
            argumentsRaw: '{ "city": "Oslo" }',
          },
          { type: 'toolCall', id: 'call_2', name: 'get_weather', arguments: { city: 'Rome' } },
        ]),
        userMessage([
          { type: 'text', text: 'Hurry up.' },
          { type: 'toolResult', id: 'call_1', name: 'get_weather', result: '{"celsius":-3}' },
          {
            type: 'toolResult',
            id: 'call_2',
            name: 'get_weather',
            result: '{"error":"timeout"}',
            isError: true,
          },
        ]),
      ],
      tools: [weather],
      temperature: 0.2,
      topP: 0.9,
      maxOutputTokens: 500,
      stopSequences: ['END'],
      seed: 7,
      thinking: { effort: 'low' },
      toolChoice: 'required',
      parallelToolCalls: false,
      outputSchema: {
        type: 'object',
        properties: { celsius: { type: 'number' } },
        required: ['celsius'],
        additionalProperties: false,
      },
      providerOptions: { service_tier: 'flex' },
    }
    expect(bodyOf(request)).toEqual(golden)
  })

  it('goes to the completions path and says no more than was asked', () => {
    const target = { provider: 'openai', model: 'gpt-5-mini', profile: plainProfile }
    const golden = {
      model: 'gpt-5-mini',
      messages: [{ role: 'user', content: 'Hello' }],
      stream: true,
      stream_options: { include_usage: true },
    } satisfies ChatCompletionCreateParamsStreaming
    expect(openaiChat.request({ messages: hello, cache: 'off' }, target)).toEqual({
      path: '/chat/completions',
      body: golden,
    })
  })

  it('lets the provider options have the last word', () => {
    expect(settingsOf({ temperature: 0.2, providerOptions: { temperature: 1 } })).toEqual({ temperature: 1 })
  })
})

describe('tools', () => {
  it('name one tool that must be called', () => {
    expect(settingsOf({ tools: [weather], toolChoice: { tool: 'get_weather' } }).tool_choice).toEqual({
      type: 'function',
      function: { name: 'get_weather' },
    })
  })

  it('say nothing of a choice when there are none', () => {
    expect(settingsOf({ tools: [], toolChoice: 'auto', parallelToolCalls: true })).toEqual({})
  })

  it('always have an object for parameters, and no empty description', () => {
    expect(settingsOf({ tools: [{ name: 'now', description: '', inputSchema: {} }] }).tools).toEqual([
      { type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} } } },
    ])
  })

  it('are not strict where the server does not know the word', () => {
    const [tool] = [settingsOf({ tools: [weather] }, { strictSchemas: false }).tools].flat()
    expect(JSON.stringify(tool)).not.toContain('strict')
  })
})

describe('quirks of servers', () => {
  it('are kept out of the request where a flag says so', () => {
    const asked = {
      temperature: 1,
      topP: 1,
      stopSequences: ['x'],
      seed: 1,
      tools: [weather],
      parallelToolCalls: true,
    }
    const refuses = ['temperature', 'topP', 'stopSequences', 'seed', 'parallelToolCalls'] as const
    expect(Object.keys(settingsOf(asked, { refuses }))).toEqual(['tools'])
    expect(bodyOf({ messages: hello }, { rejectsStreamOptions: true })).not.toHaveProperty('stream_options')
    expect(settingsOf({ maxOutputTokens: 9 }, { maxTokensField: 'max_tokens' })).toEqual({ max_tokens: 9 })
  })

  it('include the name of the system role', () => {
    const body = bodyOf({ messages: [systemMessage('Be brief.'), ...hello] }, { systemRole: 'developer' })
    expect(body.messages).toEqual([
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
    ] satisfies ChatCompletionCreateParamsStreaming['messages'])
  })

  const efforts: [Partial<OpenAIChatProfile>, ModelRequest['thinking'], object][] = [
    [{}, true, { reasoning_effort: 'medium' }],
    [{}, false, { reasoning_effort: 'none' }],
    [{ efforts: ['minimal', 'low'] }, false, { reasoning_effort: 'minimal' }],
    [{ efforts: ['low', 'medium', 'high'] }, { effort: 'max' }, { reasoning_effort: 'high' }],
    [{ efforts: ['none', 'low'] }, { effort: 'minimal' }, { reasoning_effort: 'low' }],
    [{ efforts: ['none'] }, true, {}],
    [{}, { budgetTokens: 100 }, { reasoning_effort: 'minimal' }],
    [{ thinking: false }, true, {}],
    [{ thinkingControl: 'reasoning' }, true, { reasoning: { enabled: true } }],
    [{ thinkingControl: 'reasoning', efforts: [] }, { effort: 'high' }, { reasoning: { enabled: true } }],
    [{ thinkingControl: 'reasoning' }, false, { reasoning: { enabled: false } }],
    [{ thinkingControl: 'reasoning' }, { budgetTokens: 100 }, { reasoning: { max_tokens: 100 } }],
    [
      { thinkingControl: 'reasoning' },
      { effort: 'high', budgetTokens: 100 },
      { reasoning: { effort: 'high' } },
    ],
    [{ thinkingControl: 'thinking' }, true, { thinking: { type: 'enabled' } }],
    [{ thinkingControl: 'thinking' }, false, { thinking: { type: 'disabled' } }],
    [
      { thinkingControl: 'enable_thinking' },
      { budgetTokens: 9 },
      { enable_thinking: true, thinking_budget: 9 },
    ],
    [
      { thinkingControl: 'chat_template_kwargs' },
      false,
      { chat_template_kwargs: { enable_thinking: false } },
    ],
  ]
  it.each(efforts)('with %j turn thinking %j into %j', (quirks, thinking, expected) => {
    expect(settingsOf({ ...(thinking !== undefined && { thinking }) }, quirks)).toEqual(expected)
  })
})
