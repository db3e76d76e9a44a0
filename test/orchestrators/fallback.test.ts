import { expect, onTestFinished, test, vi } from 'vitest'
import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { ModelError } from '../../src/messages/errors.ts'
import { weather } from '../engine/sampleTools.ts'
import { endOf, rejection, watch } from '../engine/watching.ts'
import { anthropic } from '../hostile/anthropicWire.ts'
import { openai } from '../hostile/chatWire.ts'
import { type Answer, hostileServer } from '../hostile/hostileServer.ts'
import { answer, type Turn } from '../hostile/wire.ts'

const refusal = (status = 400): Answer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ error: { message: 'no', type: 'invalid_request_error' } }),
})
const claude = (turn: Turn): Answer => answer(anthropic, anthropic.events(turn))
const gpt = (turn: Turn): Answer => answer(openai, openai.events(turn))

const pair = async (first: Answer[], second: Answer[], options: AgentOptions = {}) => {
  const primary = await hostileServer(first)
  const other = await hostileServer(second)
  const agent = new Agent('openai:gpt-4o', {
    baseUrl: primary.url,
    apiKey: 'primary-secret',
    headers: { 'x-tenant': 'primary-tenant' },
    retry: { maxRetries: 0 },
    tools: [weather],
    fallback: [{ model: 'anthropic:claude-sonnet-4-5', baseUrl: other.url, apiKey: 'other-secret' }],
    ...options,
  })
  return { primary, other, agent }
}

test('a fallback gets its own key, and nothing that was meant for the first provider', async () => {
  const { other, agent } = await pair([refusal()], [claude({ text: 'Hello.' })])
  expect((await agent.send('Hi.')).output).toBe('Hello.')
  const sent = JSON.stringify([other.requests[0]?.headers, other.requests[0]?.body])
  expect(other.requests[0]?.headers['x-api-key']).toBe('other-secret')
  expect(sent).not.toContain('primary')
})

test('a fallback that is only named takes the key of its variable', async () => {
  vi.stubEnv('ANTHROPIC_API_KEY', 'variable-secret')
  onTestFinished(() => {
    vi.unstubAllEnvs()
  })
  const headers: Headers[] = []
  const fetching: typeof fetch = async (_, init) => {
    headers.push(new Headers(init?.headers))
    return headers.length === 1
      ? new Response('{"error":{"message":"no"}}', { status: 400 })
      : new Response(anthropic.events({ text: 'Hello.' }).join(''), {
          headers: { 'content-type': 'text/event-stream' },
        })
  }
  const agent = new Agent('openai:gpt-4o', {
    apiKey: 'primary-secret',
    connection: { fetch: fetching },
    retry: { maxRetries: 0 },
    fallback: ['anthropic:claude-sonnet-4-5'],
  })
  expect((await agent.send('Hi.')).output).toBe('Hello.')
  expect(headers[1]?.get('x-api-key')).toBe('variable-secret')
  expect(JSON.stringify([...(headers[1] ?? [])])).not.toContain('primary-secret')
})

test('the later steps of the run stay with the fallback, and listeners get the change once', async () => {
  const call = { calls: [{ id: 'toolu_1', name: 'get_weather', args: '{"city":"Oslo"}' }] }
  const { primary, other, agent } = await pair([refusal(503)], [claude(call), claude({ text: 'Warm.' })])
  const actor = agent.actor({ prompt: 'Oslo?' })
  const reported: unknown[] = []
  actor.on('fallback', (event) => reported.push(event))
  watch(actor)
  actor.start()
  expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'Warm.' })
  expect(reported).toMatchObject([
    { provider: 'anthropic', model: 'claude-sonnet-4-5', restart: false, error: { status: 503 } },
  ])
  expect([primary.requests.length, other.requests.length]).toEqual([1, 2])
})

test('what was shown is not said again by another model, unless the user wants it', async () => {
  const half: Answer = { ...gpt({ text: 'Half of it' }), ending: 'destroy' }
  const cut = { ...half, body: [...(half.body as string[])].slice(0, 2) }
  const never = await pair([cut], [])
  const error = await rejection(never.agent.send('Hi.'), ModelError)
  expect(error.partial?.output).not.toBe('')
  expect(never.other.requests).toEqual([])
  const wanted = await pair([cut], [claude({ text: 'All of it' })], {
    retry: { maxRetries: 0, midStream: true },
  })
  expect((await wanted.agent.send('Hi.')).output).toBe('All of it')
})

test('the phases of an orchestrator fall back one by one', async () => {
  const { agent, primary, other } = await pair(
    [gpt({ text: 'a' }), refusal(), gpt({ text: 'e' }), gpt({ text: 's' })],
    [claude({ text: 'h' })],
    { orchestrator: reasoningOrchestrator() },
  )
  const shown: string[] = []
  for await (const { output } of agent.sendStream('Hi.')) if (output !== '') shown.push(output)
  expect(shown.join('')).toBe('a\nh\ne\ns')
  expect([primary.requests.length, other.requests.length]).toEqual([4, 1])
})
