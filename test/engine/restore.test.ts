import { describe, expect, test } from 'vitest'
import { createActor, SimulatedClock, type Snapshot } from 'xstate'
import { type AgentMachineConfig, type AgentOutput, createAgentMachine } from '../../machines/index.ts'
import { describeThrown } from '../../src/messages/errors.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { type AgentActor, endOf, idle, stateName, watch } from './watching.ts'

type Scenario = {
  turns: ScriptTurn[]
  config?: Partial<AgentMachineConfig>
  clock?: SimulatedClock
  /** What a person does, looking only at the snapshot: so it goes on after a restore. */
  person?: (actor: AgentActor) => void
}

const runners = () => {
  const ran: string[] = []
  const work = (name: string, needsApproval: boolean) =>
    tool({
      name,
      description: name,
      needsApproval,
      onInterrupted: 'rerun',
      execute: async (_, { callId }) => {
        ran.push(callId)
        await idle(callId.length % 2 ? 1 : 2)
        return `did ${callId}`
      },
    })
  return { ran, tools: [work('work', false), work('ask', true)] }
}

const start = ({ turns, config, clock, person }: Scenario, skip: number, stored?: string) => {
  const model = scriptedModel(turns.slice(skip))
  const { ran, tools } = runners()
  const machine = createAgentMachine({ model, tools, ...config })
  const snapshot: Snapshot<unknown> | undefined = stored && JSON.parse(stored)
  const actor: AgentActor = createActor(machine, {
    input: { prompt: 'Go' },
    ...(snapshot && { snapshot }),
    ...(clock && { clock }),
  })
  const watched = watch(actor)
  /** How many requests had been made at each snapshot. */
  const requests: number[] = []
  actor.subscribe(() => requests.push(skip + model.requests.length))
  if (person) actor.subscribe(() => setImmediate(() => person(actor)))
  actor.start()
  return { actor, model, ran, watched, requests }
}

/** A request that was under way is made again; one that is over is not. */
const skipAt = (stored: string, requests: number): number => {
  const { value } = JSON.parse(stored)
  const isOpen = value.Accumulating === 'Requesting' || value.Accumulating === 'Streaming'
  return isOpen ? requests - 1 : requests
}

/** Stores a run at every snapshot, restores each one in a new actor of a new machine, and lets it run to its end. */
const checkEveryPoint = async (scenario: Scenario, leastPoints: number): Promise<AgentOutput> => {
  const reference = start(scenario, 0)
  const expected = await endOf(reference.actor)
  reference.model.assertDone()
  const { stored } = reference.watched
  expect(stored.length).toBeGreaterThanOrEqual(leastPoints)
  const broken: string[] = []
  for (const [index, text] of stored.entries()) {
    try {
      await checkPoint(scenario, text, skipAt(text, reference.requests[index] ?? 0), expected)
    } catch (error) {
      broken.push(`${reference.watched.states[index]}, snapshot ${index}: ${describeThrown(error)}`)
    }
  }
  expect(broken).toEqual([])
  return expected
}

const checkPoint = async (scenario: Scenario, text: string, skip: number, expected: AgentOutput) => {
  const { context, status } = JSON.parse(text)
  const { actor, model, watched, ran } = start(scenario, skip, text)
  try {
    expect(await endOf(actor)).toEqual(expected)
    model.assertDone()
    expect(watched.finals).toHaveLength(status === 'done' ? 0 : 1)
    const known = [...context.round.results.flat(), ...context.history.flatMap(toolResultsOf)].map(
      ({ id }) => id,
    )
    expect(ran.filter((id) => known.includes(id))).toEqual([])
    expect(new Set(ran).size).toBe(ran.length)
  } finally {
    actor.stop()
  }
}

const retryable = { error: { retryable: true, retryAfterMs: 1 } }

