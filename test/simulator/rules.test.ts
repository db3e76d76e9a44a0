// The simulator's rules, one by one: which calls a question asks for, and what fills a schema.
import { Validator } from '@cfworker/json-schema'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { JsonObject } from '../../src/messages/json.ts'
import { factsOf } from '../../src/simulator/facts.ts'
import { fillSchema } from '../../src/simulator/fillSchema.ts'
import { planCalls } from '../../src/simulator/planCalls.ts'

const object = (properties: JsonObject, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
})
const text = { type: 'string' }

const tools = [
  { name: 'get_weather', description: 'Current weather in a city', parameters: object({ city: text }) },
  { name: 'current_time', description: 'The time in a zone or city', parameters: object({ zone: text }) },
  { name: 'calculator', description: 'Calculates an expression', parameters: object({ expression: text }) },
  {
    name: 'convert_units',
    description: 'Converts measures',
    parameters: object({ value: { type: 'number' }, from: text, to: text }),
  },
  { name: 'read_file', description: 'Reads a text file', parameters: object({ path: text }) },
  {
    name: 'send_mail',
    description: 'Sends mail',
    parameters: object({ to_address: { ...text, format: 'email' }, text }),
  },
]

it.each<[string, string[]]>([
  ['What is the weather in Oslo?', ['get_weather Oslo']],
  ['weather and time in bergen', ['get_weather Bergen', 'current_time Bergen']],
  ['How warm is it in New York and Rio de Janeiro?', ['get_weather New York', 'get_weather Rio de Janeiro']],
  [
    'Compare the weather of Oslo, Rome and Paris.',
    ['get_weather Oslo', 'get_weather Rome', 'get_weather Paris'],
  ],
  ['What is the weather in Oslo and the time in Tokyo?', ['get_weather Oslo', 'current_time Tokyo']],
  ['What is 12 times 7?', ['calculator 12 * 7']],
  ['What is (3+4)*2/7, and what is 2^10?', ['calculator (3+4)*2/7', 'calculator 2^10']],
  ['What is 17.5% of 2,480?', ['calculator 17.5 / 100 * 2480']],
  ['What is the square root of 144?', ['calculator sqrt(144)']],
  ['Convert 5 miles to km', ['convert_units 5 miles km']],
  ['How many kilometres are 26.2 miles?', ['convert_units 26.2 miles kilometres']],
  ['Summarise docs/guide.md and package.json', ['read_file docs/guide.md', 'read_file package.json']],
  ['Send mail to ada@example.com: "Hello there"', ['send_mail ada@example.com Hello there']],
  ['Tell me a story', []],
  ['I read a book in Rome', []],
])('%s', (question, wanted) => {
  const { calls } = planCalls(question, tools)
  expect(calls.map(({ name, arguments: args }) => [name, ...Object.values(args)].join(' '))).toEqual(wanted)
})

it('leaves optional arguments out, unless the question has them', () => {
  const unit = { type: 'string', enum: ['celsius', 'fahrenheit'] }
  const [weather] = tools
  const parameters = object({ city: text, unit }, ['city'])
  const calls = (question: string) =>
    planCalls(question, [{ name: 'weather', description: weather?.description ?? '', parameters }]).calls
  expect(calls('Weather in Oslo?')).toEqual([{ name: 'weather', arguments: { city: 'Oslo' } }])
  expect(calls('Weather in Oslo in Fahrenheit?')).toEqual([
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
          facts: factsOf(question),
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
