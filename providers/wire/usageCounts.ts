import type { Usage } from '../../src/messages/result.ts'

/** Counts as a wire gives them; what it leaves out is undefined. */
export type Counts = {
  /** All input, cached and written included. */
  input: number | undefined
  output: number | undefined
  total?: number | undefined
  cached?: number | undefined
  written?: number | undefined
  reasoning?: number | undefined
  cost?: number | undefined
}

/**
 * The counts in the one meaning they have for all providers: input is all input, output all output, and the total is their
 * sum. Undefined where nothing was counted.
 */
export const usageFrom = (counts: Counts): Usage | undefined => {
  const { input, cached, written, reasoning, cost } = counts
  const output = isThinkingBeside(counts) ? sum(counts.output, reasoning) : counts.output
  const total = input !== undefined && output !== undefined ? input + output : counts.total
  const usage: Usage = {
    ...(input !== undefined && { inputTokens: input }),
    ...(output !== undefined && { outputTokens: output }),
    ...(total !== undefined && { totalTokens: total }),
    ...(cached !== undefined && { cachedInputTokens: cached }),
    ...(written !== undefined && { cacheWriteTokens: written }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
    ...(cost !== undefined && { cost }),
  }
  return Object.keys(usage).length > 0 ? usage : undefined
}

/** xAI counts thinking beside the output; only its total says so. */
const isThinkingBeside = ({ input, output, total, reasoning }: Counts): boolean =>
  sum(reasoning) > 0 && total === sum(input, output, reasoning)

const sum = (...counts: (number | undefined)[]): number =>
  counts.reduce((total: number, count) => total + (count ?? 0), 0)
