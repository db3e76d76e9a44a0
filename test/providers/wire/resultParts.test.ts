/** Files of a tool's result reach the model wherever it can read them, and nothing in a result ends a run. */
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages'
import type { ChatCompletionStreamRequest$Outbound } from '@mistralai/mistralai/models/components'
import type { Message } from 'ollama'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import { type GoogleProfile, geminiProfile } from '../../../providers/google/index.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/messages/json.ts'
import {
  type ChatMessage,
  dataPart,
  linkPart,
  modelMessage,
  type ToolResultPart,
  userMessage,
} from '../../../src/messages/messages.ts'
import type { ModelProfile } from '../../../src/model/chatModel.ts'
import { everyProtocol, type ProtocolName, protocolNames } from '../everyProtocol.ts'
import type { GenerateContentBody } from '../google/wireTypes.ts'

const gemini2: GoogleProfile = { ...geminiProfile('gemini-2.5-flash'), mediaInResults: false }
const chart = dataPart('image/png', 'AAAA', 'chart.png')

const round = (...results: Omit<ToolResultPart, 'type' | 'id'>[]): ChatMessage[] => [
  userMessage('Go'),
  modelMessage(
    results.map(({ name }, at) => ({ type: 'toolCall', id: `call${at}abcd`, name, arguments: {} })),
  ),
  userMessage(results.map((result, at) => ({ type: 'toolResult', id: `call${at}abcd`, ...result }))),
]

/** The part of the wire after the model's calls. */
const answered = (
  name: ProtocolName,
  messages: ChatMessage[],
  abilities?: Partial<ModelProfile>,
): unknown => {
  const body = everyProtocol[name]({ messages }, abilities)
  const list = body.messages ?? body.input ?? body.contents
  if (!Array.isArray(list)) throw new Error('There is no history in the body.')
  const calls = list.slice(1)
  return calls.slice(calls.findIndex((item, at) => at > 0 && !isCall(item)))
}

const isCall = (item: JsonValue): boolean => isJsonObject(item) && item.type === 'function_call'

