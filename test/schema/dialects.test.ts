/** A schema as it is written for one API, case by case. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  anthropicAnswerDialect,
  anthropicGrammar,
  anthropicToolDialect,
  cohereAnswerDialect,
  cohereDialect,
  compatibleDialect,
  geminiDialect,
  ollamaToolDialect,
  openaiDialect,
  openaiStrict,
} from '../../providers/wire/schemaDialects.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { Dialect } from '../../src/schema/dialect.ts'
import { isEnforceable } from '../../src/schema/enforceable.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { compileSchema } from '../../src/tools/schema.ts'

/** A member of an object as it is written. */
const said = (member: JsonObject, dialect: Dialect, more: JsonObject = {}) => {
  const { properties } = toDialect({ type: 'object', properties: { it: member }, ...more }, dialect)
  return (properties as JsonObject).it
}

const of = (schema: z.ZodType) => compileSchema(schema, 'The schema').jsonSchema

const every: [string, Dialect][] = [
  ['openai', openaiDialect],
  ['compatible', compatibleDialect],
  ['anthropic tool', anthropicToolDialect],
  ['anthropic answer', anthropicAnswerDialect],
  ['gemini', geminiDialect],
  ['ollama', ollamaToolDialect],
  ['cohere', cohereDialect],
]

