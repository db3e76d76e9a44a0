import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type AnyEventObject,
  createActor,
  fromPromise,
  type InspectionEvent,
  initialTransition,
  transition,
} from 'xstate'
import {
  type AgentMachine,
  type AgentMachineConfig,
  createAgentMachine,
  createChart,
} from '../../machines/index.ts'
import { runMachine } from '../../machines/logic/runMachine.ts'
import type { ToolServiceInput, ToolServiceOutput } from '../../machines/tools/toolService.ts'
import { Agent } from '../../src/agent/Agent.ts'
import type { Delta } from '../../src/model/delta.ts'
import { finishPuppet, withPuppets } from '../../src/testing/paths.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { recorder } from './sampleTools.ts'
import { type AgentActor, endOf, watch } from './watching.ts'

const ask = tool({ name: 'ask', description: 'Asks first', needsApproval: true, execute: () => 'ok' })

const config = (): AgentMachineConfig => {
  let ids = 0
  return {
    model: scriptedModel([]),
    tools: [recorder().tool, ask],
    maxSteps: 4,
    retry: { maxRetries: 2, midStream: true },
    timeouts: { totalMs: 1e6 },
    random: () => 0.5,
    newId: () => `new-${ids++}`,
  }
}

/** A clock that never moves. */
const clock = { now: () => 5, setTimeout: () => 0, clearTimeout: () => {} }

const word = fc.constantFrom('', 'a', 'bc', '\n', '🙂', 'x'.repeat(50))
const deltas = fc.array(
  fc.oneof<fc.Arbitrary<Delta>[]>(
    fc.record({ type: fc.constant('text'), text: word }),
    fc.record({ type: fc.constant('thinking'), text: word }),
    fc.record({
      type: fc.constant('metadata'),
      metadata: fc.dictionary(fc.constantFrom('k', 'list', '__proto__'), fc.oneof(word, fc.array(word))),
    }),
    fc.record({ type: fc.constant('toolDelta'), index: fc.nat(3), arguments: word }),
    fc.integer().map((n) => ({
      type: 'toolCall',
      call: { id: `c${n}`, name: n % 3 === 0 ? 'ask' : 'echo', arguments: { n } },
    })),
    fc.record({ type: fc.constant('opaque'), protocol: word, data: fc.constant({ s: 1 }) }),
    fc.record({ type: fc.constant('response'), id: word }),
    fc.record({ type: fc.constant('usage'), usage: fc.record({ inputTokens: fc.nat(99) }) }),
    fc.constant<Delta>({ type: 'part', part: { type: 'link', url: 'https://example.com' } }),
    fc.record({
      type: fc.constant('finish'),
      reason: fc.constantFrom('stop', 'toolCalls', 'length'),
      pause: fc.boolean(),
    }),
  ),
  { maxLength: 4 },
)
const error = fc.record({ name: fc.constant('ModelError'), message: word, retryable: fc.boolean() })
const at = fc.constantFrom(0, 5, 5, 5, 400_000, 2e6)

const step = fc.oneof<{ weight: number; arbitrary: fc.Arbitrary<AnyEventObject> }[]>(
  {
    weight: 24,
    arbitrary: fc.record({ type: fc.constant('model.deltas'), deltas, seq: fc.nat(4), at: fc.constant(6) }),
  },
  { weight: 2, arbitrary: fc.constant({ type: 'model.done', at: 6 }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('model.failed'), error, at }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('timer.fired'), at }) },
  { weight: 1, arbitrary: fc.constant({ type: 'steer', text: 'left' }) },
  { weight: 3, arbitrary: fc.constant({ type: 'decide', approve: true }) },
  { weight: 1, arbitrary: fc.constant({ type: 'decide', approve: false }) },
  { weight: 3, arbitrary: fc.constant({ type: 'tools finish' }) },
)
const ending = fc.constantFrom<AnyEventObject[]>(
  { type: 'abort', reason: 'x' },
  { type: 'model.done', at: 7 },
)

const deliver = (actor: AgentActor, event: AnyEventObject) => {
  const { children, context } = actor.getSnapshot()
  const [pending] = context.round.pendingApprovals
  if (event.type === 'decide') {
    if (pending) actor.send({ type: event.approve ? 'tool.approve' : 'tool.reject', callId: pending })
  } else if (event.type === 'tools finish') {
    const executor = children.toolExecutor
    if (executor) finishPuppet(executor, { results: [] })
  } else actor.send(event as Parameters<AgentActor['send']>[0])
}

/** The reports of the model child: no other part sends them, so the types do not offer them. */
const readEvent = (read: readonly Delta[], seq: number) =>
  ({ type: 'model.deltas', deltas: read, seq, at: 6 }) as never

