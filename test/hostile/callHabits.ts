import { expect } from 'vitest'
import { toolCallsOf } from '../../src/messages/messages.ts'
import { type CallPiece, mistral } from './chatWire.ts'
import { callsRun, farewell, loop, type Outcome, time, weather } from './hostileRun.ts'
import type { Wire } from './wire.ts'

// How servers send tool calls in pieces: what must have run of them, and under which ids.

/** Each inner list is one event; Cohere has an event per piece. */
export type CallHabit = {
  promise: string
  pieces: CallPiece[][]
  ran: unknown[]
  /** The ids the calls must have; null is one that statewire makes up. */
  ids: (string | null)[]
}

const oslo = '{"city":"Oslo"}'
const rome = '{"city":"Rome"}'
const one = 'call00001'
const two = 'call00002'
const weatherCall = { id: one, name: 'get_weather' }

export const callHabits: readonly CallHabit[] = [
  {
    promise: 'idx0_reuse: keeps both calls when a server reuses index 0',
    pieces: [
      [{ index: 0, ...weatherCall, args: '' }],
      [{ index: 0, args: oslo }],
      [{ index: 0, id: two, name: 'get_time', args: '' }],
      [{ index: 0, args: '{}' }],
    ],
    ran: [weather('Oslo'), time],
    ids: [one, two],
  },
  {
    promise: 'idx0_reuse: keeps two whole calls of one tool, both at index 0',
    pieces: [
      [{ index: 0, ...weatherCall, args: oslo }],
      [{ index: 0, id: two, name: 'get_weather', args: rome }],
    ],
    ran: [weather('Oslo'), weather('Rome')],
    ids: [one, two],
  },
  {
    promise: 'idx0_reuse: keeps two calls without arguments, both at index 0',
    pieces: [
      [{ index: 0, id: one, name: 'get_time', args: '' }],
      [{ index: 0, id: two, name: 'get_time', args: '' }],
    ],
    ran: [time, time],
    ids: [one, two],
  },
  {
    promise: 'no_index: goes by the ids where there is no index',
    pieces: [
      [{ ...weatherCall, args: '{"city":' }],
      [{ id: one, args: '"Oslo"}' }],
      [{ id: two, name: 'get_weather', args: '{"city"' }],
      [{ id: two, args: ':"Rome"}' }],
    ],
    ran: [weather('Oslo'), weather('Rome')],
    ids: [one, two],
  },
  {
    promise: 'no_index: adds a piece with neither id nor index to the latest call',
    pieces: [
      [{ ...weatherCall, args: '' }],
      [{ args: '{"city"' }],
      [{ args: ':"Oslo"}' }],
      [{ id: two, name: 'get_time' }],
      [{ args: '{}' }],
    ],
    ran: [weather('Oslo'), time],
    ids: [one, two],
  },
  {
    promise: 'no_id: makes an id up for every call and keeps to it',
    pieces: [
      [{ index: 0, name: 'get_weather', args: '' }],
      [{ index: 0, args: oslo }],
      [{ index: 1, name: 'get_weather', args: rome }],
    ],
    ran: [weather('Oslo'), weather('Rome')],
    ids: [null, null],
  },
  {
    promise: 'no_id: distinguishes two calls that have neither id nor index',
    pieces: [
      [{ name: 'get_weather', args: oslo }],
      [{ name: 'get_weather', args: rome }],
      [{ name: 'get_time' }],
    ],
    ran: [weather('Oslo'), weather('Rome'), time],
    ids: [null, null, null],
  },
  {
    promise: 'empty_id: an empty id is no id',
    pieces: [
      [{ index: 0, id: '', name: 'get_weather', args: oslo }],
      [{ index: 1, id: '', name: 'get_weather', args: rome }],
    ],
    ran: [weather('Oslo'), weather('Rome')],
    ids: [null, null],
  },
  {
    promise: "late_id: keeps the provider's id although it came late",
    pieces: [
      [{ index: 0, id: null, name: 'get_weather', args: '' }],
      [{ index: 0, id: '', args: '{"city":' }],
      [{ index: 0, id: one, args: '"Oslo"}' }],
    ],
    ran: [weather('Oslo')],
    ids: [one],
  },
  {
    promise: 'late_name: takes arguments that come before the name',
    pieces: [
      [{ index: 0, id: one, args: '{"city"' }],
      [{ index: 0, args: ':"Os' }],
      [{ index: 0, name: 'get_weather', args: 'lo"}' }],
    ],
    ran: [weather('Oslo')],
    ids: [one],
  },
  {
    promise: 'dup_id: two calls under one id are two calls with two ids',
    pieces: [[{ index: 0, ...weatherCall, args: oslo }], [{ index: 1, ...weatherCall, args: rome }]],
    ran: [weather('Oslo'), weather('Rome')],
    ids: [one, null],
  },
  {
    promise: 'dup_id: also where nothing but the id distinguishes them',
    pieces: [[{ ...weatherCall, args: oslo }], [{ ...weatherCall, args: rome }]],
    ran: [weather('Oslo'), weather('Rome')],
    ids: [one, null],
  },
  {
    promise: 'name_every_delta: does not double a name that is sent with every piece',
    pieces: [
      [{ index: 0, ...weatherCall, args: '' }],
      [{ index: 0, name: 'get_weather', args: '{"city":' }],
      [{ index: 0, name: 'get_weather', args: '"Oslo"}' }],
    ],
    ran: [weather('Oslo')],
    ids: [one],
  },
  {
    promise: 'name_in_pieces: puts a name together that is sent in pieces',
    pieces: [
      [{ index: 0, id: one, name: 'get_' }],
      [{ index: 0, name: 'weather' }],
      [{ index: 0, args: oslo }],
    ],
    ran: [weather('Oslo')],
    ids: [one],
  },
  {
    promise: 'empty_later: later pieces with an empty name, an empty id and no index continue the call',
    pieces: [
      [{ index: 0, ...weatherCall, args: '' }],
      [{ id: '', name: '', args: '{"city":' }],
      [{ id: '', name: '', args: '"Oslo"}' }],
    ],
    ran: [weather('Oslo')],
    ids: [one],
  },
  {
    promise: 'args_object: takes arguments that are an object already',
    pieces: [
      [{ index: 0, ...weatherCall, args: { city: 'Oslo' } }],
      [{ index: 1, id: two, name: 'get_time', args: {} }],
    ],
    ran: [weather('Oslo'), time],
    ids: [one, two],
  },
  {
    promise: 'args_null_early: null among the pieces is an empty piece',
    pieces: [
      [{ index: 0, ...weatherCall, args: null }],
      [{ index: 0, args: oslo }],
      [{ index: 0, args: null }],
    ],
    ran: [weather('Oslo')],
    ids: [one],
  },
  ...([null, '', ' ', 'null', '{}', undefined] as const).map(
    (args): CallHabit => ({
      promise: `args_none: a tool without arguments runs when they are ${JSON.stringify(args) ?? 'missing'}`,
      pieces: [[{ index: 0, id: one, name: 'get_time', ...(args !== undefined && { args }) }]],
      ran: [time],
      ids: [one],
    }),
  ),
  {
    promise: 'interleaved: pieces of two calls in turns each reach their own',
    pieces: [
      [{ index: 0, ...weatherCall, args: '' }],
      [{ index: 1, id: two, name: 'get_weather', args: '' }],
      [{ index: 1, args: '{"city":"Ro' }],
      [{ index: 0, args: '{"city":"Os' }],
      [{ index: 1, args: 'me"}' }],
      [{ index: 0, args: 'lo"}' }],
    ],
    ran: [weather('Oslo'), weather('Rome')],
    ids: [one, two],
  },
  {
    promise: 'several_at_once: two calls in one event are two calls',
    pieces: [
      [
        { index: 0, ...weatherCall, args: oslo },
        { index: 1, id: two, name: 'get_weather', args: rome },
      ],
    ],
    ran: [weather('Oslo'), weather('Rome')],
    ids: [one, two],
  },
  {
    promise: 'sent_twice: a call that is sent once more as a whole runs once',
    pieces: [
      [{ index: 0, ...weatherCall, args: '' }],
      [{ index: 0, args: oslo }],
      [{ index: 0, ...weatherCall, args: oslo }],
    ],
    ran: [weather('Oslo')],
    ids: [one],
  },
]

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const idOf = (outcome: Outcome): string[] => outcome.result.messages.flatMap(toolCallsOf).map(({ id }) => id)

/** The calls of these events are put together as the habit says, run, and go back. */
export const expectCalls = async (
  wire: Wire,
  events: readonly string[],
  { ran, ids }: CallHabit,
): Promise<void> => {
  const outcome = await loop(wire, events)

  expect(outcome.error).toBeUndefined()
  expect(callsRun(outcome)).toEqual(ran)
  expect(outcome.ran.map(({ id }) => id)).toEqual(idOf(outcome))
  expect(idOf(outcome)).toEqual(ids.map((id) => id ?? expect.stringMatching(uuid)))
  expect(outcome.result.output).toBe(farewell)
  expect(outcome.result.finishReason).toBe('stop')
  expect(outcome.bodies).toHaveLength(2)

  const sent = wire.sentCalls(outcome.bodies[1] ?? {})
  const made = wire === mistral ? /^[a-zA-Z0-9]{9}$/ : uuid
  expect(sent.map(({ id }) => id)).toEqual(ids.map((id) => id ?? expect.stringMatching(made)))
  expect(sent.map(({ name, args }) => [name, args])).toEqual(ran)
}
