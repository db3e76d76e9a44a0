/** The calls of a turn, as data: which begin, what the turn waits for, and what happens to it after a restore. */
import { describe, expect, test } from 'vitest'
import {
  addressed,
  below,
  isToolProgress,
  noProgress,
  ownOf,
  progressed,
  resumed,
  type ToolProgress,
  type ToolServiceSnapshot,
  unfinished,
  waitsFor,
  withResult,
} from '../../machines/tools/toolProgress.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import type { ToolCallPart, ToolResultPart } from '../../src/messages/messages.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import type { OnInterrupted } from '../../src/tools/tool.ts'

const call = (id: string, name = 'work'): ToolCallPart => ({ type: 'toolCall', id, name, arguments: {} })
const result = (id: string): ToolResultPart => ({ type: 'toolResult', id, name: 'work', result: `did ${id}` })
const asked = (id: string): PendingCall => ({ ...call(id), kind: 'approval' })

const turn = (ids: string[], change: Partial<ToolProgress> = {}): ToolProgress => ({
  ...noProgress({
    calls: ids.map((id) => call(id)),
    run: 'job',
    round: 'r1',
    interruptions: {},
    runs: {},
  }),
  ...change,
})

const active = { status: 'active', output: undefined, error: undefined } as const

describe('calls of a turn', () => {
  test.each<[string, string[], string[], number, string[]]>([
    ['one at first', [], [], 1, ['a']],
    ['as many as may run at once', [], [], 2, ['a', 'b']],
    ['all', [], [], Number.POSITIVE_INFINITY, ['a', 'b', 'c']],
    ['none while as many are running', ['a', 'b'], [], 2, ['a', 'b']],
    ['none while more are running, after a change of the setting', ['a', 'b'], [], 1, ['a', 'b']],
    ['the next in the place of one that is done', ['a', 'b'], ['b'], 2, ['a', 'b', 'c']],
    ['none if none may', [], [], 0, []],
  ])('begin: %s', (_, begun, done, concurrency, expected) => {
    const before = turn(['a', 'b', 'c'], { begun: [begun], results: [done.map(result)] })
    const after = progressed(before, concurrency, { inputTokens: 1 })
    expect(after.begun.flat()).toEqual(expected)
    expect(after).toEqual({ ...before, ...active, begun: after.begun })
    expect(unfinished(after).map(({ id }) => id)).toEqual(expected.filter((id) => !done.includes(id)))
  })

  test('are over when each has its result: in the order of the calls, with what is not yet counted', () => {
    const before = turn(['a', 'b'], { begun: [['a', 'b']], results: [[result('b')], [result('a')]] })
    const results = [result('a'), result('b')]
    expect(progressed(before, 1)).toStrictEqual({
      ...before,
      status: 'done',
      output: { results },
      error: undefined,
    })
    expect(progressed(before, 1, { inputTokens: 1 }).output).toEqual({ results, usage: { inputTokens: 1 } })
  })

  test('that get their result leave nothing else behind', () => {
    const waits = { a: [asked('a/x')], b: [asked('b/x')] }
    const decided = (callId: string) => [{ type: 'tool.approve', callId } as const]
    const before = turn(['a', 'b'], {
      begun: [['a', 'b']],
      runs: { a: active, b: active },
      waiting: waits,
      commands: { a: decided('x'), b: decided('x') },
    })
    const after = withResult(before, result('a'))
    expect(after).toEqual({
      ...before,
      results: [[result('a')]],
      runs: { b: active },
      waiting: { b: waits.b },
      commands: { b: decided('x') },
    })
    // What does not change is the same object: a long turn is not copied at each result.
    expect(withResult(after, result('c')).runs).toBe(after.runs)
  })
})

describe('a turn waits', () => {
  const both = { begun: [['a', 'b']], waiting: { a: [asked('a/x'), asked('a/y')], b: [asked('b/x')] } }

  test.each<[string, Partial<ToolProgress>, string[]]>([
    ['for all, if nothing is at work', both, ['a/x', 'a/y', 'b/x']],
    ['for nothing while another call is at work', { ...both, waiting: { a: both.waiting.a } }, []],
    ['for nothing while another sub-agent is', { ...both, waiting: { ...both.waiting, b: [] } }, []],
    ['only for calls that have no result', { ...both, results: [[result('a')]] }, ['b/x']],
    ['only for calls that have begun', { ...both, begun: [['a']] }, ['a/x', 'a/y']],
    [
      'not for what is decided on',
      { ...both, commands: { a: [{ type: 'tool.approve', callId: 'x' }] } },
      ['a/y', 'b/x'],
    ],
    [
      'for nothing once all of a sub-agent is decided on',
      { ...both, commands: { b: [{ type: 'tool.reject', callId: 'x' }] } },
      [],
    ],
  ])('%s', (_, change, expected) => {
    expect(waitsFor(turn(['a', 'b'], change)).map(({ id }) => id)).toEqual(expected)
  })

  test('for calls that are named below the one that runs their sub-agent', () => {
    expect(below('a', [asked('x'), asked('m/y')])).toEqual([asked('a/x'), asked('a/m/y')])
  })

  test.each<[string, { id: string; inner: string } | undefined]>([
    ['a/x', { id: 'a', inner: 'x' }],
    ['a/m/x', { id: 'a', inner: 'm/x' }],
    ['ab/x', { id: 'ab', inner: 'x' }],
    ['a', undefined],
    ['c/x', undefined],
    ['x/a/x', undefined],
  ])('a decision on %s goes to its run', (callId, expected) => {
    expect(addressed(turn(['a', 'ab']), callId)).toEqual(expected)
  })
})

