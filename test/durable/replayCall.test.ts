/** A call of a tool: its intent is recorded before it runs, so that a call in doubt is recognised. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { SegmentEnd } from '../../src/durable/index.ts'
import { Agent, type AgentOptions, type ToolExecutor, tool } from '../../src/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'
import { type Journal, newJournal } from '../dbos/world/memoryEngine.ts'
import { idle } from '../engine/watching.ts'
import { leave, playSegment, recordsOf, silentModel } from './replaying.ts'

type Execution = { what: string; attempt: number; key: string; end(): void }

/** A tool whose executions a test ends. */
const heldTool = (onInterrupted?: 'rerun' | 'ask') => {
  const executions: Execution[] = []
  let begun = () => {}
  const next = new Promise<void>((resolve) => {
    begun = resolve
  })
  const note = tool({
    name: 'note',
    description: 'Notes',
    input: z.object({ what: z.string() }),
    ...(onInterrupted && { onInterrupted }),
    execute: ({ what }, { attempt, idempotencyKey }) =>
      new Promise<string>((resolve) => {
        const end = () => resolve(`noted ${what}`)
        executions.push({ what, attempt, key: idempotencyKey, end })
        begun()
      }),
  })
  return { note, executions, next }
}

const calling = (...whats: string[]): ScriptTurn =>
  whats.map((what) => ({ toolCall: { id: what, name: 'note', arguments: { what } } }))

const resultsOf = (end: SegmentEnd): [string, string][] =>
  ('output' in end ? end.output.messages : []).flatMap(toolResultsOf).map(({ id, result }) => [id, result])

const keyOf = (journal: Journal): string =>
  journal.records.find(({ name }) => name.endsWith(' intent'))?.name.slice(0, -' intent'.length) ?? ''

test('the step of a call is recorded after its intent, with its result', async () => {
  const journal = newJournal()
  const { note, executions, next } = heldTool()
  const segment = playSegment(new Agent(scriptedModel([calling('a'), 'Done.']), { tools: [note] }), {
    journal,
  })
  await next
  const key = keyOf(journal)
  expect(key).toMatch(/^run\/a\/[0-9a-f-]{36}$/)
  expect(recordsOf(journal)).toMatchObject({ [`${key} intent`]: null, [key]: 'under way' })
  expect(executions).toMatchObject([{ what: 'a', attempt: 1, key }])
  executions[0]?.end()
  await segment
  const result = { type: 'toolResult', id: 'a', name: 'note', result: 'noted a' }
  expect(recordsOf(journal)[key]).toEqual({ type: 'result', result, commands: [] })
})

/** A process that ended while these calls were under way, and the journal that it left. */
const interrupted = async (options: AgentOptions, ...whats: string[]): Promise<Journal> => {
  const journal = newJournal()
  const { note, next } = heldTool()
  const end = new AbortController()
  void playSegment(new Agent(scriptedModel([calling(...whats)]), { ...options, tools: [note] }), {
    journal,
    options: { signal: end.signal },
  })
  await next
  end.abort()
  return structuredClone(journal)
}

