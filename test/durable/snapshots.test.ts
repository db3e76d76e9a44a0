/** Facts about a run by its snapshot alone: of an actor that runs here, or as it was stored. */
import { describe, expect, test } from 'vitest'
import { snapshotVersion } from '../../machines/stored/version.ts'
import { contextsIn, isAtEnd, isResting, messagesOf, stepsIn, usageIn } from '../../src/durable/snapshots.ts'
import { modelMessage, userMessage } from '../../src/messages/messages.ts'

type Some = Record<string, unknown>

/** The data of the lifecycle chart, as far as it is looked at. */
const runData = (some: Some = {}): Some => ({
  answer: {},
  request: {},
  round: {},
  history: [],
  messages: [],
  ...some,
})
const active = (value: unknown, context: Some, children: Some = {}) => ({
  status: 'active',
  value,
  context,
  children,
})
const stored = (snapshot: unknown) => ({ snapshot })
const actor = (snapshot: unknown) => ({ getSnapshot: () => snapshot })

const waiting = active('AwaitingApproval', runData())
const working = active({ Accumulating: 'Streaming' }, runData())
const done = { status: 'done', value: 'Complete', context: runData(), children: {} }

const inner = { a: [{ id: 'a/c', kind: 'approval' }], b: [{ id: 'b/c', kind: 'approval' }] }

/** A run with two calls of sub-agents, which wait. */
const executing = (runs: Some, round: Some = {}) => {
  const calls = ['a', 'b'].map((id) => ({ type: 'toolCall', id, name: 'sub', arguments: {} }))
  const started = { started: [['a', 'b']], results: [], edited: {}, waiting: inner, commands: {} }
  const context = runData({
    version: snapshotVersion,
    history: [{ role: 'model', parts: calls }],
    round: { ...started, ...round },
  })
  const executor = { status: 'active', runs: { a: waiting, b: waiting, ...runs } }
  return active({ ToolExecution: 'Waiting' }, context, { toolExecutor: stored(executor) })
}

describe('a run rests', () => {
  test.each([
    ['that waits for an approval', waiting],
    ['that waits for an answer', active('AwaitingTools', runData())],
    ['that is at a limit', active('AtLimit', runData())],
    ['that is over', done],
    ['that broke', { status: 'error' }],
    ['of which nothing is known', undefined],
    ['whose stored child waits', active('Draft', {}, { run: stored(waiting) })],
    ['whose child waits', active('Draft', {}, { run: actor(waiting) })],
    ['whose child in a child waits', active('A', {}, { b: stored(active('B', {}, { c: stored(waiting) })) })],
    ['that waits and has a child that is done', active('AtLimit', runData(), { timer: stored(done) })],
    ['whose sub-agents wait', executing({})],
    ['whose sub-agents wait in this process', executing({ a: actor(waiting), b: actor(waiting) })],
    [
      'whose last sub-agent waits',
      executing({ b: working }, { results: [[{ id: 'b' }]], waiting: { a: inner.a } }),
    ],
  ])('%s', (_, snapshot) => {
    expect(isResting(snapshot)).toBe(true)
  })

  test.each([
    ['that works', working],
    ['in a state of a user’s chart that is called the same', active('AwaitingApproval', { history: [] })],
    ['of a chart without children', active('Draft', {})],
    ['whose approver is asked', active('AwaitingApproval', runData(), { approver: actor(working) })],
    ['one of whose children works', active('A', {}, { b: stored(waiting), c: stored(working) })],
    ['whose calls wait for nothing', executing({}, { waiting: {} })],
    ['one of whose calls waits for nothing', executing({}, { waiting: { a: inner.a } })],
    [
      'that has been decided on',
      executing({}, { commands: { a: [{ type: 'tool.approve', callId: 'a/d' }] } }),
    ],
    ['whose sub-agent works', executing({ a: working })],
    ['whose sub-agent works in this process', executing({ a: actor(working) })],
    ['one of whose sub-agents works', executing({ b: working })],
  ])('not %s', (_, snapshot) => {
    expect(isResting(snapshot)).toBe(false)
  })
})

describe('a run is at its end', () => {
  const ended = (status: string, context: Some = { messages: [] }) => ({
    status: 'done',
    context,
    output: { status },
  })

  test.each([
    ['when it is complete', ended('complete'), true],
    [
      'when the last run of its chart is',
      active('A', {}, { a: stored(working), b: stored(ended('complete')) }),
      true,
    ],
    ['not while it works', working, false],
    ['not when it failed: its chart may go on', ended('failed'), false],
    ['not when it was aborted', ended('aborted'), false],
    ['not when it is no run', ended('complete', {}), false],
    ['not when it has no output', { status: 'done', context: { messages: [] } }, false],
    ['not when nothing is known of it', undefined, false],
  ])('%s', (_, snapshot, expected) => {
    expect(isAtEnd(snapshot)).toBe(expected)
  })
})

const question = userMessage('?')
const answer = modelMessage('!')

test.each([
  ['a run counts them', active('A', { step: 3, messages: [answer] }), 3],
  ['a run that has not begun', active('A', { step: 0, messages: [answer] }), 0],
  ['a run around it has them twice', active('A', { step: 3 }, { call: stored(active('B', { step: 2 })) }), 3],
  [
    'a chart of runs has those of the runs that ended, and of the one under way',
    active('A', { messages: [question, answer, answer, null, 5] }, { run: stored(active('B', { step: 2 })) }),
    4,
  ],
  [
    'two runs under way',
    active('A', {}, { a: actor(active('B', { step: 2 })), b: stored(active('C', { step: 1 })) }),
    3,
  ],
  ['messages that are not a list', active('A', { messages: 'many' }), 0],
  ['nothing', undefined, 0],
])('model calls: %s', (_, snapshot, steps) => {
  expect(stepsIn(snapshot)).toBe(steps)
})

test.each([
  [
    'of a run, not of what its tools asked',
    active('A', runData({ messages: [question] }), { call: stored(active('B', { messages: [answer] })) }),
    [question],
  ],
  [
    'of a chart of runs, those of its runs',
    active('A', { messages: [question] }, { run: stored(active('B', runData({ messages: [answer] }))) }),
    [question, answer],
  ],
  ['none', active('A', { messages: {} }), []],
])('messages: %s', (_, snapshot, messages) => {
  expect(messagesOf(snapshot)).toEqual(messages)
})

test('usage is that of a run and of those below it', () => {
  const used = (inputTokens: number) => ({ totals: { usage: { inputTokens } } })
  const children = { a: stored(active('B', used(2))), b: stored(active('C', used(3))), c: stored(undefined) }
  expect(usageIn(active('A', used(1), children))).toEqual({ inputTokens: 6 })
  expect(usageIn(active('A', {}, children))).toEqual({ inputTokens: 5 })
  expect(usageIn(active('A', { totals: { usage: null } }))).toBeUndefined()
  expect(usageIn(active('A', { totals: 'none' }))).toBeUndefined()
})

test('the data of the innermost run comes first', () => {
  const inner = active('B', { name: 'b' }, { c: stored(active('C', { name: 'c' })) })
  const snapshot = active('A', { name: 'a' }, { b: actor(inner), d: stored(active('D', { name: 'd' })) })
  expect(contextsIn(snapshot).map(({ name }) => name)).toEqual(['c', 'b', 'd', 'a'])
  expect(contextsIn({ context: [] })).toEqual([{}])
})
