/** Whole answers of servers that put an empty delta beside the message, as Perplexity does. */
import { expect, it } from 'vitest'
import { decode, event, ofType } from './chunks.ts'

const choice = (delta: string, message: string, finish_reason: string | null) => ({
  id: 'r1',
  object: 'chat.completion.chunk',
  choices: [
    {
      index: 0,
      finish_reason,
      delta: { role: 'assistant', content: delta },
      message: { role: 'assistant', content: message },
    },
  ],
})
const textOf = (...chunks: object[]) =>
  ofType(decode(chunks.map((chunk) => event(chunk))), 'text')
    .map(({ text }) => text)
    .join('')

it('reads the message of an answer that was not streamed', () => {
  expect(textOf(choice('', 'Oslo.', 'stop'))).toBe('Oslo.')
})

it('reads a stream by its deltas, whatever is repeated beside them', () => {
  expect(textOf(choice('Os', 'Os', null), choice('lo.', 'Oslo.', null), choice('', 'Oslo.', 'stop'))).toBe(
    'Oslo.',
  )
})
