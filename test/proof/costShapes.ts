import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import { type Dice, dice } from './dice.ts'

// Shapes of input that cost most, chosen by a seed: a shape is the same at every size, and only grows.

export const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

type Shape<T> = (size: number) => T

/** A text whose characters are of one to four bytes, or halves of a character. */
const word = (random: Dice): string => random.pick(['a', 'é', '😀', '\ud83d', '"\\', ' '])

const value = (random: Dice): Shape<JsonValue> =>
  random.pick<Shape<JsonValue>>([
    () => 'ok',
    (size) => 'x'.repeat(size % 50),
    () => range(200).reduce<JsonValue>((inner) => [inner], 1),
    () => Object.fromEntries(range(20).map((index) => [`k${19 - index}`, index])),
    () => ({ ['n'.repeat(200)]: '😀' }),
  ])

const leaves: readonly Shape<JsonObject>[] = [
  (n) => ({ enum: range(n) }),
  (n) => ({ enum: range(n).map((each) => `value ${each}`) }),
  (n) => ({ const: range(n) }),
  (n) => ({ description: '😀'.repeat(3 * n) }),
  (n) => ({ required: range(n).map((each) => `p${each}`) }),
  (n) => ({ properties: { ['k'.repeat(4 * n)]: {} } }),
  (n) => ({ properties: Object.fromEntries(range(n).map((each) => [`p${each}`, { type: 'string' }])) }),
  (n) => ({ pattern: '(a'.repeat(n) + ')'.repeat(n) }),
  (n) => ({ patternProperties: Object.fromEntries(range(n).map((each) => [`^p${each}`, {}])) }),
  (n) => ({ dependentRequired: Object.fromEntries(range(n).map((each) => [`p${each}`, ['a']])) }),
  () => ({ $ref: '#/$defs/a' }),
  () => ({ $ref: '#' }),
]

/** Wraps a schema level by level; deeper than that is refused. */
const nested = (n: number, inner: JsonObject, wrap: (inner: JsonObject, level: number) => JsonObject) =>
  range(Math.min(n, 80)).reduce(wrap, inner)

const schemaPart = (random: Dice, depth: number): Shape<JsonObject> => {
  if (depth === 0) return random.pick(leaves)
  const [one, two] = [schemaPart(random, depth - 1), schemaPart(random, depth - 1)]
  return random.pick<Shape<JsonObject>>([
    (n) => ({ anyOf: range(n).map((minimum) => ({ minimum })), ...one(n) }),
    (n) => ({ anyOf: range(n).map((each) => ({ ...two(1), title: `t${each}` })), ...one(n) }),
    (n) => ({ oneOf: range(n).map((each) => ({ const: each })), ...one(n) }),
    (n) => ({ allOf: range(n).map((each) => ({ properties: { [`q${each}`]: {} } })), ...one(n) }),
    (n) => ({ allOf: range(n).map((minimum) => ({ properties: { q: { minimum } } })), ...one(n) }),
    (n) => ({ allOf: [one(n), two(n)] }),
    (n) => ({ anyOf: [one(n), two(n)] }),
    (n) => ({ items: one(n), ...two(n) }),
    (n) => ({ prefixItems: range(n).map((each) => ({ const: each })), items: one(n) }),
    (n) => ({ additionalProperties: one(n), ...two(n) }),
    (n) => ({
      properties: Object.fromEntries(
        range(n).map((each) => [`p${each}`, { $ref: '#/$defs/a', title: `t${each}` }]),
      ),
      ...one(n),
    }),
    (n) => nested(n, one(n), (inner, level) => ({ properties: { a: inner }, title: `t${level}` })),
    (n) => nested(n, one(n), (inner, level) => ({ anyOf: [inner, { const: level }] })),
    (n) => nested(n, one(n), (inner, minimum) => ({ allOf: [inner, { minimum }] })),
  ])
}

