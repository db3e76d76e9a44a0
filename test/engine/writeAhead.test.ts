/** The host of a run stores a step before it takes effect: before its children start, and before any listener gets it. */
import { describe, expect, test } from 'vitest'
import { type AnyMachineSnapshot, createActor, fromPromise, setup } from 'xstate'
import {
  type Orchestrator,
  orchestratorParts,
  reasoningOrchestrator,
  reflectionOrchestrator,
} from '../../machines/index.ts'
import { type RunHost, withHost } from '../../machines/logic/runEnvironment.ts'
import { runMachineOf } from '../../machines/logic/runMachine.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { agentInternals } from '../../src/agent/AgentInternals.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { storedScene, successors } from '../stored/teams.ts'
import { idle } from './watching.ts'

const call: ScriptTurn = [{ toolCall: { id: 'a', name: 'work' } }, { toolCall: { id: 'b', name: 'work' } }]

/** A run with a journal of what happened to it, in order. */
const kept = (turns: ScriptTurn[], options: AgentOptions = {}, host: RunHost = {}) => {
  const log: string[] = []
  const work = tool({
    name: 'work',
    description: 'Works',
    execute: (_, { callId }) => {
      log.push(`run ${callId}`)
      return `did ${callId}`
    },
  })
  const model = scriptedModel(turns)
  const asked: typeof model = Object.assign(Object.create(model), {
    stream: (...args: Parameters<typeof model.stream>) => {
      log.push('ask')
      return model.stream(...args)
    },
  })
  const agent = new Agent(asked, { tools: [work], ...options })
  const actor = agentInternals(agent).actor(
    { input: { prompt: 'Go', id: 'job' } },
    {},
    { host: { writeAhead: () => void log.push(`write ${inmost(actor.getPersistedSnapshot())}`), ...host } },
  )
  actor.on('*', (event) => {
    if (event.type !== 'chunk') log.push(event.type)
  })
  actor.subscribe({ error: (error) => log.push(`broken: ${(error as Error).message}`) })
  return { log, actor, agent }
}

type Stored = {
  value?: unknown
  context?: { round?: { started: string[][] } }
  children?: Record<string, { snapshot: Stored }>
}

