import { afterAll, beforeAll, expect, it } from 'vitest'
import type { JsonObject } from '../../src/messages/json.ts'
import { type Simulator, startSimulator } from '../../src/simulator/index.ts'

let simulator: Simulator

beforeAll(async () => {
  simulator = await startSimulator({ delayMs: 0 })
})
afterAll(() => simulator.close())

const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(`${simulator.baseUrl}${path}`, { method: 'POST', body: text, headers })
  const answer: JsonObject = JSON.parse(await response.text())
  return { status: response.status, body: answer }
}

const user = { role: 'user', content: 'Hi' }
const openaiCall = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }
const anthropicCall = { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: {} }

it.each([
  ['a body that is not JSON', '{"model":'],
  ['a body that is not an object', '[]'],
  ['no model', { messages: [user] }],
  ['no messages', { model: 'simulator' }],
  ['an unknown role', { model: 'simulator', messages: [{ role: 'wizard', content: 'Hi' }] }],
  [
    'a call without a result',
    { model: 'simulator', messages: [user, { role: 'assistant', tool_calls: [openaiCall] }, user] },
  ],
  [
    'a result without a call',
    { model: 'simulator', messages: [user, { role: 'tool', tool_call_id: 'call_9', content: '1' }] },
  ],
])('refuses %s as OpenAI does', async (_, body) => {
  const answer = await post('/chat/completions', body)
  expect(answer.status).toBe(400)
  expect(answer.body).toEqual({
    error: { message: expect.stringMatching(/\w/), type: 'invalid_request_error', param: null, code: null },
  })
})

it.each([
  ['a body that is not JSON', 'null'],
  ['no max_tokens', { model: 'simulator', messages: [user] }],
  ['no messages', { model: 'simulator', max_tokens: 9, messages: [] }],
  [
    'a system message among the others',
    { model: 'simulator', max_tokens: 9, messages: [{ role: 'system', content: 'x' }] },
  ],
  [
    'a call without a result',
    { model: 'simulator', max_tokens: 9, messages: [user, { role: 'assistant', content: [anthropicCall] }] },
  ],
])('refuses %s as Anthropic does', async (_, body) => {
  const answer = await post('/messages', body)
  expect(answer.status).toBe(400)
  expect(answer.body).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } })
})

it('answers nowhere else', async () => {
  expect(await post('/embeddings', {})).toMatchObject({
    status: 404,
    body: { error: { type: 'invalid_request_error' } },
  })
  const asAnthropic = await post('/complete', {}, { 'anthropic-version': '2023-06-01' })
  expect(asAnthropic).toMatchObject({
    status: 404,
    body: { type: 'error', error: { type: 'not_found_error' } },
  })
  expect((await fetch(`${simulator.baseUrl}/messages`)).status).toBe(405)
})

it('answers in one piece where no stream is asked for', async () => {
  const tools = [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        parameters: { properties: { city: { type: 'string' } }, required: ['city'] },
      },
    },
  ]
  const asked = { role: 'user', content: 'Weather in Oslo?' }
  const openai = await post('/chat/completions', { model: 'simulator', messages: [asked], tools })
  expect(openai.body.choices).toMatchObject([
    {
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant',
        tool_calls: [{ function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }],
      },
    },
  ])
  const anthropic = await post('/messages', {
    model: 'simulator',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'Count to 3' }],
  })
  expect(anthropic.body).toMatchObject({
    stop_reason: 'end_turn',
    content: [{ type: 'text', text: '1 2 3' }],
  })
})

it('listens on this machine only', () => {
  expect(new URL(simulator.baseUrl).hostname).toBe('127.0.0.1')
})
