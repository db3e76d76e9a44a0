import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'
import { describe, expect, it } from 'vitest'
import { anthropic } from '../../../providers/anthropic/index.ts'
import { ConfigurationError } from '../../../src/messages/errors.ts'
import {
  dataPart,
  linkPart,
  modelMessage,
  systemMessage,
  userMessage,
} from '../../../src/messages/messages.ts'
import type { ToolSpec } from '../../../src/model/chatModel.ts'
import { bodyOf, target, targetFor } from './wire.ts'

/** The API version 2023-06-01 still knows the sampling settings that the SDK's types dropped. */
type Golden = MessageCreateParamsStreaming & { temperature?: number; top_p?: number }

const weather: ToolSpec = {
  name: 'get_weather',
  description: 'Current weather in a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const hi = [userMessage('hi')]

describe('a request', () => {
  it('asks the Messages endpoint for a stream, with the version of the API', () => {
    const golden = {
      model: 'claude-sonnet-4-5',
      max_tokens: 64_000,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      stream: true,
    } satisfies Golden
    expect(anthropic.request({ messages: hi, cache: 'off' }, target)).toEqual({
      path: '/messages',
      headers: { 'anthropic-version': '2023-06-01' },
      body: golden,
    })
  })

  it('carries a whole tool round', () => {
    const golden = {
      model: 'claude-sonnet-4-5',
      max_tokens: 500,
      system: 'Be brief.\n\nBe kind.',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Weather in Oslo and Rome?' }] },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Let me look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Oslo' } },
            { type: 'tool_use', id: 'toolu_2', name: 'get_weather', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: '{"celsius":4}' },
            { type: 'tool_result', tool_use_id: 'toolu_2', content: '{"error":"cut"}', is_error: true },
            { type: 'text', text: 'Please hurry.' },
          ],
        },
      ],
      tools: [
        {
          name: 'get_weather',
          description: 'Current weather in a city',
          input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      temperature: 0.2,
      stop_sequences: ['END'],
      stream: true,
    } satisfies Golden
    const body = bodyOf({
      messages: [
        systemMessage('Be brief.'),
        userMessage('Weather in Oslo and Rome?'),
        modelMessage([
          { type: 'text', text: 'Let me look.' },
          { type: 'toolCall', id: 'toolu_1', name: 'get_weather', arguments: { city: 'Oslo' } },
          {
            type: 'toolCall',
            id: 'toolu_2',
            name: 'get_weather',
            arguments: { city: 'Ro' },
            argumentsRaw: '{"city":"Ro',
            argumentsError: 'cut',
          },
        ]),
        userMessage([
          { type: 'text', text: 'Please hurry.' },
          { type: 'toolResult', id: 'toolu_1', name: 'get_weather', result: '{"celsius":4}' },
        ]),
        userMessage([
          {
            type: 'toolResult',
            id: 'toolu_2',
            name: 'get_weather',
            result: '{"error":"cut"}',
            isError: true,
          },
        ]),
        systemMessage('Be kind.'),
      ],
      tools: [weather],
      parallelToolCalls: false,
      temperature: 0.2,
      maxOutputTokens: 500,
      stopSequences: ['END', '\n'],
      seed: 7,
    })
    expect(body).toEqual(golden)
  })

  it('sends images, PDFs and texts in their own blocks', () => {
    const golden = [
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'AAAA' } },
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' },
        title: 'a.pdf',
      },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' }, title: 'a.csv' },
      { type: 'image', source: { type: 'url', url: 'https://x.test/cat' } },
      { type: 'document', source: { type: 'url', url: 'https://x.test/a.pdf?v=1' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'CCCC' } },
      { type: 'text', text: 'What is this?' },
    ] satisfies MessageCreateParamsStreaming['messages'][number]['content']
    const body = bodyOf({
      messages: [
        userMessage([
          dataPart('image/jpg', 'AAAA'),
          dataPart('application/pdf', 'BBBB', 'a.pdf'),
          dataPart('text/csv; charset=utf-8', Buffer.from('a,b'), 'a.csv'),
          dataPart('text/plain', ''),
          linkPart('https://x.test/cat'),
          linkPart('https://x.test/a.pdf?v=1'),
          linkPart('data:image/png;base64,CCCC'),
          { type: 'text', text: 'What is this?' },
        ]),
      ],
    })
    expect(body.messages).toEqual([{ role: 'user', content: golden }])
  })

  it.each([
    [
      'audio',
      [dataPart('audio/wav', 'AAAA')],
      target,
      /anthropic:claude-sonnet-4-5 cannot read an attachment of type audio\/wav/,
    ],
    ['an image format the API does not know', [dataPart('image/tiff', 'AAAA')], target, /image\/tiff/],
    [
      'a PDF for a model without eyes for it',
      [dataPart('application/pdf', 'A')],
      targetFor('kimi-k2'),
      /kimi-k2/,
    ],
    [
      'a link where only bytes are taken',
      [linkPart('https://x.test/a.png')],
      targetFor('kimi-k2'),
      /dataPart/,
    ],
  ])('refuses %s before anything is sent', (_, parts, to, message) => {
    const request = () => bodyOf({ messages: [userMessage(parts)] }, to)
    expect(request).toThrow(ConfigurationError)
    expect(request).toThrow(message)
  })

  it('lets provider options have the last word, untouched', () => {
    const body = bodyOf({
      messages: hi,
      maxOutputTokens: 5,
      providerOptions: { max_tokens: 9, service_tier: 'standard_only' },
    })
    expect(body).toMatchObject({ max_tokens: 9, service_tier: 'standard_only' })
  })
})

