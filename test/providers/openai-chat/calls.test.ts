import { describe, expect, it } from 'vitest'
import { openaiChat } from '../../../providers/openai-chat/index.ts'
import { neverClosed } from '../../../providers/wire/decoder.ts'
import type { WireEvent } from '../../../providers/wire/protocol.ts'
import { chunk, decode, done, event, ofType, type Row, response, stop } from './chunks.ts'
import { plainProfile } from './plainProfile.ts'

const target = { provider: 'acme', model: 'm1', profile: plainProfile }

describe('calls', () => {
  it('are given right before the finish, in order', () => {
    const decoder = openaiChat.decoder(target)
    const weather = { index: 0, id: 'a', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }
    const time = { index: 1, id: 'b', function: { name: 'get_time', arguments: '' } }
    const early = [
      ...decoder.push(chunk({ tool_calls: [weather, time] })),
      ...decoder.push(chunk({}, { finish_reason: 'tool_calls' })),
    ]
    expect(early.map(({ type }) => type)).toEqual(['response', 'toolDelta', 'toolDelta'])
    expect(decoder.push(done)).toEqual([
      { type: 'toolCall', call: { id: 'a', name: 'get_weather', arguments: { city: 'Oslo' } } },
      { type: 'toolCall', call: { id: 'b', name: 'get_time', arguments: {} } },
      { type: 'finish', reason: 'toolCalls', raw: 'tool_calls' },
    ])
  })

  const delta = (index: number, fields: object) => ({ type: 'toolDelta', index, ...fields })
  const call = (id: string, name: string, args: object = {}) => ({
    type: 'toolCall',
    call: { id, name, arguments: args },
  })
  const called = { type: 'finish', reason: 'toolCalls', raw: 'stop' }
  const one = { function: { name: 'one' } }
  const rows: Row[] = [
    [
      'have fields of their types, and nothing else',
      [
        chunk({ tool_calls: 'x', function_call: 'x' }),
        chunk({ tool_calls: [null, 'x', { index: '0', id: 7, function: { name: 8 } }, { id: 'a' }] }),
        chunk({ tool_calls: [{ id: 'a', function: { name: 'one', arguments: null, input: '{"m":1}' } }] }),
        stop,
      ],
      [
        response,
        delta(0, { arguments: '' }),
        delta(0, { id: 'a', arguments: '' }),
        delta(0, { id: 'a', name: 'one', arguments: '{"m":1}' }),
        call('a', 'one', { m: 1 }),
        called,
      ],
    ],
    [
      'may be of a custom tool, whose one argument is the text',
      [
        chunk({ tool_calls: [{ index: 0, id: 'a', type: 'custom', custom: { name: 'one', input: '' } }] }),
        chunk({ tool_calls: [{ index: 0, custom: { input: 'select "' } }] }),
        chunk({ tool_calls: [{ index: 0, custom: { input: '}"' } }] }),
        chunk({ tool_calls: [{ index: 1, id: 'b', function: { name: 'two', arguments: '{"m":1}' } }] }),
        chunk({ tool_calls: [{ index: 2, id: 'c', type: 'custom', custom: { name: 'one', input: '{}' } }] }),
        stop,
      ],
      [
        response,
        delta(0, { id: 'a', name: 'one', arguments: '' }),
        delta(0, { id: 'a', name: 'one', arguments: 'select "' }),
        delta(0, { id: 'a', name: 'one', arguments: '}"' }),
        delta(1, { id: 'b', name: 'two', arguments: '{"m":1}' }),
        delta(2, { id: 'c', name: 'one', arguments: '{}' }),
        call('a', 'one', { input: 'select "}"' }),
        call('b', 'two', { m: 1 }),
        call('c', 'one', { input: '{}' }),
        {
          type: 'opaque',
          protocol: 'openai-chat',
          data: { provider: 'acme', model: 'm1', textCalls: [0, 2] },
        },
        called,
      ],
    ],
    [
      'may come as an object',
      [chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'one', arguments: { m: 1 } } }] }), stop],
      [
        response,
        delta(0, { id: 'a', name: 'one', arguments: '{"m":1}' }),
        call('a', 'one', { m: 1 }),
        called,
      ],
    ],
    [
      'may have the form from before there were tools',
      [
        chunk({ function_call: { name: 'one', arguments: '{"m":' } }),
        chunk({ function_call: { arguments: '1}' } }),
        stop,
      ],
      [
        response,
        delta(0, { name: 'one', arguments: '{"m":' }),
        delta(0, { name: 'one', arguments: '1}' }),
        call('', 'one', { m: 1 }),
        called,
      ],
    ],
    [
      'in one chunk are several, even where nothing distinguishes them',
      [chunk({ tool_calls: [one, one] }), stop],
      [
        response,
        delta(0, { name: 'one', arguments: '' }),
        delta(1, { name: 'one', arguments: '' }),
        call('', 'one'),
        call('', 'one'),
        called,
      ],
    ],
    [
      'in two chunks are one, if nothing distinguishes them',
      [
        chunk({ tool_calls: [one] }),
        chunk({ tool_calls: [{ function: { name: 'one', arguments: '{"m":1}' } }] }),
        stop,
      ],
      [
        response,
        delta(0, { name: 'one', arguments: '' }),
        delta(0, { name: 'one', arguments: '{"m":1}' }),
        call('', 'one', { m: 1 }),
        called,
      ],
    ],
    [
      'go to the place of their index',
      [
        chunk({
          tool_calls: [
            { index: 0, id: 'a', ...one },
            { index: 1, id: 'b', ...one },
          ],
        }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: '{"m":1}' } }] }),
        stop,
      ],
      [
        response,
        delta(0, { id: 'a', name: 'one', arguments: '' }),
        delta(1, { id: 'b', name: 'one', arguments: '' }),
        delta(0, { id: 'a', name: 'one', arguments: '{"m":1}' }),
        call('a', 'one', { m: 1 }),
        call('b', 'one'),
        called,
      ],
    ],
    [
      'keep what came with them',
      [
        chunk({
          tool_calls: [
            { index: 0, id: 'a', ...one },
            { index: 1, id: 'b', extra_content: { s: 1 }, ...one },
          ],
        }),
        stop,
      ],
      [
        response,
        delta(0, { id: 'a', name: 'one', arguments: '' }),
        delta(1, { id: 'b', name: 'one', arguments: '' }),
        call('a', 'one'),
        call('b', 'one'),
        {
          type: 'opaque',
          protocol: 'openai-chat',
          data: { provider: 'acme', model: 'm1', extraContent: [null, { s: 1 }] },
        },
        called,
      ],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(events)).toStrictEqual(expected))

  const bare = { tool_calls: [{ index: 0, id: 'a', ...one }] }
  const cut = { arguments: {}, argumentsRaw: '', argumentsError: neverClosed }
  const filtered = {
    arguments: {},
    argumentsRaw: '{}',
    argumentsError: expect.stringContaining('content filter'),
  }
  it.each<[string, WireEvent[], object]>([
    ['a finish reason', [chunk(bare), stop], { arguments: {} }],
    ['an end, and no reason', [chunk(bare)], cut],
    ['a reason that cuts it', [chunk(bare, { finish_reason: 'length' })], cut],
    ['a reason that forbids it', [chunk(bare, { finish_reason: 'content_filter' })], filtered],
    ['a refusal', [chunk(bare), chunk({ refusal: 'No.' }), stop], filtered],
    ['a message that was not streamed', [event({ choices: [{ message: bare }] })], { arguments: {} }],
  ])('without arguments, and with %s', (_, events, outcome) => {
    expect(decode([...events, done]).filter(({ type }) => type === 'toolCall')).toStrictEqual([
      { type: 'toolCall', call: { id: 'a', name: 'one', ...outcome } },
    ])
  })

  it('with a text never run if the answer was cut, because a text shows no end', () => {
    const custom = (id: string, input: string) => ({ id, type: 'custom', custom: { name: 'sql', input } })
    const written = chunk({ tool_calls: [custom('a', 'select 1'), custom('b', 'drop table')] })
    const proper = decode([written, chunk({}, { finish_reason: 'length' }), done])
    expect(ofType(proper, 'toolCall').map((delta) => delta.call)).toStrictEqual([
      { id: 'a', name: 'sql', arguments: { input: 'select 1' } },
      {
        id: 'b',
        name: 'sql',
        arguments: { input: 'drop table' },
        argumentsRaw: 'drop table',
        argumentsError: neverClosed,
      },
    ])
    expect(ofType(decode([written]), 'toolCall')).toEqual([])
  })

  it('with half of their arguments say so at a proper end, and are left out at a cut', () => {
    const whole = { index: 0, id: 'a', function: { name: 'one', arguments: '{}' } }
    const half = { index: 1, id: 'b', function: { name: 'two', arguments: '{"m' } }
    const proper = decode([chunk({ tool_calls: [whole, half] }, { finish_reason: 'length' }), done])
    expect(ofType(proper, 'toolCall').map((delta) => delta.call)).toMatchObject([
      { id: 'a', arguments: {} },
      { id: 'b', argumentsError: expect.any(String) },
    ])
    expect(proper.at(-1)).toMatchObject({ type: 'finish', reason: 'length' })
    const cut = decode([chunk({ tool_calls: [whole, half] })])
    expect(ofType(cut, 'toolCall').map((delta) => delta.call.id)).toEqual(['a'])
    expect(cut.at(-1)?.type).toBe('error')
  })
})
