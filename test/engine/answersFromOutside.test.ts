/** A round with calls that run here and calls that are answered from outside. */
import { describe, expect, test } from 'vitest'
import { SimulatedClock } from 'xstate'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { endOf, idle, stateName, watch } from './watching.ts'

const outside = tool({ name: 'outside', description: 'Answered elsewhere' })
const inside = tool({
  name: 'inside',
  description: 'Runs here',
  execute: (_, { callId, addUsage }) => {
    addUsage({ inputTokens: 7 })
    return `ran ${callId}`
  },
})

const call = (id: string, name: string) => ({ toolCall: { id, name } })
const mixed: ScriptTurn = [call('i', 'inside'), call('x', 'outside'), call('y', 'outside')]

const waiting = async (turn: ScriptTurn = mixed, options: AgentOptions = {}) => {
  const clock = new SimulatedClock()
  const model = scriptedModel([turn, 'done'])
  const actor = new Agent(model, { tools: [inside, outside], clock, ...options }).actor({ prompt: 'Go' })
  const watched = watch(actor)
  const asked: unknown[] = []
  actor.on('tool.external', (event) => asked.push(event))
  actor.start()
  await idle()
  return { actor, asked, watched, model, clock }
}

const resultsOf = ({ messages }: { messages: readonly Parameters<typeof toolResultsOf>[0][] }) =>
  messages.flatMap(toolResultsOf).map(({ id, result }) => `${id}: ${result}`)

describe('calls that are answered from outside', () => {
  test('are waited for, and listeners learn once which', async () => {
    const { actor, asked } = await waiting()
    expect(stateName(actor.getSnapshot())).toBe('AwaitingTools')
    expect(actor.getSnapshot().hasTag('waiting')).toBe(true)
    expect(asked).toEqual(
      ['x', 'y'].map((id) => ({
        type: 'tool.external',
        callId: id,
        question: expect.any(String),
        call: { type: 'toolCall', id, name: 'outside', arguments: {} },
      })),
    )
    actor.stop()
  })

  test('do not lose the results of the calls that ran here, nor what these used', async () => {
    const { actor, watched } = await waiting()
    const emitted = () =>
      watched.emitted.flatMap((event) => (event.type === 'tool.result' ? event.callId : []))
    expect(emitted()).toEqual(['i'])
    actor.send({ type: 'tool.answer', callId: 'y', result: 'answer y' })
    actor.send({ type: 'tool.answer', callId: 'x', result: 'answer x' })
    const output = await endOf(actor)
    expect(output).toMatchObject({ status: 'complete', output: 'done', usage: { inputTokens: 7 } })
    expect(resultsOf(output)).toEqual(['i: ran i', 'x: answer x', 'y: answer y'])
    expect(emitted()).toEqual(['i', 'y', 'x'])
    expect(validateHistory(output.messages)).toEqual([])
  })

  test('are answered once, and no other call is', async () => {
    const { actor, watched } = await waiting()
    for (const callId of ['i', 'unknown']) {
      actor.send({ type: 'tool.answer', callId, result: 'false' })
      actor.send({ type: 'tool.reject', callId })
    }
    actor.send({ type: 'tool.answer', callId: 'x', result: 'first' })
    actor.send({ type: 'tool.answer', callId: 'x', result: 'second' })
    actor.send({ type: 'tool.reject', callId: 'x' })
    expect(stateName(actor.getSnapshot())).toBe('AwaitingTools')
    actor.send({ type: 'tool.reject', callId: 'y', reason: 'closed' })
    const results = resultsOf(await endOf(actor))
    expect(results.slice(0, 2)).toEqual(['i: ran i', 'x: first'])
    expect(results[2]).toContain('A person rejected this call: closed')
    expect(watched.emitted.filter(({ type }) => type === 'tool.result')).toHaveLength(3)
  })

  test('stop the time of the run', async () => {
    const { actor, clock } = await waiting([call('x', 'outside')], { timeouts: { totalMs: 100 } })
    clock.increment(1e9)
    await idle()
    actor.send({ type: 'tool.answer', callId: 'x', result: 'late' })
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'done' })
  })
})

test('a call that needs an approval cannot be answered in place of that', async () => {
  const risky = tool({ name: 'risky', description: 'Asks', needsApproval: true, execute: () => 'ran' })
  const { actor } = await waiting([call('r', 'risky')], { tools: [risky] })
  actor.send({ type: 'tool.answer', callId: 'r', result: 'forged' })
  expect(stateName(actor.getSnapshot())).toBe('AwaitingApproval')
  actor.send({ type: 'tool.approve', callId: 'r' })
  expect(resultsOf(await endOf(actor))).toEqual(['r: ran'])
})