describe('a text and an image, beside a plain result', () => {
  const history = round({ name: 'draw', result: 'Drawn.', parts: [chart] }, { name: 'wait', result: 'Done.' })

  it('are together in the result for Anthropic', () => {
    const golden: MessageParam[] = [
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'call0abcd',
            content: [
              { type: 'text', text: 'Drawn.' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            ],
          },
          { type: 'tool_result', tool_use_id: 'call1abcd', content: 'Done.' },
        ],
      },
    ]
    expect(answered('anthropic', history)).toEqual(golden)
  })

  it('are together in the output for the Responses API', () => {
    const golden: ResponseInputItem[] = [
      {
        type: 'function_call_output',
        call_id: 'call0abcd',
        output: [
          { type: 'input_text', text: 'Drawn.' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
        ],
      },
      { type: 'function_call_output', call_id: 'call1abcd', output: 'Done.' },
    ]
    expect(answered('openai-responses', history)).toEqual(golden)
  })

  it('are together in the function response for Gemini 3', () => {
    const golden: GenerateContentBody['contents'] = [
      {
        role: 'user',
        parts: [
          {
            functionResponse: {
              name: 'draw',
              response: { result: 'Drawn.' },
              parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }],
              id: 'call0abcd',
            },
          },
          { functionResponse: { name: 'wait', response: { result: 'Done.' }, id: 'call1abcd' } },
        ],
      },
    ]
    expect(answered('google', history)).toEqual(golden)
  })

  it('are a response and a content after it for Gemini 2, which refuses files in responses', () => {
    const golden: GenerateContentBody['contents'] = [
      {
        role: 'user',
        parts: [
          {
            functionResponse: {
              name: 'draw',
              response: { result: 'Drawn.\n\n[1 file of this result: see the next message]' },
            },
          },
          { functionResponse: { name: 'wait', response: { result: 'Done.' } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { text: '[1 file of the result of draw]' },
          { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
        ],
      },
    ]
    expect(answered('google', history, gemini2)).toEqual(golden)
  })

  const pointed = 'Drawn.\n\n[1 file of this result: see the next message]'
  const label = '[1 file of the result of draw]'

  it('are a tool message and a user message after all results for chat completions', () => {
    const golden: ChatCompletionMessageParam[] = [
      { role: 'tool', tool_call_id: 'call0abcd', content: pointed },
      { role: 'tool', tool_call_id: 'call1abcd', content: 'Done.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: label },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        ],
      },
    ]
    expect(answered('openai-chat', history)).toEqual(golden)
  })

  it('have a word of the assistant between them for Mistral, which refuses a user right after a tool', () => {
    const golden: ChatCompletionStreamRequest$Outbound['messages'] = [
      { role: 'tool', tool_call_id: 'call0abcd', content: pointed },
      { role: 'tool', tool_call_id: 'call1abcd', content: 'Done.' },
      { role: 'assistant', content: 'OK.', prefix: false },
      {
        role: 'user',
        content: [
          { type: 'text', text: label },
          { type: 'image_url', image_url: 'data:image/png;base64,AAAA' },
        ],
      },
    ]
    expect(answered('mistral', history)).toEqual(golden)
  })

  it('are a tool message and a user message for Cohere', () => {
    expect(answered('cohere', history)).toEqual([
      { role: 'tool', tool_call_id: 'call0abcd', content: pointed },
      { role: 'tool', tool_call_id: 'call1abcd', content: 'Done.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: label },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        ],
      },
    ])
  })

  it('are a tool message and a user message with images for Ollama', () => {
    const golden: (Message & { tool_call_id?: string })[] = [
      { role: 'tool', content: pointed, tool_name: 'draw', tool_call_id: 'call0abcd' },
      { role: 'tool', content: 'Done.', tool_name: 'wait', tool_call_id: 'call1abcd' },
      { role: 'user', content: label, images: ['AAAA'] },
    ]
    expect(answered('ollama', history)).toEqual(golden)
  })
})

describe.each(protocolNames)('a result for %s', (name) => {
  const blind = { attachments: { images: false, pdf: false, audio: false, links: false } }
  const sent = (result: Omit<ToolResultPart, 'type' | 'id'>, abilities?: Partial<ModelProfile>): string =>
    JSON.stringify(answered(name, round(result), abilities))

  it('says what was left out, where the model cannot read it', () => {
    const body = sent({ name: 'draw', result: '', parts: [chart] }, blind)
    expect(body).toContain('[left out: an attachment of type image/png (chart.png), which this model')
    expect(body).not.toContain('AAAA')
  })

  it('gives the address of a link that no server follows', () => {
    const parts = [linkPart('https://x.test/a?b=1', 'text/html'), linkPart('ftp://x.test/b')]
    const body = sent({ name: 'find', result: 'Found.', parts }, blind)
    expect(body).toContain('https://x.test/a?b=1')
    expect(body).toContain('ftp://x.test/b')
  })

  it('has text files in its text', () => {
    const parts = [dataPart('application/json', Buffer.from('{"a":1}'), 'a.json')]
    expect(sent({ name: 'read', result: 'Read.', parts }, blind)).toContain(
      String.raw`Read.\n\na.json:\n{\"a\":1}`,
    )
  })

  it('keeps its place before what the user adds', () => {
    const [prompt, calls, results] = round({ name: 'draw', result: '', parts: [chart] })
    if (!prompt || !calls || !results) throw new Error('There is no round.')
    const steered = { ...results, parts: [...results.parts, { type: 'text' as const, text: 'Now stop.' }] }
    const body = JSON.stringify(answered(name, [prompt, calls, steered]))
    expect(body.indexOf('AAAA')).toBeGreaterThan(0)
    expect(body.indexOf('Now stop.')).toBeGreaterThan(0)
    // Ollama's images have a field of their own, behind the text.
    if (name !== 'ollama') expect(body.indexOf('Now stop.')).toBeGreaterThan(body.indexOf('AAAA'))
  })

  it('is the same with an empty list of files as without one', () => {
    const plain = { name: 'draw', result: 'Drawn.' }
    expect(sent({ ...plain, parts: [] })).toBe(sent(plain))
  })
})

describe('an error with files', () => {
  it('has them behind it for Anthropic, which takes text only in errors', () => {
    const golden: MessageParam[] = [
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'call0abcd',
            content: '[1 file of this result: see the next message]',
            is_error: true,
          },
          { type: 'text', text: '[1 file of the result of draw]' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        ],
      },
    ]
    const history = round({ name: 'draw', result: '', parts: [chart], isError: true })
    expect(answered('anthropic', history)).toEqual(golden)
  })
})

describe('files that do not fit into a function response', () => {
  it('follow it, while images stay inside', () => {
    const history = round({
      name: 'record',
      result: '{"seconds":3}',
      parts: [chart, dataPart('audio/wav', 'BBBB'), linkPart('https://x.test/a.png')],
    })
    const contents = answered('google', history) as JsonObject[]
    expect(contents).toMatchObject([
      {
        parts: [
          {
            functionResponse: {
              response: { result: '{"seconds":3}\n\n[2 files of this result: see the next message]' },
              parts: [{ inlineData: { data: 'AAAA' } }],
            },
          },
        ],
      },
      {
        parts: [
          { text: '[2 files of the result of record]' },
          { inlineData: { mimeType: 'audio/wav', data: 'BBBB' } },
          { fileData: { fileUri: 'https://x.test/a.png', mimeType: 'image/png' } },
        ],
      },
    ])
  })
})