/** A schema with definitions, some of which refer to each other in a chain, in a circle, or twice at each step. */
export const schemaShape = (seed: number): Shape<JsonObject> => {
  const random = dice(seed)
  const [root, named] = [schemaPart(random, 1 + random.below(3)), schemaPart(random, 1)]
  const chain = random.below(3)
  const steps = (n: number) => (chain === 2 ? Math.min(n, 40) : n)
  const next = (at: number, n: number) => ({ $ref: `#/$defs/d${(at + 1) % steps(n)}`, title: 'x' })
  const step = (at: number, n: number): JsonObject =>
    chain === 1 ? next(at, n) : { properties: { left: next(at, n), right: next(at, n) } }
  return (n) => {
    const { properties = {}, ...rest } = root(n)
    const chained = chain === 0 ? [] : range(steps(n)).map((at) => [`d${at}`, step(at, n)] as const)
    const linked = chain === 0 ? {} : { chained: { $ref: '#/$defs/d0' } }
    return {
      ...rest,
      properties: { ...Object(properties), ...linked },
      $defs: { a: named(n), ...Object.fromEntries(chained) },
    }
  }
}

/** Arguments of a call. */
export const argumentsShape = (seed: number): Shape<JsonObject> => {
  const random = dice(seed)
  const each = value(random)
  return random.pick<Shape<JsonObject>>([
    (n) => ({ a: range(n).map((index) => -index), q: 1 }),
    (n) => Object.fromEntries(range(n).map((index) => [`p${index}`, each(n)])),
    (n) => ({ q: range(n).map(() => each(n)), chained: { left: {}, right: {} } }),
  ])
}

/** A call as a page shows it. */
const callPart = (id: string, input: JsonValue, state: string): JsonObject => ({
  type: 'tool-ask',
  toolCallId: id,
  state,
  input,
  output: 'yes',
  approval: { id: `question ${id}`, approved: true },
})

/** The conversation of a page, in the form of the AI SDK. Its last message may decide on calls. */
export const pageShape = (seed: number): Shape<{ messages: JsonObject[]; calls: string[] }> => {
  const random = dice(seed)
  const [text, input] = [word(random), value(random)]
  const state = random.pick(['approval-responded', 'output-available', 'output-error', 'output-denied'])
  const idOf = random.pick<(index: number) => string>([(i) => `c${i}`, (i) => `c${i % 7}`, () => '__proto__'])
  const user = (parts: JsonObject[]): JsonObject => ({ id: 'u', role: 'user', parts })
  const answer = (parts: JsonObject[]): JsonObject => ({ id: 'a', role: 'assistant', parts })
  const texts = (n: number) => range(n).map(() => ({ type: 'text', text }))
  const calls = (n: number) => range(n).map((index) => callPart(idOf(index), input(n), state))
  const steps = (n: number) => calls(n).flatMap((call) => [{ type: 'step-start' }, call])
  const body = random.pick<Shape<JsonObject[]>>([
    (n) => [user(texts(n)), user(texts(n)), answer(calls(1))],
    (n) => [...range(n).flatMap(() => [user(texts(1)), answer(texts(1))]), answer(calls(1))],
    (n) => [user(texts(1)), answer(calls(n))],
    (n) => [user(texts(1)), answer(steps(n))],
    (n) => [...range(n).map((index) => answer([callPart(idOf(index), input(n), state)]))],
    (n) => [
      user(range(n).map(() => ({ type: 'file', url: 'data:image/png;base64,AAAA' }))),
      answer(calls(n)),
    ],
  ])
  return (n) => ({ messages: body(n), calls: range(n).map(idOf) })
}

/** A thread of AG-UI, whose results answer calls. */
export const threadShape = (seed: number): Shape<{ messages: JsonObject[]; calls: string[] }> => {
  const random = dice(seed)
  const [text, input] = [word(random), value(random)]
  const made = (id: string, n: number) => ({
    id,
    function: { name: 'ask', arguments: JSON.stringify({ v: input(n) }) },
  })
  const result = (id: string): JsonObject => ({ role: 'tool', toolCallId: id, content: text })
  const user: JsonObject = { role: 'user', content: text }
  const body = random.pick<Shape<JsonObject[]>>([
    (n) => [
      user,
      { role: 'assistant', toolCalls: range(n).map((i) => made(`c${i}`, n)) },
      ...range(n).map((i) => result(`c${i}`)),
    ],
    (n) => [
      user,
      ...range(n).flatMap((i) => [{ role: 'assistant', toolCalls: [made(`c${i}`, n)] }, result(`c${i}`)]),
    ],
    (n) => [
      ...range(n).map(() => user),
      { role: 'assistant', toolCalls: [made('c0', n)] },
      ...range(n).map(() => result('c0')),
    ],
    (n) => [
      { role: 'user', content: range(n).map(() => ({ type: 'text', text })) },
      { ...user, content: range(n).map(() => ({ text })) },
      result('c0'),
    ],
  ])
  return (n) => ({ messages: body(n), calls: range(n).map((index) => `c${index}`) })
}

