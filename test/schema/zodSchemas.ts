/** Any zod schema of the kinds that can be sent to a model, each with values that it accepts. */
import fc from 'fast-check'
import { z } from 'zod'

export type Sample = fc.WithToStringMethod & { schema: z.ZodType; value: unknown }

/** A schema, and where its values come from. */
type Kind = { schema: z.ZodType; values: fc.Arbitrary<unknown> }

const kind = (schema: z.ZodType, values: fc.Arbitrary<unknown>): Kind => ({ schema, values })

const text = fc.string({ maxLength: 6 })
const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,4}$/)
const digits = fc.stringMatching(/^[0-9]{1,5}$/)

const scalars: fc.Arbitrary<Kind>[] = [
  fc.constant(kind(z.string(), text)),
  fc.constant(
    kind(z.string().min(2).max(5), fc.string({ minLength: 2, maxLength: 5, unit: 'grapheme-ascii' })),
  ),
  fc.constant(kind(z.string().regex(/^(?=\d)\d+$/), digits)),
  fc.constant(kind(z.string().regex(/^\d+$/), digits)),
  fc.constant(kind(z.email(), fc.constantFrom('a@b.co', 'x.y@example.org'))),
  fc.constant(kind(z.url(), fc.webUrl())),
  fc.constant(kind(z.uuid(), fc.uuid())),
  fc.constant(kind(z.iso.date(), fc.constantFrom('2026-10-18', '1999-01-01'))),
  fc.constant(kind(z.number(), fc.double({ noNaN: true, noDefaultInfinity: true }))),
  fc.constant(kind(z.number().gt(0).lt(10), fc.constantFrom(0.5, 1, 9.75))),
  fc.constant(kind(z.int().min(-3).max(3), fc.integer({ min: -3, max: 3 }))),
  fc.constant(kind(z.int().positive(), fc.integer({ min: 1 }))),
  fc.constant(
    kind(
      z.number().multipleOf(2),
      fc.integer().map((n) => n * 2),
    ),
  ),
  fc.constant(kind(z.boolean(), fc.boolean())),
  fc.constant(kind(z.null(), fc.constant(null))),
  fc.constant(kind(z.any(), fc.jsonValue({ maxDepth: 1 }))),
  fc.constant(kind(z.literal('x'), fc.constant('x'))),
  fc.constant(kind(z.literal(true), fc.constant(true))),
  fc.constant(kind(z.literal([1, 'a', null]), fc.constantFrom(1, 'a', null))),
  fc.constant(kind(z.enum(['red', 'green']), fc.constantFrom('red', 'green'))),
]

const members = (inner: fc.Arbitrary<Kind>) =>
  fc.uniqueArray(fc.tuple(name, inner, fc.constantFrom('required', 'optional', 'default')), {
    selector: ([key]) => key,
    maxLength: 4,
  })

type Member = [string, Kind, string]

const shapeOf = (all: Member[]) =>
  Object.fromEntries(
    all.map(([key, { schema }, how]) => [key, how === 'required' ? schema : schema.optional()]),
  )

const valuesOf = (all: Member[]): fc.Arbitrary<object> =>
  fc.record(Object.fromEntries(all.map(([key, { values }]) => [key, values])), {
    requiredKeys: all.filter(([, , how]) => how === 'required').map(([key]) => key),
    noNullPrototype: true,
  })

/** Objects: plain, strict, loose, and with a rule for what else they hold. */
const objects = (inner: fc.Arbitrary<Kind>): fc.Arbitrary<Kind> =>
  fc.tuple(members(inner), fc.constantFrom('plain', 'strict', 'loose', 'catchall')).map(([all, how]) => {
    const shape = shapeOf(all)
    const known = valuesOf(all)
    if (how === 'plain') return kind(z.object(shape), known)
    if (how === 'strict') return kind(z.strictObject(shape), known)
    if (how === 'loose') {
      return kind(
        z.looseObject(shape),
        known.map((value) => ({ OTHER: 1, ...value })),
      )
    }
    return kind(
      z.object(shape).catchall(z.number()),
      known.map((value) => ({ OTHER: 1, ...value })),
    )
  })

let ids = 0

