import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { Chat } from '../../src/agent/Chat.ts'
import { AbortedError, ConfigurationError, OrchestrationError } from '../../src/messages/errors.ts'
import { textOf, toolResultsOf } from '../../src/messages/messages.ts'
import type { PendingApproval } from '../../src/messages/result.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { collect, idle, rejection } from './watching.ts'

const asking: ScriptTurn = [
  { responseId: 'r1' },
  { text: 'May I?' },
  { toolCall: { id: 'a', name: 'ask', arguments: { n: 1 } } },
  { toolCall: { id: 'f', name: 'free' } },
  { toolCall: { id: 'b', name: 'ask', arguments: { n: 2 } } },
  { usage: { inputTokens: 5 } },
]

const agentOf = (turns: ScriptTurn[] = [asking, 'done'], options: AgentOptions = {}) => {
  const ran: string[] = []
  const make = (name: string, needsApproval: boolean) =>
    tool({
      name,
      description: name,
      needsApproval,
      execute: (_, { callId }) => {
        ran.push(callId)
        return `ran ${callId}`
      },
    })
  const model = scriptedModel(turns)
  return {
    ran,
    model,
    agent: new Agent(model, { tools: [make('ask', true), make('free', false)], ...options }),
  }
}

const pendingOf = ({ pendingApproval }: { pendingApproval?: PendingApproval }): PendingApproval => {
  if (!pendingApproval) throw new Error('Nothing is pending.')
  return JSON.parse(JSON.stringify(pendingApproval))
}

describe('a send that needs an approval and has no person to ask', () => {
  test('returns with the calls that wait, and nothing has run', async () => {
    const { agent, ran, model } = agentOf()
    const result = await agent.send('Go')
    expect(result).toMatchObject({ finishReason: 'toolCalls', output: 'May I?' })
    expect(result.pendingApproval?.calls.map(({ id }) => id)).toEqual(['a', 'b'])
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'model'])
    expect(ran).toEqual([])
    expect(model.requests).toHaveLength(1)
  })

  test('reports what was used so far, as any other result', async () => {
    const result = await agentOf().agent.send('Go')
    expect(result).toMatchObject({ id: 'r1', usage: { inputTokens: 5 } })
  })

  test('leaves no listener on the signal', async () => {
    const { signal } = new AbortController()
    await agentOf().agent.send('Go', { signal })
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('goes on where it was, in another agent and after storage', async () => {
    const pending = pendingOf(await agentOf().agent.send('Go'))
    const { agent, ran, model } = agentOf(['done'])
    const result = await agent.resume(pending, { a: true, b: { approve: false, reason: 'too much' } })
    expect(result).toMatchObject({ output: 'May I?\ndone', finishReason: 'stop', usage: { inputTokens: 5 } })
    expect(ran).toEqual(['a', 'f'])
    expect(result.messages.flatMap(toolResultsOf).map(({ result: text }) => text)).toEqual([
      'ran a',
      'ran f',
      '{"error":"A person rejected this call: too much"}',
    ])
    expect(validateHistory(result.messages)).toEqual([])
    model.assertDone()
  })

  test('stays pending for calls without a decision, with all its messages', async () => {
    const { agent, ran } = agentOf()
    const first = await agent.send('Go')
    const second = await agent.resume(pendingOf(first), { b: true })
    expect(second.pendingApproval?.calls.map(({ id }) => id)).toEqual(['a'])
    expect(ran).toEqual([])
    expect(second.messages).toEqual(first.messages)
    expect((await agent.resume(pendingOf(second), { a: true })).output).toBe('May I?\ndone')
    expect(ran).toEqual(['a', 'f', 'b'])
  })

  test('refuses decisions about calls that do not wait, by a rejection', async () => {
    const { agent } = agentOf()
    const pending = pendingOf(await agent.send('Go'))
    let resumed: Promise<unknown> | undefined
    expect(() => {
      resumed = agent.resume(pending, { f: true })
    }).not.toThrow()
    await expect(resumed).rejects.toBeInstanceOf(ConfigurationError)
  })

  test('refuses what is not its own pending approval, instead of waiting for ever', async () => {
    const { agent, ran } = agentOf()
    const pending = pendingOf(await agent.send('Go'))
    const refused: [PendingApproval | null, Record<string, boolean> | null, RegExp][] = [
      [null, {}, /resume takes the pendingApproval of a result/],
      [pending, null, /given by call id/],
      [{ ...pending, snapshot: 'none' as never }, {}, /resume takes the pendingApproval of a result/],
    ]
    for (const [given, decisions, message] of refused) {
      const error = await rejection(agent.resume(given as never, decisions as never), ConfigurationError)
      expect(error.message).toMatch(message)
    }
    expect(ran).toEqual([])
  })

  test('resumed by an agent that has onApproval, still waits for the calls without a decision', async () => {
    const pending = pendingOf(await agentOf().agent.send('Go'))
    const { agent } = agentOf([], { onApproval: () => true })
    const again = pendingOf(await agent.resume(pending, { a: true }))
    expect(again.calls.map(({ id }) => id)).toEqual(['b'])
  })

  test('streams the same: the last chunk says what waits', async () => {
    const chunks = await collect(agentOf().agent.sendStream('Go'))
    expect(chunks.at(-1)?.pendingApproval?.calls.map(({ id }) => id)).toEqual(['a', 'b'])
    expect(chunks.flatMap(({ messages }) => messages).map(({ role }) => role)).toEqual(['user', 'model'])
    expect(chunks.filter(({ pendingApproval }) => pendingApproval)).toHaveLength(1)
  })

  test('can be aborted after it was resumed', async () => {
    const pending = pendingOf(await agentOf().agent.send('Go'))
    const { agent, model } = agentOf([[{ text: 'x' }, { hang: true }]])
    const controller = new AbortController()
    const resumed = rejection(
      agent.resume(pending, { a: true, b: true }, { signal: controller.signal }),
      AbortedError,
    )
    await idle()
    controller.abort()
    expect(validateHistory((await resumed).partial?.messages ?? [])).toEqual([])
    expect(model.closed).toBe(1)
  })
})

