import { describe, expect, it } from 'vitest'
import { anthropic } from '../../../providers/anthropic/index.ts'
import { neverClosed } from '../../../providers/wire/decoder.ts'
import type { Delta } from '../../../src/model/delta.ts'
import { close, decode, grow, last, open, start, stop, target, text, toolUse } from './wire.ts'

// What comes out of each event, field by field: there, missing, of another type, in another order, repeated.

const response: Delta = { type: 'response', id: 'msg_1' }
const finish = (raw: string, reason = 'stop') => ({ type: 'finish', reason, raw })
const ended = [stop('end_turn'), last]
const delta = (fields: object, index?: number) => ({
  type: 'content_block_delta',
  ...(index !== undefined && { index }),
  delta: fields,
})
const opaque = (...blocks: object[]) => ({
  type: 'opaque',
  protocol: 'anthropic',
  data: { provider: 'anthropic', blocks },
})
const truncated = (raw?: string) => ({
  type: 'error',
  error: {
    name: 'ModelError',
    message: 'The stream ended before it was complete: message_stop never came.',
    code: 'truncated',
    retryable: true,
  },
  ...(raw !== undefined && { raw }),
})
const second = {
  name: 'ModelError',
  message: 'The provider began a second message inside the answer.',
  code: 'second_message',
  retryable: true,
}

type Row = [string, (object | string)[], object[]]

describe('text', () => {
  const rows: Row[] = [
    [
      'nothing of an empty piece, of one without a text, and of one that is not a text',
      [
        start,
        open(0, { type: 'text' }),
        grow(0, 'text_delta', { text: '' }),
        grow(0, 'text_delta', {}),
        grow(0, 'text_delta', { text: 7 }),
        { type: 'content_block_delta', index: 0 },
        grow(0, 'text_delta', { text: 'a' }),
        close(0),
        close(0),
        close(5),
        ...ended,
      ],
      [response, { type: 'text', text: 'a' }, finish('end_turn')],
    ],
    [
      'a delta without an index belongs to the latest block',
      [
        start,
        open(0, { type: 'text', text: '' }),
        open(1, { type: 'text', text: '' }),
        open(2, { type: 'tool_use', id: 'a', name: 'one', input: {} }),
        delta({ type: 'input_json_delta', partial_json: '{}' }),
        { type: 'content_block_start', content_block: { type: 'text' } },
        delta({ type: 'text_delta', text: 'late' }),
        stop('tool_use'),
        last,
      ],
      [
        response,
        { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '' },
        { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '{}' },
        { type: 'text', text: 'late' },
        { type: 'toolCall', call: { id: 'a', name: 'one', arguments: {} } },
        finish('tool_use', 'toolCalls'),
      ],
    ],
    [
      'a block that was never announced',
      [
        start,
        delta({ type: 'text_delta', text: 'a' }),
        delta({ type: 'text_delta', text: 'b' }, 3),
        delta({ type: 'new_text_delta', text: 'c' }, 4),
        delta({ type: 'text_delta_2', text: 'd' }, 5),
        delta({ text: 'e' }, 6),
        delta({ type: 'input_json_delta', partial_json: '{}' }, 7),
        ...ended,
      ],
      [response, { type: 'text', text: 'a' }, { type: 'text', text: 'b' }, finish('end_turn')],
    ],
    [
      'thinking that was never announced is kept for the next request',
      [start, delta({ type: 'thinking_delta', thinking: 'Hm' }, 0), ...text(1, 'a'), ...ended],
      [
        response,
        { type: 'thinking', text: 'Hm' },
        { type: 'text', text: 'a' },
        opaque({ type: 'thinking', thinking: 'Hm', signature: '' }, { text: 1 }),
        finish('end_turn'),
      ],
    ],
    [
      'citations that come with the block, and one that comes later',
      [
        start,
        open(0, { type: 'text', text: 'a', citations: [{ n: 1 }, { n: 2 }] }),
        grow(0, 'citations_delta', { citation: { n: 3 } }),
        grow(0, 'citations_delta', { citation: 'x' }),
        ...ended,
      ],
      [
        response,
        { type: 'text', text: 'a' },
        ...[1, 2, 3].map((n) => ({ type: 'metadata', metadata: { citations: [{ n }] } })),
        finish('end_turn'),
      ],
    ],
    [
      'blocks that interleave cannot be told apart later, so nothing is kept',
      [
        start,
        open(0, { type: 'redacted_thinking', data: 'x' }),
        open(1, { type: 'text', text: 'a' }),
        open(2, { type: 'text', text: 'b' }),
        delta({ type: 'text_delta', text: 'c' }, 1),
        ...ended,
      ],
      [
        response,
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
        { type: 'text', text: 'c' },
        finish('end_turn'),
      ],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(events)).toStrictEqual(expected))
})