describe('the fast path for reads', () => {
  test('gives the chart’s own value, context and events, for any sequence of events', () => {
    let fast = 0
    fc.assert(
      fc.property(fc.array(step, { minLength: 10, maxLength: 40 }), ending, (events, end) => {
        const quick = createActor(withPuppets(createAgentMachine(config())), {
          input: { prompt: 'Go' },
          clock,
        })
        const chart = createActor(withPuppets(runMachine(createChart(config())) as AgentMachine), {
          input: { prompt: 'Go' },
          clock,
        })
        const seen = { quick: watch(quick), chart: watch(chart) }
        quick.start()
        chart.start()
        for (const event of [...events, end]) {
          if (quick.getSnapshot().status !== 'active') break
          if (event.type === 'model.deltas' && event.seq > 0 && quick.getSnapshot().hasTag('streaming'))
            fast += 1
          deliver(quick, event)
          deliver(chart, event)
          const [a, b] = [quick.getSnapshot(), chart.getSnapshot()]
          expect([a.value, a.status, a.context, a.output]).toEqual([b.value, b.status, b.context, b.output])
        }
        expect(seen.quick.emitted).toEqual(seen.chart.emitted)
        expect(seen.quick.states).toEqual(seen.chart.states)
        expect(seen.quick.stored).toEqual(seen.chart.stored)
        quick.stop()
        chart.stop()
      }),
      { numRuns: 120 },
    )
    expect(fast).toBeGreaterThan(100)
  })

  test('is taken by every read but the first, also after parts were replaced that no read needs', () => {
    const machine = createAgentMachine(config())
    for (const each of [machine, machine.provide({ actions: { announceEnd: () => {} } })]) {
      const steps: number[] = []
      const inspect = (event: InspectionEvent) => {
        if (event.type === '@xstate.microstep' && event.event.type === 'model.deltas')
          steps.push(event.event.seq)
      }
      const actor = createActor(withPuppets(each), { input: { prompt: 'Go' }, clock, inspect }).start()
      for (const seq of [0, 1, 2]) actor.send(readEvent([{ type: 'text', text: 'a' }], seq))
      expect(actor.getSnapshot().context.answer.accumulated.text).toBe('aaa')
      actor.stop()
      expect(steps).toEqual([0])
    }
  })

  test('makes a new snapshot for every read and leaves the older ones as they were', () => {
    fc.assert(
      fc.property(fc.array(deltas, { minLength: 1, maxLength: 20 }), (reads) => {
        const actor = createActor(withPuppets(createAgentMachine(config())), {
          input: { prompt: 'Go' },
          clock,
        })
        actor.start()
        const kept = reads.map((read, seq) => {
          actor.send(readEvent(read, seq))
          const snapshot = actor.getSnapshot()
          return { snapshot, text: JSON.stringify(snapshot.context) }
        })
        expect(new Set(kept.map(({ snapshot }) => snapshot)).size).toBe(reads.length)
        expect(new Set(kept.map(({ snapshot }) => snapshot.context)).size).toBe(reads.length)
        for (const { snapshot, text } of kept) {
          expect(JSON.stringify(snapshot.context)).toBe(text)
          expect(snapshot.matches({ Accumulating: 'Streaming' })).toBe(true)
          expect(snapshot.can({ type: 'abort' })).toBe(true)
        }
        actor.stop()
      }),
      { numRuns: 50 },
    )
  })

  test('is pure: XState’s transition function gives the next snapshot and leaves the old one', () => {
    const machine = createAgentMachine(config())
    const [started] = initialTransition(machine, { prompt: 'Go' })
    const [first] = transition(machine, started, readEvent([{ type: 'text', text: 'a' }], 0))
    const [second, actions] = transition(machine, first, readEvent([{ type: 'text', text: 'b' }], 1))
    expect(actions.map(({ type, params }) => [type, params])).toEqual([
      ['xstate.emit', { event: expect.objectContaining({ type: 'chunk', output: 'b' }) }],
    ])
    expect(first.context.answer.accumulated.text).toBe('a')
    expect(second.context.answer.accumulated.text).toBe('ab')
  })
})

describe('agent.machine.provide', () => {
  const turns: ScriptTurn[] = [
    [{ text: 'a' }, { text: 'b' }, { text: 'c' }, { toolCall: { id: 'x', name: 'echo' } }],
    'ok',
  ]
  const agent = () => new Agent(scriptedModel(turns), { tools: [recorder().tool] })

  test('replaces the tool executor, and the run streams on as before', async () => {
    const { machine } = agent()
    const provided = machine.provide({
      actors: {
        toolExecutor: fromPromise<ToolServiceOutput, ToolServiceInput>(async ({ input: { calls } }) => ({
          results: calls.map(({ id, name }) => ({ type: 'toolResult', id, name, result: 'mine' })),
        })),
      },
    })
    const actor = createActor(provided, { input: { prompt: 'Go' } })
    const watched = watch(actor)
    actor.start()
    expect((await endOf(actor)).messages[2]?.parts).toMatchObject([{ id: 'x', result: 'mine' }])
    expect(watched.chunks.map(({ output }) => output).join('')).toBe('abc\nok')
  })

  test('replaces an action that every read takes', async () => {
    let received = 0
    const { machine } = agent()
    const provided = machine.provide({
      actions: {
        receive: () => {
          received += 1
        },
      },
    })
    const actor = createActor(provided, { input: { prompt: 'Go' } })
    actor.start()
    await new Promise<void>((next) => setImmediate(next))
    actor.stop()
    // Four reads and the finish of the first turn.
    expect(received).toBe(5)
  })

  test('replaces a guard that every read asks, beside parts that no read needs', async () => {
    const asked: number[] = []
    const isNewStream = (_: unknown, { seq }: { seq: number }) => {
      asked.push(seq)
      return false
    }
    const provided = agent().machine.provide({ guards: { isNewStream }, actions: { announceEnd: () => {} } })
    const actor = createActor(provided, { input: { prompt: 'Go' } })
    actor.start()
    await endOf(actor)
    // Every read after the first of each turn, with its finish.
    expect(asked).toEqual([1, 2, 3, 4, 1])
  })

  test('leaves the agent’s own machine as it was', async () => {
    const mine = agent()
    mine.machine.provide({ actions: { announceEnd: () => {} } })
    const actor = mine.actor({ prompt: 'Go' })
    const watched = watch(actor)
    actor.start()
    await endOf(actor)
    expect(watched.finals).toHaveLength(1)
  })

  test('the machine is built once per agent', () => {
    const mine = agent()
    expect(mine.machine).toBe(mine.machine)
  })
})