describe.each(every)('in every dialect (%s)', (_, dialect) => {
  it('an object with members is at the root of every schema', () => {
    expect(toDialect({}, dialect)).toEqual({ type: 'object', properties: {} })
    expect(toDialect({ type: 'array', items: { type: 'string' } }, dialect)).toEqual({
      type: 'object',
      properties: {},
    })
  })

  it('a union at the root is one object, and the description says what belongs together', () => {
    const sent = toDialect(
      of(
        z.discriminatedUnion('kind', [
          z.object({ kind: z.literal('add'), text: z.string() }),
          z.object({ kind: z.literal('remove'), text: z.number(), soon: z.boolean().optional() }),
        ]),
      ),
      dialect,
    )
    expect(sent).toMatchObject({
      type: 'object',
      description: '(one of: { kind: "add", text } or { kind: "remove", text, soon? })',
      properties: {
        kind: { type: 'string', enum: ['add', 'remove'] },
        text: { anyOf: [{ type: 'string' }, { type: 'number' }] },
        soon: { type: 'boolean' },
      },
      required: ['kind', 'text'],
    })
    expect(sent).not.toHaveProperty('anyOf')
    expect(sent).not.toHaveProperty('oneOf')
  })

  it('a union at the root is found behind references, intersections and other unions', () => {
    const a = { type: 'object', properties: { a: { type: 'string' } } }
    const b = { type: 'object', properties: { b: { type: 'string' } } }
    const sent = toDialect(
      {
        allOf: [{ $ref: '#/$defs/choice' }],
        properties: { all: { type: 'boolean' } },
        required: ['all'],
        $defs: { choice: { oneOf: [{ $ref: '#/$defs/a' }, { anyOf: [b, { type: 'string' }] }] }, a },
      },
      dialect,
    )
    expect(Object.keys(sent.properties as JsonObject).sort()).toEqual(['a', 'all', 'b'])
    expect(sent.required).toEqual(['all'])
  })

  it('a map whose names are known is an object, and propertyNames is not sent', () => {
    expect(said(of(z.record(z.enum(['p', 'q']), z.string())), dialect)).toMatchObject({
      type: 'object',
      properties: { p: { type: 'string' }, q: { type: 'string' } },
      required: ['p', 'q'],
    })
    expect(JSON.stringify(said(of(z.record(z.string(), z.string())), dialect))).not.toContain('propertyNames')
  })

  it('the parts of an intersection are one schema', () => {
    const part = (name: string, more: JsonObject = {}) => ({
      type: 'object',
      properties: { [name]: { type: 'string' }, n: { type: 'number', ...more } },
      required: [name],
    })
    const sent = toDialect({ allOf: [part('a', { minimum: 1 }), part('b', { minimum: 5 })] }, dialect)
    expect(sent.required).toEqual(['a', 'b'])
    expect(JSON.stringify(sent)).toMatch(/minimum"?: ?5/)
  })

  it('a property called __proto__ is a property like any other', () => {
    const schema = JSON.parse(
      '{"allOf":[{"properties":{"__proto__":{"type":"string"}}},{"properties":{"a":{}}}]}',
    )
    const { properties } = toDialect(schema, dialect)
    expect(JSON.stringify(properties)).toBe('{"__proto__":{"type":"string"},"a":{}}')
    expect(Object.getPrototypeOf(properties)).toBe(Object.prototype)
  })

  it('what is required is there', () => {
    expect(toDialect({ properties: { a: {} }, required: ['a', 'gone'] }, dialect)).toMatchObject({
      required: ['a'],
      description: '(required: ["gone"])',
    })
  })

  it('what no API understands is left out, and what it should know is said', () => {
    const sent = said({ type: 'STRING', 'x-mine': 1, discriminator: {}, not: { const: 'x' } }, dialect)
    expect(sent).toEqual({ type: 'string', description: '(not: {"const":"x"})' })
  })

  it('what generators always write says nothing', () => {
    expect(said(of(z.int()), dialect)).toEqual({ type: 'integer' })
  })
})

describe('references', () => {
  const money = { type: 'object', properties: { cents: { type: 'integer' } }, additionalProperties: false }

  it.each(every.filter(([, { references }]) => references === 'kept'))(
    'are kept under $defs (%s)',
    (_, dialect) => {
      const sent = toDialect(
        {
          properties: {
            a: { $ref: '#/definitions/my%20money' },
            b: { $ref: '#/properties/a' },
            c: { $ref: '#cash' },
          },
          definitions: { 'my money': money, unused: {}, x: { $anchor: 'cash', type: 'null' } },
        },
        dialect,
      )
      expect(sent.properties).toEqual({
        a: { $ref: '#/$defs/my_20money' },
        b: { $ref: '#/$defs/a' },
        c: { $ref: '#/$defs/cash' },
      })
      expect(Object.keys(sent.$defs as JsonObject)).toEqual(['my_20money', 'a', 'cash'])
    },
  )

  it('with company are written out, so that nothing is beside them', () => {
    const schema = { $ref: '#/$defs/money', description: 'What it costs' }
    expect(said(schema, openaiDialect, { $defs: { money } })).toEqual({
      ...money,
      required: [],
      description: 'What it costs',
    })
  })

  it('with company inside themselves end', () => {
    const node = { type: 'object', properties: { next: { $ref: '#/$defs/node', description: 'The next' } } }
    const sent = toDialect({ properties: { head: { $ref: '#/$defs/node' } }, $defs: { node } }, openaiDialect)
    expect(sent.$defs).toEqual({
      node: {
        type: 'object',
        properties: {
          next: { type: 'object', description: 'The next', properties: { next: { $ref: '#/$defs/node' } } },
        },
      },
    })
  })

  it('are written out where the API reads none; recursion ends after two rounds', () => {
    const tree = z.object({
      name: z.string(),
      get children() {
        return z.array(tree)
      },
    })
    for (const dialect of [geminiDialect, ollamaToolDialect]) {
      const text = JSON.stringify(toDialect(of(tree), dialect))
      expect(text.match(/"name"/g)?.length).toBeLessThan(8)
      expect(text).not.toContain('$ref')
      expect(text).toContain('"items":{"type":"object"}')
    }
  })

  it.each(every)('stay small however densely types refer to each other (%s)', (_, dialect) => {
    const names = Array.from({ length: 12 }, (_, n) => `t${n}`)
    const all = Object.fromEntries(names.map((name) => [name, { $ref: `#/$defs/${name}` }]))
    const $defs = Object.fromEntries(names.map((name) => [name, { type: 'object', properties: all }]))
    expect(JSON.stringify(toDialect({ $ref: '#/$defs/t0', $defs }, dialect)).length).toBeLessThan(500_000)
  })

  it.each(every)('may form a long chain (%s)', (_, dialect) => {
    const link = (n: number) => ({ type: 'object', properties: { next: { $ref: `#/$defs/l${n + 1}` } } })
    const $defs = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`l${n}`, link(n)]))
    const schema = { ...link(-1), $defs: { ...$defs, l5000: { type: 'null' } } }
    expect(toDialect(schema, dialect)).toHaveProperty('properties.next')
    const company = JSON.parse(JSON.stringify(schema).replaceAll('"$ref"', '"description":"next","$ref"'))
    expect(toDialect(company, dialect)).toHaveProperty('properties.next')
  })

  it.each(every)('that lead back to themselves through allOf end (%s)', (_, dialect) => {
    const $defs = {
      a: { allOf: [{ $ref: '#/$defs/b' }, { type: 'string' }] },
      b: { allOf: [{ $ref: '#/$defs/a' }] },
    }
    expect(() => said({ $ref: '#/$defs/a' }, dialect, { $defs })).not.toThrow()
  })
})

