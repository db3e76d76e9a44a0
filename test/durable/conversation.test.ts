/** The conversation of a stored run: what was said before it, and what it has added. */
import { describe, expect, test } from 'vitest'
import type { HostedFrom } from '../../src/agent/Agent.ts'
import {
  conversationAfter,
  conversationBefore,
  conversationOf,
  isPrompt,
} from '../../src/durable/conversation.ts'
import { type ChatMessage, modelMessage, userMessage } from '../../src/messages/messages.ts'

const [a, b, c, d] = [userMessage('a?'), modelMessage('A.'), userMessage('b?'), modelMessage('B.')] as const
const broken = { role: 'model' }
const call: ChatMessage = {
  role: 'model',
  parts: [{ type: 'toolCall', id: 'c', name: 'wipe', arguments: {} }],
}
const result: ChatMessage = {
  role: 'user',
  parts: [{ type: 'toolResult', id: 'c', name: 'wipe', result: 'wiped' }],
}

const snapshotWith = (context: unknown, children = {}) =>
  ({ snapshot: { status: 'active', context, children } }) as unknown as HostedFrom

test.each([
  ['that has not begun', { input: { prompt: 'c?', history: [a, b] } }, { before: [a, b], added: [] }],
  ['that has not begun, and has no history', { input: { prompt: 'c?' } }, { before: [], added: [] }],
  [
    'with its whole history',
    snapshotWith({ history: [a, b, c], messages: [c] }),
    { before: [a, b], added: [c] },
  ],
  ['that has added everything', snapshotWith({ history: [a], messages: [a] }), { before: [], added: [a] }],
  [
    'whose history is shorter than what it added',
    snapshotWith({ history: [], messages: [a, b] }),
    { before: [], added: [a, b] },
  ],
  [
    'that is made of runs',
    snapshotWith({ input: { history: [a, b] }, messages: [c, d] }),
    { before: [a, b], added: [c, d] },
  ],
  ['whose input is not an object', snapshotWith({ input: 5, messages: [c] }), { before: [], added: [c] }],
  [
    'with messages that are not messages',
    snapshotWith({ history: [a, broken, c], messages: [broken, c] }),
    { before: [a], added: [c] },
  ],
  ['without data', snapshotWith(undefined), { before: [], added: [] }],
  ['without a snapshot', { snapshot: undefined } as unknown as HostedFrom, { before: [], added: [] }],
] as [string, HostedFrom, unknown][])('of a run %s', (_, from, conversation) => {
  expect(conversationOf(from)).toEqual(conversation)
})

test.each([
  ['is kept with an answer', [c, d], [a, b, c, d]],
  ['is kept with an answer after a call', [c, call, result, d], [a, b, c, call, result, d]],
  ['is dropped without an answer', [c], [a, b]],
  ['is dropped after a result that got no answer', [c, call, result], [a, b]],
  ['is dropped with a call that has no result', [c, call], [a, b]],
  ['is as before if nothing was added', [], [a, b]],
])('what a run that is over has added %s', (_, added, history) => {
  expect(conversationAfter({ before: [a, b], added })).toEqual(history)
})

describe('before a model call', () => {
  const whole = { before: [a, b], added: [c, call, result, d] }

  test.each([
    [1, [a, b, c]],
    [2, [a, b, c, call, result]],
    [3, undefined],
    [4, undefined],
    [0, undefined],
  ])('number %i', (step, history) => {
    expect(conversationBefore(whole, step)).toEqual(history)
  })

  test('that is still to come', () => {
    const added = [c, call, result]
    expect(conversationBefore({ before: [a, b], added }, 2)).toEqual([a, b, ...added])
    expect(conversationBefore({ before: [a, b], added }, 3)).toBeUndefined()
    expect(conversationBefore({ before: [a, b], added: [] }, 1)).toBeUndefined()
    expect(conversationBefore({ before: [a], added: [] }, 1)).toEqual([a])
  })
})

test('a prompt is what a person said', () => {
  expect([a, b, call, result, undefined].map(isPrompt)).toEqual([true, false, false, false, false])
})
