/** A run that asks at a limit: which commands are about the limit, and how the run ends. */
import { describe, expect, test } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { recorder } from './sampleTools.ts'
import { endOf, idle, stateName } from './watching.ts'

const call = (id: string, name = 'echo'): ScriptTurn => [{ toolCall: { id, name, arguments: { id } } }]

const atLimit = async (options: AgentOptions) => {
  const model = scriptedModel([call('a'), call('b'), call('c'), 'Done.'])
  const agent = new Agent(model, { tools: [recorder().tool], atLimit: 'ask', ...options })
  const actor = agent.actor({ prompt: 'Go' })
  actor.start()
  await idle()
  return { actor, model }
}

describe('a run that waits at a limit', () => {
  test('does not take a decision on a call for one on the limit', async () => {
    const { actor, model } = await atLimit({ maxSteps: 1 })
    for (const callId of ['a', 'limits', '']) {
      actor.send({ type: 'tool.approve', callId })
      actor.send({ type: 'tool.reject', callId })
      actor.send({ type: 'tool.answer', callId, result: 'x' })
    }
    actor.send({ type: 'tool.answer', callId: 'limit', result: 'x' })
    await idle()
    expect(stateName(actor.getSnapshot())).toBe('AtLimit')
    expect(actor.getSnapshot().hasTag('waiting')).toBe(true)
    expect(model.requests).toHaveLength(1)
    actor.stop()
  })

  test.each([
    ['as much again', undefined, 2],
    ['what is given', { steps: 3 }, 3],
  ])('goes on when it is approved, with %s', async (_, args, steps) => {
    const { actor, model } = await atLimit({ maxSteps: 1 })
    actor.send({ type: 'tool.approve', callId: 'limit', ...(args && { arguments: args }) })
    await idle(9)
    expect(stateName(actor.getSnapshot())).toBe('AtLimit')
    expect(model.requests).toHaveLength(steps)
    actor.stop()
  })

  test.each<[string, AgentOptions, string]>([
    ['of steps', { maxSteps: 1 }, 'maxSteps'],
    ['of tool calls', { limits: { toolCalls: 1 } }, 'limit'],
  ])(
    '%s is complete when it is refused, and its last message says why it stopped',
    async (_, options, reason) => {
      const { actor, model } = await atLimit(options)
      actor.send({ type: 'tool.reject', callId: 'limit' })
      const { status, finishReason, messages } = await endOf(actor)
      expect({ status, finishReason }).toEqual({ status: 'complete', finishReason: reason })
      expect(messages.at(-1)).toEqual({ role: 'model', parts: [], metadata: { interrupted: reason } })
      expect(validateHistory(messages)).toEqual([])
      expect(model.requests).toHaveLength(1)
    },
  )
})

test('a tool that ends the run has not interrupted anything', async () => {
  const end = tool({ name: 'end', description: 'Ends', endsRun: true, execute: () => 'over' })
  const { messages, finishReason } = await new Agent(scriptedModel([call('a', 'end')]), {
    tools: [end],
  }).send('Go')
  expect(finishReason).toBe('stop')
  expect(messages.at(-1)).toEqual({ role: 'model', parts: [] })
})
