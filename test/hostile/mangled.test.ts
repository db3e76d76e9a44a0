import { describe, expect, test } from 'vitest'
import { isJsonObject, type JsonValue } from '../../src/messages/json.ts'
import { isWhole } from '../proof/sample.ts'
import { callsRun, lastTurn, run, time, weather, wires } from './hostileRun.ts'
import { answer, type Wire } from './wire.ts'

// One field of one event holds something unexpected: the run ends as an answer or as a typed error, its
// history is usable, and no tool runs with arguments the model did not give.

const oddities: JsonValue[] = [null, '', 'odd', 0, -1, 1.5, true, [], [null], {}, { odd: [] }, '__proto__']

/** Every place of a document, as the path to it. What the arguments say is up to the model. */
const placesIn = (value: JsonValue, path: string[] = []): string[][] => {
  if (Array.isArray(value))
    return value.flatMap((item, at) => [[...path, `${at}`], ...placesIn(item, [...path, `${at}`])])
  if (!isJsonObject(value) || /^(args|arguments)$/.test(path.at(-1) ?? '')) return []
  return Object.entries(value).flatMap(([key, item]) => [[...path, key], ...placesIn(item, [...path, key])])
}

const withOddity = (value: JsonValue, [key = '', ...rest]: string[], oddity: JsonValue): JsonValue => {
  const inner = (item: JsonValue) => (rest.length === 0 ? oddity : withOddity(item, rest, oddity))
  if (Array.isArray(value)) return value.map((item, at) => (`${at}` === key ? inner(item) : item))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, name === key ? inner(item) : item]),
  )
}

type Mangled = { place: string; events: string[] }

const mangledIn = (wire: Wire): Mangled[] => {
  const events = wire.events({
    text: 'Let me look.',
    calls: [
      { id: 'call_1', name: 'get_weather', args: '{"city":"Oslo"}' },
      { id: 'call_2', name: 'get_time', args: '{}' },
    ],
  })
  return events.flatMap((event, at) => {
    const json = /\{.*\}/.exec(event)?.[0]
    if (json === undefined) return []
    const document: JsonValue = JSON.parse(json)
    return placesIn(document).flatMap((path) =>
      oddities.map((oddity) => ({
        place: `event ${at}, ${path.join('.')} = ${JSON.stringify(oddity)}`,
        events: events.with(
          at,
          event.replace(json, () => JSON.stringify(withOddity(document, path, oddity))),
        ),
      })),
    )
  })
}

/** Every so many of a list: all of them take minutes. */
const share = isWhole ? 1 : 97

describe.each(wires)('$model', (wire) => {
  test('mangled: any odd field anywhere ends in an answer or a typed error', async () => {
    const all = mangledIn(wire)
    for (let at = wires.indexOf(wire) % share; at < all.length; at += share) {
      const { place, events = [] } = all[at] ?? {}
      const next = lastTurn(wire)
      const outcome = await run(wire, [answer(wire, events), next, next], { reusesIds: true }).catch(
        (cause) => {
          throw new Error(place, { cause })
        },
      )
      if (outcome.error) expect([place, outcome.error.name]).toEqual([place, 'ModelError'])
      expect([place, outcome.error]).not.toEqual([
        place,
        expect.objectContaining({ code: 'undecodable_event' }),
      ])
      for (const each of callsRun(outcome))
        expect([place, [weather('Oslo'), time]]).toEqual([place, expect.arrayContaining([each])])
      expect(outcome.bodies.length).toBeLessThanOrEqual(3)
    }
  })
})