describe('onApproval', () => {
  test('is asked for each call that needs it and decides', async () => {
    const asked: string[] = []
    const { agent, ran } = agentOf([asking, 'done'], {
      onApproval: async ({ id }) => {
        asked.push(id)
        await idle(1)
        return id === 'a'
      },
    })
    expect((await agent.send('Go')).output).toBe('May I?\ndone')
    expect(asked).toEqual(['a', 'b'])
    expect(ran).toEqual(['a', 'f'])
  })

  test('that throws is a no, and the model learns why', async () => {
    const { agent, ran } = agentOf([asking, 'done'], {
      onApproval: () => {
        throw new Error('the desk is empty')
      },
    })
    const { messages } = await agent.send('Go')
    expect(ran).toEqual(['f'])
    expect(messages.flatMap(toolResultsOf)[0]?.result).toContain('the desk is empty')
  })

  test('that never answers does not keep an abort from ending the run', async () => {
    const { agent } = agentOf([asking], { onApproval: () => new Promise(() => {}) })
    const controller = new AbortController()
    const sent = rejection(agent.send('Go', { signal: controller.signal }), AbortedError)
    await idle()
    controller.abort()
    expect((await sent).partial?.messages.flatMap(toolResultsOf)).toHaveLength(3)
  })
})

describe('a chat whose answer waits for an approval', () => {
  test('keeps its history until it is resumed, and then has it all', async () => {
    const { agent } = agentOf([asking, 'done', 'later'])
    const chat = new Chat(agent)
    await chat.send('Go')
    expect(chat.history).toEqual([])
    await rejection(chat.send('hello?'), OrchestrationError)
    await chat.resume({ a: true, b: true })
    expect(chat.history.map(textOf)).toEqual(['Go', 'May I?', '', 'done'])
    await chat.send('more')
    expect(validateHistory(chat.history)).toEqual([])
  })

  test('does not lose the answer when a decision names a wrong call', async () => {
    const chat = new Chat(agentOf().agent)
    await chat.send('Go')
    await expect((async () => chat.resume({ typo: true }))()).rejects.toBeInstanceOf(ConfigurationError)
    expect((await chat.resume({ a: true, b: true })).output).toBe('May I?\ndone')
  })

  test('shows in a stream what waits, as the agent does', async () => {
    const chat = new Chat(agentOf().agent)
    const chunks = await collect(chat.sendStream('Go'))
    expect(chunks.at(-1)?.pendingApproval?.calls.map(({ id }) => id)).toEqual(['a', 'b'])
    expect((await chat.resume({ a: true, b: true })).output).toBe('May I?\ndone')
  })
})
