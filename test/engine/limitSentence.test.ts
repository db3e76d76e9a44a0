import { expect, test } from 'vitest'
import { limitSentence } from '../../machines/agent/limits.ts'

test.each([
  ['steps', 25, 25, 'The run has used 25 of 25 steps.'],
  ['steps', 1000, 1000, 'The run has used 1,000 of 1,000 steps.'],
  ['tokens', 5120, 5000, 'The run has used 5,120 of 5,000 tokens.'],
  ['cost', 10.5, 10, 'The run has cost $10.50 of $10.00.'],
  ['toolCalls', 20, 20, 'The run has made 20 of 20 tool calls.'],
  ['repeats', 3, 3, 'The run keeps making the same calls with the same results.'],
  ['compactions', 3, 1, 'The conversation does not fit: it had to be compacted again and again.'],
] as const)('the limit of %s is a sentence', (limit, used, allowed, sentence) => {
  expect(limitSentence({ limit, used, allowed })).toBe(sentence)
})
