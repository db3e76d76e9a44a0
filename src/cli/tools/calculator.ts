import { z } from 'zod'
import { type Tool, tool } from '../../tools/tool.ts'

/** Calculates to twelve digits: the ones that floating point adds behind them (0.1 + 0.2) are noise. */
export const calculate = (expression: string): string =>
  `${expression.trim()} = ${Number(evaluate(expression).toPrecision(12))}`

export const calculator: Tool = tool({
  name: 'calculator',
  description:
    'Calculates an arithmetic expression: + - * / % (remainder) ^, brackets, sqrt, ln, log, sin, min, max, pi …',
  input: z.object({ expression: z.string().describe('For example (17.5 / 100) * 2480') }),
  execute: ({ expression }) => calculate(expression),
})

/** A mistake in an expression, with its position. */
export class ExpressionError extends Error {}

const longest = 500
const deepest = 100

const constants = new Map([
  ['pi', Math.PI],
  ['π', Math.PI],
  ['e', Math.E],
])

const functions = new Map<string, (...values: number[]) => number>([
  ['sqrt', Math.sqrt],
  ['cbrt', Math.cbrt],
  ['abs', Math.abs],
  ['round', Math.round],
  ['floor', Math.floor],
  ['ceil', Math.ceil],
  ['exp', Math.exp],
  ['ln', Math.log],
  ['log', Math.log10],
  ['log2', Math.log2],
  ['sin', Math.sin],
  ['cos', Math.cos],
  ['tan', Math.tan],
  ['min', Math.min],
  ['max', Math.max],
])

/** The functions that take several values; the others take one. */
const takesSeveral = new Set(['min', 'max'])

/**
 * The value of an arithmetic expression: `+ - * / % ^`, brackets, `sqrt(2)`, `max(1, 2)`, `pi`. It is never run as
 * code.
 *
 * @example evaluate('2 + 3 * 4') // 14
 */
export const evaluate = (expression: string): number => {
  if (expression.length > longest)
    throw new ExpressionError(`An expression has at most ${longest} characters.`)
  const value = new Parser(expression).whole()
  if (Number.isFinite(value)) return value
  throw new ExpressionError(
    Number.isNaN(value) ? 'The result is not a real number.' : 'The result is too large.',
  )
}

/** Reads an expression. Each method reads what binds tighter than the one before it. */
class Parser {
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  whole(): number {
    const value = this.#sum()
    if (this.#peek() !== '') throw this.#unexpected()
    return value
  }

  #sum(): number {
    let value = this.#product()
    for (;;) {
      if (this.#take('+')) value += this.#product()
      else if (this.#take('-', '−', '–')) value -= this.#product()
      else return value
    }
  }

  #product(): number {
    let value = this.#signed()
    for (;;) {
      if (this.#isPower()) return value
      if (this.#take('*', '×', '·')) value *= this.#signed()
      else if (this.#take('/', '÷')) value /= this.#divisor()
      else if (this.#take('%')) value %= this.#divisor()
      else return value
    }
  }

  #divisor(): number {
    const value = this.#signed()
    if (value === 0) throw new ExpressionError('Nothing can be divided by zero.')
    return value
  }

  /** A sign binds less than a power: -2^2 is -4. */
  #signed(): number {
    if (this.#take('-', '−', '–')) return -this.#deeper(() => this.#signed())
    if (this.#take('+')) return this.#deeper(() => this.#signed())
    return this.#power()
  }

  /** Powers are read from the right: 2^3^2 is 2^9. */
  #power(): number {
    const base = this.#operand()
    if (!this.#isPower()) return base
    this.#at += this.#text.startsWith('**', this.#at) ? 2 : 1
    return base ** this.#deeper(() => this.#signed())
  }

  #isPower(): boolean {
    return this.#peek() === '^' || this.#text.startsWith('**', this.#at)
  }

  #operand(): number {
    if (this.#take('(')) {
      const value = this.#deeper(() => this.#sum())
      this.#expect(')')
      return value
    }
    const number = this.#match(/(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y)
    if (number !== '') return Number(number)
    const start = this.#at
    const name = this.#match(/[\p{L}][\p{L}\d]*/uy).toLowerCase()
    if (name === '') throw this.#unexpected()
    return this.#named(name, start)
  }

  #named(name: string, start: number): number {
    const constant = constants.get(name)
    if (constant !== undefined) return constant
    const call = functions.get(name)
    if (!call) {
      throw new ExpressionError(`"${name}" at ${start + 1} is neither a function nor a constant: ${known()}.`)
    }
    this.#expect('(')
    const values = [this.#deeper(() => this.#sum())]
    while (takesSeveral.has(name) && this.#take(',')) values.push(this.#deeper(() => this.#sum()))
    this.#expect(')')
    return call(...values)
  }

  /** Limits the depth of brackets, signs and powers, so that the stack does not overflow. */
  #deeper(read: () => number): number {
    if (++this.#depth > deepest) throw new ExpressionError('The expression is nested too deeply.')
    const value = read()
    this.#depth--
    return value
  }

  #peek(): string {
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at++
    return this.#text.charAt(this.#at)
  }

  #take(...signs: string[]): boolean {
    if (!signs.includes(this.#peek())) return false
    this.#at++
    return true
  }

  #expect(sign: string): void {
    if (!this.#take(sign)) throw this.#unexpected(`, expected "${sign}"`)
  }

  #match(pattern: RegExp): string {
    this.#peek()
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? ''
    this.#at += found.length
    return found
  }

  #unexpected(instead = ''): ExpressionError {
    const sign = this.#peek()
    const problem = sign === '' ? 'The expression ends too early' : `Unexpected "${sign}" at ${this.#at + 1}`
    return new ExpressionError(`${problem}${instead}.`)
  }
}

const known = (): string => [...functions.keys(), ...constants.keys()].join(', ')
