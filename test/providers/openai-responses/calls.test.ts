import { describe, expect, it } from 'vitest'
import { neverClosed } from '../../../providers/wire/decoder.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import {
  added,
  argumentsDelta,
  callItem,
  callsIn,
  completed,
  created,
  decode,
  done,
  finish,
  incomplete,
  kept,
  type Row,
  response,
  text,
  textDelta,
  textIn,
  truncated,
} from './responsesFixtures.ts'

const cut = (argumentsRaw = '', args: object = {}) => ({
  arguments: args,
  argumentsRaw,
  argumentsError: neverClosed,
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
      'whose arguments are not JSON',
      [done(0, callItem('c1', 'one', '{"x":')), end],
      [
        delta({ ...one, arguments: '{"x":' }),
        call({ ...one, arguments: {}, argumentsRaw: '{"x":', argumentsError: expect.any(String) }),
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

  it('keep the order of the output indexes when items are done out of order', () => {
    const deltas = decode(
      created(),
      done(1, callItem('call_b', 'second', '{}')),
      done(0, callItem('call_a', 'first', '{}')),
      completed(),
    )
    expect(callsIn(deltas).map((call) => call.name)).toEqual(['first', 'second'])
  })

  it('stay separate when a server numbers every item 0', () => {
    const deltas = decode(
      created(),
      textDelta(0, 'Let me see.', { item_id: 'msg_1' }),
      added(0, callItem('call_a', 'weather', '')),
      argumentsDelta(0, '{"city":"Oslo"}', { item_id: 'fc_call_a' }),
      added(0, callItem('call_b', 'weather', '')),
      argumentsDelta(0, '{"city":"Rome"}', { item_id: 'fc_call_b' }),
      done(0, callItem('call_a', 'weather', '{"city":"Oslo"}')),
      done(0, callItem('call_b', 'weather', '{"city":"Rome"}')),
      completed({
        output: [
          callItem('call_a', 'weather', '{"city":"Oslo"}'),
          callItem('call_b', 'weather', '{"city":"Rome"}'),
        ],
      }),
    )
    expect(textIn(deltas)).toBe('Let me see.')
    expect(callsIn(deltas).map(({ id, arguments: args }) => [id, args])).toEqual([
      ['call_a', { city: 'Oslo' }],
      ['call_b', { city: 'Rome' }],
    ])
  })

  it('stay separate by item id when a server interleaves two calls at index 0', () => {
    const piece = (id: string, text: string) => argumentsDelta(0, text, { item_id: `fc_${id}` })
    const deltas = decode(
      created(),
      added(0, callItem('call_a', 'weather', '')),
      added(0, callItem('call_b', 'weather', '')),
      piece('call_a', '{"city":'),
      piece('call_b', '{"city":'),
      piece('call_a', '"Oslo"}'),
      piece('call_b', '"Rome"}'),
      completed(),
    )
    expect(callsIn(deltas).map((call) => call.arguments)).toEqual([{ city: 'Oslo' }, { city: 'Rome' }])
  })

  it('that were never announced are named by their done event or by the list at the end', () => {
    const whole = callItem('call_a', 'weather', '{"city":"Oslo"}')
    const expected = [{ id: 'call_a', name: 'weather', arguments: { city: 'Oslo' } }]
    const piece = argumentsDelta(0, '{"city":"Oslo"}', { item_id: 'unknown' })
    expect(callsIn(decode(created(), piece, done(0, whole), completed()))).toEqual(expected)
    expect(callsIn(decode(created(), piece, completed({ output: [whole] })))).toEqual(expected)
    expect(callsIn(decode(created(), completed({ output: [whole] })))).toEqual(expected)
  })

  it('are harmless when their arguments try to reach the prototype', () => {
    const [call] = callsIn(decode(done(0, callItem('c', 't', '{"__proto__":{"polluted":1}}')), completed()))
    expect(Object.hasOwn(call?.arguments ?? {}, '__proto__')).toBe(true)
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })
})