describe('blocks that are kept', () => {
  const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
  const rows: Row[] = [
    [
      'each field grows, an empty piece is not progress, and a signature may be repeated',
      [
        start,
        open(0, { type: 'thinking', thinking: 'A', signature: 'sig' }),
        grow(0, 'thinking_delta', { thinking: '' }),
        grow(0, 'thinking_delta', { thinking: 'A' }),
        grow(0, 'signature_delta', { signature: 'sig' }),
        grow(0, 'signature_delta', { signature: '2' }),
        close(0),
        open(1, { type: 'compaction' }),
        grow(1, 'compaction_delta', { content: 'short' }),
        grow(1, 'compaction_delta', { encrypted_content: 'x' }),
        grow(1, 'compaction_delta', { encrypted_content: 'y', other: 'z' }),
        ...ended,
      ],
      [
        response,
        { type: 'thinking', text: 'A' },
        { type: 'thinking', text: 'A' },
        { type: 'progress' },
        { type: 'progress' },
        { type: 'progress' },
        { type: 'progress' },
        opaque(
          { type: 'thinking', thinking: 'AA', signature: 'sig2' },
          { type: 'compaction', content: 'short', encrypted_content: 'xy' },
        ),
        finish('end_turn'),
      ],
    ],
    [
      'the input of a server tool is put together; one that is not JSON is left out',
      [
        start,
        open(0, search),
        grow(0, 'input_json_delta', { partial_json: '{"q":' }),
        grow(0, 'input_json_delta', { partial_json: '1}' }),
        grow(0, 'input_json_delta', { partial_json: '' }),
        close(0),
        close(0),
        open(1, { ...search, id: 't', input: { q: 0 } }),
        grow(1, 'input_json_delta', { partial_json: '{"q' }),
        close(1),
        open(2, { ...search, id: 'u', input: { q: 0 } }),
        grow(2, 'input_json_delta', { partial_json: ' ' }),
        ...ended,
      ],
      [
        response,
        { type: 'progress' },
        { type: 'progress' },
        { type: 'metadata', metadata: { serverTools: [{ ...search, input: { q: 1 } }] } },
        { type: 'progress' },
        { type: 'metadata', metadata: { serverTools: [{ ...search, id: 't', input: { q: 0 } }] } },
        { type: 'progress' },
        { type: 'metadata', metadata: { serverTools: [{ ...search, id: 'u', input: { q: 0 } }] } },
        opaque(
          { ...search, input: { q: 1 } },
          { ...search, id: 't', input: { q: 0 } },
          { ...search, id: 'u', input: { q: 0 } },
        ),
        finish('end_turn'),
      ],
    ],
    [
      'each is shown when it is closed',
      [start, open(0, search), open(1, { ...search, id: 't' }), close(0), close(1), ...ended],
      [
        response,
        { type: 'metadata', metadata: { serverTools: [search] } },
        { type: 'metadata', metadata: { serverTools: [{ ...search, id: 't' }] } },
        opaque(search, { ...search, id: 't' }),
        finish('end_turn'),
      ],
    ],
    [
      'what is shown of them: tools of the server and their results',
      [
        start,
        ...[
          'mcp_tool_use',
          'container_upload',
          'web_fetch_tool_result',
          'my_server_tool_use',
          'server_tool_use_2',
          'a_tool_result_2',
        ].map((type, index) => open(index, { type })),
        open(9, { data: 'no type' }),
        ...ended,
      ],
      [
        response,
        ...['mcp_tool_use', 'container_upload', 'web_fetch_tool_result'].map((type) => ({
          type: 'metadata',
          metadata: { serverTools: [{ type }] },
        })),
        opaque(
          { type: 'mcp_tool_use' },
          { type: 'container_upload' },
          { type: 'web_fetch_tool_result' },
          { type: 'my_server_tool_use' },
          { type: 'server_tool_use_2' },
          { type: 'a_tool_result_2' },
        ),
        finish('end_turn'),
      ],
    ],
    [
      'a call without a name is not a call, and is not sent back',
      [
        start,
        open(0, { type: 'tool_use', id: 'a', name: '', input: {} }),
        open(1, { type: 'tool_use', id: 'b', name: 7, input: {} }),
        open(2, { type: 'tool_use', id: 'c' }),
        ...ended,
      ],
      [response, finish('end_turn')],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(events)).toStrictEqual(expected))

  it.each<[string, object | undefined, object[] | undefined]>([
    ['a container alone', undefined, [{ text: 1 }, { call: 0 }]],
    ['a caller that is direct', { caller: { type: 'direct' } }, undefined],
    [
      'a caller in a sandbox',
      { caller: { type: 'code_execution' } },
      [{ text: 1 }, { caller: { type: 'code_execution' }, call: 0 }],
    ],
    ['a caller of another shape', { caller: 'direct' }, [{ text: 1 }, { caller: 'direct', call: 0 }]],
    ['another field', { extra: 1 }, [{ text: 1 }, { extra: 1, call: 0 }]],
  ])('an answer with a call is kept because of %s', (_, fields, blocks) => {
    const container = fields === undefined ? 'c1' : undefined
    const deltas = decode([
      start,
      ...text(0, 'a'),
      ...text(1),
      open(2, { type: 'tool_use', id: 'a', name: 'one', input: { m: 1 }, ...fields }),
      close(2),
      stop('tool_use', container === undefined ? {} : { container: { id: container } }),
      stop('tool_use', { container: { id: 7 } }),
      last,
    ])
    const kept = {
      type: 'opaque',
      protocol: 'anthropic',
      data: { provider: 'anthropic', blocks, ...(container !== undefined && { container }) },
    }
    expect(deltas).toStrictEqual([
      response,
      { type: 'text', text: 'a' },
      { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '{"m":1}' },
      { type: 'toolCall', call: { id: 'a', name: 'one', arguments: { m: 1 } } },
      ...(blocks ? [kept] : []),
      finish('tool_use', 'toolCalls'),
    ])
  })
})