describe('a run restored at any point ends as it would have', () => {
  test('plain text in several reads: the text is there once', async () => {
    const turns: ScriptTurn[] = [
      [
        { responseId: 'r' },
        { thinking: 'hm' },
        { text: 'Hel' },
        { metadata: { citations: ['a'] } },
        { text: 'lo' },
        { usage: { inputTokens: 3 } },
      ],
    ]
    const { output } = await checkEveryPoint({ turns }, 8)
    expect(output).toBe('Hello')
  })

  const rounds: ScriptTurn[] = [
    [
      { text: 'First.' },
      { toolCall: { id: 'a', name: 'work' } },
      { toolCall: { id: 'bb', name: 'work' } },
      { toolCall: { id: 'c', name: 'work' } },
      { usage: { inputTokens: 1 } },
    ],
    [{ toolCall: { id: 'd', name: 'work' } }, { usage: { inputTokens: 2 } }],
    [{ text: 'All ' }, { text: 'done.' }, { usage: { inputTokens: 4 } }],
  ]

  test.each(['sequential', 'parallel', { concurrency: 2 }] as const)(
    'two rounds of tools, %j',
    async (toolExecution) => {
      const { usage } = await checkEveryPoint({ turns: rounds, config: { toolExecution } }, 20)
      expect(usage).toEqual({ inputTokens: 7 })
    },
  )

  test('a custom executeBatch', async () => {
    const executeBatch = async (calls: readonly { id: string; name: string }[]) => {
      await idle(1)
      return calls.map(({ id, name }) => ({ type: 'toolResult' as const, id, name, result: 'batch' }))
    }
    await checkEveryPoint({ turns: rounds, config: { toolExecutor: { executeBatch } } }, 12)
  })

  test('a retry with its back-off', async () => {
    await checkEveryPoint(
      { turns: [[retryable], [{ toolCall: { id: 'a', name: 'work' } }], [retryable], 'ok'] },
      8,
    )
  })

  test('a restart in the middle of a stream', async () => {
    const turns: ScriptTurn[] = [
      [{ text: 'Hal' }, retryable],
      [{ text: 'Wh' }, { text: 'ole' }],
    ]
    const { output } = await checkEveryPoint({ turns, config: { retry: { midStream: true } } }, 6)
    expect(output).toBe('Whole')
  })

  test('an approval of two calls beside one that needs none', async () => {
    const turns: ScriptTurn[] = [
      [
        { toolCall: { id: 'r1', name: 'ask' } },
        { toolCall: { id: 'w', name: 'work' } },
        { toolCall: { id: 'r2', name: 'ask' } },
      ],
      'ok',
    ]
    const person = (actor: AgentActor) => {
      const [callId] = actor.getSnapshot().context.round.pendingApprovals
      if (callId && actor.getSnapshot().status === 'active')
        actor.send({ type: callId === 'r1' ? 'tool.reject' : 'tool.approve', callId })
    }
    const { messages } = await checkEveryPoint({ turns, person }, 10)
    expect(messages.flatMap(toolResultsOf).map(({ isError }) => isError)).toEqual([
      true,
      undefined,
      undefined,
    ])
  })

  test('steering', async () => {
    const person = (actor: AgentActor) => {
      const { context, status } = actor.getSnapshot()
      const isSteered = context.steering.length > 0 || JSON.stringify(context.messages).includes('In French')
      if (status === 'active' && context.step === 1 && !isSteered)
        actor.send({ type: 'steer', text: 'In French.' })
    }
    const turns: ScriptTurn[] = [[{ text: 'One' }, { toolCall: { id: 'a', name: 'work' } }], 'Deux']
    const { messages } = await checkEveryPoint({ turns, person }, 8)
    expect(JSON.stringify(messages).split('In French.')).toHaveLength(2)
  })

  test('a pause of the provider', async () => {
    const turns: ScriptTurn[] = [
      [{ text: 'Sear' }, { finish: 'stop', pause: true }],
      [{ text: 'ched' }, { toolCall: { id: 'a', name: 'work' } }],
      'ok',
    ]
    const { output } = await checkEveryPoint({ turns }, 9)
    expect(output).toBe('Searched\nok')
  })

  test('a failed and an aborted run stay what they are', async () => {
    await checkEveryPoint({ turns: [[{ text: 'Hal' }, { error: { message: 'boom' } }]] }, 3)
  })
})

