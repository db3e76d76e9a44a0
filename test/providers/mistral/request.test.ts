import type { ChatCompletionStreamRequest$Outbound } from '@mistralai/mistralai/models/components'
import { describe, expect, it } from 'vitest'
import { type MistralProfile, mistral } from '../../../providers/mistral/index.ts'
import {
  dataPart,
  linkPart,
  modelMessage,
  systemMessage,
  userMessage,
} from '../../../src/messages/messages.ts'
import type { ModelRequest } from '../../../src/model/chatModel.ts'
import { plainProfile } from '../openai-chat/plainProfile.ts'

const bodyOf = (request: ModelRequest, quirks: Partial<MistralProfile> = {}) =>
  mistral.request(
    { cache: 'off', ...request },
    {
      provider: 'mistral',
      model: 'mistral-small-latest',
      profile: { ...plainProfile, ...quirks },
    },
  ).body

const call = (id: string) =>
  modelMessage([{ type: 'toolCall', id, name: 'get_weather', arguments: { city: 'Oslo' } }])
const result = (id: string) => userMessage([{ type: 'toolResult', id, name: 'get_weather', result: 'cold' }])
const weather = {
  name: 'get_weather',
  description: 'Current weather in a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

describe('a request to Mistral', () => {
  it('is what the official client would send', () => {
    const golden = {
      model: 'mistral-small-latest',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Weather in Oslo?' },
        {
          role: 'assistant',
          content: '',
          tool_calls: [
            {
              id: 'g6fVbXS8K',
              type: 'function',
              function: { name: 'get_weather', arguments: '{"city":"Oslo"}' },
              index: 0,
            },
          ],
          prefix: false,
        },
        { role: 'tool', tool_call_id: 'g6fVbXS8K', content: 'cold' },
      ],
      stream: true,
      temperature: 0.2,
      top_p: 0.9,
      max_tokens: 500,
      stop: ['END'],
      random_seed: 7,
      reasoning_effort: 'high',
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
      tool_choice: 'any',
      parallel_tool_calls: false,
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'output',
          schema: { type: 'object', properties: {}, required: [], additionalProperties: false },
          strict: true,
        },
      },
      safe_prompt: true,
    } satisfies ChatCompletionStreamRequest$Outbound

    const request: ModelRequest = {
      messages: [
        systemMessage('Be brief.'),
        userMessage('Weather in Oslo?'),
        call('g6fVbXS8K'),
        result('g6fVbXS8K'),
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
      outputSchema: { type: 'object', properties: {}, required: [], additionalProperties: false },
      providerOptions: { safe_prompt: true },
    }
    expect(bodyOf(request)).toEqual(golden)
  })

  it('says no more than was asked, because Mistral refuses what it does not know', () => {
    expect(
      mistral.request(
        { messages: [userMessage('Hi')], cache: 'off' },
        { provider: 'mistral', model: 'm', profile: plainProfile },
      ),
    ).toEqual({
      path: '/chat/completions',
      body: { model: 'm', messages: [{ role: 'user', content: 'Hi' }], stream: true },
    })
  })

  it('names one tool that must be called', () => {
    const body = bodyOf({ messages: [], tools: [weather], toolChoice: { tool: 'get_weather' } })
    expect(body.tool_choice).toEqual({ type: 'function', function: { name: 'get_weather' } })
  })

  const efforts: [Partial<MistralProfile>, ModelRequest['thinking'], object][] = [
    [{}, true, { reasoning_effort: 'high' }],
    [{}, false, { reasoning_effort: 'none' }],
    [{ efforts: ['low', 'medium', 'high'] }, { effort: 'low' }, { reasoning_effort: 'low' }],
    [{ thinkingControl: 'prompt_mode' }, true, { prompt_mode: 'reasoning' }],
    [{ thinkingControl: 'prompt_mode' }, false, { prompt_mode: null }],
    [{ thinking: false }, true, {}],
  ]
  it.each(efforts)('with %j turns thinking %j into %j', (quirks, thinking, expected) => {
    const {
      model: _,
      messages: __,
      stream: ___,
      ...settings
    } = bodyOf({ messages: [], ...(thinking !== undefined && { thinking }) }, quirks)
    expect(settings).toEqual(expected)
  })
})

describe('a history for Mistral', () => {
  it('has ids of nine letters and digits, alike for call and result', () => {
    const { messages } = bodyOf({
      messages: [call('call_67389dea0febe22c'), result('call_67389dea0febe22c')],
    })
    const ids = [...JSON.stringify(messages).matchAll(/"(?:id|tool_call_id)":"([^"]*)"/g)].map(
      (match) => match[1],
    )
    expect(ids[0]).toMatch(/^[a-zA-Z0-9]{9}$/)
    expect(ids[1]).toBe(ids[0])
  })

  it('has a word of the assistant between tool results and the user', () => {
    const golden = [
      { role: 'tool', tool_call_id: 'g6fVbXS8K', content: 'cold' },
      { role: 'assistant', content: 'OK.', prefix: false },
      { role: 'user', content: 'Go on.' },
    ] satisfies ChatCompletionStreamRequest$Outbound['messages']
    const messages = [call('g6fVbXS8K'), result('g6fVbXS8K'), userMessage('Go on.')]
    expect([bodyOf({ messages }).messages].flat().slice(1)).toEqual(golden)
  })

  it('carries attachments in the shapes of Mistral', () => {
    const golden = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: 'data:image/png;base64,AAAA' },
          { type: 'image_url', image_url: 'https://x.test/a.png' },
          { type: 'document_url', document_url: 'https://x.test/a.pdf' },
          { type: 'document_url', document_url: 'data:application/pdf;base64,BBBB', document_name: 'a.pdf' },
          { type: 'input_audio', input_audio: 'CCCC' },
        ],
      },
    ] satisfies ChatCompletionStreamRequest$Outbound['messages']
    const parts = [
      { type: 'text' as const, text: 'What is this?' },
      dataPart('image/png', 'AAAA'),
      linkPart('https://x.test/a.png'),
      linkPart('https://x.test/a.pdf', 'application/pdf'),
      dataPart('application/pdf', 'BBBB', 'a.pdf'),
      dataPart('audio/mpeg', 'CCCC'),
    ]
    expect(bodyOf({ messages: [userMessage(parts)] }).messages).toEqual(golden)
  })

  it('refuses attachments that the model cannot read, with advice', () => {
    const attachments = { images: false, pdf: false, audio: false, links: false }
    const messages = [userMessage([dataPart('image/png', 'AA')])]
    expect(() => bodyOf({ messages }, { attachments })).toThrow(
      'mistral:mistral-small-latest cannot read an attachment of type image/png',
    )
    expect(() => bodyOf({ messages: [userMessage([linkPart('https://x.test')])] }, { attachments })).toThrow(
      'the link https://x.test',
    )
  })
})
