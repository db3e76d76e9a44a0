import { z } from 'zod'
import { type Tool, tool } from '../../tools/tool.ts'
import { evaluate } from './evaluate.ts'

/** Twelve digits: what floating point adds behind them (0.1 + 0.2) is noise. */
export const calculate = (expression: string): string =>
  `${expression.trim()} = ${Number(evaluate(expression).toPrecision(12))}`

export const calculator: Tool = tool({
  name: 'calculator',
  description:
    'Calculates an arithmetic expression: + - * / % (remainder) ^, brackets, sqrt, ln, log, sin, min, max, pi …',
  input: z.object({ expression: z.string().describe('For example (17.5 / 100) * 2480') }),
  execute: ({ expression }) => calculate(expression),
})
