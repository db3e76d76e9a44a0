import { describe, expect, test } from 'vitest'
import { createActor, type InspectionEvent, type SnapshotFrom } from 'xstate'
import {
  type AgentEmitted,
  type AgentInput,
  createPhasedChart,
  createPhasedMachine,
  historyOf,
  orchestratorParts,
  type PhasedMachine,
  type PhasedOptions,
} from '../../machines/index.ts'
import { runMachine } from '../../machines/logic/runMachine.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { eventList } from '../engine/eventList.ts'
import { type AgentActor, endOf, idle, watch } from '../engine/watching.ts'

const risky = tool({ name: 'risky', description: '', needsApproval: true, execute: () => 'done' })

const text = (of: string) => ({ type: 'text', text: of }) as const

const twice = (turns: ScriptTurn[], relay?: (emitted: AgentEmitted) => readonly AgentEmitted[]) => {
  const model = scriptedModel(turns)
  const { lifecycle } = orchestratorParts({ model, tools: [risky], retry: { maxRetries: 0 } })
  const options: PhasedOptions<object> = {
    id: 'twice',
    phases: {
      First: {
        run: lifecycle(),
        label: 'one',
        input: ({ input }) => input,
        next: 'Second',
        ...(relay && { relay }),
      },
      Second: {
        run: lifecycle(),
        label: 'two',
        input: (state) => ({ history: historyOf(state), prompt: 'Again' }),
        next: 'Complete',
      },
    },
  }
  return { model, options }
}

const eventsOf = async (machine: PhasedMachine, input: AgentInput = { prompt: 'Go' }) => {
  const actor: AgentActor = createActor(machine, { input })
  const events = eventList(actor)
  actor.start()
  await endOf(actor)
  return events.filter((line) => !line.startsWith('step ') && !line.startsWith('message '))
}

const turns: ScriptTurn[] = [
  [{ thinking: 'Hm' }, { text: 'a' }, { text: 'b' }],
  [{ metadata: { n: 1 } }, { text: 'c' }, { text: 'd' }],
]
const expected = [
  'chunk user: Go',
  'chunk metadata {"thinking":"Hm","phase":"one"}',
  'chunk output a metadata {"phase":"one"}',
  'chunk output b metadata {"phase":"one"}',
  'chunk model: ab {"thinking":"Hm"}',
  'chunk user: Again',
  'chunk metadata {"n":1,"phase":"two"}',
  'chunk output \nc metadata {"phase":"two"}',
  'chunk output d metadata {"phase":"two"}',
  'chunk model: cd {"n":1}',
  'chunk finishReason stop rawFinishReason stop',
]

