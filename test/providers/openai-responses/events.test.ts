import { describe, expect, it } from 'vitest'
import { openaiResponses } from '../../../providers/openai-responses/index.ts'
import { neverClosed } from '../../../providers/wire/decoder.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import {
  added,
  argumentsDelta,
  callItem,
  completed,
  created,
  decode,
  done,
  incomplete,
  messageItem,
  reasoningItem,
  target,
  textDelta,
} from './responsesFixtures.ts'

// What comes out of each event, field by field: there, missing, of another type, in another order, repeated.

const response = { type: 'response', id: 'resp_1' }
const text = (text: string) => ({ type: 'text', text })
const thinking = (text: string) => ({ type: 'thinking', text })
const progress = { type: 'progress' }
const metadata = (values: object) => ({ type: 'metadata', metadata: values })
const kept = (data: object = { responseId: 'resp_1' }) => ({
  type: 'opaque',
  protocol: 'openai-responses',
  data: { provider: 'openai-responses', ...data },
})
const finish = (reason: string, raw = 'completed') => ({ type: 'finish', reason, raw })
const failed = (error: object, raw?: string) => ({
  type: 'error',
  error: { name: 'ModelError', ...error },
  ...(raw !== undefined && { raw }),
})
const truncated = failed({
  message: 'The stream ended before it was complete: response.completed never came.',
  code: 'truncated',
  retryable: true,
})
const cut = (argumentsRaw = '', args: object = {}) => ({
  arguments: args,
  argumentsRaw,
  argumentsError: neverClosed,
})

type Row = [string, JsonObject[], object[]]

describe('pieces', () => {
  const part = (fields: JsonObject): JsonObject => ({ type: 'response.content_part.done', part: fields })
  const rows: [JsonObject, object, boolean][] = [
    [{ type: 'response.output_text.delta', delta: 'a' }, text('a'), false],
    [{ type: 'response.output_text.done', text: 'a' }, text('a'), true],
    [{ type: 'response.refusal.delta', delta: 'a' }, progress, false],
    [{ type: 'response.refusal.done', refusal: 'a' }, progress, true],
    [{ type: 'response.reasoning_summary_text.delta', delta: 'a' }, thinking('a'), false],
    [{ type: 'response.reasoning_summary_text.done', text: 'a' }, thinking('a'), true],
    [{ type: 'response.reasoning_text.delta', delta: 'a' }, thinking('a'), false],
    [{ type: 'response.reasoning_text.done', text: 'a' }, thinking('a'), true],
    [part({ type: 'output_text', text: 'a' }), text('a'), true],
    [part({ type: 'refusal', refusal: 'a' }), progress, true],
    [part({ type: 'reasoning_text', text: 'a' }), thinking('a'), true],
    [part({ type: 'summary_text', text: 'a' }), thinking('a'), true],
    [
      { type: 'response.reasoning_summary_part.done', part: { type: 'summary_text', text: 'a' } },
      thinking('a'),
      true,
    ],
  ]
  it.each(rows)('of %j are given, and a whole only once', (event, delta, isWhole) => {
    const deltas = decode(event, event, completed({ id: null }))
    const isRefusal = delta === progress
    const refusal = isWhole ? 'a' : 'aa'
    expect(deltas).toStrictEqual([
      delta,
      ...(isWhole ? [] : [delta]),
      ...(isRefusal ? [metadata({ refusal })] : []),
      finish(isRefusal ? 'contentFilter' : 'stop'),
    ])
  })

  it.each<JsonObject>([
    { type: 'response.output_text.delta' },
    { type: 'response.output_text.delta', delta: '' },
    { type: 'response.output_text.delta', delta: 7 },
    { type: 'response.refusal.delta', delta: '' },
    { type: 'response.output_text.annotation.added' },
    { type: 'response.output_text.annotation.added', annotation: 'x' },
    { type: 'response.output_item.added' },
    { type: 'response.output_item.added', item: 'x' },
    { type: 'response.output_item.done' },
    { type: 'response.function_call_arguments.delta' },
    { type: 'response.function_call_arguments.delta', delta: '' },
    { type: 'response.content_part.done' },
    { type: 'response.tomorrow', message: 'x', error: { message: 'x' } },
    { type: 'tomorrow', message: 'x' },
    {},
  ])('%j is nothing', (event) => {
    expect(decode(event, completed({ id: null }))).toStrictEqual([finish('stop')])
  })

  it.each<JsonObject>([
    { type: 'response.content_part.done', part: { type: 'tomorrow', text: 'x' } },
    { type: 'response.content_part.done', part: { type: 'output_text', text: '' } },
    { type: 'response.content_part.done', part: 'x' },
    { type: 'response.web_search_call.searching' },
  ])('%j is work that goes on', (event) => {
    expect(decode({ ...event, output_index: 0 }, completed({ id: null }))).toStrictEqual([
      progress,
      finish('stop'),
    ])
    expect(decode({ ...event, output_index: '0' }, completed({ id: null }))).toStrictEqual([finish('stop')])
  })

  it('of one item are told apart by what they are and by their number', () => {
    const whole = (kind: string, place: JsonObject, written: string): JsonObject => ({
      type: `response.${kind}.done`,
      output_index: 0,
      text: written,
      ...place,
    })
    const events = [
      whole('reasoning_text', { content_index: 0 }, 'a'),
      whole('reasoning_summary_text', { summary_index: 0 }, 'b'),
      whole('reasoning_summary_text', { summary_index: 1 }, 'c'),
      whole('reasoning_text', { content_index: 1 }, 'd'),
    ]
    const again = [...events, whole('reasoning_text', {}, 'x')]
    expect(decode(...events, ...again, completed({ id: null }))).toStrictEqual([
      ...['a', 'b', 'c', 'd'].map(thinking),
      finish('stop'),
    ])
  })
})