/** The state of a stored run, inside any charts around it, and which calls had started. */
const inmost = (snapshot: unknown): string => {
  const { value, context, children = {} } = snapshot as Stored
  const run = children.run?.snapshot
  if (run) return inmost(run)
  const { started } = context?.round ?? { started: [] }
  return [JSON.stringify(value).replace(/["{}]/g, ''), ...started.flat()].join(' ')
}

describe('a step is written down', () => {
  test('before the model is asked, a call begins, or a listener gets it', async () => {
    const { log, actor } = kept([call, 'done'])
    actor.start()
    await idle(10)
    expect(log).toEqual([
      'write Accumulating:Requesting',
      'ask',
      'write Accumulating:Requesting',
      'message',
      'write ToolExecution:Working a',
      'step',
      'message',
      'tool.call',
      'run a',
      'write ToolExecution:Working a b',
      'tool.result',
      'tool.call',
      'run b',
      'write Accumulating:Requesting',
      'tool.result',
      'message',
      'ask',
      'write Complete',
      'step',
      'message',
    ])
  })

  test.each([
    ['reasoning', reasoningOrchestrator(), ['one', 'two', call, 'three', 'four']],
    ['reflection', reflectionOrchestrator({ maxRounds: 1 }), [call, 'one', 'two', 'three']],
  ])('in the runs of %s, too', async (_, orchestrator: Orchestrator, turns: ScriptTurn[]) => {
    const { log, actor } = kept(turns, { orchestrator })
    actor.start()
    await idle(20)
    for (const [effect, written] of [
      ['run a', 'write ToolExecution:Working a'],
      ['run b', 'write ToolExecution:Working a b'],
    ] as const) {
      expect(log.lastIndexOf(written, log.indexOf(effect))).toBeGreaterThan(-1)
    }
    for (const [index, entry] of log.entries())
      if (entry === 'ask')
        expect(log.slice(0, index).findLast((each) => each.startsWith('write'))).toBe(
          'write Accumulating:Requesting',
        )
  })

  test('when a person decides: it is there as soon as the command was sent', async () => {
    const asks = tool({ name: 'work', description: '', needsApproval: true, execute: () => 'ok' })
    let written: unknown
    const writeAhead = () => {
      written = actor.getPersistedSnapshot()
    }
    const { actor } = kept([call], { tools: [asks] }, { writeAhead })
    actor.start()
    await idle(10)
    actor.send({ type: 'tool.approve', callId: 'b' })
    expect(written).toMatchObject({ context: { round: { cleared: ['b'], pendingApprovals: ['a'] } } })
    actor.send({ type: 'steer', text: 'and be brief' })
    expect(written).toMatchObject({ context: { steering: [['and be brief']] } })
    actor.stop()
  })

  test('not for the reads of an answer', async () => {
    const { log, actor } = kept([[{ text: 'a' }, { text: 'b' }, { text: 'c' }]])
    actor.start()
    await idle(10)
    expect(log.filter((each) => each.startsWith('write'))).toEqual([
      'write Accumulating:Requesting',
      'write Accumulating:Requesting',
      'write Complete',
    ])
  })
})

test('a decision for a sub-agent that is not there yet is stored at once, and as delivered when it is taken', async () => {
  type Inner = { context: { round: { pendingApprovals: string[] } } }
  type Outer = {
    context: { round: { commands: Record<string, { callId: string }[]> } }
    children: { toolExecutor?: { snapshot: { runs: { a: Inner } } } }
  }
  const written: string[] = []
  const writeAhead = () => {
    const { context, children } = actor.getPersistedSnapshot() as unknown as Outer
    const kept = (context.round.commands.a ?? []).map(({ callId }) => callId)
    const pending = children.toolExecutor?.snapshot.runs.a?.context.round.pendingApprovals ?? ['gone']
    written.push(`kept ${kept.join()}, pending ${pending.join()}`)
  }
  const { agent, ran } = successors('waiting')
  const snapshot = await storedScene('waiting')
  const actor = agentInternals(agent).actor({ snapshot: snapshot as never }, {}, { host: { writeAhead } })
  actor.start()
  actor.send({ type: 'tool.reject', callId: 'a/x' })
  expect(written.at(-1)).toBe('kept a/x, pending x,y')
  await idle(10)
  // If it were stored as delivered before, or kept after that, it would be lost or repeated after another restore.
  expect(new Set(written.slice(-2))).toEqual(new Set(['kept , pending y']))
  expect(written.filter((each) => each === 'kept a/x, pending y')).toEqual([])
  expect(written.lastIndexOf('kept , pending x,y')).toBeLessThan(written.indexOf('kept a/x, pending x,y'))
  actor.send({ type: 'tool.approve', callId: 'a/y' })
  await idle(10)
  expect(ran).toEqual(['y 1 {}'])
})

test('a write that fails leaves the step without effect: nothing starts, and no listener gets it', async () => {
  let isFull = false
  const writeAhead = () => {
    if (isFull) throw new Error('disk full')
  }
  const { log, actor } = kept([call, 'never'], {}, { writeAhead })
  actor.start()
  isFull = true
  await idle(10)
  expect(log).toEqual(['ask', 'message', 'broken: disk full'])
})

test('a write that fails while tools run stops them', async () => {
  let isFull = false
  const signals: AbortSignal[] = []
  const slow = tool({
    name: 'work',
    description: 'Works',
    execute: (_, { callId, signal }) => {
      signals.push(signal)
      return callId === 'a' ? 'done' : new Promise(() => {})
    },
  })
  const writeAhead = () => {
    if (isFull) throw new Error('disk full')
    isFull = signals.length > 0
  }
  const options: AgentOptions = { tools: [slow], toolExecution: 'parallel' }
  const { log, actor } = kept([call], options, { writeAhead })
  actor.on('tool.call', () => {
    isFull = true
  })
  actor.start()
  await idle(10)
  expect(log.at(-1)).toBe('broken: disk full')
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true])
})

test('the charts that a chart of the user is made of are written down, if they have a name', async () => {
  const log: string[] = []
  const { lifecycle } = orchestratorParts({ model: scriptedModel(['done']) })
  const inner = setup({ actors: { run: lifecycle() } }).createMachine({
    initial: 'Asking',
    states: {
      Asking: { invoke: { id: 'run', src: 'run', input: { prompt: 'Go' }, onDone: 'Counting' } },
      Counting: { always: 'Done' },
      Done: { type: 'final' },
    },
  })
  const outer = setup({ actors: { inner, wait: fromPromise(async () => {}) } }).createMachine({
    initial: 'Waiting',
    states: {
      Waiting: { invoke: { id: 'wait', src: 'wait', onDone: 'Working' } },
      Working: { invoke: { id: 'inner', src: 'inner', onDone: 'Done' } },
      Done: { type: 'final' },
    },
  })
  const statusOf = (snapshot: AnyMachineSnapshot): unknown =>
    snapshot.children.inner ? [snapshot.value, snapshot.children.inner.getSnapshot().value] : snapshot.value
  const actor = createActor(
    withHost(runMachineOf(outer), {
      writeAhead: () => void log.push(JSON.stringify(statusOf(actor.getSnapshot()))),
    }),
    { input: {} },
  )
  actor.start()
  await idle(10)
  expect([...new Set(log)]).toEqual(['"Waiting"', '["Working","Asking"]', '["Working","Done"]', '"Done"'])
})
