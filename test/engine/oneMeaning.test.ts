/** The chart means the same wherever it runs: by send, as an actor, with any clock and any listeners. */
import { describe, expect, test } from 'vitest'
import { createActor, SimulatedClock } from 'xstate'
import { z } from 'zod'
import { reasoningOrchestrator } from '../../machines/index.ts'
import { Agent } from '../../src/agent/Agent.ts'
import type { AgentEmitted } from '../../src/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import type { ChatModel, ModelSink } from '../../src/model/chatModel.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { recorder } from './sampleTools.ts'
import { endOf, idle, watch } from './watching.ts'

const callsOf = (...ids: string[]): ScriptTurn =>
  ids.map((id) => ({ toolCall: { id, name: 'work', arguments: { path: id } } }))

const worker = () => {
  const ran: unknown[] = []
  const work = tool({
    name: 'work',
    description: 'Works',
    input: z.object({ path: z.string() }),
    needsApproval: true,
    execute: (args) => {
      ran.push(args)
      return 'done'
    },
  })
  return { ran, work }
}

describe('onApproval', () => {
  test('decides for an actor as it does for send', async () => {
    const outcomes = []
    for (const isActor of [true, false]) {
      const { ran, work } = worker()
      const agent = new Agent(scriptedModel([callsOf('a', 'b'), 'ok']), {
        tools: [work],
        onApproval: ({ id }) => id === 'a' || { approve: false, reason: 'not b' },
      })
      const { messages } = isActor
        ? await endOf(agent.actor({ prompt: 'Go' }).start())
        : await agent.send('Go')
      outcomes.push({ ran, messages })
    }
    expect(outcomes[0]?.ran).toEqual([{ path: 'a' }])
    expect(outcomes[0]).toEqual(outcomes[1])
  })

  test('is asked again in a restored run only about the calls that it had not decided on', async () => {
    const asked: string[] = []
    const { work, ran } = worker()
    const start = (snapshot?: object) => {
      const agent = new Agent(scriptedModel(snapshot ? ['ok'] : [callsOf('a', 'b')]), {
        tools: [work],
        onApproval: ({ id }) => {
          asked.push(id)
          return id === 'a' || snapshot ? true : new Promise(() => {})
        },
      })
      return createActor(agent.machine, {
        input: { prompt: 'Go' },
        ...(snapshot && { snapshot: snapshot as never }),
      }).start()
    }
    const first = start()
    await idle()
    const stored = JSON.parse(JSON.stringify(first.getPersistedSnapshot()))
    first.stop()
    expect((await endOf(start(stored))).status).toBe('complete')
    expect(asked).toEqual(['a', 'b', 'b'])
    expect(ran).toEqual([{ path: 'a' }, { path: 'b' }])
  })

  test('is asked before anything runs that needs it, whatever the schema says later', async () => {
    let isOpen = false
    const ran: unknown[] = []
    const pay = tool({
      name: 'work',
      description: 'Pays',
      input: z.object({ path: z.string() }).refine(() => isOpen, 'The bank is closed'),
      needsApproval: true,
      execute: (args) => ran.push(args),
    })
    const model = scriptedModel([callsOf('a'), 'ok'])
    const actor = new Agent(model, { tools: [pay], onApproval: () => true }).actor({ prompt: 'Go' })
    // Open by the time the call would run.
    actor.on('tool.result', () => {
      isOpen = true
    })
    const { messages } = await endOf(actor.start())
    expect(messages.flatMap(toolResultsOf)).toMatchObject([{ isError: true }])
    expect(ran).toEqual([])
  })
})

