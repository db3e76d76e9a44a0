import { describe, expect, it } from 'vitest'
import { neverClosed } from '../../../providers/wire/decoder.ts'
import {
  callsOf,
  close,
  decode,
  finish,
  grow,
  last,
  open,
  response,
  start,
  stop,
  toolUse,
  truncated,
} from './wire.ts'

describe('calls', () => {
  it('are given right before the finish, and their progress before that', () => {
    const events = [start, ...toolUse(0, 'a', 'one', '{"m":', '1}'), stop('tool_use')]
    const running = decode(events, { end: false })
    expect(running.map(({ type }) => type)).toEqual(['response', 'toolDelta', 'toolDelta', 'toolDelta'])
    expect(decode([...events, last]).slice(-2)).toEqual([
      { type: 'toolCall', call: { id: 'a', name: 'one', arguments: { m: 1 } } },
      finish('tool_use', 'toolCalls'),
    ])
  })

  it('whose blocks are open together stay separate', () => {
    const deltas = decode([
      start,
      open(0, { type: 'tool_use', id: 'a', name: 'one', input: {} }),
      open(1, { type: 'tool_use', id: 'b', name: 'two', input: {} }),
      grow(1, 'input_json_delta', { partial_json: '{"n":' }),
      grow(0, 'input_json_delta', { partial_json: '{"m":1' }),
      grow(1, 'input_json_delta', { partial_json: '2}' }),
      grow(0, 'input_json_delta', { partial_json: '}' }),
      close(0),
      close(1),
      stop('tool_use'),
      last,
    ])
    expect(callsOf(deltas)).toEqual([
      { id: 'a', name: 'one', arguments: { m: 1 } },
      { id: 'b', name: 'two', arguments: { n: 2 } },
    ])
  })

  it('are both kept when a server reuses index 0', () => {
    const both = [...toolUse(0, 'a', 'one', '{"m":1}'), ...toolUse(0, 'b', 'one', '{"m":2}')]
    const deltas = decode([start, ...both, stop('tool_use'), last])
    expect(callsOf(deltas).map((call) => call.arguments)).toEqual([{ m: 1 }, { m: 2 }])
  })

  it.each([
    ['a text', '{"m":1}', { arguments: { m: 1 } }],
    ['a list', [1], { arguments: {}, argumentsError: expect.stringContaining('an array') }],
  ])('may have whole arguments that are %s', (_, input, expected) => {
    const block = { type: 'tool_use', id: 'a', name: 'one', input }
    const deltas = decode([start, open(0, block), close(0), stop('tool_use'), last])
    expect(callsOf(deltas)).toEqual([expect.objectContaining(expected)])
  })

  it.each(['tool_use', 'max_tokens'])('with cut arguments say so when the stop reason is %s', (reason) => {
    const deltas = decode([start, ...toolUse(0, 'a', 'one', '{"city":"Osl'), stop(reason), last])
    expect(callsOf(deltas)).toEqual([
      {
        id: 'a',
        name: 'one',
        arguments: {},
        argumentsRaw: '{"city":"Osl',
        argumentsError: expect.stringContaining('not valid JSON'),
      },
    ])
  })

  it('leave the prototype alone when their arguments hold __proto__', () => {
    const hostile = toolUse(0, 'a', 'one', '{"__proto__":{"polluted":true}}')
    expect(callsOf(decode([start, ...hostile, stop('tool_use'), last]))).toHaveLength(1)
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })

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
      truncated,
    ])
  })
})