describe('Gemini', () => {
  it.each([
    [{ const: 'a' }, { type: 'string', enum: ['a'] }],
    [
      { const: 3, type: 'integer' },
      { type: 'integer', enum: [3] },
    ],
    [{ const: true }, { type: 'boolean', description: '(enum: [true])' }],
    [{ const: null }, { type: 'null' }],
    [{ enum: ['a', 'b', null] }, { anyOf: [{ type: 'string', enum: ['a', 'b'] }, { type: 'null' }] }],
    [{ enum: ['a', false] }, { type: ['string', 'boolean'], description: '(enum: ["a",false])' }],
    [
      { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 10 },
      { type: 'integer', minimum: 1, maximum: 9 },
    ],
    [
      { type: 'number', exclusiveMinimum: 0 },
      { type: 'number', minimum: 0 },
    ],
    [
      { type: 'string', format: 'date-time' },
      { type: 'string', format: 'date-time' },
    ],
    [
      { type: 'string', format: 'email', pattern: '^.+@', description: 'Contact' },
      { type: 'string', description: 'Contact (format: email)' },
    ],
    [
      { type: 'string', pattern: '^[A-Z]$' },
      { type: 'string', description: '(pattern: ^[A-Z]$)' },
    ],
    [
      { type: 'array', items: [{ type: 'string' }] },
      { type: 'array', prefixItems: [{ type: 'string' }] },
    ],
    [
      { type: 'object', additionalProperties: { const: 1 } },
      { type: 'object', additionalProperties: { type: 'number', enum: [1] } },
    ],
  ] satisfies [JsonObject, JsonObject][])('says %j as %j', (schema, wire) => {
    expect(said(schema, geminiDialect)).toEqual(wire)
  })

  it('has unions as anyOf, with nothing but annotations beside it', () => {
    expect(
      said(
        {
          description: 'Either',
          type: 'object',
          properties: { kind: { type: 'string' } },
          oneOf: [{ required: ['kind'] }, { properties: { other: { type: 'null' } } }, { type: 'string' }],
        },
        geminiDialect,
      ),
    ).toEqual({
      description: 'Either',
      anyOf: [
        { type: 'object', properties: { kind: { type: 'string' } }, required: ['kind'] },
        { type: 'object', properties: { kind: { type: 'string' }, other: { type: 'null' } } },
      ],
    })
  })
})

describe('Cohere', () => {
  it('gets no limits, but reads them', () => {
    expect(said({ type: 'integer', minimum: 0, maximum: 150, description: 'years' }, cohereDialect)).toEqual({
      type: 'integer',
      description: 'years (minimum: 0, maximum: 150)',
    })
  })

  it('gets the formats and patterns it knows', () => {
    const known = { type: 'string', format: 'uuid' }
    expect(said(known, cohereDialect)).toEqual(known)
    expect(said({ type: 'string', pattern: '[0-9]+' }, cohereDialect)).toEqual({
      type: 'string',
      pattern: '[0-9]+',
    })
    expect(said({ type: 'string', pattern: '^a$' }, cohereDialect)).not.toHaveProperty('pattern')
  })

  it('gets an answer whose objects all require something', () => {
    const schema = { type: 'object', properties: { a: {}, inner: { type: 'object', properties: { b: {} } } } }
    expect(toDialect(schema, cohereAnswerDialect)).toEqual({
      type: 'object',
      properties: { a: {}, inner: { type: 'object', properties: { b: {} }, required: ['b'] } },
      required: ['a', 'inner'],
    })
    expect(toDialect(schema, cohereDialect)).toEqual(schema)
  })
})

