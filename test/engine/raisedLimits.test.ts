/** A person lets a run go on: what it may use afterwards. */
import { describe, expect, test } from 'vitest'
import { createActor, waitFor } from 'xstate'
import {
  Agent,
  type AgentEmitted,
  type AgentOptions,
  type ChatMessage,
  type JsonObject,
  type RunLimits,
  tool,
} from '../../src/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { talk } from './compactedRuns.ts'

type Reached = Extract<AgentEmitted, { type: 'limit' }>

let calls = 0
const look = tool({ name: 'look', description: 'Looks', execute: () => `seen ${++calls}` })
const turns: ScriptTurn[] = [
  ...Array.from(
    { length: 14 },
    (_, index): ScriptTurn => [
      { toolCall: { id: `c${index}`, name: 'look' } },
      { usage: { inputTokens: 90, outputTokens: 10, cost: 0.5 } },
    ],
  ),
  'Done.',
]

/** A run that waits at its limits; it is compacted, by command, after these steps. */
const started = (options: AgentOptions, at: number[] = [], history: ChatMessage[] = []) => {
  const writer = scriptedModel(at.map(() => 'S.'))
  const agent = new Agent(scriptedModel(turns), {
    tools: [look],
    atLimit: 'ask',
    compaction: { model: writer, keepTokens: 1 },
    ...options,
  })
  const actor = createActor(agent.machine, { input: { prompt: 'Go.', history } })
  const reached: Omit<Reached, 'type' | 'callId'>[] = []
  let compactions = 0
  actor.on('limit', ({ type: _, callId: __, question: ___, ...limit }) => reached.push(limit))
  actor.on('step', ({ step }) => {
    if (at.includes(step)) actor.send({ type: 'compact' })
  })
  actor.on('compaction', () => {
    compactions += 1
  })
  actor.start()
  const settled = async () => {
    const { status, context } = await waitFor(actor, (now) => now.hasTag('waiting') || now.status === 'done')
    return { status, ...context }
  }
  return { actor, reached, compactions: () => compactions, settled }
}

describe('a limit that is raised', () => {
  test.each<[RunLimits, unknown, object, object]>([
    // As much again.
    [
      { steps: 3 },
      undefined,
      { limit: 'steps', used: 3, allowed: 3 },
      { limit: 'steps', used: 6, allowed: 6 },
    ],
    [{ steps: 3 }, {}, { limit: 'steps', used: 3, allowed: 3 }, { limit: 'steps', used: 6, allowed: 6 }],
    [
      { tokens: 250 },
      undefined,
      { limit: 'tokens', used: 300, allowed: 250 },
      { limit: 'tokens', used: 600, allowed: 550 },
    ],
    [{ cost: 1 }, undefined, { limit: 'cost', used: 1, allowed: 1 }, { limit: 'cost', used: 2, allowed: 2 }],
    // Of nothing, one more.
    [
      { toolCalls: 0 },
      undefined,
      { limit: 'toolCalls', used: 0, allowed: 0 },
      { limit: 'toolCalls', used: 1, allowed: 1 },
    ],
    // What is given, and the other limits stay.
    [
      { steps: 3, tokens: 500 },
      { steps: 4 },
      { limit: 'steps', used: 3, allowed: 3 },
      { limit: 'steps', used: 4, allowed: 4 },
    ],
    [
      { steps: 3, tokens: 500 },
      { steps: 9 },
      { limit: 'steps', used: 3, allowed: 3 },
      { limit: 'tokens', used: 500, allowed: 500 },
    ],
    // What is not an amount counts as nothing.
    [
      { steps: 3 },
      { steps: '9' },
      { limit: 'steps', used: 3, allowed: 3 },
      { limit: 'steps', used: 6, allowed: 6 },
    ],
  ])('of %o, by %o', async (limits, by, first, second) => {
    const { actor, reached, settled } = started({ limits })
    await settled()
    actor.send({ type: 'tool.approve', callId: 'limit', arguments: by as JsonObject })
    await settled()
    expect(reached).toEqual([first, second])
    actor.stop()
  })

  test('for good is gone, and the run can still be stored', async () => {
    const { actor, settled } = started({ limits: { steps: 3 } })
    await settled()
    actor.send({ type: 'tool.approve', callId: 'limit', arguments: { steps: Number.POSITIVE_INFINITY } })
    const { status, options } = await settled()
    expect(status).toBe('done')
    expect(options.limits).toEqual({})
  })
})

describe('compactions', () => {
  const steps = { limits: { steps: 20 } }

  test.each([
    ['three within six steps are a limit', [1, 3, 6], 6],
    ['three within seven do not count', [1, 3, 7], undefined],
    ['the last three count', [1, 3, 7, 8], 8],
    ['far apart, they do not count', [1, 4, 8, 12], undefined],
  ])('%s', async (_, at, limit) => {
    const { reached, compactions, settled } = started(steps, at, talk)
    const { status, step, window } = await settled()
    expect(compactions()).toBe(at.length)
    if (limit === undefined) {
      expect({ status, reached }).toEqual({ status: 'done', reached: [] })
      expect(window.compactedAt).toEqual(at.slice(-3))
    } else {
      expect(reached).toEqual([{ limit: 'compactions', used: 3, allowed: 1 }])
      expect(step).toBe(limit)
    }
  })

  test('may begin again when the limit of them is raised; the others stay as they are', async () => {
    const { actor, reached, settled } = started(steps, [1, 2, 3, 5, 6], talk)
    await settled()
    actor.send({ type: 'tool.approve', callId: 'limit' })
    const { status, options, window } = await settled()
    expect(status).toBe('done')
    expect(reached).toHaveLength(1)
    expect(window.compactedAt).toEqual([5, 6])
    expect(options.limits).toEqual({ steps: 20 })
  })

  test('before another limit was raised count as well', async () => {
    const { actor, reached, settled } = started({ limits: { steps: 3 } }, [1, 2, 4], talk)
    await settled()
    actor.send({ type: 'tool.approve', callId: 'limit', arguments: { steps: 20 } })
    await settled()
    expect(reached).toMatchObject([{ limit: 'steps' }, { limit: 'compactions' }])
    actor.stop()
  })
})