describe('a history made elsewhere', () => {
  it('gets ids the API accepts, the same for a call and its result', () => {
    const call = { type: 'toolCall', id: 'call:1|fc.2', name: 'get_weather', arguments: {} } as const
    const result = { type: 'toolResult', id: 'call:1|fc.2', name: 'get_weather', result: 'ok' } as const
    const messages = [userMessage('hi'), modelMessage([call]), userMessage([result])]
    const sent = JSON.stringify(bodyOf({ messages }).messages)
    const ids = [...sent.matchAll(/"(?:id|tool_use_id)":"([^"]+)"/g)].map((match) => match[1])
    expect(ids).toHaveLength(2)
    expect(ids[0]).toMatch(/^[a-zA-Z0-9_-]+$/)
    expect(ids[0]).toBe(ids[1])
  })

  it('keeps ids unique where the other provider had repeated one', () => {
    const round = (id: string) => [
      modelMessage([{ type: 'toolCall', id, name: 'a', arguments: {} }], {
        providerCallIds: { [id]: 'same' },
      }),
      userMessage([{ type: 'toolResult', id, name: 'a', result: 'ok' }]),
    ]
    const body = bodyOf({ messages: [userMessage('hi'), ...round('one'), ...round('two')] })
    expect(JSON.stringify(body.messages)).not.toContain('same')
  })

  it('joins neighbours of one role and sends nothing empty', () => {
    const body = bodyOf({
      messages: [
        userMessage('a'),
        userMessage('  '),
        modelMessage([], { thinking: 'hm' }),
        userMessage('b'),
        modelMessage(''),
        modelMessage('c'),
        modelMessage('d'),
        userMessage([]),
        userMessage('e'),
      ],
    })
    expect(body.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'c' },
          { type: 'text', text: 'd' },
        ],
      },
      { role: 'user', content: [{ type: 'text', text: 'e' }] },
    ])
  })

  it('names media that another model made, since assistants cannot attach any', () => {
    const body = bodyOf({
      messages: [userMessage('draw'), modelMessage([dataPart('image/png', 'AAAA')]), userMessage('thanks')],
    })
    expect(body.messages).toContainEqual({
      role: 'assistant',
      content: [{ type: 'text', text: '[attachment: image/png]' }],
    })
  })

  it('sends an empty result without content, and an empty error with some', () => {
    const result = (id: string, isError: boolean) =>
      ({ type: 'toolResult', id, name: 'a', result: '', isError }) as const
    const body = bodyOf({ messages: [userMessage([result('x', false), result('y', true)])] })
    expect(body.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'x' },
          { type: 'tool_result', tool_use_id: 'y', content: 'The tool failed.', is_error: true },
        ],
      },
    ])
  })

  it('ends a prefilled answer without white space, and leaves earlier answers as they are', () => {
    const body = bodyOf({
      messages: [userMessage('a'), modelMessage('b \n'), userMessage('c'), modelMessage('{ \n')],
    })
    expect(body.messages).toMatchObject([
      {},
      { content: [{ text: 'b \n' }] },
      {},
      { role: 'assistant', content: [{ text: '{' }] },
    ])
  })
})