describe('Anthropic', () => {
  it('gets the input of a tool nearly as it is', () => {
    const schema = of(
      z.object({
        word: z
          .string()
          .min(2)
          .regex(/^(?=a)/),
        list: z.tuple([z.string(), z.number()]),
        n: z.number().gt(2),
      }),
    )
    expect(toDialect(schema, anthropicToolDialect).properties).toEqual({
      word: { type: 'string', minLength: 2, pattern: '^(?=a)' },
      list: {
        type: 'array',
        prefixItems: [{ type: 'string' }, { type: 'number' }],
        minItems: 2,
        maxItems: 2,
      },
      n: { type: 'number', exclusiveMinimum: 2 },
    })
  })

  it('gets members with names it refuses in words, and an object that is open to them', () => {
    const schema = {
      type: 'object',
      properties: { $top: { type: 'integer' }, ok: {} },
      additionalProperties: false,
    }
    expect(toDialect(schema, anthropicToolDialect)).toEqual({
      type: 'object',
      properties: { ok: {} },
      description: '($top: {"type":"integer"})',
    })
  })

  const optional = (count: number) =>
    z.object(Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, z.string().optional()])))
  const nullable = (count: number) =>
    z.object(Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, z.string().nullable()])))
  it.each<[boolean, string, JsonObject]>([
    [true, '24 optional members', of(optional(24))],
    [false, '25 optional members', of(optional(25))],
    [
      false,
      '25 optional members at several places',
      of(z.object({ a: optional(13), b: z.array(optional(12)) })),
    ],
    [true, '16 unions', of(nullable(16))],
    [false, '17 unions', of(nullable(17))],
    [
      true,
      'an object that does not say whether it is open',
      { type: 'object', properties: { a: { type: 'null' } } },
    ],
    [false, 'an object that is open', { type: 'object', properties: {}, additionalProperties: true }],
    [false, 'an object of anything', of(z.object({ a: z.looseObject({}) }))],
    [false, 'an object that lists nothing', { type: 'object' }],
    [false, 'a map', of(z.object({ a: z.record(z.string(), z.string()) }))],
    [false, 'names by pattern', { type: 'object', properties: {}, patternProperties: { x: {} } }],
    [false, 'anything', of(z.object({ a: z.any() }))],
    [false, 'a tuple', of(z.object({ a: z.tuple([z.string()]) }))],
  ])('can (%s) be held to %s', (can, _, schema) => {
    expect(isEnforceable(toDialect(schema, anthropicAnswerDialect), anthropicGrammar)).toBe(can)
  })
})

describe('OpenAI', () => {
  const closed = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
    ...more,
  })
  const isStrict = (schema: JsonObject) => isEnforceable(toDialect(schema, openaiDialect), openaiStrict)
  const deep = (levels: number): JsonObject =>
    levels === 0 ? closed({}) : closed({ next: deep(levels - 1) })
  const wide = (count: number) =>
    closed(Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, { type: 'null' }])))

  it.each<[boolean, string, JsonObject]>([
    [true, 'no members', closed({})],
    [
      true,
      'members of many types',
      closed(
        {
          list: { type: 'array', items: closed({ n: { type: ['number', 'null'] } }), maxItems: 3 },
          either: { anyOf: [{ type: 'string', format: 'date' }, { $ref: '#/$defs/thing' }] },
          word: { enum: ['a', 'b'], description: 'one of two' },
          constructor: closed({}),
        },
        { $defs: { thing: closed({ x: { const: 1 } }) } },
      ),
    ],
    [
      true,
      'a plain zod object',
      of(z.object({ city: z.string().min(1), mail: z.email(), days: z.int().nullable() })),
    ],
    [true, 'a recursive type', closed({ next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } })],
    [true, 'a length, a default and an unknown format, which are said', of(z.object({ a: z.url().min(3) }))],
    [true, 'lookaround, which is said', of(z.object({ a: z.string().regex(/^(?!x)/) }))],
    [true, 'a tuple', of(z.object({ a: z.tuple([z.string(), z.number()]) }))],
    [true, 'a map with known names', of(z.object({ a: z.record(z.enum(['p', 'q']), z.string()) }))],
    [true, 'ten levels', deep(10)],
    [false, 'eleven levels', deep(11)],
    [true, '5000 members', wide(5000)],
    [false, '5001 members', wide(5001)],
    [false, '1001 values', closed({ a: { enum: Array.from({ length: 1001 }, (_, n) => n) } })],
    [false, 'an optional member', closed({ a: { type: 'string' } }, { required: [] })],
    [false, 'an open object', closed({}, { additionalProperties: true })],
    [
      false,
      'an object that does not say whether it is open',
      { type: 'object', properties: {}, required: [] },
    ],
    [false, 'an open object inside', closed({ a: { type: 'object', properties: {} } })],
    [false, 'an open object in a list', closed({ a: { type: 'array', items: { type: 'object' } } })],
    [false, 'an open definition', closed({ a: { $ref: '#/$defs/b' } }, { $defs: { b: { type: 'object' } } })],
    [false, 'a map', closed({ a: { type: 'object', additionalProperties: { type: 'string' } } })],
    [false, 'a list of anything', closed({ a: { type: 'array' } })],
    [false, 'anything', closed({ a: {} })],
    [false, 'a schema that is just true', closed({ a: true })],
  ])('is strict (%s) with %s', (strict, _, schema) => {
    expect(isStrict(schema)).toBe(strict)
  })

  it('gets lists that say what they hold', () => {
    expect(said({ type: 'array' }, openaiDialect)).toEqual({ type: 'array', items: {} })
    expect(said(of(z.tuple([z.string(), z.string()])), openaiDialect)).toMatchObject({
      items: { type: 'string' },
      minItems: 2,
      maxItems: 2,
    })
    // What is not said about the places after the first may be anything.
    expect(said({ prefixItems: [{ type: 'string' }] }, openaiDialect)).toMatchObject({
      type: 'array',
      items: {},
    })
  })

  it.each(['^\\d+$', '^(?:a|b)$', '\\\\1'])('gets the pattern %s', (pattern) => {
    expect(said({ type: 'string', pattern }, openaiDialect)).toEqual({ type: 'string', pattern })
  })

  it.each(['^(?=a)', 'a(?!b)', '(?<=a)b', '(?<!a)b', '(?<n>a)', '(a)\\1', '\\p{L}+', '\\u{1F600}'])(
    'reads the pattern %s in words',
    (pattern) => {
      expect(said({ type: 'string', pattern }, openaiDialect)).toEqual({
        type: 'string',
        description: `(pattern: ${pattern})`,
      })
    },
  )
})