test.each(['constructor', '__proto__', 'toString'])('%s is not a call unless there is one', (id) => {
  expect(ownOf({}, id)).toBeUndefined()
  expect(waitsFor(turn([id], { begun: [[id]] }))).toEqual([])
})

test.each<[string, unknown, boolean]>([
  ['that of a turn', turn(['a']), true],
  ['nothing', undefined, false],
  ['one without calls', { ...turn([]), calls: undefined }, false],
  ['one without a beginning', { ...turn([]), begun: 0 }, false],
  ['one that cannot wait', { ...turn([]), waiting: [] }, false],
])('a snapshot is recognised: %s', (_, snapshot, expected) => {
  expect(isToolProgress(snapshot)).toBe(expected)
})

describe('a stored turn', () => {
  const tools = (onInterrupted: OnInterrupted) => new Map([['work', { onInterrupted }]])
  const stored = (change: Partial<ToolServiceSnapshot> = {}) =>
    ({ ...turn(['a', 'b', 'c'], { begun: [['a', 'b']] }), ...active, ...change }) as ToolServiceSnapshot
  const unknown = expect.stringContaining('whether it took effect is unknown')

  test('runs again what may, and counts it', () => {
    const before = stored({ results: [[result('a')]], interruptions: { b: 1 } })
    expect(resumed(before, tools('rerun'))).toEqual({ ...before, interruptions: { b: 2 } })
  })

  test('asks about what its tool asks about, once', () => {
    const before = stored({ inDoubt: ['b'], interruptions: { b: 1 } })
    const after = resumed(before, tools('ask'))
    expect(after).toEqual({ ...before, inDoubt: ['b', 'a'], interruptions: { a: 1, b: 1 } })
  })

  test.each([
    ['whose tool does not know', tools('unknown')],
    ['whose tool is gone', new Map()],
  ])('ends a call %s, with all that belongs to it', (_, known) => {
    const before = stored({
      runs: { a: active },
      waiting: { a: [asked('a/x')] },
      commands: { a: [{ type: 'tool.approve', callId: 'x' }] },
    })
    const after = resumed(before, known)
    expect(after).toEqual({
      ...before,
      results: after.results,
      runs: {},
      waiting: {},
      commands: {},
    })
    // It can be stored and restored again.
    expect(resumed(progressed(after, 0), known).results).toEqual(after.results)
    expect(after.results.flat()).toMatchObject([
      { id: 'a', isError: true, result: unknown },
      { id: 'b', isError: true, result: unknown },
    ])
  })

  test('runs a call again whose arguments could not be read: it never ran', () => {
    const before = stored({ begun: [['a']] })
    const unread = { ...before, calls: [{ ...call('a'), argumentsError: 'not JSON' }] }
    expect(resumed(unread, tools('unknown'))).toEqual({ ...unread, interruptions: { a: 1 } })
  })

  test('that has ended stays as it is', () => {
    const all = ['a', 'b', 'c']
    const ended = stored({ status: 'done', begun: [all], results: [all.map(result)] } as never)
    expect(resumed(ended, tools('rerun'))).toEqual(ended)
  })

  test.each<[string, unknown, string]>([
    ['is missing', null, ' must be an object, not null'],
    ['is a list', [], ' must be an object, not a list'],
    ['has another status', stored({ status: 'stopped' as never }), "status must be 'active' or 'done'"],
    ['has no calls', stored({ calls: undefined as never }), 'calls must be a list'],
    ['has no run', stored({ run: 1 as never }), 'run must be'],
    ['has no round', stored({ round: null as never }), 'round must be'],
    ['has a beginning that is not one', stored({ begun: ['a'] as never }), 'begun'],
    ['has a result that is not one', stored({ results: [[call('a')]] as never }), 'results'],
    ['counts in words', stored({ interruptions: { a: 'often' } as never }), 'interruptions.a must be'],
    ['doubts no id', stored({ inDoubt: [1] as never }), 'inDoubt'],
    ['has a run that is not one', stored({ runs: { a: 'run' } as never }), 'runs.a must be an object'],
    ['waits for no call', stored({ waiting: { a: [{}] } as never }), 'waiting.a'],
    [
      'has a command to no call',
      stored({ commands: { a: [{ type: 'tool.approve' }] } as never }),
      'commands.a',
    ],
  ])('that %s is refused, and the reason says where', (_, broken, reason) => {
    const act = () => resumed(broken as ToolServiceSnapshot, tools('rerun'))
    expect(act).toThrow(ConfigurationError)
    expect(act).toThrow(`The stored tool executor cannot continue: ${reason}`)
  })

  test.each<[string, Partial<ToolServiceSnapshot>]>([
    ['began in another order', { begun: [['b', 'a']] }],
    ['began a call that it does not have', { begun: [['a', 'b', 'c', 'd']] }],
    ['has a result of a call that has not begun', { results: [[result('c')]] }],
    ['has a result twice', { results: [[result('a')], [result('a')]] }],
    ['doubts a call that has its result', { results: [[result('a')]], inDoubt: ['a'] }],
    ['doubts a call that has not begun', { inDoubt: ['c'] }],
    ['has a run of a call that has not begun', { runs: { c: active } }],
    ['waits for a call that has its result', { results: [[result('a')]], waiting: { a: [] } }],
    ['has a command for a call that it does not have', { commands: { d: [] } }],
    ['is done without its results', { status: 'done', output: { results: [] } } as never],
    [
      'has all its results and is not done',
      { begun: [['a', 'b', 'c']], results: [['a', 'b', 'c'].map(result)] },
    ],
  ])('that %s is refused', (_, change) => {
    expect(() => resumed(stored(change), tools('rerun'))).toThrow(
      'The stored tool executor cannot continue: its calls and results do not fit.',
    )
  })
})