describe('calls', () => {
  const block = (fields: object) => open(0, { type: 'tool_use', id: 'a', name: 'one', ...fields })
  const progress = (args: string) => ({ type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: args })

  it.each([
    ['missing', {}],
    ['an empty object', { input: {} }],
    ['null', { input: null }],
    ['an empty text', { input: '' }],
  ])('take their arguments from the pieces where the input is %s', (_, fields) => {
    const events = [start, block(fields), grow(0, 'input_json_delta', { partial_json: '{"m":1}' })]
    expect(decode([...events, close(0), stop('tool_use'), last])).toStrictEqual([
      response,
      progress(''),
      progress('{"m":1}'),
      { type: 'toolCall', call: { id: 'a', name: 'one', arguments: { m: 1 } } },
      finish('tool_use', 'toolCalls'),
    ])
  })

  it.each([[{}], [{ id: '' }], [{ id: 7 }], [{ id: null }]])('have no id where it is %j', (fields) => {
    const call = open(0, { type: 'tool_use', name: 'one', input: { m: 1 }, ...fields })
    expect(decode([start, call, grow(0, 'input_json_delta', {}), stop('tool_use')])).toStrictEqual([
      response,
      { type: 'toolDelta', index: 0, name: 'one', arguments: '{"m":1}' },
      { type: 'toolCall', call: { id: '', name: 'one', arguments: { m: 1 } } },
      finish('tool_use', 'toolCalls'),
    ])
  })

  const empty = { arguments: {} }
  const cut = { arguments: {}, argumentsRaw: '', argumentsError: neverClosed }
  const blank = { ...cut, argumentsRaw: ' ' }
  const filtered = {
    arguments: {},
    argumentsRaw: '{}',
    argumentsError: expect.stringContaining('content filter'),
  }
  const first = toolUse(0, 'a', 'one')
  const next = toolUse(1, 'b', 'two')
  it.each<[string, object[], string, object[]]>([
    ['both were closed', [...first, ...next], 'tool_use', [empty, empty]],
    ['the answer was cut: the last one with it', [...first, ...next], 'max_tokens', [empty, cut]],
    [
      'the answer was cut at the third',
      [...first, ...next, ...toolUse(2, 'c', 'three')],
      'max_tokens',
      [empty, empty, cut],
    ],
    ['the first was never closed', [...first.slice(0, 1), ...next], 'tool_use', [cut, empty]],
    ['none was ever closed', [...first.slice(0, 1), ...next.slice(0, 1)], 'tool_use', [cut, cut]],
    [
      'only blanks came, and no end',
      [...first, ...toolUse(1, 'b', 'two', ' ').slice(0, 2)],
      'tool_use',
      [empty, blank],
    ],
    ['the answer was filtered', [...first, ...next], 'refusal', [filtered, filtered]],
  ])('without arguments: %s', (_, events, raw, outcomes) => {
    const calls = decode([start, ...events, stop(raw), last]).filter(({ type }) => type === 'toolCall')
    expect(calls).toStrictEqual(
      outcomes.map((outcome, index) => ({
        type: 'toolCall',
        call: { id: 'abc'[index], name: ['one', 'two', 'three'][index], ...outcome },
      })),
    )
  })

  it('that are whole run although their block was never closed, even where the answer was cut', () => {
    const whole = [
      block({ input: { m: 1 } }),
      ...toolUse(1, 'b', 'two', '{"n":2}').slice(0, 2),
      stop('max_tokens'),
    ]
    expect(decode([start, ...whole]).slice(-3)).toStrictEqual([
      { type: 'toolCall', call: { id: 'a', name: 'one', arguments: { m: 1 } } },
      { type: 'toolCall', call: { id: 'b', name: 'two', arguments: { n: 2 } } },
      finish('max_tokens', 'length'),
    ])
  })

  it('of a stream that broke are reported if they are whole', () => {
    const events = [
      start,
      block({ input: { m: 1 } }),
      ...toolUse(1, 'b', 'two'),
      ...toolUse(2, 'c', 'three', ' '),
      ...toolUse(3, 'd', 'four', '{"n'),
    ]
    expect(decode(events).slice(-2)).toStrictEqual([
      { type: 'toolCall', call: { id: 'a', name: 'one', arguments: { m: 1 } } },
      truncated(),
    ])
  })
})

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
      [truncated()],
    ],
    ['may come whole without content', [{ type: 'message' }], [{ type: 'finish', reason: 'stop' }]],
    ['starts once', [start, start], [response, { type: 'error', error: second }]],
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
        { type: 'error', error: { type: 'overloaded_error', message: 'Busy' } },
        last,
      ],
      [
        response,
        {
          type: 'error',
          error: { name: 'ModelError', message: 'Busy', retryable: true, code: 'overloaded_error' },
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
