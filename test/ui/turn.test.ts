/** The events of a chunk, in order, and what a page sees of a result. */
import { describe, expect, test } from 'vitest'
import type { ChatMessage, ToolResultPart } from '../../src/messages/messages.ts'
import type { ChatResult } from '../../src/messages/result.ts'
import { errorTextOf, eventsOf, outputOf } from '../../src/ui/turn.ts'

const result = (over: Partial<ToolResultPart>): ToolResultPart => ({
  type: 'toolResult',
  id: 'c1',
  name: 'look',
  result: 'seen',
  ...over,
})

describe('the events of a chunk', () => {
  const nothing: ChatResult = {
    id: '',
    output: '',
    messages: [],
    metadata: {},
    finishReason: 'unspecified',
  }

  test('are a restart, thinking, text, and its messages', () => {
    const answer: ChatMessage = { role: 'model', parts: [{ type: 'text', text: 'I look.' }] }
    const results: ChatMessage = { role: 'user', parts: [result({}), result({ id: 'c2' })] }
    const prompt: ChatMessage = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }
    const chunk = {
      ...nothing,
      output: 'a',
      metadata: { restart: true, thinking: 'Hm.' },
      messages: [prompt, answer, results],
    }
    expect([...eventsOf(chunk)]).toStrictEqual([
      { type: 'restart' },
      { type: 'thinking', text: 'Hm.' },
      { type: 'text', text: 'a' },
      { type: 'answer', message: answer },
      { type: 'result', result: result({}) },
      { type: 'result', result: result({ id: 'c2' }) },
    ])
  })

  test('do not exist for a chunk without any', () => {
    expect([...eventsOf(nothing)]).toEqual([])
    expect([...eventsOf({ ...nothing, metadata: { restart: 'yes', thinking: 7 } })]).toEqual([])
  })
})

const media = { type: 'data', mimeType: 'image/png', data: 'AAAA' } as const

test.each<[Partial<ToolResultPart>, unknown]>([
  [{ result: 'seen' }, 'seen'],
  [{ result: '21' }, '21'],
  [{ result: '"seen"' }, '"seen"'],
  [{ result: 'a {"b":1}' }, 'a {"b":1}'],
  [{ result: ' \n{"celsius":21}' }, { celsius: 21 }],
  [{ result: '[1]' }, [1]],
  [{ result: '{"celsius"' }, '{"celsius"'],
  [
    { result: '{"a":1}', parts: [media] },
    { result: { a: 1 }, parts: [media] },
  ],
])('a page sees the result %j as data', (over, expected) => {
  expect(outputOf(result(over))).toStrictEqual(expected)
})

test.each([
  ['{"error":"no paper"}', 'no paper'],
  ['{"error":7}', '{"error":7}'],
  ['{"problem":"x"}', '{"problem":"x"}'],
  ['["error"]', '["error"]'],
  ['no paper', 'no paper'],
])('a page sees the problem %s as text', (given, expected) => {
  expect(errorTextOf(result({ result: given }))).toBe(expected)
})
