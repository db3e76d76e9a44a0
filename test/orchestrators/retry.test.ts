import { describe, expect, test } from 'vitest'
import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { ModelError } from '../../src/messages/errors.ts'
import { endOf, rejection } from '../engine/watching.ts'
import { openai } from '../hostile/chatWire.ts'
import { type Answer, hostileServer } from '../hostile/hostileServer.ts'
import { answer } from '../hostile/wire.ts'

const busy = (headers: Record<string, string>, status = 429): Answer => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: '{"error":{"message":"busy"}}',
})
const says = (text: string): Answer => answer(openai, openai.events({ text }))

const agentAt = async (answers: Answer[], options = {}) => {
  const server = await hostileServer(answers)
  const agent = new Agent('openai:gpt-4o', { baseUrl: server.url, apiKey: 'k', ...options })
  return { agent, server }
}

describe('24: a server that asks to come back later', () => {
  const date = () => new Date(Date.now() + 50_000).toUTCString()

  test.each([
    ['in seconds', () => ({ 'retry-after': '7' }), 6900, 7000],
    ['by a date', () => ({ 'retry-after': date() }), 20_000, 50_000],
    ['in milliseconds', () => ({ 'retry-after-ms': '1500', 'retry-after': '9' }), 1400, 1500],
  ])('%s is waited for, and an abort ends the wait at once', async (_, headers, least, most) => {
    const { agent, server } = await agentAt([busy(headers())])
    const actor = agent.actor({ prompt: 'Hi.' })
    const delays: number[] = []
    actor.on('retry', ({ delayMs }) => {
      delays.push(delayMs)
      actor.send({ type: 'abort', reason: 'too long' })
    })
    actor.start()
    expect(await endOf(actor)).toMatchObject({ status: 'aborted', reason: 'too long' })
    expect(delays[0]).toBeGreaterThanOrEqual(least)
    expect(delays[0]).toBeLessThanOrEqual(most)
    expect(server.requests).toHaveLength(1)
  })

  test('too often fails with its last answer', async () => {
    const often = Array.from({ length: 3 }, () => busy({ 'retry-after-ms': '1' }, 529))
    const { agent, server } = await agentAt(often)
    expect(await rejection(agent.send('Hi.'), ModelError)).toMatchObject({
      status: 529,
      message: expect.stringMatching(/^busy \(openai:gpt-4o at /),
    })
    expect(server.requests).toHaveLength(3)
  })
})

test('24: a connection that breaks before the first byte is tried again, in each phase by itself', async () => {
  const reset: Answer = { body: '', ending: 'reset' }
  const { agent, server } = await agentAt([reset, says('a'), says('h'), reset, reset, says('e'), says('s')], {
    retry: { maxRetries: 2, initialDelayMs: 1, maxDelayMs: 2 },
    orchestrator: reasoningOrchestrator(),
  })
  expect((await agent.send('Hi.')).output).toBe('s')
  expect(server.requests).toHaveLength(7)
})

test('24: a phase that breaks after something was shown is not tried again', async () => {
  const half: Answer = { ...says('Half of it'), ending: 'destroy' }
  const { agent, server } = await agentAt(
    [says('a'), { ...half, body: [...half.body].slice(0, 2).map(String) }],
    {
      orchestrator: reasoningOrchestrator(),
    },
  )
  const error = await rejection(agent.send('Hi.'), ModelError)
  expect(error.partial?.output).toMatch(/^a\nHalf/)
  expect(server.requests).toHaveLength(2)
})
