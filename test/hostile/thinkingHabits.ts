import { expect } from 'vitest'
import type { JsonObject } from '../../src/messages/json.ts'
import { callChunk, chatEvents, chunk, openai } from './chatWire.ts'
import { farewell, loop, once } from './hostileRun.ts'
import { objects } from './wire.ts'

// Thinking on the Chat Completions wire.

export const oslo = { id: 'call00001', name: 'get_weather', args: '{"city":"Oslo"}' }
export const callOslo = callChunk({ index: 0, ...oslo })
export const assistantOf = (body: JsonObject | undefined): JsonObject | undefined =>
  objects(body?.messages).find(({ role }) => role === 'assistant')

export const thought = (text: string, more: JsonObject = {}): JsonObject =>
  chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text }], ...more }] })

const spoken = chunk({ content: [{ type: 'text', text: farewell }] })

/** Content that is a list of parts: thinking is thinking, text is text. */
export const thinkingParts = async (): Promise<void> => {
  const outcome = await once(openai, chatEvents([thought('Hm.'), spoken], 'stop'))

  expect(outcome.result).toMatchObject({ output: farewell, metadata: { thinking: 'Hm.' } })
}

export const reasoningEvents = chatEvents([chunk({ reasoning_content: 'Where?' }), callOslo], 'tool_calls')

/** Checks that it is thinking, not text. */
export const reasoningContent = async (model: string): Promise<void> => {
  const outcome = await loop(openai, reasoningEvents, { model })

  expect(outcome.result.output).toBe(farewell)
  expect(outcome.result.metadata.thinking).toBe('Where?')
  expect(assistantOf(outcome.bodies[1])?.content ?? '').not.toContain('Where?')
}
