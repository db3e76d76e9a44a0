/** The host of a run stores a step before it takes effect: before its children start, and before a listener sees it. */
import { describe, expect, test } from 'vitest'
import { type AnyMachineSnapshot, createActor, fromPromise, setup } from 'xstate'
import {
  type Orchestrator,
  orchestratorParts,
  reasoningOrchestrator,
  reflectionOrchestrator,
} from '../../machines/index.ts'
import type { RunHost } from '../../machines/logic/runHost.ts'
import { runMachineOf } from '../../machines/logic/runMachine.ts'
import { withHost } from '../../machines/logic/runValues.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { agentInternals } from '../../src/agent/AgentInternals.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
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

type Stored = { value?: unknown; children?: Record<string, { snapshot: Stored }> }

/** The state of a stored run inside all charts around it, and the calls that had begun. */
const inmost = (snapshot: unknown): string => {
  const { value, children = {} } = snapshot as Stored
  const run = children.run?.snapshot
  if (run) return inmost(run)
  const { begun = [] } = (children.toolExecutor?.snapshot ?? {}) as { begun?: string[][] }
  return [JSON.stringify(value).replace(/["{}]/g, ''), ...begun.flat()].join(' ')
}

describe('a step is written down', () => {
  test('before the model is asked, a call begins, or a listener sees it', async () => {
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
    ['reasoning', reasoningOrchestrator(), 4],
    ['reflection', reflectionOrchestrator({ maxRounds: 1 }), 2],
  ])('in the runs of %s, too', async (_, orchestrator: Orchestrator, phases) => {
    const { log, actor } = kept([call, 'one', 'two', 'three', 'four'].slice(0, phases + 2), { orchestrator })
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

test('a write that fails leaves the step without effect: nothing starts, and no listener sees it', async () => {
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
  const stateIn = (snapshot: AnyMachineSnapshot): unknown =>
    snapshot.children.inner ? [snapshot.value, snapshot.children.inner.getSnapshot().value] : snapshot.value
  const actor = createActor(
    withHost(runMachineOf(outer), {
      writeAhead: () => void log.push(JSON.stringify(stateIn(actor.getSnapshot()))),
    }),
    { input: {} },
  )
  actor.start()
  await idle(10)
  expect([...new Set(log)]).toEqual(['"Waiting"', '["Working","Asking"]', '["Working","Done"]', '"Done"'])
})