/** The messages of a client of OpenAI. */
export const openaiShape = (seed: number): Shape<JsonObject[]> => {
  const random = dice(seed)
  const text = word(random)
  const made = (index: number) => ({ id: `c${index}`, function: { name: 'ask', arguments: '{}' } })
  const result = (index: number): JsonObject => ({ role: 'tool', tool_call_id: `c${index}`, content: text })
  const last: JsonObject = { role: 'user', content: 'And?' }
  return random.pick<Shape<JsonObject[]>>([
    (n) => [...range(n).map(() => ({ role: 'assistant', content: text })), last],
    (n) => [...range(n).map(() => ({ role: 'system', content: text })), last],
    (n) => [
      { role: 'assistant', content: text },
      { role: 'assistant', content: range(n).map(() => ({ text })) },
      last,
    ],
    (n) => [{ role: 'assistant', tool_calls: range(n).map(made) }, ...range(n).map(result), last],
    (n) => [
      ...range(n).flatMap((i): JsonObject[] => [{ role: 'assistant', tool_calls: [made(i)] }, result(i)]),
      last,
    ],
    (n) => [
      ...range(n).map((i): JsonObject => ({ role: i % 2 === 0 ? 'user' : 'assistant', content: text })),
      last,
    ],
  ])
}

/** The content of an MCP result. */
export const resultShape = (seed: number): Shape<JsonObject> => {
  const random = dice(seed)
  const [text, each] = [word(random), value(random)]
  const block = random.pick<(n: number) => JsonObject>([
    () => ({ type: 'text', text }),
    (n) => ({ type: 'text', text: JSON.stringify(each(n)) }),
    () => ({ type: 'image', data: 'AAAA', mimeType: 'image/png' }),
    () => ({ type: 'resource', resource: { uri: 'file:///a', text } }),
    () => ({ type: 'resource_link', uri: 'https://example.com/a', name: text }),
    (n) => ({ type: 'unknown', each: each(n) }),
  ])
  return (n) => ({ content: range(n).map(() => block(n)), structuredContent: { list: range(n) } })
}

/** Events of an answer in the form of chat completions: many small ones of one kind, or of two that take turns. */
export const eventShape = (seed: number): Shape<string[]> => {
  const random = dice(seed)
  const text = word(random)
  const call = (index: number, id: string, args: string): JsonObject => ({
    tool_calls: [{ index, id, function: { name: 'ask', arguments: args } }],
  })
  const kinds: readonly ((at: number) => JsonObject)[] = [
    () => ({ content: text }),
    () => ({ reasoning_content: text }),
    (at) => call(at, `c${at}`, '{}'),
    (at) => call(0, `c${at}`, '{}'),
    (at) => call(at, 'c', `{"a":${at}}`),
    () => ({ tool_calls: [{ index: 0, id: 'c', function: { name: 'ask', arguments: ' ' } }] }),
    (at) => ({
      tool_calls: [{ index: at % 50, id: `c${at % 50}`, function: { name: 'ask', arguments: ' ' } }],
    }),
    (at) => ({ annotations: [{ type: 'url_citation', url_citation: { url: `https://example.com/${at}` } }] }),
    (at) => ({
      reasoning_details: [{ type: 'reasoning.encrypted', data: `${at}`, id: `i${at}`, index: at }],
    }),
    (at) => ({ images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,AAA${at}` } }] }),
    () => ({ content: '<think' }),
  ]
  const [one, other] = [random.pick(kinds), random.pick(kinds)]
  return (n) =>
    range(n).map((at) =>
      JSON.stringify({ id: 'r', choices: [{ index: 0, delta: (at % 2 === 0 ? one : other)(at) }] }),
    )
}

/** Messages of a stored run, some of them equal. */
export const storedShape = (seed: number): Shape<JsonObject[]> => {
  const random = dice(seed)
  const [text, kinds, each] = [word(random), 1 + random.below(5), value(random)]
  return (n) =>
    range(n).map((index) => ({
      role: index % 2 === 0 ? 'user' : 'model',
      parts: [
        { type: 'text', text: text.repeat(1 + (index % kinds)) },
        { type: 'toolCall', id: `c${index % kinds}`, name: 'ask', arguments: { each: each(n) } },
      ],
    }))
}