describe('a call in doubt', () => {
  test('is not run again: the model gets to know', async () => {
    const journal = await interrupted({}, 'a')
    const { note, executions } = heldTool()
    const model = scriptedModel(['Oh.'])
    const end = await playSegment(new Agent(model, { tools: [note] }), { journal })
    expect(executions).toEqual([])
    expect(resultsOf(end)).toEqual([['a', expect.stringContaining('unknown')]])
    expect(end).toMatchObject({ status: 'complete', output: { output: 'Oh.' } })
    expect(recordsOf(journal)[keyOf(journal)]).toEqual({ type: 'inDoubt' })
    expect(await playSegment(new Agent(scriptedModel([]), { tools: [note] }), { journal })).toEqual(end)
  })

  test('is run again if its tool says so, as another attempt under the same key', async () => {
    const journal = await interrupted({}, 'a')
    const key = keyOf(journal)
    const { note, executions, next } = heldTool('rerun')
    const segment = playSegment(new Agent(scriptedModel(['Done.']), { tools: [note] }), { journal })
    await next
    expect(executions).toMatchObject([{ what: 'a', attempt: 2, key }])
    expect(recordsOf(journal)).toMatchObject({
      [key]: { type: 'inDoubt' },
      [`${key} (2) intent`]: null,
      [`${key} (2)`]: 'under way',
    })
    executions[0]?.end()
    const end = await segment
    expect(resultsOf(end)).toEqual([['a', 'noted a']])
    const again = heldTool('rerun')
    expect(await playSegment(new Agent(scriptedModel([]), { tools: [again.note] }), { journal })).toEqual(end)
    expect(again.executions).toEqual([])
  })

  test('waits for a person if its tool says so', async () => {
    const journal = await interrupted({}, 'a')
    const { note, executions } = heldTool('ask')
    const end = await playSegment(new Agent(scriptedModel([]), { tools: [note] }), { journal })
    if (end.status !== 'waiting') throw new Error(end.status)
    expect(end.result.pendingApproval.calls).toMatchObject([{ id: 'a', inDoubt: true }])
    expect(executions).toEqual([])

    const next = newJournal(journal)
    leave(next, { type: 'tool.answer', callId: 'a', result: 'It was done.' })
    const agent = new Agent(scriptedModel(['Good.']), { tools: [note] })
    const start = { from: { snapshot: end.snapshot }, seen: end.seen }
    expect(resultsOf(await playSegment(agent, { journal: next, start }))).toEqual([['a', 'It was done.']])
    expect(executions).toEqual([])
  })

  test('does not keep those beside it from their results', async () => {
    const journal = newJournal()
    const { note, executions, next } = heldTool()
    const options: AgentOptions = { tools: [note], toolExecution: 'parallel' }
    const incarnation = new AbortController()
    const agent = new Agent(scriptedModel([calling('a', 'b', 'c')]), options)
    void playSegment(agent, { journal, options: { signal: incarnation.signal } })
    await next
    await idle()
    expect(executions.map(({ what }) => what)).toEqual(['a', 'b', 'c'])
    executions[1]?.end()
    await idle()
    incarnation.abort()

    const second = heldTool('rerun')
    const segment = playSegment(
      new Agent(scriptedModel(['Done.']), { tools: [second.note], toolExecution: 'parallel' }),
      { journal },
    )
    await second.next
    await idle()
    expect(second.executions.map(({ what, attempt }) => [what, attempt])).toEqual([
      ['a', 2],
      ['c', 2],
    ])
    for (const { end } of second.executions) end()
    expect(resultsOf(await segment)).toEqual([
      ['a', 'noted a'],
      ['b', 'noted b'],
      ['c', 'noted c'],
    ])
  })

  test('is decided on when nothing else is under way: a sub-agent is asked once', async () => {
    const journal = newJournal()
    const helping = silentModel()
    const side = (model: typeof helping, note: ReturnType<typeof heldTool>['note'], turns: ScriptTurn[]) => {
      const helper = new Agent(model).asTool({ name: 'helper', description: 'Helps' })
      return new Agent(scriptedModel(turns), { tools: [note, helper], toolExecution: 'parallel' })
    }
    const both: ScriptTurn = [
      { toolCall: { id: 'n', name: 'note', arguments: { what: 'n' } } },
      { toolCall: { id: 'h', name: 'helper', arguments: { prompt: 'Help!' } } },
    ]
    const incarnation = new AbortController()
    const first = heldTool()
    void playSegment(side(helping, first.note, [both]), { journal, options: { signal: incarnation.signal } })
    await Promise.all([first.next, helping.next()])
    incarnation.abort()

    const second = heldTool('rerun')
    const again = silentModel()
    const segment = playSegment(side(again, second.note, ['Done.']), { journal })
    const { sink } = await again.next()
    await idle()
    expect(second.executions).toEqual([])
    sink.deltas([
      { type: 'text', text: 'Helped.' },
      { type: 'finish', reason: 'stop' },
    ])
    sink.end()
    await second.next
    second.executions[0]?.end()
    expect(resultsOf(await segment)).toEqual([
      ['n', 'noted n'],
      ['h', 'Helped.'],
    ])
    expect(again.asked).toHaveLength(1)
  })
})

test.each<[string, ToolExecutor['executeSingle'], string]>([
  [
    'throws',
    () => {
      throw new RangeError('too far')
    },
    '{"error":"too far"}',
  ],
  ['rejects', () => Promise.reject(new RangeError('too late')), '{"error":"too late"}'],
  [
    'returns nothing',
    // What the type forbids, and a user does.
    () => Promise.resolve(undefined as never),
    '{"error":"The tool executor did not return a result for this call."}',
  ],
  [
    'forgets whose result it is',
    () => Promise.resolve({ type: 'toolResult', id: '', name: '', result: 'fine' }),
    'fine',
  ],
])('an executor of a user that %s gives a result, as in other runs', async (_, executeSingle, result) => {
  const { note } = heldTool()
  const options: AgentOptions = { tools: [note], toolExecutor: { executeSingle } }
  const journal = newJournal()
  const end = await playSegment(new Agent(scriptedModel([calling('a'), 'Done.']), options), { journal })
  expect(resultsOf(end)).toEqual([['a', result]])
  expect(await playSegment(new Agent(scriptedModel([]), options), { journal })).toEqual(end)
})