describe('items', () => {
  const rows: Row[] = [
    [
      'that are whole',
      [
        done(0, {
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: 'a' }, null, 'x'],
          content: [{ type: 'reasoning_text', text: 'b' }],
        }),
        done(1, {
          type: 'message',
          content: [
            { type: 'output_text', text: 'c', annotations: [{ n: 1 }, 'x'] },
            { type: 'refusal', refusal: 'd' },
            'x',
            { type: 'output_text', text: 'e', annotations: [{ n: 2 }] },
          ],
        }),
        completed({ output: [null, 'x'], id: null }),
      ],
      [
        thinking('a'),
        thinking('b'),
        text('c'),
        progress,
        text('e'),
        metadata({ citations: [{ n: 1 }, { n: 2 }] }),
        metadata({ refusal: 'd' }),
        finish('contentFilter'),
      ],
    ],
    [
      'that were announced with their content, and never mentioned again',
      [
        added(
          0,
          messageItem('a', { content: [{ type: 'output_text', text: 'a', annotations: [{ n: 1 }] }] }),
        ),
        completed({ output: null, id: null }),
      ],
      [progress, text('a'), metadata({ citations: [{ n: 1 }] }), finish('stop')],
    ],
    [
      'that were cited as they came',
      [
        textDelta(0, 'a'),
        { type: 'response.output_text.annotation.added', output_index: 0, annotation: { n: 1 } },
        { type: 'response.output_text_annotation.added', output_index: 0, annotation: { n: 2 } },
        done(0, messageItem('a', { content: [{ type: 'output_text', text: 'a', annotations: [{ n: 1 }] }] })),
        completed({ id: null }),
      ],
      [text('a'), metadata({ citations: [{ n: 1 }] }), metadata({ citations: [{ n: 2 }] }), finish('stop')],
    ],
    [
      'whose whole comes twice',
      [
        done(0, messageItem('a', { content: [{ type: 'output_text', text: 'a', annotations: [{ n: 1 }] }] })),
        completed({
          id: null,
          output: [
            messageItem('a', { content: [{ type: 'output_text', text: 'a', annotations: [{ n: 1 }] }] }),
          ],
        }),
      ],
      [text('a'), metadata({ citations: [{ n: 1 }] }), finish('stop')],
    ],
    [
      'whose whole is empty the first time',
      [done(0, messageItem('')), completed({ id: null, output: [messageItem('a')] })],
      [text('a'), finish('stop')],
    ],
    [
      'of the server: what is called, put out or listed',
      [
        ...[
          'web_search_call',
          'computer_call_output',
          'mcp_list_tools',
          'a_call_b',
          'a_output_b',
          'x_mcp_call_x',
          'tomorrow',
        ].map((type, position) => done(position, { type, id: type })),
        done(0, { type: 'web_search_call', id: 'web_search_call' }),
        completed({ id: null }),
      ],
      [
        ...['web_search_call', 'computer_call_output', 'mcp_list_tools'].map((type) =>
          metadata({ serverTools: [{ type, id: type }] }),
        ),
        finish('stop'),
      ],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(...events)).toStrictEqual(expected))

  it.each([
    [{ result: 'AA' }, 'image/png'],
    [{ result: 'AA', output_format: 'jpeg' }, 'image/jpeg'],
    [{ result: 'AA', output_format: 'x/jpeg' }, 'image/png'],
    [{ result: 'AA', output_format: 'jpeg;x' }, 'image/png'],
    [{ result: 'AA', output_format: '' }, 'image/png'],
    [{ result: '' }, undefined],
    [{ result: null }, undefined],
  ])('that are a picture %j have the type %s', (fields, mimeType) => {
    const { result, ...rest } = { type: 'image_generation_call', id: 'i', ...fields }
    expect(decode(done(0, { ...rest, result }), completed({ id: null }))).toStrictEqual([
      ...(mimeType ? [{ type: 'part', part: { type: 'data', mimeType, data: result } }] : []),
      metadata({ serverTools: [rest] }),
      finish('stop'),
    ])
  })

  it('with a result that are no picture keep it', () => {
    const item = { type: 'mcp_call', id: 'm', result: 'AA' }
    expect(decode(done(0, item), completed({ id: null }))).toStrictEqual([
      metadata({ serverTools: [item] }),
      finish('stop'),
    ])
  })
})

