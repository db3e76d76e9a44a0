import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  AbortedError,
  ConfigurationError,
  describeThrown,
  type ErrorData,
  errorDataOf,
  errorFrom,
  ModelError,
  OrchestrationError,
  OutputValidationError,
  StatewireError,
  TimeoutError,
  ConflictError,
  ToolExecutionError,
} from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { mergeMetadata, unseenMetadata } from '../../src/messages/metadata.ts'
import { addUsage, type Usage } from '../../src/messages/result.ts'
import { defaultRetryPolicy, retryDelayMs } from '../../src/model/retryPolicy.ts'
import { parseArguments } from '../../src/model/toolArguments.ts'

describe('parseArguments', () => {
  test.each(['', '  \n', 'null', '"null"', '""', null, undefined])('%j means no arguments', (raw) => {
    expect(parseArguments(raw)).toEqual({ arguments: {} })
  })

  test('gives the object, and the raw text only where it says more', () => {
    expect(parseArguments('{"a":1}')).toEqual({ arguments: { a: 1 } })
    expect(parseArguments('{ "a": 1 }')).toEqual({ arguments: { a: 1 }, argumentsRaw: '{ "a": 1 }' })
    expect(parseArguments('{"n":1.0}').argumentsRaw).toBe('{"n":1.0}')
    expect(parseArguments({ a: 1 })).toEqual({ arguments: { a: 1 } })
  })

  test.each(['{"a":', 'nope', '[1]', '"text"', '5', 'false', '{"a":1}x', '{"a":NaN}'])(
    'refuses %s with a reason and keeps it',
    (raw) => {
      expect(parseArguments(raw)).toEqual({
        arguments: {},
        argumentsRaw: raw,
        argumentsError: expect.stringContaining('The arguments '),
      })
    },
  )

  test.each([[[1, 2]], [5], [true], ['text in text']])('refuses the parsed value %j as well', (value) => {
    expect(parseArguments(typeof value === 'string' ? JSON.stringify(value) : value).argumentsError).toMatch(
      /not (an array|a number|a boolean|a string)/,
    )
  })

  test('keeps __proto__ as a plain key', () => {
    const { arguments: args } = parseArguments('{"__proto__":{"admin":true}}')
    expect(Object.hasOwn(args, '__proto__')).toBe(true)
    expect('admin' in args).toBe(false)
  })

  test('gives back any object that was written as JSON, and never throws', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const text = JSON.stringify(object)
        expect(JSON.stringify(parseArguments(text).arguments)).toBe(text)
      }),
    )
    fc.assert(
      fc.property(fc.string(), (text) => {
        const { arguments: args, argumentsError } = parseArguments(text)
        if (argumentsError !== undefined) expect(args).toEqual({})
      }),
    )
  })
})

describe('metadata', () => {
  const metadata: fc.Arbitrary<JsonObject> = fc
    .dictionary(
      fc.constantFrom('a', 'b', '__proto__', 'constructor', 'thinking'),
      fc.oneof(fc.string(), fc.array(fc.nat(3)), fc.constant(null)),
    )
    .map((value) => JSON.parse(JSON.stringify(value)))

  test('mergeMetadata appends lists, joins thinking, and replaces the rest', () => {
    const merged = mergeMetadata(
      { list: [1], thinking: 'a', k: { x: 1 }, old: 1 },
      { list: [2], thinking: 'b', k: 2 },
    )
    expect(merged).toEqual({ list: [1, 2], thinking: 'ab', k: 2, old: 1 })
  })

  test('mergeMetadata changes neither side, and a list after something else replaces it', () => {
    const [older, newer] = [{ a: [1] }, { a: [2] }]
    mergeMetadata(older, newer)
    expect([older, newer]).toEqual([{ a: [1] }, { a: [2] }])
    expect(mergeMetadata({ a: 1 }, { a: [2] })).toEqual({ a: [2] })
  })

  test('unseenMetadata gives only what is new', () => {
    expect(unseenMetadata([{ a: 1, l: [1] }], { a: 1, l: [1, 2], b: null })).toEqual({ l: [2], b: null })
    expect(unseenMetadata([], JSON.parse('{"toString":1,"__proto__":2}'))).toEqual(
      JSON.parse('{"toString":1,"__proto__":2}'),
    )
  })

  test('what was merged is seen, and no prototype is ever touched', () => {
    fc.assert(
      fc.property(metadata, metadata, (older, newer) => {
        const merged = mergeMetadata(older, newer)
        expect(Object.getPrototypeOf(merged)).toBe(Object.prototype)
        const { thinking: _, ...rest } = unseenMetadata([merged], newer)
        expect(rest).toEqual({})
        expect(new Set(Object.keys(merged))).toEqual(new Set([...Object.keys(older), ...Object.keys(newer)]))
      }),
    )
    expect(Object.hasOwn(Object.prototype, 'a')).toBe(false)
  })
})

