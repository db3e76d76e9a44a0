import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { calculate, ExpressionError, evaluate } from '../../src/cli/tools/calculator.ts'

type Term = { text: string; value: number }

/** Terms with the value that JavaScript itself gives them; brackets are only where the rules of binding need them. */
const terms = fc.letrec<{ sum: Term; product: Term; power: Term; atom: Term }>((tie) => {
  const joined = (left: Term, sign: string, right: Term, value: number): Term => ({
    text: `${left.text}${sign}${right.text}`,
    value,
  })
  const inBrackets = tie('sum').map(({ text, value }): Term => ({ text: `(${text})`, value }))
  return {
    atom: fc.oneof(
      { depthSize: 'small' },
      fc.nat(99).map((value): Term => ({ text: String(value), value })),
      fc
        .tuple(fc.nat(99), fc.nat(99))
        .map(([whole, part]): Term => ({ text: `${whole}.${part}`, value: Number(`${whole}.${part}`) })),
      inBrackets,
      tie('sum').map(({ text, value }): Term => ({ text: `abs( ${text} )`, value: Math.abs(value) })),
      fc
        .tuple(tie('sum'), tie('sum'))
        .map(([a, b]): Term => ({ text: `max(${a.text}, ${b.text})`, value: Math.max(a.value, b.value) })),
    ),
    power: fc.oneof(
      { depthSize: 'small' },
      tie('atom'),
      fc
        .tuple(tie('atom'), fc.nat(3))
        .map(
          ([base, exponent]): Term =>
            joined(base, '^', { text: String(exponent), value: exponent }, base.value ** exponent),
        ),
      tie('power').map(({ text, value }): Term => ({ text: `-${text}`, value: -value })),
    ),
    product: fc.oneof(
      { depthSize: 'small' },
      tie('power'),
      fc.tuple(tie('product'), tie('power')).map(([a, b]) => joined(a, ' * ', b, a.value * b.value)),
      fc
        .tuple(tie('product'), tie('power'))
        .filter(([, b]) => b.value !== 0)
        .map(([a, b]) => joined(a, '/', b, a.value / b.value)),
    ),
    sum: fc.oneof(
      { depthSize: 'small' },
      tie('product'),
      fc.tuple(tie('sum'), tie('product')).map(([a, b]) => joined(a, ' + ', b, a.value + b.value)),
      fc.tuple(tie('sum'), tie('product')).map(([a, b]) => joined(a, '-', b, a.value - b.value)),
    ),
  }
}).sum

describe('evaluate', () => {
  it('gives every expression the value that arithmetic gives it', () => {
    const small = terms.filter(({ text, value }) => text.length < 500 && Number.isFinite(value))
    fc.assert(
      fc.property(small, ({ text, value }) => {
        expect(evaluate(text)).toBe(value)
      }),
      { numRuns: 500 },
    )
  })

  it('never throws anything but its own errors, whatever it is given', () => {
    const anything = fc.oneof(
      fc.string(),
      fc.string({ unit: fc.constantFrom(...'0123456789.+-*/^%()e, pisqrt') }),
    )
    fc.assert(
      fc.property(anything, (text) => {
        try {
          expect(Number.isFinite(evaluate(text))).toBe(true)
        } catch (error) {
          expect(error).toBeInstanceOf(ExpressionError)
        }
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    ['2 + 3 * 4', 14],
    ['(2 + 3) * 4', 20],
    ['10 - 4 - 3', 3],
    ['24 / 4 / 3', 2],
    ['2^3^2', 512],
    ['2**10', 1024],
    ['-2^2', -4],
    ['2^-1', 0.5],
    ['7 % 4', 3],
    ['6 × 7 ÷ 2 − 1', 20],
    ['1.5e3', 1500],
    ['.5 * 4', 2],
    ['sqrt(16) + max(1, 2, 3)', 7],
    ['2 * pi', 2 * Math.PI],
    ['round(2.6)', 3],
  ])('%s is %d', (text, value) => {
    expect(evaluate(text)).toBe(value)
  })

  it.each([
    ['', 'The expression ends too early.'],
    ['2 +', 'The expression ends too early.'],
    ['(2', 'The expression ends too early, expected ")".'],
    ['2 3', 'Unexpected "3" at 3.'],
    ['2 * * 3', 'Unexpected "*" at 5.'],
    ['1 / 0', 'Nothing can be divided by zero.'],
    ['sqrt(-1)', 'The result is not a real number.'],
    ['9^9^9', 'The result is too large.'],
    ['process.exit()', '"process" at 1 is neither a function nor a constant'],
    ['constructor', '"constructor" at 1 is neither a function nor a constant'],
    ['('.repeat(200), 'The expression is nested too deeply.'],
    ['1'.repeat(501), 'An expression has at most 500 characters.'],
  ])('refuses %s', (text, problem) => {
    expect(() => evaluate(text)).toThrow(problem)
  })
})

it('the calculator leaves out what floating point adds', () => {
  expect(calculate('0.1 + 0.2')).toBe('0.1 + 0.2 = 0.3')
  expect(calculate(' 1/3 ')).toBe('1/3 = 0.333333333333')
})