describe('what is kept of an answer', () => {
  const call = callItem('c1', 'one', '{}')
  const sent = { type: 'function_call', call: 0 }
  const thought = reasoningItem('r1', 'enc')
  const kind = { type: 'reasoning', id: 'r1', summary: [], encrypted_content: 'enc' }
  const said = (length: number, more: object = {}) => ({ type: 'message', length, ...more })
  const other = messageItem('bc', { id: 'msg_2' })

  it.each<[string, JsonObject[], object[] | undefined]>([
    ['a message and a call', [messageItem('a'), call], undefined],
    ['a call alone', [call], undefined],
    ['nothing', [], undefined],
    ['a call before a message', [call, messageItem('a')], [sent, said(1)]],
    ['a call before an empty message', [call, messageItem('')], undefined],
    ['two messages', [messageItem('a'), other], [said(1), said(2)]],
    ['a message with a phase', [messageItem('a', { phase: 'final' })], [said(1, { phase: 'final' })]],
    ['reasoning before a message', [thought, messageItem('a')], [kind, said(1)]],
    ['reasoning before a call', [messageItem('a'), thought, call], [said(1), kind, sent]],
    ['reasoning and nothing after it', [messageItem('a'), thought], undefined],
    ['reasoning that is not encrypted', [reasoningItem('r1', null), messageItem('a')], undefined],
    ['reasoning without an id', [{ ...thought, id: null }, messageItem('a')], undefined],
    [
      'reasoning with content and a summary',
      [
        {
          ...reasoningItem('r1', 'enc', 'Hm'),
          content: [{ type: 'reasoning_text', text: 'x' }],
        },
        call,
      ],
      [
        {
          ...kind,
          summary: [{ type: 'summary_text', text: 'Hm' }],
          content: [{ type: 'reasoning_text', text: 'x' }],
        },
        sent,
      ],
    ],
    [
      'reasoning that led to a tool of the server',
      [thought, { type: 'web_search_call', id: 'w' }, messageItem('a')],
      undefined,
    ],
    [
      'reasoning after a tool of the server',
      [{ type: 'web_search_call', id: 'w' }, thought, messageItem('a')],
      [kind, said(1)],
    ],
    [
      'a custom call',
      [{ type: 'custom_tool_call', id: 'f', call_id: 'c1', name: 'one', input: 'x' }],
      [{ type: 'custom_tool_call', call: 0 }],
    ],
    ['an item that is not known', [messageItem('a'), { type: 'tomorrow', id: 't' }], undefined],
  ])('%s', (_, output, layout) => {
    const opaque = (response: JsonObject) =>
      decode(created(), completed({ output, ...response })).filter(({ type }) => type === 'opaque')
    expect(opaque({})).toStrictEqual([kept({ responseId: 'resp_1', ...(layout && { layout }) })])
    expect(opaque({ store: false })).toStrictEqual(layout ? [kept({ layout })] : [])
    expect(opaque({ store: null, status: 'incomplete' })).toStrictEqual(layout ? [kept({ layout })] : [])
  })

  it.each<[string, JsonObject[], object[] | undefined]>([
    ['in order', [textDelta(0, 'a'), textDelta(1, 'b'), textDelta(1, 'c')], [said(1), said(2)]],
    ['the second first', [textDelta(1, 'b'), textDelta(0, 'a')], undefined],
    ['the first continued', [textDelta(0, 'a'), textDelta(1, 'b'), textDelta(0, 'c')], undefined],
    [
      'the first continued, both with the number 0',
      [
        done(0, messageItem('a')),
        done(0, messageItem('bc', { id: 'msg_2' })),
        textDelta(0, 'd', { item_id: 'msg_1' }),
      ],
      undefined,
    ],
    [
      'both with the number 0',
      [done(0, messageItem('a')), done(0, messageItem('bc', { id: 'msg_2' }))],
      [said(1), said(2)],
    ],
  ])('two messages, %s', (_, events, layout) => {
    const deltas = decode(...events, completed({ id: null }))
    expect(deltas.filter(({ type }) => type === 'opaque')).toStrictEqual(layout ? [kept({ layout })] : [])
  })

  it.each<[string, JsonObject[], boolean]>([
    ['each call has an id', [call, callItem('c2', 'one', '{}')], true],
    ['two calls have the same id', [call, { ...call, id: 'other', call_id: 'c1' }], false],
    ['a call has none', [callItem('', 'one', '{}')], false],
  ])('can be continued at the server if %s', (_, output, isKept) => {
    const deltas = decode(created(), ...output.map((item, at) => done(at, item)), completed())
    expect(deltas.filter(({ type }) => type === 'opaque')).toStrictEqual(isKept ? [kept()] : [])
  })
})

