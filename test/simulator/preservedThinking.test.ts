import { afterAll, beforeAll, expect, it } from 'vitest'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { type Simulator, startSimulator } from '../../src/simulator/index.ts'

let simulator: Simulator

beforeAll(async () => {
  simulator = await startSimulator({ delayMs: 0, preservedThinking: true })
})
afterAll(() => simulator.close())

const beta = { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' }

const post = async (body: JsonObject, headers: Record<string, string> = {}) => {
  const text = JSON.stringify({ model: 'claude-sonnet-5-5', max_tokens: 99, ...body })
  const response = await fetch(`${simulator.baseUrl}/messages`, { method: 'POST', body: text, headers })
  const answer: JsonObject = JSON.parse(await response.text())
  return { status: response.status, body: answer }
}

const hi = { role: 'user', content: 'Hi' }
const more = { role: 'user', content: 'And now?' }
const drop = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } }

const answered = async (body: JsonObject): Promise<JsonObject> => {
  const { body: answer } = await post({ messages: [hi], ...body })
  return { role: 'assistant', content: answer.content ?? [] }
}

it('takes back a block after the same conversation, wherever the cache markers are', async () => {
  const answer = await answered({ system: 'Be brief.' })
  expect(answer.content).toMatchObject([{ type: 'thinking' }, { type: 'text' }])
  const marked = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }]
  expect(await post({ system: marked, messages: [hi, answer, more] })).toMatchObject({ status: 200 })
})

it.each([
  ['another system prompt', 'Hi', { system: 'Be verbose.' }],
  ['another tool', 'Hi', { system: 'Be brief.', tools: [{ name: 'add', input_schema: { type: 'object' } }] }],
  ['another message before it', 'Hello', { system: 'Be brief.' }],
])('refuses a block after %s, or drops it', async (_, first, changed) => {
  const answer = await answered({ system: 'Be brief.' })
  const messages = [{ role: 'user', content: first }, answer, more]
  expect(await post({ ...changed, messages })).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining('bound to a different conversation') } },
  })
  expect(await post({ ...changed, messages, thinking: drop }, beta)).toMatchObject({ status: 200 })
})

it('takes the control only with its beta header, and only where the model thinks first', async () => {
  expect(await post({ messages: [hi], thinking: drop })).toMatchObject({ status: 400 })
  const betweenTools = { ...drop, type: 'between_tools' }
  expect(await post({ messages: [hi], thinking: betweenTools }, beta)).toMatchObject({ status: 400 })
})

it('does not think where thinking is disabled', async () => {
  const { content } = await answered({ thinking: { type: 'disabled' } })
  expect(Array.isArray(content) && content.filter(isJsonObject).map(({ type }) => type)).toEqual(['text'])
})
