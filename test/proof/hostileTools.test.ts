import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  bad,
  problemOf,
  raise,
  resultOf,
  revoked,
  thenable,
  trap,
  traps,
  withMessage,
} from './hostileTool.ts'
import { expectNothingUnhandled } from './interrupting.ts'

/** Whatever a tool throws or returns, the run goes on, and its history stays plain JSON. */
expectNothingUnhandled()

class Account {
  readonly #secret = 'hidden'
  name = 'Ada'
  get secret() {
    return this.#secret
  }
}

const circular: Record<string, unknown> = { name: 'loop' }
circular.self = circular
const selfCaused = new Error('chicken')
selfCaused.cause = selfCaused

const endless = function* () {
  for (;;) yield 1
}
const endlessAsync = async function* () {
  for (;;) yield 1
}

describe('a tool that throws', () => {
  const thrown: [string, unknown, string][] = [
    ['an error', new Error('no fuel'), 'no fuel'],
    ['a text', 'just no', 'just no'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['an object', { code: 7 }, '{"code":7}'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['a BigInt', 10n, 'BigInt'],
    ['a circular object', circular, '[object Object]'],
    ['an error that causes itself', selfCaused, 'chicken'],
    ['an error without a message', new RangeError(''), 'RangeError'],
    ['a frozen error', Object.freeze(new Error('cold')), 'cold'],
    ['an error whose message is a trap', withMessage({ get: trap }), 'something that cannot be described'],
    ['an error whose message is no text', withMessage({ value: { a: 1 } }), '[object Object]'],
    ['an error whose message is a symbol', withMessage({ value: Symbol('s') }), 'Symbol(s)'],
    ['a proxy that traps everything', new Proxy({}, traps), 'something that cannot be described'],
    ['a revoked proxy', revoked(), 'something that cannot be described'],
    ['an object without a prototype', Object.create(null), '{}'],
    ['an object whose toJSON throws', { toJSON: trap }, '[object Object]'],
    ['a promise', Promise.resolve('x'), '{}'],
    ['an aggregate', new AggregateError([new Error('a')], 'many'), 'many'],
    ['an error of the platform', new DOMException('stopped', 'AbortError'), 'stopped'],
  ]
  test.each(thrown)('%s, at once or later, gives an error result', async (_, value, problem) => {
    expect(problemOf(await resultOf(bad(raise(value))))).toContain(problem)
    expect(problemOf(await resultOf(bad(async () => raise(value)())))).toContain(problem)
  })

  test('fifty megabytes of text gives the model a part of it', async () => {
    const problem = problemOf(await resultOf(bad(raise(new Error('x'.repeat(50_000_000))))))
    expect(problem.length).toBeLessThan(20_000)
  })

  test('what looks like a credential does not pass it on', async () => {
    const leak = new Error('GET https://api.test/?key=abcdef123 failed: Bearer abcdef.123456')
    expect(problemOf(await resultOf(bad(raise(leak))))).toBe(
      'GET https://api.test/?key=*** failed: Bearer ***',
    )
  })
})

describe('a tool that returns', () => {
  const hostile: [string, () => unknown, string | RegExp][] = [
    ['circular data', () => circular, 'circular'],
    ['a BigInt', () => 10n, 'BigInt'],
    ['a function', () => () => 1, 'a function'],
    ['a symbol', () => Symbol('s'), 'a symbol'],
    ['a Map', () => new Map([['a', 1]]), 'a Map'],
    ['an endless generator', endless, 'an iterator'],
    ['an endless async generator', endlessAsync, 'an iterator'],
    ['a BigInt deep inside', () => ({ a: [{ b: 1n }] }), 'BigInt'],
    ['data whose toJSON throws', () => ({ toJSON: trap }), 'trapped'],
    [
      'an object whose getter throws',
      () => Object.defineProperty({}, 'a', { enumerable: true, get: trap }),
      'trapped',
    ],
    ['a proxy that traps everything', () => new Proxy({}, traps), 'trapped'],
    ['a revoked proxy', revoked, 'revoked'],
    ['something whose then throws', () => thenable({ value: trap }), 'trapped'],
    ['something whose then is a trap', () => thenable({ get: trap }), 'trapped'],
    [
      'files of more than 32 MiB',
      () => ({ type: 'data', mimeType: 'image/png', data: 'AAAA'.repeat(9 * 1024 * 1024) }),
      'have 37748736 characters',
    ],
  ]
  test.each(hostile)('%s gives an error result', async (_, make, problem) => {
    expect(problemOf(await resultOf(bad(make)))).toContain(problem)
  })

  const odd: [string, () => unknown, string][] = [
    ['a text passes it as it is', () => 'plain "text"', 'plain "text"'],
    ['an empty text passes that', () => '', ''],
    ['an object passes its JSON', () => ({ a: [1] }), '{"a":[1]}'],
    ['nothing passes null', () => undefined, 'null'],
    ['NaN passes null', () => Number.NaN, 'null'],
    ['a date passes its JSON', () => new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['a promise is awaited', () => Promise.resolve({ late: true }), '{"late":true}'],
    ['a thenable is awaited', () => thenable({ value: (done: (v: string) => void) => done('late') }), 'late'],
    ['an instance passes its public fields', () => new Account(), '{"name":"Ada"}'],
    [
      'a key named __proto__ keeps it a key',
      () => JSON.parse('{"__proto__":{"a":1}}'),
      '{"__proto__":{"a":1}}',
    ],
    ['half a surrogate pair stays well-formed', () => ({ a: '\ud800' }), '{"a":"\\ud800"}'],
  ]
  test.each(odd)('%s', async (_, make, expected) => {
    expect(await resultOf(bad(make))).toEqual({
      type: 'toolResult',
      id: 'bad',
      name: 'bad',
      result: expected,
    })
  })

  test('anything at all leaves the run whole, and so does throwing it', async () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withObjectString: true,
      withSparseArray: true,
      withTypedArray: true,
    })
    await fc.assert(
      fc.asyncProperty(anything, fc.boolean(), async (value, isThrown) => {
        const { result } = await resultOf(bad(() => (isThrown ? raise(value)() : value)))
        expect(result).toBeTypeOf('string')
      }),
      { numRuns: 60 },
    )
  })
})
