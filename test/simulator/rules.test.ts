// The simulator's rules, one by one: which calls a question asks for, and what fills a schema.
import { Validator } from '@cfworker/json-schema'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { JsonObject } from '../../src/messages/json.ts'
import { fillSchema } from '../../src/simulator/fillSchema.ts'
import { planCalls } from '../../src/simulator/rules.ts'

const object = (properties: JsonObject, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
})
const text = { type: 'string' }

const tools = [
  { name: 'get_weather', parameters: object({ city: text }) },
  { name: 'current_time', parameters: object({ zone: text }) },
  { name: 'calculator', parameters: object({ expression: text }) },
  { name: 'read_file', parameters: object({ path: text }) },
  { name: 'find_order', parameters: object({ number: { type: 'integer' } }) },
  { name: 'sendMessage', parameters: object({ person: text, message: text }) },
]

it.each<[string, string[]]>([
  ['What is the weather in Oslo?', ['get_weather Oslo']],
  [
    'The weather in New York, Rome and Lima.',
    ['get_weather New York', 'get_weather Rome', 'get_weather Lima'],
  ],
  ['The weather and the time in Oslo?', ['get_weather Oslo', 'current_time Oslo']],
  ['What is the weather in Oslo? And the time in Tokyo?', ['get_weather Oslo', 'current_time Tokyo']],
  ['What is the time? I am in Tokyo.', ['current_time Tokyo']],
  ['What is (3+4)*2/7, and what is 2^10?', ['calculator (3+4)*2/7', 'calculator 2^10']],
  ['Read docs/guide.md and package.json', ['read_file docs/guide.md', 'read_file package.json']],
  ['Please find the orders 12 and 13.', ['find_order 12']],
  ['Send a message to Ada: "Hello there"', ['sendMessage Hello there Hello there']],
  ['The weather, please.', []],
  ['Tell me a story', []],
  ['I read a book in Rome', []],
])('%s', (question, wanted) => {
  const { calls } = planCalls(question, tools)
  expect(calls.map(({ name, arguments: args }) => [name, ...Object.values(args)].join(' '))).toEqual(wanted)
})

it('reports the tools that are named, but lack an argument', () => {
  expect(planCalls('The weather, please.', tools).lacking.map(({ name }) => name)).toEqual(['get_weather'])
})

it('leaves optional arguments out, unless the question has them', () => {
  const unit = { type: 'string', enum: ['celsius', 'fahrenheit'] }
  const weather = { name: 'weather', parameters: object({ city: text, unit }, ['city']) }
  const calls = (question: string) => planCalls(question, [weather]).calls
  expect(calls('Weather in Oslo?')).toEqual([{ name: 'weather', arguments: { city: 'Oslo' } }])
  expect(calls('Weather in Oslo in fahrenheit?')).toEqual([
    { name: 'weather', arguments: { city: 'Oslo', unit: 'fahrenheit' } },
  ])
})

const bounded = fc
  .tuple(fc.integer({ min: -1000, max: 1000 }), fc.nat(1000))
  .map(([minimum, room]): JsonObject => ({ type: 'integer', minimum, maximum: minimum + room }))

const schemas = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<JsonObject>(
      { type: 'string' },
      { type: 'boolean' },
      { type: 'number' },
      { type: 'null' },
      { type: ['integer', 'null'] },
      { type: 'string', format: 'date' },
      { type: 'string', format: 'email' },
      { type: 'string', format: 'uri' },
      { type: 'string', format: 'uuid' },
      { const: 7 },
      { enum: ['a', 'b'] },
      { $ref: '#/$defs/place' },
    ),
    bounded,
    fc.nat(40).map((minLength): JsonObject => ({ type: 'string', minLength, maxLength: minLength + 3 })),
    fc
      .tuple(tie('schema'), fc.nat(3))
      .map(([items, minItems]): JsonObject => ({ type: 'array', items, minItems, maxItems: minItems + 1 })),
    tie('schema').map((inner): JsonObject => ({ anyOf: [{ type: 'null' }, inner] })),
    fc
      .dictionary(
        fc.constantFrom('city', 'name', 'age', 'path', 'url', 'summary', 'x', 'toString'),
        tie('schema'),
      )
      .map((properties) => object(properties)),
  ),
})).schema

it('fills any schema with a value that fits it', () => {
  const $defs = { place: { type: 'object', properties: { city: text }, required: ['city'] } }
  fc.assert(
    fc.property(
      schemas,
      fc.constantFrom('', 'Weather in Oslo and Rome?', 'Ada is 36 years old.'),
      (schema, question) => {
        const whole = { ...schema, $defs }
        const source = {
          text: question,
          records: [{ city: 'Oslo', age: 36.5, name: null }],
          sentence: 'All is well.',
        }
        const { valid, errors } = new Validator(whole, '2020-12').validate(fillSchema(whole, source).value)
        expect(errors.map(({ error }) => error)).toEqual([])
        expect(valid).toBe(true)
      },
    ),
    { numRuns: 300 },
  )
})