describe('a schema that is a lot', () => {
  const wide = (count: number) => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, { $ref: '#/$defs/t' }])),
    $defs: { t: { type: 'object', properties: { a: { type: 'string', minLength: 1 } } } },
  })

  /** The schema, and how often something in it was looked through. */
  const watched = (schema: JsonObject): { schema: JsonObject; looks: () => number } => {
    let looks = 0
    const watch = <T extends object>(value: T): T =>
      new Proxy(value, {
        get: (target, key, receiver) => {
          const child: unknown = Reflect.get(target, key, receiver)
          return child instanceof Object && typeof child === 'object' ? watch(child) : child
        },
        ownKeys: (target) => {
          looks += 1
          return Reflect.ownKeys(target)
        },
      })
    return { schema: watch(schema), looks: () => looks }
  }

  it.each(every)('costs twice as much when it is twice as wide (%s)', (_, dialect) => {
    const cost = (count: number) => {
      const { schema, looks } = watched(wide(count))
      const size = JSON.stringify(toDialect(schema, dialect)).length
      return { looks: looks(), size }
    }
    const [once, twice] = [cost(400), cost(800)]
    expect(once.looks).toBeGreaterThan(400)
    expect(twice.looks).toBeLessThan(2.1 * once.looks)
    expect(twice.size).toBeLessThan(2.2 * once.size)
  })

  it.each(every)('says so when unions of unions would grow without end (%s)', (_, dialect) => {
    const shared = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`p${n}`, { type: 'string' }]))
    const anyOf = Array.from({ length: 250 }, (_, n) => ({ properties: { [`b${n}`]: { type: 'string' } } }))
    expect(() => said({ type: 'object', properties: shared, anyOf }, dialect)).toThrow(
      /grows to more than \d+ characters/,
    )
  })

  it('may nest as deeply as JSON may', () => {
    let schema: JsonObject = { type: 'string' }
    for (let level = 0; level < 120; level += 1) schema = { type: 'object', properties: { next: schema } }
    for (const [, dialect] of every) expect(toDialect(schema, dialect)).toHaveProperty('properties.next')
  })

  it('is cut where words get too long', () => {
    const not = { enum: Array.from({ length: 1000 }, (_, n) => n) }
    const { description } = said({ type: 'number', not }, openaiDialect) as JsonObject
    expect(String(description).length).toBeLessThan(600)
  })
})
