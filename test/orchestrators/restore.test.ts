import { describe, expect, test } from 'vitest'
import { type AnyActor, createActor, type Snapshot } from 'xstate'
import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { createDecision } from '../../src/agent/createDecision.ts'
import { describeThrown } from '../../src/messages/errors.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { recorder } from '../engine/sampleTools.ts'

/** Makes the actor of a run whose model plays these turns, from the beginning or from what was stored. */
type Scenario = {
  turns: ScriptTurn[]
  start: (turns: ScriptTurn[], snapshot?: Snapshot<unknown>) => AnyActor
}

const settled = (actor: AnyActor): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const tooLong = setTimeout(() => reject(new Error('It hangs.')), 30_000)
    const end = () => {
      clearTimeout(tooLong)
      const { output, error } = actor.getSnapshot()
      resolve(error === undefined ? output : describeThrown(error))
    }
    actor.subscribe({ complete: end, error: end })
  })

/** Stores a run at every snapshot, restores each one in a new actor of new machines, and lets it run to its end. */
const checkEveryPoint = async ({ turns, start }: Scenario): Promise<{ output: unknown; points: number }> => {
  const reference = start(turns)
  const points: { stored: string; answered: number }[] = []
  let answered = 0
  reference.on('step', () => {
    answered += 1
  })
  const store = () => points.push({ stored: JSON.stringify(reference.getPersistedSnapshot()), answered })
  reference.subscribe({ next: store, error: () => {} })
  const ended = settled(reference)
  reference.start()
  const expected = await ended
  const broken: string[] = []
  for (const [index, point] of points.entries()) {
    const actor = start(turns.slice(point.answered), JSON.parse(point.stored))
    try {
      const again = settled(actor)
      actor.start()
      expect(await again).toEqual(expected)
    } catch (error) {
      const { value, children } = JSON.parse(point.stored)
      const inner = JSON.stringify(children.run?.snapshot.value)
      broken.push(`${value} ${inner}, snapshot ${index}: ${describeThrown(error).slice(0, 200)}`)
    } finally {
      actor.stop()
    }
  }
  expect(broken).toEqual([])
  return { output: expected, points: points.length }
}

const agentWith =
  (options: AgentOptions): Scenario['start'] =>
  (turns, snapshot) => {
    const agent = new Agent(scriptedModel(turns), { tools: [recorder().tool], ...options })
    return createActor(agent.machine, { input: { prompt: 'Go' }, ...(snapshot && { snapshot }) })
  }

const call: ScriptTurn = [{ text: 'Let me look.' }, { toolCall: { id: 'a', name: 'echo' } }]
const used = (...texts: string[]): ScriptTurn => [
  ...texts.map((text) => ({ text })),
  { usage: { outputTokens: 1 } },
]

describe('restored at any point, a run ends as it would have', () => {
  test('reasoning, in each of its phases', async () => {
    const start = agentWith({ orchestrator: reasoningOrchestrator() })
    const turns = [used('It is', ' about a.'), used('b'), call, used('c'), used('It is', ' d.')]
    const { output, points } = await checkEveryPoint({ turns, start })
    expect(output).toMatchObject({ status: 'complete', output: 'It is d.', usage: { outputTokens: 4 } })
    expect(points).toBeGreaterThan(20)
  })

  test('reasoning that fails', async () => {
    const start = agentWith({ orchestrator: reasoningOrchestrator() })
    const turns: ScriptTurn[] = [used('a'), [{ text: 'b' }, { error: { message: 'boom' } }]]
    const { output } = await checkEveryPoint({ turns, start })
    expect(output).toMatchObject({ status: 'failed', error: { message: 'boom' }, output: 'a\nb' })
  })

  test('reflection, in each of its rounds', async () => {
    const start = agentWith({ orchestrator: reflectionOrchestrator() })
    const turns = [call, used('Roses'), used('No.'), used('Red', ' roses'), used('APPROVED')]
    const { output, points } = await checkEveryPoint({ turns, start })
    expect(output).toMatchObject({ status: 'complete', output: 'Red roses', usage: { outputTokens: 4 } })
    expect(points).toBeGreaterThan(20)
  })

  const decision: Scenario['start'] = (turns, snapshot) => {
    const events = { guess: { description: 'Guess' }, give_up: { description: 'Stop' } }
    const decide = createDecision({ model: scriptedModel(turns), events })
    const input = { prompt: 'Which?', allowed: ['guess' as const] }
    return createActor(decide, { input, ...(snapshot && { snapshot: snapshot as never }) })
  }

  test('a decision, also after its reminder', async () => {
    const chosen: ScriptTurn = [{ text: 'So' }, { toolCall: { id: 'g', name: 'guess' } }]
    const { output, points } = await checkEveryPoint({ turns: [used('Hm.'), chosen], start: decision })
    expect(output).toEqual({ type: 'guess' })
    expect(points).toBeGreaterThan(8)
  })

  test('a decision that is not made', async () => {
    const { output } = await checkEveryPoint({ turns: [used('Hm.'), used('Hm!')], start: decision })
    expect(output).toContain('did not choose any')
  })
})
