/** What the readers of a run still get that died between a step and what the step shows. */
import { expect, test } from 'vitest'
import { chunkWith, missingChunks, type Stand, waitChunk } from '../../src/durable/runChunks.ts'
import { modelMessage, userMessage } from '../../src/messages/messages.ts'
import type { PendingCall } from '../../src/messages/result.ts'

const [asked, answer] = [userMessage('?'), modelMessage('!')]
const totals = { responseId: 'r1' }

/** The snapshot of a run that has these messages. */
const snapshot = {
  status: 'active',
  context: { answer: {}, request: {}, round: {}, history: [], messages: [asked, answer], totals },
}
const stand = (some: Partial<Stand> = {}): Stand => ({
  snapshot,
  status: 'running',
  pending: [],
  hidden: 0,
  ...some,
})
const tail = (told: number, isOpen = false) => ({ seq: 9, life: 1, told, isOpen })
const shown = (message: typeof asked, id = 'r1') => chunkWith({ id, messages: [message] })
const restart = chunkWith({ metadata: { restart: true } })
const call: PendingCall = { type: 'toolCall', id: 'c', name: 'wipe', arguments: {}, kind: 'approval' }

test('a chunk that says nothing is empty', () => {
  expect(chunkWith({})).toEqual({
    id: '',
    output: '',
    messages: [],
    finishReason: 'unspecified',
    metadata: {},
  })
})

test.each([
  ['all messages', stand(), tail(0), [shown(asked), shown(answer)]],
  ['the messages that were not shown', stand(), tail(1), [shown(answer)]],
  ['nothing if all were shown', stand(), tail(2), []],
  ['no message that its chart hides', stand({ hidden: 1 }), tail(1), []],
  ['a message, which ends the text before it', stand(), tail(1, true), [shown(answer)]],
  ['a restart after a text without its message', stand(), tail(2, true), [{ ...restart, id: 'r1' }]],
  [
    'what it waits for',
    stand({ status: 'waiting', pending: [call] }),
    tail(1, true),
    [shown(answer), waitChunk([call])],
  ],
  [
    'what it waits for, and nothing else',
    stand({ status: 'waiting', pending: [call] }),
    tail(2),
    [waitChunk([call])],
  ],
])('%s', (_, given, at, chunks) => {
  expect(missingChunks(given, at)).toEqual(chunks)
})

test('a wait shows the calls', () => {
  expect(waitChunk([call, { ...call, id: 'd' }])).toEqual(
    chunkWith({ finishReason: 'toolCalls', pendingApproval: { calls: [call, { ...call, id: 'd' }] } }),
  )
})

test('the part of an answer before a pause of the provider is shown again', () => {
  const paused = {
    ...snapshot,
    context: { ...snapshot.context, paused: modelMessage('So far.'), options: { outputSchema: null } },
  }
  expect(missingChunks(stand({ snapshot: paused }), tail(2, true))).toEqual([
    { ...restart, id: 'r1' },
    chunkWith({ id: 'r1', output: '\nSo far.' }),
  ])
})

test('a chart of runs shows the messages of its runs, with the response id of the innermost', () => {
  const inner = { ...snapshot, context: { ...snapshot.context, messages: [answer] } }
  const outer = {
    status: 'active',
    context: { messages: [asked, { role: 'nobody' }], totals: { responseId: 'r0' } },
    children: { run: { snapshot: inner }, timer: { snapshot: { context: { totals: { responseId: '' } } } } },
  }
  const around = (context: object) => ({ ...outer, context: { ...outer.context, ...context } })
  expect(missingChunks(stand({ snapshot: outer }), tail(0))).toEqual([shown(asked), shown(answer)])
  const silent = { ...outer, children: { timer: outer.children.timer } }
  expect(missingChunks(stand({ snapshot: silent }), tail(0))).toEqual([shown(asked, 'r0')])
  expect(
    missingChunks(stand({ snapshot: { ...silent, context: around({ totals: 5 }).context } }), tail(0)),
  ).toEqual([shown(asked, '')])
  // Without a run that says what is still valid, all of the text is discarded.
  expect(missingChunks(stand({ snapshot: silent }), tail(2, true))).toEqual([restart])
})

test.each([
  [
    'all that is known of it',
    {
      id: 'r2',
      finishReason: 'length',
      rawFinishReason: 'max_tokens',
      usage: { outputTokens: 4 },
      output: 'x',
    },
    { id: 'r2', finishReason: 'length', rawFinishReason: 'max_tokens', usage: { outputTokens: 4 } },
  ],
  ['only its reason', { finishReason: 'stop' }, { finishReason: 'stop' }],
  ['an error where there is no reason', {}, { finishReason: 'error' }],
  ['an error where there is no output', undefined, { finishReason: 'error' }],
] as const)('the end of a run has %s', (_, output, chunk) => {
  const over = { ...snapshot, status: 'done', output }
  const chunks = missingChunks(stand({ snapshot: over, status: 'complete' }), tail(1, true))
  expect(chunks).toStrictEqual([shown(answer), chunkWith(chunk)])
})

test('of a run that broke before it had a snapshot, readers get the end', () => {
  expect(missingChunks(stand({ snapshot: undefined, status: 'failed' }), tail(0))).toEqual([
    chunkWith({ finishReason: 'error' }),
  ])
})
