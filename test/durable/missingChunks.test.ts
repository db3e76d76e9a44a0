/** Readers still get what a step shows if the process died between storing the step and showing it. */
import { expect, test } from 'vitest'
import { emptyAnswer } from '../../machines/agent/streamingState.ts'
import { chunkWith, waitChunk } from '../../src/durable/chunks.ts'
import { missingChunks, type StoredState } from '../../src/durable/sqlite/recovery.ts'
import { modelMessage, userMessage } from '../../src/messages/messages.ts'
import type { PendingCall } from '../../src/messages/result.ts'

const [asked, answer] = [userMessage('?'), modelMessage('!')]
const totals = { responseId: 'r1' }

/** The snapshot of a run that has these messages. */
const snapshot = {
  status: 'active',
  context: {
    answer: emptyAnswer(0, false),
    request: {},
    round: {},
    history: [],
    messages: [asked, answer],
    totals,
  },
}
const state = (some: Partial<StoredState> = {}): StoredState => ({
  snapshot,
  status: 'running',
  pending: [],
  hidden: 0,
  ...some,
})
const tail = (delivered: number, isOpen = false) => ({ seq: 9, incarnation: 1, delivered, isOpen })
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
  ['all messages', state(), tail(0), [shown(asked), shown(answer)]],
  ['the messages that were not shown', state(), tail(1), [shown(answer)]],
  ['nothing if all were shown', state(), tail(2), []],
  ['no message that its chart hides', state({ hidden: 1 }), tail(1), []],
  ['a message, which ends the text before it', state(), tail(1, true), [shown(answer)]],
  ['a restart after a text without its message', state(), tail(2, true), [{ ...restart, id: 'r1' }]],
  [
    'what it waits for',
    state({ status: 'waiting', pending: [call] }),
    tail(1, true),
    [shown(answer), waitChunk([call])],
  ],
  [
    'what it waits for, and nothing else',
    state({ status: 'waiting', pending: [call] }),
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
  expect(missingChunks(state({ snapshot: paused }), tail(2, true))).toEqual([
    { ...restart, id: 'r1' },
    chunkWith({ id: 'r1', output: '\nSo far.' }),
  ])
})

test('a chart of runs shows the messages of its runs, with the response id of the innermost', () => {
  const inner = { ...snapshot, context: { ...snapshot.context, messages: [answer] } }
  const outer = {
    status: 'active',
    context: { messages: [asked, { role: 'stranger' }], totals: { responseId: 'r0' } },
    children: { run: { snapshot: inner }, timer: { snapshot: { context: { totals: { responseId: '' } } } } },
  }
  const around = (context: object) => ({ ...outer, context: { ...outer.context, ...context } })
  expect(missingChunks(state({ snapshot: outer }), tail(0))).toEqual([shown(asked), shown(answer)])
  const silent = { ...outer, children: { timer: outer.children.timer } }
  expect(missingChunks(state({ snapshot: silent }), tail(0))).toEqual([shown(asked, 'r0')])
  expect(
    missingChunks(state({ snapshot: { ...silent, context: around({ totals: 5 }).context } }), tail(0)),
  ).toEqual([shown(asked, '')])
  // Without a run that says what is still valid, all of the text is discarded.
  expect(missingChunks(state({ snapshot: silent }), tail(2, true))).toEqual([restart])
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
  const chunks = missingChunks(state({ snapshot: over, status: 'complete' }), tail(1, true))
  expect(chunks).toStrictEqual([shown(answer), chunkWith(chunk)])
})

test('of a run that broke before it had a snapshot, readers get the end', () => {
  expect(missingChunks(state({ snapshot: undefined, status: 'failed' }), tail(0))).toEqual([
    chunkWith({ finishReason: 'error' }),
  ])
})
