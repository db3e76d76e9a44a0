import { describe, expect, it } from 'vitest'
import { anthropic } from '../../../providers/anthropic/index.ts'
import type { Delta } from '../../../src/model/delta.ts'
import {
  callsOf,
  decode,
  ended,
  finish,
  last,
  type Row,
  response,
  start,
  stop,
  target,
  text,
  thinking,
  toolUse,
  truncated,
} from './wire.ts'

const second = {
  name: 'ModelError',
  message: 'The provider began a second message inside the answer.',
  code: 'second_message',
  retryable: true,
}

describe('the message', () => {
  const whole = {
    id: 'msg_1',
    type: 'message',
    content: [
      null,
      'x',
      { type: 'text', text: 'a' },
      { type: 'tool_use', id: 'a', name: 'one', input: { m: 1 } },
      { type: 'tool_use', id: 'b', name: 'two', input: {} },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 2 },
  }
  const content = [
    response,
    { type: 'text', text: 'a' },
    { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '{"m":1}' },
    { type: 'toolDelta', index: 1, id: 'b', name: 'two', arguments: '' },
    { type: 'usage', usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } },
  ]
  const result = [
    { type: 'toolCall', call: { id: 'a', name: 'one', arguments: { m: 1 } } },
    { type: 'toolCall', call: { id: 'b', name: 'two', arguments: {} } },
    finish('tool_use', 'toolCalls'),
  ]
  const rows: Row[] = [
    ['may come whole', [whole], [...content, ...result]],
    ['may come whole at its start', [{ type: 'message_start', message: whole }], [...content, ...result]],
    [
      'may have nothing at its start',
      [{ type: 'message_start' }, ...text(0, 'a'), ...ended],
      [{ type: 'text', text: 'a' }, finish('end_turn')],
    ],
    [
      'may be empty, and says nothing of its end then',
      [
        { type: 'message_start', message: { id: '', content: null, stop_reason: 'end_turn' } },
        { type: 'message_delta' },
      ],
      [truncated],
    ],
    ['may come whole without content', [{ type: 'message' }], [{ type: 'finish', reason: 'stop' }]],
    [
      'may come whole with a reason alone',
      [{ type: 'message', content: [], stop_reason: 'refusal' }],
      [finish('refusal', 'contentFilter')],
    ],
    [
      'starts once',
      [start, { type: 'message_start', message: { id: 'msg_2' } }],
      [response, { type: 'error', error: second }],
    ],
    [
      'may start again under the same id',
      [start, start, ...text(0, 'a'), start, last],
      [response, { type: 'text', text: 'a' }, { type: 'finish', reason: 'stop' }],
    ],
    [
      'counts the tokens of a compaction beside its own, and names the category of a refusal',
      [
        start,
        {
          type: 'message_delta',
          delta: { stop_reason: 'refusal', stop_details: { type: 'refusal', category: 'cyber' } },
          usage: {
            input_tokens: 224,
            output_tokens: 22,
            iterations: [
              { type: 'compaction', input_tokens: 83_555, output_tokens: 154 },
              { type: 'message', input_tokens: 224, output_tokens: 22 },
            ],
          },
        },
        last,
      ],
      [
        response,
        { type: 'usage', usage: { inputTokens: 83_779, outputTokens: 176, totalTokens: 83_955 } },
        { type: 'metadata', metadata: { refusalCategory: 'cyber' } },
        { type: 'finish', reason: 'contentFilter', raw: 'refusal' },
      ],
    ],
    ['starts once, also where it is whole', [start, whole], [response, { type: 'error', error: second }]],
    [
      'may have no stop reason, if it has an end',
      [start, ...text(0, 'a'), last],
      [response, { type: 'text', text: 'a' }, { type: 'finish', reason: 'stop' }],
    ],
    [
      'keeps its stop reason, its refusal and its counts until there are others',
      [
        start,
        { type: 'message_delta', delta: { stop_reason: 'refusal', stop_details: { explanation: 'No.' } } },
        { type: 'message_delta', delta: { stop_reason: null }, usage: { output_tokens: 2 } },
        last,
      ],
      [
        response,
        { type: 'usage', usage: { outputTokens: 2 } },
        { type: 'metadata', metadata: { refusal: 'No.' } },
        finish('refusal', 'contentFilter'),
      ],
    ],
    [
      'that pauses with a call ends with the call',
      [start, ...toolUse(0, 'a', 'one', '{}'), stop('pause_turn'), last],
      [
        response,
        { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '' },
        { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '{}' },
        { type: 'toolCall', call: { id: 'a', name: 'one', arguments: {} } },
        finish('pause_turn', 'toolCalls'),
      ],
    ],
    [
      'that stops at the end of the window fails, with its word',
      [start, stop('model_context_window_exceeded'), last],
      [
        response,
        {
          type: 'error',
          error: {
            name: 'ModelError',
            message: "The model's context window is full (model_context_window_exceeded).",
            retryable: false,
            code: 'context_overflow',
          },
          raw: 'model_context_window_exceeded',
        },
      ],
    ],
    [
      'ends in an error event, with the word that came before it',
      [
        start,
        stop('end_turn'),
        { type: 'error', error: { type: 'overloaded_error', message: 'Busy' }, request_id: 'req_1' },
        last,
      ],
      [
        response,
        {
          type: 'error',
          error: {
            name: 'ModelError',
            message: 'Busy',
            retryable: true,
            code: 'overloaded_error',
            requestId: 'req_1',
          },
          raw: 'end_turn',
        },
      ],
    ],
    [
      'takes no notice of what it does not know',
      [
        '',
        ': ping',
        'null',
        '[DONE] and more',
        { type: 'ping' },
        { type: 'tomorrow', message: 'x' },
        start,
        ...ended,
        start,
        '[DONE]',
        ...text(0, 'late'),
        { type: 'error' },
      ],
      [response, finish('end_turn')],
    ],
    [
      'fails at an event that is not JSON',
      [start, '{"type":'],
      [
        response,
        {
          type: 'error',
          error: {
            name: 'ModelError',
            message: 'The provider sent an event that is not valid JSON: {"type":',
            code: 'invalid_json',
            retryable: true,
          },
        },
      ],
    ],
    [
      'fails with an error that a gateway sends in its own form',
      [{ error: { message: 'No credit', code: 402 } }],
      [
        {
          type: 'error',
          error: expect.objectContaining({ message: 'No credit', code: '402', retryable: false }),
        },
      ],
    ],
    [
      'survives fields of the wrong types',
      [
        { type: 'message_start', message: null },
        { type: 'content_block_start', index: 'x', content_block: 7 },
        { type: 'content_block_delta', index: {}, delta: [] },
        { type: 'content_block_stop' },
        { type: 'message_delta', delta: { stop_reason: 7, container: 'c' }, usage: 'many' },
        last,
      ],
      [{ type: 'finish', reason: 'stop' }],
    ],
    [
      'fails at an end mark that has something before it',
      [start, 'x [DONE]'],
      [response, expect.objectContaining({ type: 'error' })],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(events)).toStrictEqual(expected))

  it('may have the types of its events beside the data', () => {
    const decoder = anthropic.decoder(target)
    const push = (event: string, data: object) => decoder.push({ event, data: JSON.stringify(data) })
    expect(push('content_block_delta', { delta: { type: 'text_delta', text: 'a' } })).toStrictEqual([
      { type: 'text', text: 'a' },
    ])
    expect(push('message_stop', { type: 'ping' })).toStrictEqual([])
    expect(decoder.push({ event: 'message_stop', data: 'null' })).toStrictEqual([])
    expect(push('message_stop', {})).toStrictEqual([{ type: 'finish', reason: 'stop' }])
    expect(decoder.end()).toStrictEqual([])
  })

  it.each([
    ['end_turn', { reason: 'stop' }],
    ['stop_sequence', { reason: 'stop' }],
    ['max_tokens', { reason: 'length' }],
    ['tool_use', { reason: 'toolCalls' }],
    ['refusal', { reason: 'contentFilter' }],
    ['pause_turn', { reason: 'unspecified', pause: true }],
    ['compaction', { reason: 'unspecified', pause: true }],
    ['tomorrow', { reason: 'unspecified' }],
  ])('ends with the stop reason %s', (raw, finish) => {
    expect(decode([start, stop(raw), last]).at(-1)).toEqual({ type: 'finish', raw, ...finish })
  })

  it('that stops with calls ends with the calls', () => {
    const deltas = decode([start, ...toolUse(0, 'a', 'one', '{}'), stop('end_turn'), last])
    expect(deltas.at(-1)).toEqual(finish('end_turn', 'toolCalls'))
  })

  it('ends in exactly one way wherever it is cut, and only a proper end has broken or empty calls', () => {
    const events = [
      start,
      ...thinking(0, 'Hm.', 'sig'),
      ...text(1, 'Hi'),
      ...toolUse(2, 'a', 'one', '{"m":', '1}'),
      ...toolUse(3, 'b', 'two', ''),
      stop('tool_use'),
      last,
    ]
    events.forEach((_, cut) => {
      const deltas = decode(events.slice(0, cut))
      const ends = deltas.filter(({ type }) => type === 'finish' || type === 'error')
      expect(ends).toEqual([deltas.at(-1)])
      expect(ends[0]?.type).toBe(cut >= events.length - 1 ? 'finish' : 'error')
      if (ends[0]?.type === 'error') expect(callsOf(deltas).every(({ id }) => id === 'a')).toBe(true)
    })
  })
})