describe('a restored run', () => {
  const storedAt = async (turns: ScriptTurn[], state: string, nth = 0) => {
    const { actor, watched } = start({ turns }, 0)
    await idle(20)
    actor.stop()
    return watched.stored.filter((_, index) => watched.states[index] === state)[nth] ?? ''
  }

  test('in the middle of an answer says that the text before does not count', async () => {
    const turn: ScriptTurn = [{ text: 'Hel' }, { text: 'lo' }]
    const { actor, watched } = start(
      { turns: [turn] },
      0,
      await storedAt([turn], 'Accumulating.Streaming', 1),
    )
    await endOf(actor)
    expect(watched.emitted[0]).toMatchObject({ type: 'retry', restart: true })
    expect(watched.chunks[0]?.metadata).toEqual({ restart: true })
    expect(watched.chunks.map(({ output }) => output).join('')).toBe('Hello')
  })

  test('in the middle of a later answer begins with the newline again', async () => {
    const turns: ScriptTurn[] = [[{ toolCall: { id: 'a', name: 'work' } }], [{ text: 'Hel' }, { text: 'lo' }]]
    const { actor, watched } = start({ turns }, 1, await storedAt(turns, 'Accumulating.Streaming', 3))
    await endOf(actor)
    expect(watched.chunks.map(({ output }) => output).filter((text) => text !== '')).toEqual(['\nHel', 'lo'])
  })

  test('can be aborted', async () => {
    const turns: ScriptTurn[] = [[{ text: 'Hel' }, { hang: true }]]
    const { actor, model } = start({ turns }, 0, await storedAt(turns, 'Accumulating.Streaming'))
    await idle()
    actor.send({ type: 'abort' })
    expect(await endOf(actor)).toMatchObject({ status: 'aborted', output: 'Hel' })
    expect(model.closed).toBe(1)
  })

  const backingOff = async () => {
    const clock = new SimulatedClock()
    const turns: ScriptTurn[] = [[{ error: { retryable: true, retryAfterMs: 1000 } }], 'ok']
    const { actor, watched } = start({ turns, clock }, 0)
    await idle()
    expect(stateName(actor.getSnapshot())).toBe('Accumulating.BackingOff')
    actor.stop()
    return { turns, text: watched.stored.at(-1) ?? '' }
  }

  test('in a back-off waits for what is left of it', async () => {
    const { turns, text } = await backingOff()
    const clock = new SimulatedClock()
    clock.set(400)
    const { actor, model } = start({ turns, clock }, 1, text)
    clock.increment(599)
    await idle()
    expect(model.requests).toHaveLength(0)
    clock.increment(1)
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'ok' })
  })

  test('long after its back-off goes on at once', async () => {
    const { turns, text } = await backingOff()
    const clock = new SimulatedClock()
    clock.set(1e9)
    const { actor } = start({ turns, clock }, 1, text)
    clock.increment(0)
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'ok' })
  })

  test('that hangs is still ended by its timeout', async () => {
    const text = await storedAt([[{ text: 'Hel' }, { hang: true }]], 'Accumulating.Streaming')
    const clock = new SimulatedClock()
    clock.set(Date.now())
    const config = { timeouts: { firstChunkMs: 100 }, retry: { maxRetries: 0 } }
    const { actor } = start({ turns: [[{ hang: true }]], config, clock }, 0, text)
    await idle()
    clock.increment(100)
    await idle()
    expect(actor.getSnapshot().status).toBe('done')
  })

  test('in a tool round is still ended by the total time of the run', async () => {
    const hanging = tool({ name: 'work', description: 'Hangs', execute: () => new Promise(() => {}) })
    const turns: ScriptTurn[] = [[{ toolCall: { id: 'a', name: 'work' } }]]
    const config = { timeouts: { totalMs: 100 }, tools: [hanging] }
    const first = start({ turns, config, clock: new SimulatedClock() }, 0)
    await idle()
    first.actor.stop()
    const clock = new SimulatedClock()
    clock.set(90)
    const { actor } = start({ turns, config, clock }, 1, first.watched.stored.at(-1))
    clock.increment(10)
    await idle()
    expect(actor.getSnapshot().output).toMatchObject({ status: 'failed', error: { name: 'TimeoutError' } })
    actor.stop()
  })
})