describe('calls', () => {
  const delta = (fields: object, order = 0) => ({ type: 'toolDelta', index: order, ...fields })
  const one = { id: 'c1', name: 'one' }
  const call = (fields: object) => ({ type: 'toolCall', call: fields })
  const custom = (fields: JsonObject): JsonObject => ({ type: 'custom_tool_call', ...fields })
  const named = custom({ id: 'f1', call_id: 'c1', name: 'one' })
  const input = (kind: 'delta' | 'done', fields: JsonObject): JsonObject => ({
    type: `response.custom_tool_call_input.${kind}`,
    output_index: 0,
    ...fields,
  })
  const end = completed({ id: null })
  const rows: Row[] = [
    [
      'in pieces, repeated as a whole in every way',
      [
        textDelta(0, 'a'),
        added(1, callItem('c1', 'one', '')),
        argumentsDelta(1, '{"m":'),
        argumentsDelta(1, '1}'),
        { type: 'response.function_call_arguments.done', output_index: 1, arguments: '{"m":1}' },
        done(1, callItem('c1', 'one', '{"m":1}')),
        completed({ id: null, output: [callItem('c1', 'one', '{"m":1}')] }),
      ],
      [
        text('a'),
        delta({ ...one, arguments: '' }),
        delta({ ...one, arguments: '{"m":' }),
        delta({ ...one, arguments: '1}' }),
        call({ ...one, arguments: { m: 1 } }),
        finish('toolCalls'),
      ],
    ],
    [
      'whose whole comes first, and again',
      [
        { type: 'response.function_call_arguments.done', output_index: 0, name: 'one', arguments: '{"m":1}' },
        { type: 'response.function_call_arguments.done', output_index: 0, name: 'two', arguments: '{"m":2}' },
        end,
      ],
      [
        delta({ name: 'one', arguments: '{"m":1}' }),
        call({ id: '', name: 'one', arguments: { m: 2 } }),
        finish('toolCalls'),
      ],
    ],
    [
      'whose arguments are an object',
      [done(0, { ...callItem('c1', 'one', ''), arguments: { m: 1 } }), end],
      [delta({ ...one, arguments: '{"m":1}' }), call({ ...one, arguments: { m: 1 } }), finish('toolCalls')],
    ],
    [
      'that are done without arguments',
      [done(0, callItem('c1', 'one', '')), done(1, { ...callItem('c2', 'one', ''), arguments: null }), end],
      [call({ ...one, arguments: {} }), call({ ...one, id: 'c2', arguments: {} }), finish('toolCalls')],
    ],
    [
      'without a call id',
      [done(0, { type: 'function_call', id: 'f1', name: 'one', arguments: '{}' }), end],
      [
        delta({ name: 'one', arguments: '{}' }),
        call({ id: 'f1', name: 'one', arguments: {} }),
        finish('toolCalls'),
      ],
    ],
    [
      'of which only a shell came',
      [added(0, { type: 'function_call', id: 'f1' }), end],
      [delta({ arguments: '' }), finish('stop')],
    ],
    [
      'that were begun and never continued',
      [created(), added(0, callItem('c1', 'one', '')), completed()],
      [response, delta({ ...one, arguments: '' }), call({ ...one, ...cut() }), finish('toolCalls')],
    ],
    [
      'that were begun with their arguments',
      [added(0, callItem('c1', 'one', '{"m":1}')), end],
      [delta({ ...one, arguments: '' }), call({ ...one, arguments: { m: 1 } }), finish('toolCalls')],
    ],
    [
      'that were begun with their arguments, in an answer that was cut',
      [added(0, callItem('c1', 'one', '{"m":1}')), incomplete('max_output_tokens', { id: null })],
      [
        delta({ ...one, arguments: '' }),
        call({ ...one, ...cut('{"m":1}', { m: 1 }) }),
        finish('length', 'incomplete'),
      ],
    ],
    [
      'that were whole before the answer was cut',
      [
        { type: 'response.function_call_arguments.done', output_index: 0, name: 'one', arguments: '{}' },
        done(1, callItem('c2', 'two', '')),
        incomplete('max_output_tokens', { id: null }),
      ],
      [
        delta({ name: 'one', arguments: '{}' }),
        call({ id: '', name: 'one', arguments: {} }),
        call({ id: 'c2', name: 'two', arguments: {} }),
        finish('length', 'incomplete'),
      ],
    ],
    [
      'that say themselves that they were cut',
      [
        done(0, { ...callItem('c1', 'one', ''), status: 'incomplete', arguments: { m: 1 } }),
        done(1, callItem('c2', 'two', '{"n":', { status: 'incomplete' })),
        done(2, callItem('c3', 'three', '', { status: 'incomplete' })),
        end,
      ],
      [
        delta({ ...one, arguments: '{"m":1}' }),
        delta({ id: 'c2', name: 'two', arguments: '{"n":' }, 1),
        call({ ...one, ...cut('{"m":1}', { m: 1 }) }),
        call({ id: 'c2', name: 'two', ...cut('{"n":') }),
        call({ id: 'c3', name: 'three', ...cut() }),
        finish('toolCalls'),
      ],
    ],
    [
      'of custom tools, in pieces and whole',
      [
        added(0, named),
        input('delta', { delta: 'a' }),
        input('delta', { delta: 'b' }),
        input('done', { input: 'ab' }),
        end,
      ],
      [
        delta({ ...one, arguments: '' }),
        delta({ ...one, arguments: 'a' }),
        delta({ ...one, arguments: 'b' }),
        call({ ...one, arguments: { input: 'ab' } }),
        kept({ layout: [{ type: 'custom_tool_call', call: 0 }] }),
        finish('toolCalls'),
      ],
    ],
    [
      'of custom tools, never ended',
      [added(0, named), input('delta', { delta: '{"m":1}' }), end],
      [
        delta({ ...one, arguments: '' }),
        delta({ ...one, arguments: '{"m":1}' }),
        call({ ...one, ...cut('{"m":1}', { m: 1 }) }),
        kept({ layout: [{ type: 'custom_tool_call', call: 0 }] }),
        finish('toolCalls'),
      ],
    ],
    [
      'of custom tools, without a text',
      [done(0, { ...named, arguments: 'x' }), end],
      [
        call({ ...one, arguments: { input: '' } }),
        kept({ layout: [{ type: 'custom_tool_call', call: 0 }] }),
        finish('toolCalls'),
      ],
    ],
    [
      'of custom tools, with something else than a text',
      [done(0, { ...named, input: { m: 1 } }), end],
      [
        delta({ ...one, arguments: '{"m":1}' }),
        call({ ...one, arguments: { input: '' } }),
        kept({ layout: [{ type: 'custom_tool_call', call: 0 }] }),
        finish('toolCalls'),
      ],
    ],
    [
      'of an answer that was filtered',
      [done(0, callItem('c1', 'one', '{}')), incomplete('content_filter', { id: null })],
      [
        delta({ ...one, arguments: '{}' }),
        call({
          ...one,
          arguments: {},
          argumentsRaw: '{}',
          argumentsError: expect.stringContaining('content filter'),
        }),
        finish('contentFilter', 'incomplete'),
      ],
    ],
    [
      'of an answer that broke: those that are whole',
      [
        argumentsDelta(0, '{"m":1}'),
        argumentsDelta(1, '{"m":'),
        done(2, callItem('c3', 'three', '{}', { status: 'incomplete' })),
        done(3, callItem('c4', 'four', '')),
        { ...input('delta', { delta: '{}' }), output_index: 4 },
        { ...input('done', { input: 'x' }), output_index: 5 },
      ],
      [
        delta({ arguments: '{"m":1}' }),
        delta({ arguments: '{"m":' }, 1),
        delta({ id: 'c3', name: 'three', arguments: '{}' }, 2),
        delta({ arguments: '{}' }, 4),
        delta({ arguments: 'x' }, 5),
        call({ id: '', name: '', arguments: { m: 1 } }),
        call({ id: '', name: '', arguments: { input: 'x' } }),
        truncated,
      ],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(...events)).toStrictEqual(expected))
})