describe('runs as phases', () => {
  test('are shown with their labels, set off by a newline, and without their ends', async () => {
    expect(await eventsOf(createPhasedMachine(twice(turns).options))).toEqual(expected)
  })

  test('are shown in the same way by the chart alone, without the fast path', async () => {
    const chart = runMachine(createPhasedChart(twice(turns).options), { hasJsonContext: true })
    expect(await eventsOf(chart as PhasedMachine)).toEqual(expected)
  })

  test('have no newline in an answer of a shape', async () => {
    const events = await eventsOf(createPhasedMachine(twice(turns).options), {
      prompt: 'Go',
      outputSchema: { type: 'object' },
    })
    expect(events).toEqual(expected.map((line) => line.replace('\n', '')))
  })

  test('are shown as their phase relays them', async () => {
    const relay = (emitted: AgentEmitted): AgentEmitted[] => {
      if (emitted.type !== 'chunk' || emitted.output === '') return []
      return emitted.output === 'a' ? [emitted, { ...emitted, output: 'A' }] : [emitted]
    }
    expect((await eventsOf(createPhasedMachine(twice(turns, relay).options))).slice(0, 5)).toEqual([
      'chunk output a metadata {"phase":"one"}',
      'chunk output A metadata {"phase":"one"}',
      'chunk output b metadata {"phase":"one"}',
      'chunk user: Again',
      'chunk metadata {"n":1,"phase":"two"}',
    ])
  })

  test('make the whole wait while one of them waits for a person', async () => {
    const call: ScriptTurn = [{ text: 'May I?' }, { toolCall: { id: 'a', name: 'risky' } }]
    const actor = createActor(createPhasedMachine(twice([call, 'b', 'c']).options), {
      input: { prompt: 'Go' },
    })
    const states: string[] = []
    const events: string[] = eventList(actor as AgentActor)
    actor.subscribe((snapshot: SnapshotFrom<PhasedMachine>) => {
      const line = `${JSON.stringify(snapshot.value)} ${[...snapshot.tags].sort().join()}`
      if (states.at(-1) !== line) states.push(line)
    })
    actor.start()
    await idle()
    expect(actor.getSnapshot().value).toEqual({ First: 'Waiting' })
    expect(events.at(-1)).toMatch(/^tool.approval a /)
    actor.send({ type: 'tool.approve', callId: 'a' })
    await endOf(actor as AgentActor)
    expect(states).toEqual([
      '{"First":"Working"} streaming',
      '{"First":"Waiting"} streaming,waiting',
      '{"First":"Working"} streaming',
      '{"Second":"Working"} streaming',
      '"Complete" ',
    ])
    expect(events).toContain('chunk output \nb metadata {"phase":"one"}')
  })

  test('without a label are shown as they are', async () => {
    const { lifecycle } = orchestratorParts({ model: scriptedModel(['a', 'b']) })
    const input = ({ input: given }: { input: AgentInput }) => given
    const machine = createPhasedMachine({
      id: 'plain',
      phases: {
        First: { run: lifecycle(), input, next: 'Second' },
        Second: { run: lifecycle(), input, next: 'Complete' },
      },
    })
    const actor: AgentActor = createActor(machine, { input: { prompt: 'Go' } })
    const seen = watch(actor)
    actor.start()
    await endOf(actor)
    const shown = seen.chunks.filter(({ output }) => output !== '')
    expect(shown.map(({ output, metadata }) => [output, metadata])).toStrictEqual([
      ['a', {}],
      ['b', {}],
    ])
  })

  test('take the fast path, without a step of the chart, unless the user has a relay', async () => {
    const ran = async (machine: PhasedMachine) => {
      const steps: string[] = []
      const inspect = (event: InspectionEvent) => {
        if (event.type === '@xstate.microstep' && event.event.type === 'run.emitted') steps.push('step')
      }
      const actor: AgentActor = createActor(machine, { input: { prompt: 'Go' }, inspect })
      const events = eventList(actor)
      actor.start()
      await endOf(actor)
      return { steps, events }
    }
    const machine = createPhasedMachine(twice(['a', 'b']).options)
    expect((await ran(machine)).steps).toEqual([])
    const relayed: unknown[] = []
    const relay = (_: unknown, params: unknown) => relayed.push(params)
    const own = await ran(createPhasedMachine(twice(['a', 'b']).options).provide({ actions: { relay } }))
    expect(own.steps).toHaveLength(6)
    expect(relayed).toEqual([...Array(3).fill({ phase: 'First' }), ...Array(3).fill({ phase: 'Second' })])
    expect(own.events).toEqual(['chunk finishReason stop rawFinishReason stop'])
  })

  test('refuse an input that is not JSON, as a run by itself does', async () => {
    const history: unknown[] = []
    history.push(history)
    const input = { prompt: 'Go', history } as unknown as AgentInput
    const actor: AgentActor = createActor(createPhasedMachine(twice([]).options), { input })
    actor.start()
    expect(await endOf(actor)).toMatchObject({ status: 'failed', error: { name: 'ConfigurationError' } })
  })

  test('report that they wait, or work again, only when that changes', async () => {
    const reports = async (turns: ScriptTurn[]) => {
      const sent: string[] = []
      const inspect = (event: InspectionEvent) => {
        if (event.type === '@xstate.event' && /^run\.w/.test(event.event.type)) sent.push(event.event.type)
      }
      const machine = createPhasedMachine(twice(turns).options)
      const actor: AgentActor = createActor(machine, { input: { prompt: 'Go' }, inspect })
      actor.on('tool.approval', ({ callId }) =>
        setImmediate(() => actor.send({ type: 'tool.approve', callId })),
      )
      actor.start()
      await endOf(actor)
      return sent
    }
    expect(await reports(['a', 'b'])).toEqual([])
    const call: ScriptTurn = [{ toolCall: { id: 'a', name: 'risky' } }]
    expect(await reports([call, 'b', 'c'])).toEqual(['run.waiting', 'run.working'])
  })

  test('need no parent: a run for phases may be the whole, wait, and be restored', async () => {
    const machineOf = (turns: ScriptTurn[]) =>
      orchestratorParts({ model: scriptedModel(turns), tools: [risky] }).lifecycle()
    const first = createActor(machineOf([[{ toolCall: { id: 'a', name: 'risky' } }]]), {
      input: { prompt: 'Go' },
    })
    first.start()
    await idle()
    expect(first.getSnapshot().value).toBe('AwaitingApproval')
    const snapshot = JSON.parse(JSON.stringify(first.getPersistedSnapshot()))
    first.stop()
    const second = createActor(machineOf(['b']), { snapshot, input: {} }).start()
    second.send({ type: 'tool.approve', callId: 'a' })
    expect(await endOf(second)).toMatchObject({ status: 'complete', output: 'b' })
  })

  test('report all that one of their steps emits as one event', async () => {
    const reported: number[] = []
    const inspect = (event: InspectionEvent) => {
      if (event.type === '@xstate.event' && event.event.type === 'run.emitted')
        reported.push(event.event.emitted.length)
    }
    const read: ScriptTurn = [{ deltas: [text('a'), text('b'), text('c')] }]
    const machine = createPhasedMachine(twice([read, 'd']).options)
    const actor: AgentActor = createActor(machine, { input: { prompt: 'Go' }, inspect })
    actor.start()
    await endOf(actor)
    // Of each run: the question, the read, then the step, the message and the end together.
    expect(reported).toEqual([2, 3, 4, 2, 1, 4])
  })
})

describe('a chart that was stored before its run could say', () => {
  const call: ScriptTurn = [{ toolCall: { id: 'a', name: 'risky' } }]

  const waiting = async () => {
    const machine = createPhasedMachine(twice([call]).options)
    const actor = createActor(machine, { input: { prompt: 'Go' } }).start()
    await idle()
    const stored = JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))
    actor.stop()
    expect(stored.value).toEqual({ First: 'Waiting' })
    return stored
  }

  test('that it waits, waits after the restore', async () => {
    const snapshot = { ...(await waiting()), value: { First: 'Working' } }
    const actor = createActor(createPhasedMachine(twice([]).options), { snapshot, input: {} }).start()
    expect(actor.getSnapshot().value).toEqual({ First: 'Waiting' })
    actor.stop()
  })

  test('that it works, works after the restore', async () => {
    const snapshot = await waiting()
    const hanging = twice([[{ hang: true }]])
    const working = createActor(createPhasedMachine(hanging.options), { input: { prompt: 'Go' } }).start()
    await idle()
    snapshot.children = JSON.parse(JSON.stringify(working.getPersistedSnapshot())).children
    working.stop()
    const actor = createActor(createPhasedMachine(hanging.options), { snapshot, input: {} }).start()
    expect(actor.getSnapshot().value).toEqual({ First: 'Working' })
    actor.stop()
  })
})
