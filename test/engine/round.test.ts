/** The calls of a turn, as data: which start next, what the turn waits for, and what happens to it after a restore. */
import { describe, expect, test } from 'vitest'
import type { CallCommand } from '../../machines/agent/events.ts'
import { initialState } from '../../machines/agent/runInput.ts'
import { noRound, type StreamingState, type ToolRound } from '../../machines/agent/streamingState.ts'
import { allResults } from '../../machines/tools/results.ts'
import {
  beginCalls,
  callInput,
  callsToRun,
  callsToStart,
  externalCalls,
  finishCalls,
  isAnnounced,
  isAtWork,
  isWaiting,
  noteWait,
  ownOf,
  resumeCalls,
  runningCalls,
  waitsFor,
  withCommand,
  without,
  withResults,
} from '../../machines/tools/round.ts'
import {
  modelMessage,
  type ToolCallPart,
  type ToolResultPart,
  userMessage,
} from '../../src/messages/messages.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import type { OnInterrupted } from '../../src/tools/tool.ts'

const call = (id: string, name = 'work'): ToolCallPart => ({ type: 'toolCall', id, name, arguments: {} })
const result = (id: string): ToolResultPart => ({ type: 'toolResult', id, name: 'work', result: `did ${id}` })
const asked = (id: string): PendingCall => ({ ...call(id), kind: 'approval' })
const yes = (callId: string): CallCommand => ({ type: 'tool.approve', callId })

/** A run whose model has made these calls, all of which may run. */
const turn = (calls: (string | ToolCallPart)[], round: Partial<ToolRound> = {}): StreamingState => {
  const parts = calls.map((each) => (typeof each === 'string' ? call(each) : each))
  const state = initialState({ prompt: 'Go', id: 'job' }, 0, { totalMs: undefined, limits: {} })
  return {
    ...state,
    history: [userMessage('Go'), modelMessage(parts)],
    round: { ...noRound, id: 'r1', cleared: parts.map(({ id }) => id), ...round },
  }
}

const idsOf = (calls: readonly { id: string }[]): string[] => calls.map(({ id }) => id)
const all = Number.POSITIVE_INFINITY

describe('calls of a turn', () => {
  test.each<[string, string[], string[], number, string[]]>([
    ['one at first', [], [], 1, ['a']],
    ['as many as may run at the same time', [], [], 2, ['a', 'b']],
    ['all', [], [], all, ['a', 'b', 'c']],
    ['none while as many are running', ['a', 'b'], [], 2, []],
    ['none while more are running', ['a', 'b'], [], 1, []],
    ['the next in the place of one that is done', ['a', 'b'], ['b'], 2, ['c']],
    ['all that are left, once more may run', ['a'], [], all, ['b', 'c']],
    ['none if none may', [], [], 0, []],
    ['none after the last', ['a', 'b', 'c'], ['a'], all, []],
  ])('start: %s', (_, started, done, concurrency, expected) => {
    const state = turn(['a', 'b', 'c'], { started: [started], results: [done.map(result)] })
    expect(idsOf(callsToStart(state, concurrency))).toEqual(expected)
    expect(isAtWork(state)).toBe(true)
  })

  test('start in the order of the answer, not in that of the approvals', () => {
    const { round, calls } = beginCalls(turn(['a', 'b', 'c'], { cleared: ['c', 'b', 'a'] }), 2)
    expect(idsOf(calls)).toEqual(['a', 'b'])
    expect(round).toMatchObject({ cleared: ['a', 'b', 'c'], started: [['a', 'b']] })
  })

  test('that were answered before, or are answered from outside, do not start', () => {
    const state = turn(['a', 'x', 'b', 'c'], {
      cleared: ['x', 'b', 'c'],
      external: ['x'],
      results: [[result('a')]],
    })
    const first = beginCalls(state, 1)
    expect(idsOf(first.calls)).toEqual(['b'])
    const next = finishCalls({ ...state, round: first.round }, [result('b')], 1)
    expect(idsOf(next.calls)).toEqual(['c'])
    const last = { ...state, round: finishCalls({ ...state, round: next.round }, [result('c')], 1).round }
    expect([isAtWork(last), idsOf(externalCalls(last))]).toEqual([false, ['x']])
  })

  test('run with the arguments that a person changed', () => {
    const unread = { ...call('a'), argumentsError: 'not JSON' }
    const state = turn([unread], { edited: { a: { n: 2 } }, started: [['a']] })
    const expected = [{ type: 'toolCall', id: 'a', name: 'work', arguments: { n: 2 } }]
    for (const calls of [callsToRun(state), runningCalls(state), beginCalls(state, 1).calls])
      expect(calls).toStrictEqual(expected)
  })

  test('have a key that all attempts share, and start for listeners once', () => {
    const state = turn(['a', 'b'], { interruptions: { a: 2 } })
    expect(callInput(state, call('a'))).toEqual({ call: call('a'), run: 'job', round: 'r1', attempt: 3 })
    expect(callInput(state, call('b')).attempt).toBe(1)
    expect(['a', 'b'].map((id) => isAnnounced(state, call(id)))).toEqual([true, false])
  })

  test('start in the place of those that finish, in one step', () => {
    const state = turn(['a', 'b', 'c', 'd'], { started: [['a', 'b']] })
    expect(finishCalls(state, [result('b'), result('a')], 2)).toStrictEqual({
      round: { ...state.round, started: [['a', 'b', 'c', 'd']], results: [[result('b'), result('a')]] },
      results: [result('b'), result('a')],
      calls: [call('c'), call('d')],
      asked: [],
    })
  })

  test('are over when each has its result', () => {
    const state = turn(['a', 'b'], { started: [['a', 'b']], results: [[result('b')]] })
    expect(isAtWork({ ...state, round: finishCalls(state, [result('a')], 1).round })).toBe(false)
    expect(isAtWork(turn([]))).toBe(false)
  })

  test('that get their result leave nothing else behind', () => {
    const { round } = turn(['a', 'b'], {
      started: [['a', 'b']],
      waiting: { a: [asked('a/x')], b: [asked('b/x')] },
      commands: { a: [yes('a/x')], b: [yes('b/x')] },
    })
    const after = withResults(round, [result('a')])
    expect(after).toEqual({
      ...round,
      results: [[result('a')]],
      waiting: { b: [asked('b/x')] },
      commands: { b: [yes('b/x')] },
    })
    expect(withResults(after, [result('c')]).waiting).toBe(after.waiting)
  })

  test('each get a result from an executor that forgets some and invents others', () => {
    const state = turn(['a', 'b', 'c'], { results: [[result('c')]] })
    expect(allResults(state, [result('z'), result('b'), undefined as never])).toMatchObject([
      { id: 'a', isError: true },
      result('b'),
    ])
  })
})