describe('the end', () => {
  const problem = { message: 'Busy', code: 'server_error' }
  const busy = failed({ message: 'Busy', retryable: true, code: 'server_error' }, 'failed')
  const no = failed({ message: 'No.', retryable: false, code: 'bad' }, 'failed')
  const ended = (type: string, response?: JsonObject): JsonObject => ({ type, ...(response && { response }) })
  const rows: Row[] = [
    ['is missing', [created()], [response, truncated]],
    ['has no response', [ended('response.completed')], [finish('stop')]],
    ['has no status', [ended('response.completed', {})], [finish('stop')]],
    ['has an older name', [ended('response.done', { status: 'completed' })], [finish('stop')]],
    [
      'has an older name and another status',
      [ended('response.done', { status: 'incomplete' })],
      [finish('length', 'incomplete')],
    ],
    [
      'has a status that is not an end',
      [ended('response.completed', { status: 'queued' })],
      [finish('stop', 'queued')],
    ],
    ['is incomplete by its name', [ended('response.incomplete')], [finish('length', 'incomplete')]],
    [
      'is incomplete by its status',
      [ended('response.completed', { status: 'incomplete' })],
      [finish('length', 'incomplete')],
    ],
    [
      'was cut, and says it is complete',
      [ended('response.completed', { incomplete_details: { reason: 'max_output_tokens' } })],
      [finish('length')],
    ],
    [
      'was filtered, and says it is complete',
      [ended('response.completed', { incomplete_details: { reason: 'content_filter' } })],
      [finish('contentFilter')],
    ],
    [
      'has another reason',
      [ended('response.completed', { incomplete_details: { reason: 'x' } })],
      [finish('stop')],
    ],
    [
      'is not a status in another event',
      [ended('response.in_progress', { status: 'completed' })],
      [truncated],
    ],
    [
      'is a failure in any event',
      [ended('response.created', { status: 'failed' })],
      [
        failed(
          { message: 'The response was failed by the provider.', retryable: false, code: 'failed' },
          'failed',
        ),
      ],
    ],
    ['is an error in any event', [ended('response.in_progress', { error: problem })], [busy]],
    ['is not an empty error', [ended('response.completed', { error: {} })], [finish('stop')]],
    ['is an error beside the response', [{ type: 'response.failed', error: problem }], [busy]],
    [
      'is an error in the response before one beside it',
      [{ type: 'response.failed', error: { message: 'No.' }, response: { error: problem } }],
      [busy],
    ],
    [
      'was cancelled',
      [ended('response.cancelled', {})],
      [
        failed(
          { message: 'The response was cancelled by the provider.', retryable: false, code: 'cancelled' },
          'cancelled',
        ),
      ],
    ],
    ['is an error event', [{ type: 'error', message: 'No.', code: 'bad' }], [no]],
    ['is an error event of the response', [{ type: 'response.error', message: 'No.', code: 'bad' }], [no]],
    [
      'is an error event without words',
      [{ type: 'response.error' }],
      [failed({ message: 'The provider reported an error without a message.', retryable: false }, 'failed')],
    ],
    ['is an error without a type', [{ message: 'No.', code: 'bad' }], [no]],
    ['is an error in an unknown event', [{ type: 'tomorrow', error: { message: 'No.', code: 'bad' } }], [no]],
    [
      'comes once',
      [ended('response.completed'), ended('response.failed'), textDelta(0, 'late')],
      [finish('stop')],
    ],
    [
      'is a whole response',
      [{ object: 'response', id: 'resp_1', status: 'completed' }],
      [response, kept(), finish('stop')],
    ],
    [
      'is a whole response by its fields',
      [{ id: 'resp_1', status: 'completed', output: [messageItem('a')] }],
      [response, text('a'), kept(), finish('stop')],
    ],
    ['is not a list alone', [{ output: [], id: 'resp_1' }], [truncated]],
    ['is not a status alone', [{ status: 'completed' }], [truncated]],
    [
      'is not a whole response that is still written',
      [{ object: 'response', status: 'in_progress' }],
      [truncated],
    ],
    [
      'has counts',
      [ended('response.completed', { usage: { input_tokens: 1, output_tokens: 2 } })],
      [{ type: 'usage', usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } }, finish('stop')],
    ],
    [
      'has the id that came first',
      [created('resp_1'), ended('response.completed', { id: 'resp_2' })],
      [response, kept(), finish('stop')],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(...events)).toStrictEqual(expected))

  it('is not a mark of another protocol, and may be named beside the data', () => {
    const decoder = openaiResponses.decoder(target())
    for (const data of ['[DONE] x', '', 'null', ': ping']) expect(decoder.push({ data })).toStrictEqual([])
    expect(decoder.push({ event: 'response.completed', data: '{}' })).toStrictEqual([finish('stop')])
    expect(decoder.end()).toStrictEqual([])
    const other = openaiResponses.decoder(target())
    expect(other.push({ event: 'error', data: '{"message":"No.","code":"bad"}' })).toStrictEqual([no])
    const broken = openaiResponses.decoder(target())
    expect(broken.push({ data: 'x [DONE]' })).toStrictEqual([
      failed({
        message: 'The provider sent an event that is not valid JSON: x [DONE]',
        code: 'invalid_json',
        retryable: true,
      }),
    ])
  })
})