describe('addUsage', () => {
  const usage: fc.Arbitrary<Usage> = fc.record(
    {
      inputTokens: fc.nat(),
      outputTokens: fc.nat(),
      totalTokens: fc.nat(),
      cachedInputTokens: fc.nat(),
      reasoningTokens: fc.nat(),
    },
    { requiredKeys: [] },
  )

  test('unknown plus unknown is unknown; otherwise a missing count is 0', () => {
    expect(addUsage(undefined, undefined)).toBeUndefined()
    expect(addUsage({ inputTokens: 1 }, undefined)).toEqual({ inputTokens: 1 })
    expect(addUsage({ inputTokens: 1 }, { outputTokens: 2 })).toEqual({ inputTokens: 1, outputTokens: 2 })
    expect(addUsage({}, {})).toEqual({})
  })

  test('does not depend on the order', () => {
    fc.assert(
      fc.property(usage, usage, usage, (a, b, c) => {
        expect(addUsage(a, b)).toEqual(addUsage(b, a))
        expect(addUsage(addUsage(a, b), c)).toEqual(addUsage(a, addUsage(b, c)))
      }),
    )
  })
})

describe('errors', () => {
  const all = {
    StatewireError,
    ConfigurationError,
    ModelError,
    OrchestrationError,
    ToolExecutionError,
    OutputValidationError,
    AbortedError,
    TimeoutError,
    ConflictError,
  }

  test.each(Object.entries(all))(
    '%s is named after its class, is a StatewireError, and carries cause and partial',
    (name, Kind) => {
      const partial = { id: '', output: 'so far', messages: [], finishReason: 'error' as const, metadata: {} }
      const error = new Kind('m', { cause: 'why', partial })
      expect(error.name).toBe(name)
      expect(error).toBeInstanceOf(StatewireError)
      expect([error.message, error.cause, error.partial]).toEqual(['m', 'why', partial])
      expect(String(error)).toBe(`${name}: m`)
    },
  )

  const data: ErrorData[] = [
    { name: 'ConfigurationError', message: 'no key' },
    {
      name: 'ModelError',
      message: 'm',
      provider: 'p',
      status: 529,
      code: 'c',
      requestId: 'r',
      retryable: true,
      retryAfterMs: 5,
    },
    {
      name: 'ModelError',
      message: 'm',
      retryable: false,
      cause: { name: 'TypeError', message: 'fetch failed', code: 'ECONNRESET' },
    },
    { name: 'OrchestrationError', message: 'm', orchestrator: 'default', state: 'ToolExecution' },
    { name: 'ToolExecutionError', message: 'm', toolName: 't' },
    { name: 'OutputValidationError', message: 'm', rawOutput: '{' },
    { name: 'AbortedError', message: 'm' },
    { name: 'TimeoutError', message: 'm' },
    { name: 'ConflictError', message: 'm' },
  ]

  test.each(data)('$name: data to error and back to data loses nothing', (each) => {
    const error = errorFrom(each)
    expect(error).toBeInstanceOf(all[each.name])
    expect(errorDataOf(error)).toEqual(each)
  })

  test('their data is JSON, without stack and partial', () => {
    for (const each of data) {
      const back = errorDataOf(
        errorFrom(each, { id: '', output: '', messages: [], finishReason: 'error', metadata: {} }),
      )
      expect(JSON.parse(JSON.stringify(back))).toEqual(back)
      expect(back).not.toHaveProperty('partial')
      expect(back).not.toHaveProperty('stack')
    }
  })

  test('foreign errors become the fallback, with themselves as the cause', () => {
    const reset = Object.assign(new TypeError('terminated'), { code: 'ECONNRESET' })
    expect(errorDataOf(reset, 'ModelError')).toEqual({
      name: 'ModelError',
      message: 'terminated',
      cause: { name: 'TypeError', message: 'terminated', code: 'ECONNRESET' },
    })
    expect(errorDataOf('text')).toEqual({ name: 'OrchestrationError', message: 'text' })
    expect(errorFrom(errorDataOf(reset, 'ModelError')).cause).toMatchObject({
      name: 'TypeError',
      code: 'ECONNRESET',
    })
  })

  test('describeThrown gives a text for anything', () => {
    for (const thrown of [
      undefined,
      null,
      0,
      '',
      Symbol('s'),
      10n,
      () => 1,
      {},
      Object.create(null),
      new Map(),
    ]) {
      expect(typeof describeThrown(thrown)).toBe('string')
    }
  })
})

describe('retryDelayMs', () => {
  const policy = { ...defaultRetryPolicy, initialDelayMs: 500, maxDelayMs: 4000 }

  test('doubles from the initial delay to the cap, and half of it is jitter', () => {
    const bounds = [1, 2, 3, 4, 5, 2000].map((attempt) => [
      retryDelayMs(policy, attempt, {}, () => 0),
      retryDelayMs(policy, attempt, {}, () => 1),
    ])
    expect(bounds).toEqual([
      [250, 500],
      [500, 1000],
      [1000, 2000],
      [2000, 4000],
      [2000, 4000],
      [2000, 4000],
    ])
  })

  test('stays within its bounds for any random number', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempt, random) => {
          const delay = retryDelayMs(policy, attempt, {}, () => random)
          const ceiling = Math.min(500 * 2 ** (attempt - 1), 4000)
          expect(delay).toBeGreaterThanOrEqual(ceiling / 2)
          expect(delay).toBeLessThanOrEqual(ceiling)
        },
      ),
    )
  })

  test('follows the provider’s wish exactly, up to the cap', () => {
    expect(retryDelayMs(policy, 1, { retryAfterMs: 1234 }, () => 0)).toBe(1234)
    expect(retryDelayMs(policy, 9, { retryAfterMs: 0 }, () => 1)).toBe(0)
    expect(retryDelayMs(policy, 1, { retryAfterMs: 1e9 }, () => 0)).toBe(4000)
  })
})
