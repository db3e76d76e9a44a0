import { afterAll, beforeAll, expect, it } from 'vitest'
import { Agent, Chat, type ChatMessage, textOf } from '../../../src/index.ts'
import { isJsonObject, type JsonObject } from '../../../src/messages/json.ts'
import { type Simulator, startSimulator } from '../../../src/simulator/index.ts'

let simulator: Simulator

beforeAll(async () => {
  simulator = await startSimulator({ delayMs: 0 })
})
afterAll(() => simulator.close())

/** The request that continues a chat of two answers with a changed history. The simulator stores no responses itself. */
const lastRequest = async (change: (history: ChatMessage[]) => ChatMessage[]): Promise<JsonObject> => {
  const bodies: JsonObject[] = []
  const fetchNoting: typeof fetch = (url, init) => {
    const body: unknown = JSON.parse(String(init?.body))
    if (isJsonObject(body)) bodies.push(body)
    return fetch(url, init)
  }
  const options = { apiKey: 'none', baseUrl: simulator.baseUrl }
  const chat = new Chat(new Agent('openai-responses:gpt-6', options))
  await chat.send('My PIN is 4711.')
  await chat.send('Thank you.')
  // What a program stores and reads again.
  const history: ChatMessage[] = JSON.parse(JSON.stringify(chat.history))
  const later = new Agent('openai-responses:gpt-6', { ...options, connection: { fetch: fetchNoting } })
  await later.send('And now?', { history: change(history) })
  return bodies[0] ?? {}
}

const redacted = (message: ChatMessage): ChatMessage => ({
  ...message,
  parts: [{ type: 'text', text: textOf(message).replaceAll('4711', '****') }],
})

it('continues a response while the history before it is what it was', async () => {
  const request = await lastRequest((history) => history)
  expect(request.previous_response_id).toMatch(/\w/)
  expect(request.input).toHaveLength(1)
})

it.each<[string, (history: ChatMessage[]) => ChatMessage[], number]>([
  ['a message was redacted', (history) => history.map((each, at) => (at === 0 ? redacted(each) : each)), 5],
  ['the answer itself was redacted', (history) => history.with(-1, redactedAnswer(history)), 5],
  ['older messages were left out', (history) => history.slice(-1), 2],
])('sends the whole history where %s', async (_, change, items) => {
  const request = await lastRequest(change)
  expect(request).not.toHaveProperty('previous_response_id')
  expect(request.input).toHaveLength(items)
})

const redactedAnswer = (history: ChatMessage[]): ChatMessage => {
  const last = history.at(-1)
  if (!last) throw new Error('The chat has no answer.')
  return { ...last, parts: [{ type: 'text', text: '****' }] }
}
