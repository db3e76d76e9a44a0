import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { OutputValidationError } from '../../src/messages/errors.ts'
import type { ChatResult } from '../../src/messages/result.ts'
import type { ModelProfile } from '../../src/model/chatModel.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { weather } from '../engine/sampleTools.ts'
import { rejection } from '../engine/watching.ts'

const trip = z.object({
  city: z.string(),
  days: z.array(z.object({ high: z.number(), note: z.string().nullable() })),
  isWarm: z.boolean(),
})
const oslo: z.infer<typeof trip> = {
  city: 'Oslo "by\tthe" fjörd 🌊',
  days: [
    { high: 21.5, note: null },
    { high: -3, note: '\\o/' },
  ],
  isWarm: true,
}
const call: ScriptTurn = [
  { text: 'Let me look at the 5" {screen' },
  { toolCall: { id: 'w', name: 'get_weather', arguments: { city: 'Oslo' } } },
]

const inPieces = (json: string, sizes: readonly number[]): ScriptTurn => {
  const steps: { text: string }[] = []
  for (let at = 0, turn = 0; at < json.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1
    steps.push({ text: json.slice(at, at + size) })
    at += size
  }
  return steps
}

/** What is known of a value may grow, but never turns into something else. */
const isPrefix = (part: unknown, whole: unknown): boolean => {
  if (part === undefined) return true
  if (typeof part === 'string') return typeof whole === 'string' && whole.startsWith(part)
  if (Array.isArray(part)) return Array.isArray(whole) && part.every((item, at) => isPrefix(item, whole[at]))
  if (typeof part !== 'object' || part === null) return part === whole
  return Object.entries(part).every(([key, item]) => isPrefix(item, (whole as Record<string, unknown>)[key]))
}

const partials = async <T>(stream: AsyncIterable<ChatResult<T>>): Promise<ChatResult<T>[]> => {
  const all: ChatResult<T>[] = []
  for await (const chunk of stream) all.push(chunk)
  return all
}

/** The values shown since the last restart. */
const valid = <T>(chunks: ChatResult<T>[]): T[] =>
  chunks
    .slice(chunks.findLastIndex(({ metadata }) => metadata.restart === true) + 1)
    .map(({ output }) => output)

const strategies: [string, Partial<ModelProfile>, (json: ScriptTurn) => ScriptTurn[]][] = [
  ['native', {}, (json) => [call, json]],
  ['in two phases', { schemaWithTools: false }, (json) => [call, 'It is warm.', json]],
]

describe.each(strategies)('a typed stream, %s', (_, profile, turnsWith) => {
  test('each value is a prefix of the last one, wherever the reads are cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 }),
        async (sizes) => {
          const model = scriptedModel(turnsWith(inPieces(JSON.stringify(oslo), sizes)), { profile })
          const chunks = await partials(new Agent(model, { tools: [weather] }).sendStreamFor('Oslo', trip))
          expect(chunks.at(-1)?.output).toEqual(oslo)
          for (const output of valid(chunks)) expect([output, isPrefix(output, oslo)]).toEqual([output, true])
        },
      ),
      { numRuns: 12 },
    )
  })

  test('text is shown as it grows, and has no newline in front of the JSON', async () => {
    const model = scriptedModel(turnsWith(inPieces(JSON.stringify(oslo), [4])), { profile })
    const cities = valid(await partials(new Agent(model, { tools: [weather] }).sendStreamFor('Oslo', trip)))
      .map((output) => output?.city)
      .filter((city) => city !== undefined)
    expect(new Set(cities).size).toBeGreaterThan(4)
    expect(cities.at(-1)).toBe(oslo.city)
  })

  test('starts over with a correction, and ends with the corrected value', async () => {
    const wrong = { ...oslo, isWarm: 'very' }
    const turns = turnsWith(inPieces(JSON.stringify(wrong), [30]))
    const model = scriptedModel([...turns, inPieces(JSON.stringify(oslo), [30])], { profile })
    const chunks = await partials(new Agent(model, { tools: [weather] }).sendStreamFor('Oslo', trip))
    const restart = chunks.find(({ metadata }) => metadata.restart === true)
    expect(restart?.output).toBeUndefined()
    expect(JSON.stringify(valid(chunks))).not.toContain('very')
    expect(chunks.at(-1)?.output).toEqual(oslo)
    model.assertDone()
  })
})

describe('a typed stream', () => {
  test('of text that the model said before it called tools holds nothing of it', async () => {
    const model = scriptedModel([call, JSON.stringify(oslo)])
    const chunks = await partials(new Agent(model, { tools: [weather] }).sendStreamFor('Oslo', trip))
    expect(valid(chunks).every((output) => isPrefix(output, oslo))).toBe(true)
    expect(chunks.findIndex(({ metadata }) => metadata.restart === true)).toBeGreaterThan(0)
  })

  const roots = [
    ['a list', z.array(z.string()), ['a', 'b']],
    ['a text', z.string(), 'abc'],
    ['a number', z.number(), 42],
    [
      'one of two objects',
      z.union([z.object({ a: z.string() }), z.object({ value: z.number() })]),
      { value: 5 },
    ],
  ] as const

  test.each(roots)('may be %s, native', async (_, schema, value) => {
    const model = scriptedModel([inPieces(JSON.stringify({ value }), [3])])
    const chunks = await partials(new Agent(model).sendStreamFor('x', schema))
    expect(chunks.at(-1)?.output).toEqual(value)
    expect(chunks.every(({ output }) => isPrefix(output, value))).toBe(true)
  })

  test.each(roots)('may be %s, through return_result', async (_, schema, value) => {
    const turn = (): ScriptTurn => [
      { text: 'Here: {"value":"x"}' },
      { toolCall: { id: 'r', name: 'return_result', arguments: JSON.parse(JSON.stringify({ value })) } },
    ]
    const model = scriptedModel([turn()], { profile: { nativeSchema: false } })
    const chunks = await partials(new Agent(model).sendStreamFor('x', schema))
    expect(chunks.map(({ output }) => output).filter((output) => output !== undefined)).toEqual(
      expect.arrayContaining([value]),
    )
    expect(chunks.every(({ output }) => isPrefix(output, value))).toBe(true)
  })

  test.each([
    [
      'return_result',
      { nativeSchema: false },
      [call, [{ text: 'So.' }, { toolCall: { id: 'r', name: 'return_result', arguments: { n: 1 } } }]],
    ],
    ['two phases', { schemaWithTools: false }, [call, 'So.', '{"n":1}']],
  ] satisfies [string, Partial<ModelProfile>, ScriptTurn[]][])(
    'shows suppressed text once, as metadata: %s',
    async (_, profile, turns) => {
      const agent = () => new Agent(scriptedModel(turns, { profile }), { tools: [weather] })
      const chunks = await partials(agent().sendStreamFor('x', z.object({ n: z.number() })))
      const reported = chunks.flatMap(({ metadata }) => metadata.suppressedText ?? [])
      expect(reported).toEqual(['Let me look at the 5" {screen\nSo.'])
      const { metadata } = await agent().sendFor('x', z.object({ n: z.number() }))
      expect(metadata.suppressedText).toBe(reported[0])
    },
  )

  test('that never fits throws after its last chunk, with what the model said', async () => {
    const model = scriptedModel(['{"n":"a"}', '{"n":"b"}'])
    const stream = new Agent(model).sendStreamFor('x', z.object({ n: z.number() }))
    const error = await rejection(partials(stream), OutputValidationError)
    expect(error.rawOutput).toBe('{"n":"b"}')
  })
})