describe('counts', () => {
  const counted = (...usages: unknown[]) =>
    decode([start, ...usages.map((usage) => ({ type: 'message_delta', delta: {}, usage })), last])
      .filter(({ type }) => type === 'usage')
      .map((each) => (each as Extract<Delta, { type: 'usage' }>).usage)

  it.each<[unknown[], object[]]>([
    [[undefined, null, 7, {}, { input_tokens: '3' }], []],
    [[{ input_tokens: 3 }], [{ inputTokens: 3 }]],
    [[{ cache_read_input_tokens: 2 }], [{ cachedInputTokens: 2 }]],
    [
      [{ input_tokens: 3, cache_read_input_tokens: 2, cache_creation_input_tokens: 4, output_tokens: 1 }],
      [{ inputTokens: 9, outputTokens: 1, totalTokens: 10, cachedInputTokens: 2, cacheWriteTokens: 4 }],
    ],
    [
      [{ input_tokens: 3 }, { input_tokens: null, output_tokens: 1 }, { output_tokens: 5 }],
      [
        { inputTokens: 3 },
        { inputTokens: 3, outputTokens: 1, totalTokens: 4 },
        { inputTokens: 3, outputTokens: 5, totalTokens: 8 },
      ],
    ],
    [
      [{ output_tokens: 5, output_tokens_details: { thinking_tokens: 4 } }],
      [{ outputTokens: 5, reasoningTokens: 4 }],
    ],
  ])('%j', (usages, expected) => {
    expect(counted(...usages)).toStrictEqual(expected)
  })
})