describe('a turn waits', () => {
  const both = { started: [['a', 'b']], waiting: { a: [asked('a/x'), asked('a/y')], b: [asked('b/x')] } }

  test.each<[string, Partial<ToolRound>, string[], boolean]>([
    ['for all, if nothing is at work', both, ['a/x', 'a/y', 'b/x'], true],
    ['for nothing while another call is at work', { ...both, waiting: { a: both.waiting.a } }, [], false],
    ['for nothing while another sub-agent is', { ...both, waiting: { ...both.waiting, b: [] } }, [], false],
    [
      'only for calls that have no result',
      { ...both, results: [[result('a')]], waiting: { b: both.waiting.b } },
      ['b/x'],
      true,
    ],
    [
      'only for calls that have started',
      { started: [['a']], waiting: { a: both.waiting.a } },
      ['a/x', 'a/y'],
      true,
    ],
    ['for nothing while a part of a sub-agent is at work', { ...both, working: ['a'] }, [], false],
    // The sub-agent has not taken it yet.
    ['for nothing while a decision is on its way', { ...both, commands: { a: [yes('a/x')] } }, [], true],
    ['for nothing before anything has started', {}, [], false],
    [
      'only for what runs, if fewer calls may than before',
      { ...both, started: [['a']] },
      ['a/x', 'a/y'],
      true,
    ],
  ])('%s', (_, round, expected, isStill) => {
    const state = turn(['a', 'b'], round)
    expect(idsOf(waitsFor(state))).toEqual(expected)
    expect(isWaiting(state)).toBe(isStill)
  })

  test('and asks for each call once: when nothing else is at work any more', () => {
    const state = turn(['a', 'b'], { started: [['a', 'b']] })
    const first = noteWait(state, { callId: 'a', calls: [asked('a/x')], isAtWork: false })
    expect(first.asked).toEqual([])
    const then = finishCalls({ ...state, round: first.round }, [result('b')], 2)
    expect(then.asked).toEqual([asked('a/x')])
    const more = noteWait(
      { ...state, round: then.round },
      { callId: 'a', calls: [asked('a/x'), asked('a/y')], isAtWork: false },
    )
    expect(more.asked).toEqual([asked('a/y')])
    const less = noteWait(
      { ...state, round: more.round },
      { callId: 'a', calls: [asked('a/y')], isAtWork: false },
    )
    expect([less.asked, less.round.waiting]).toEqual([[], { a: [asked('a/y')] }])
    const answer: PendingCall = { ...call('a/y'), kind: 'answer' }
    expect(
      noteWait({ ...state, round: less.round }, { callId: 'a', calls: [answer], isAtWork: false }).asked,
    ).toEqual([answer])
  })

  test('and a report of what is known changes nothing', () => {
    const state = turn(['a'], { started: [['a']], waiting: { a: [asked('a/x')] } })
    expect(noteWait(state, { callId: 'a', calls: [asked('a/x')], isAtWork: false }).round).toBe(state.round)
    const working = turn(['a'], { started: [['a']] })
    expect(noteWait(working, { callId: 'a', calls: [], isAtWork: false }).round).toBe(working.round)
  })

  test('and keeps decisions in their order', () => {
    const { round } = turn(['a'])
    const kept = withCommand(withCommand(round, 'a', yes('a/x')), 'a', yes('a/y'))
    expect(kept).toEqual({ ...round, commands: { a: [yes('a/x'), yes('a/y')] } })
  })
})