const nested = (inner: fc.Arbitrary<Kind>, object: fc.Arbitrary<Kind>): fc.Arbitrary<Kind>[] => [
  inner.map(({ schema, values }) => kind(schema.nullable(), fc.option(values))),
  inner.map(({ schema, values }) => kind(schema.describe('Something'), values)),
  inner.map(({ schema, values }) => kind(z.array(schema).max(3), fc.array(values, { maxLength: 3 }))),
  inner.map(({ schema, values }) =>
    kind(z.array(schema).min(1), fc.array(values, { minLength: 1, maxLength: 3 })),
  ),
  fc.tuple(inner, inner).map(([a, b]) => kind(z.tuple([a.schema, b.schema]), fc.tuple(a.values, b.values))),
  fc.tuple(inner, inner).map(([a, b]) =>
    kind(
      z.tuple([a.schema], b.schema),
      fc.tuple(a.values, fc.array(b.values, { maxLength: 2 })).map(([first, rest]) => [first, ...rest]),
    ),
  ),
  inner.map(({ schema, values }) =>
    kind(z.record(z.string(), schema), fc.dictionary(name, values, { maxKeys: 3, noNullPrototype: true })),
  ),
  inner.map(({ schema, values }) =>
    kind(
      z.record(z.enum(['p', 'q']), schema),
      fc.record({ p: values, q: values }, { noNullPrototype: true }),
    ),
  ),
  inner.map(({ schema, values }) =>
    kind(
      z.partialRecord(z.enum(['p', 'q']), schema),
      fc.record({ p: values, q: values }, { requiredKeys: [], noNullPrototype: true }),
    ),
  ),
  fc.tuple(inner, inner).map(([a, b]) => kind(z.union([a.schema, b.schema]), fc.oneof(a.values, b.values))),
  // The same type at two places, with and without company.
  inner.map(({ schema, values }) => {
    ids += 1
    const shared = schema.meta({ id: `shared${ids}` })
    return kind(
      z.object({ one: shared, two: shared.describe('The second'), three: shared.optional() }),
      fc.record(
        { one: values, two: values, three: values },
        { requiredKeys: ['one', 'two'], noNullPrototype: true },
      ),
    )
  }),
  inner.map(({ schema, values }) => {
    const tree: z.ZodType = z.object({
      value: schema,
      get kids() {
        return z.array(tree).optional()
      },
    })
    const leaf = fc.record({ value: values }, { noNullPrototype: true })
    const branch = fc.record(
      { value: values, kids: fc.array(leaf, { maxLength: 2 }) },
      { noNullPrototype: true },
    )
    return kind(tree, fc.oneof(leaf, branch))
  }),
  object,
]

const anything: fc.Arbitrary<Kind> = fc.letrec<{ any: Kind; object: Kind }>((tie) => ({
  object: objects(tie('any')),
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(...scalars),
    fc.oneof(...nested(tie('any'), tie('object'))),
  ),
})).any

const object = objects(anything)

const tagged = (kinds: Kind[]): Kind => {
  const options = kinds.map(({ schema }, n) => z.object({ kind: z.literal(`k${n}`), inner: schema }))
  const [first, ...rest] = options
  if (!first) throw new Error('A union needs an option.')
  return kind(
    z.discriminatedUnion('kind', [first, ...rest]),
    fc.oneof(...kinds.map(({ values }, n) => values.map((inner) => ({ kind: `k${n}`, inner })))),
  )
}

/** The input that a tool may take: an object, or a union or an intersection of objects. */
const roots: fc.Arbitrary<Kind> = fc.oneof(
  object,
  fc.array(anything, { minLength: 1, maxLength: 3 }).map(tagged),
  fc.tuple(object, object).map(([a, b]) => kind(z.union([a.schema, b.schema]), fc.oneof(a.values, b.values))),
  fc
    .tuple(anything, anything)
    .map(([a, b]) =>
      kind(
        z.intersection(z.object({ left: a.schema }), z.object({ right: b.schema })),
        fc.record({ left: a.values, right: b.values }, { noNullPrototype: true }),
      ),
    ),
)

const sampleOf = (schema: z.ZodType, value: unknown): Sample => ({
  schema,
  value,
  [fc.toStringMethod]: () =>
    `${JSON.stringify(value)} of ${JSON.stringify(z.toJSONSchema(schema, { io: 'input' }))}`,
})

const sampled = (kinds: fc.Arbitrary<Kind>): fc.Arbitrary<Sample> =>
  kinds
    .chain(({ schema, values }) => values.map((value) => sampleOf(schema, value)))
    // An intersection merges what its sides gave, and not everything can be merged.
    .filter(({ schema, value }) => schema.safeParse(value).success)

export const toolInputs: fc.Arbitrary<Sample> = sampled(roots)
export const answers: fc.Arbitrary<Sample> = sampled(fc.oneof(roots, anything))