describe('a clock given to createActor', () => {
  test('is that of back-offs, time limits and tools', async () => {
    const clock = new SimulatedClock()
    const hanging = tool({
      name: 'work',
      description: 'Hangs',
      timeoutMs: 50,
      execute: () => new Promise(() => {}),
    })
    const turns: ScriptTurn[] = [
      [{ error: { retryable: true, retryAfterMs: 1000 } }],
      callsOf('a'),
      [{ hang: true }],
    ]
    const agent = new Agent(scriptedModel(turns), {
      tools: [hanging],
      timeouts: { firstChunkMs: 200 },
      retry: { maxRetries: 1 },
    })
    const actor = createActor(agent.machine, { input: { prompt: 'Go' }, clock }).start()
    const pass = async (ms: number) => {
      clock.increment(ms)
      await idle()
    }
    await idle()
    expect(actor.getSnapshot().matches({ Accumulating: 'BackingOff' })).toBe(true)
    await pass(1000)
    expect(actor.getSnapshot().matches('ToolExecution')).toBe(true)
    await pass(50)
    expect(actor.getSnapshot().context.step).toBe(2)
    expect(actor.getSnapshot().context.answer.askedAt).toBe(1050)
    await pass(200)
    expect(actor.getSnapshot().matches({ Accumulating: 'BackingOff' })).toBe(true)
    actor.stop()
  })
})

describe('a listener', () => {
  /** Empties everything that can be reached from a value. */
  const spoil = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const inner of Object.values(value)) spoil(inner)
    if (Array.isArray(value)) value.length = 0
    else for (const key of Object.keys(value)) delete (value as Record<string, unknown>)[key]
  }

  const agentOf = (onApproval: (call: object) => boolean) => {
    const { ran, work } = worker()
    const turns: ScriptTurn[] = [
      [{ metadata: { citations: [{ url: 'a' }] } }, { text: 'Hm.' }, ...(callsOf('a', 'b') as [])],
      [{ error: { retryable: true, retryAfterMs: 0 } }],
      [
        { thinking: 'so' },
        { metadata: { citations: [{ url: 'b' }] } },
        { text: 'ok' },
        { usage: { inputTokens: 2 } },
      ],
    ]
    return { ran, agent: new Agent(scriptedModel(turns), { tools: [work], onApproval }) }
  }

  test('cannot change the run by changing what it gets', async () => {
    const plain = agentOf(() => true)
    const expected = await endOf(plain.agent.actor({ prompt: 'Go' }).start())
    const spoilt = agentOf((call) => {
      spoil(call)
      return true
    })
    const actor = spoilt.agent.actor({ prompt: 'Go' })
    actor.on('*', (event: AgentEmitted) => spoil(event))
    expect(await endOf(actor.start())).toEqual(expected)
    expect(spoilt.ran).toEqual(plain.ran)
  })

  test('cannot change a run of runs either', async () => {
    const start = () =>
      new Agent(scriptedModel(['a', 'b', 'c', 'd']), { orchestrator: reasoningOrchestrator() }).actor({
        prompt: 'Go',
      })
    const expected = await endOf(start().start())
    const actor = start()
    actor.on('*', (event: AgentEmitted) => spoil(event))
    expect(await endOf(actor.start())).toEqual(expected)
  })
})

describe('the sink of a model', () => {
  const modelThat = (answer: (sink: ModelSink, call: number) => void): ChatModel & { calls: number } => {
    const model = {
      ...scriptedModel([]),
      calls: 0,
      stream: (_: unknown, sink: ModelSink) => {
        model.calls += 1
        queueMicrotask(() => answer(sink, model.calls))
        return () => {}
      },
    }
    return model
  }
  const failure = { name: 'ModelError', message: 'busy', retryable: true, retryAfterMs: 0 } as const

  test('gets nothing after fail: the retry is made, and made once', async () => {
    const model = modelThat((sink, call) => {
      if (call > 1)
        sink.deltas([
          { type: 'text', text: 'ok' },
          { type: 'finish', reason: 'stop' },
        ])
      else sink.fail(failure)
      sink.end()
      sink.fail(failure)
      sink.deltas([{ type: 'text', text: 'late' }])
    })
    expect((await new Agent(model).send('Hi')).output).toBe('ok')
    expect(model.calls).toBe(2)
  })
})

test('a run that is watched step by step has the same states as one that is not', async () => {
  const states = async (isWatched: boolean) => {
    const actor = new Agent(scriptedModel([callsOf('a'), 'ok']), { tools: [recorder('work').tool] }).actor({
      prompt: 'Go',
    })
    const watched = watch(actor)
    if (isWatched) actor.subscribe(() => actor.getPersistedSnapshot())
    await endOf(actor.start())
    return watched.states
  }
  expect(await states(true)).toEqual(await states(false))
})