test.each(['constructor', '__proto__', 'toString'])('%s is not a call unless there is one', (id) => {
  expect(ownOf({}, id)).toBeUndefined()
  const record = {}
  expect(without(record, id)).toBe(record)
  expect(waitsFor(turn([id], { started: [[id]], waiting: { a: [] } }))).toEqual([])
})

describe('a stored turn', () => {
  const tools = (onInterrupted: OnInterrupted) => new Map([['work', { onInterrupted }]])
  const cut = (round: Partial<ToolRound> = {}) => turn(['a', 'b', 'c'], { started: [['a', 'b']], ...round })
  const unknown = expect.stringContaining('whether it took effect is unknown')
  const run = { status: 'active', output: undefined, error: undefined } as const

  test('runs again what may, and counts it; what has a result never runs again', () => {
    const state = cut({ results: [[result('a')]], interruptions: { b: 1 } })
    expect(resumeCalls(state, tools('rerun'), {}, 1)).toEqual({
      round: { ...state.round, cleared: ['b', 'c'], started: [['b']], interruptions: { b: 2 } },
      results: [],
      calls: [call('b')],
      asked: [],
    })
  })

  test('starts no more than may run at the same time', () => {
    const step = resumeCalls(cut(), tools('rerun'), {}, 1)
    expect(idsOf(step.calls)).toEqual(['a'])
    expect(step.round).toMatchObject({ started: [['a']], interruptions: { a: 1, b: 1 } })
  })

  test('asks about what its tool asks about, and pauses the others with their runs', () => {
    const state = turn([call('a', 'ask'), call('b', 'sub'), call('c', 'lost'), call('d')], {
      started: [['a', 'b', 'c']],
      inDoubt: ['d'],
      interruptions: { a: 1 },
      waiting: { b: [asked('b/x')] },
      commands: { b: [yes('b/x')], c: [yes('c/x')] },
    })
    const fates = new Map([
      ['ask', { onInterrupted: 'ask' as const }],
      ['sub', { onInterrupted: 'rerun' as const }],
    ])
    const { round, results, calls } = resumeCalls(state, fates, { b: run, c: run }, all)
    expect([idsOf(calls), results]).toMatchObject([[], [{ id: 'c', isError: true, result: unknown }]])
    expect(round).toEqual({
      ...state.round,
      pendingApprovals: ['a'],
      cleared: ['b', 'c', 'd'],
      inDoubt: ['d', 'a'],
      interruptions: { a: 2, b: 1 },
      runs: { b: run },
      waiting: {},
      commands: { b: [yes('b/x')] },
      started: [],
      results: [results],
    })
    // Once a person has decided, all that is left runs.
    const decided = { ...round, pendingApprovals: [], cleared: [...round.cleared, 'a'] }
    expect(idsOf(beginCalls({ ...state, round: decided }, all).calls)).toEqual(['a', 'b', 'd'])
  })

  test.each([
    ['whose tool does not know', tools('unknown')],
    ['whose tool is gone', new Map()],
  ])('ends a call %s, with all that belongs to it', (_, known) => {
    const state = cut({ waiting: { a: [asked('a/x')] }, commands: { a: [yes('a/x')] } })
    const { round, results, calls } = resumeCalls(state, known, { a: run }, 1)
    expect(results).toMatchObject(['a', 'b'].map((id) => ({ id, isError: true, result: unknown })))
    expect(round).toMatchObject({ interruptions: {}, waiting: {}, commands: {}, results: [results] })
    expect(idsOf(calls)).toEqual(['c'])
  })

  test('asks people if only a sub-agent that waits is left', () => {
    const state = turn([call('a', 'sub'), call('b')], {
      started: [['a', 'b']],
      waiting: { a: [asked('a/x')] },
    })
    const fates = new Map([['sub', { onInterrupted: 'rerun' as const }]])
    expect(resumeCalls(state, fates, { a: run }, all).asked).toEqual([asked('a/x')])
    const alone = turn([call('a', 'sub')], { started: [['a']], waiting: { a: [asked('a/x')] } })
    expect(resumeCalls(alone, fates, { a: run }, all).asked).toEqual([])
  })

  test('runs a call again whose arguments could not be read: it never ran', () => {
    const state = turn([{ ...call('a'), argumentsError: 'not JSON' }], { started: [['a']] })
    expect(resumeCalls(state, tools('unknown'), {}, 1)).toMatchObject({
      round: { interruptions: { a: 1 } },
      calls: [{ id: 'a' }],
      results: [],
    })
  })

  test('that has all its results is over', () => {
    const state = cut({ started: [['a', 'b', 'c']], results: [['a', 'b', 'c'].map(result)] })
    const { round, calls } = resumeCalls(state, tools('rerun'), {}, all)
    expect([calls, isAtWork({ ...state, round })]).toEqual([[], false])
  })
})
