/** A person who writes on while an answer streams: each message is queued, and gets an answer of its own. */
import { expect, test, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { textOf } from '../../src/messages/messages.ts'
import { sleepTool } from '../../src/tools/sleep.ts'
import { aguiHandler } from '../../src/ui/agui/handler.ts'
import { uiMessageHandler } from '../../src/ui/uiMessages/handler.ts'
import { afterKill, opened, storeFile } from '../durable/storeFile.ts'
import { answering, lastText, Replies } from '../engine/taskWorld.ts'
import { clientFor, type Message, settled, versions } from './chatClients.ts'
import { serve, until } from './serve.ts'

const textIn = ({ parts }: Message) =>
  parts
    .flatMap(({ type, text = '' }) => (type === 'text' ? [text] : []))
    .join('')
    .trim()
const statesIn = (messages: readonly Message[]) =>
  messages.flatMap(({ parts }) =>
    parts.flatMap(({ type, data }) => (type === 'data-state' ? [Object(data).state] : [])),
  )
const headers = { 'content-type': 'application/json' }
const prompts = ['One', 'Two', 'Three', 'Four']

const scene = async () => {
  const replies = new Replies()
  const path = storeFile()
  const runs = await opened(path, { it: new Agent(answering(replies.reply)) })
  const answer = async (prompt: string) => {
    await vi.waitUntil(() => replies.waiting.includes(prompt), { timeout: 30_000, interval: 5 })
    replies.answer(prompt, `To ${prompt}`)
  }
  return { runs, path, replies, answer }
}

/** Posts a request, and collects its response as it comes. */
const posted = (url: string, body: object) => {
  let text = ''
  const read = async () => {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    const decoder = new TextDecoder()
    for await (const piece of response.body ?? []) text += decoder.decode(piece, { stream: true })
  }
  return { text: () => text, over: read() }
}

const conversation = prompts.flatMap((prompt) => [prompt, `To ${prompt}`])

test.each(versions)(
  'with ai %i, three messages that are typed while an answer streams get an answer each, in their order',
  async (version) => {
    const { runs, replies, answer } = await scene()
    const finished: string[][] = []
    const onFinish = ({ messages }: { messages: readonly Parameters<typeof textOf>[0][] }) =>
      void finished.push(messages.map(textOf))
    const api = await serve(uiMessageHandler(runs, { onFinish, clientVersion: version }))
    const client = clientFor(version, { api, id: 'chat-1' })
    const sent = client.send('One')
    await until(() => replies.waiting.includes('One') && client.messages.length === 2)
    for (const [index, prompt] of prompts.slice(1).entries()) {
      void client.send(prompt)
      await until(() => statesIn(client.messages).filter((state) => state === 'Queued').length === index + 1)
    }
    expect(replies.waiting).toEqual(['One'])
    for (const prompt of prompts) await answer(prompt)
    await sent
    await settled(client)
    expect(client.messages.map(textIn)).toEqual(conversation)
    expect(statesIn(client.messages)).not.toContain('Queued')
    expect((await (await runs.chat('chat-1')).history()).map(textOf)).toEqual(conversation)
    const loaded = (await (await fetch(`${api}/chat-1/messages`)).json()) as Message[]
    expect(loaded.map(textIn)).toEqual(conversation)
    expect(loaded.filter(({ role }) => role === 'user').map(({ id }) => id)).toEqual(
      client.messages.filter(({ role }) => role === 'user').map(({ id }) => id),
    )
    await until(() => finished.length === prompts.length)
    expect(finished.toSorted((a, b) => a.length - b.length)).toEqual(
      prompts.map((_, index) => conversation.slice(0, 2 * index + 2)),
    )
  },
)

test('a page that is loaded again while questions are queued shows their answers as messages of their own', async () => {
  const { runs, replies, answer } = await scene()
  const api = await serve(uiMessageHandler(runs))
  const client = clientFor(7, { api, id: 'chat-1' })
  void client.send('One')
  await until(() => replies.waiting.includes('One'))
  for (const [index, prompt] of prompts.slice(1).entries()) {
    void client.send(prompt)
    await until(() => statesIn(client.messages).filter((state) => state === 'Queued').length === index + 1)
  }
  await answer('One')
  await until(() => replies.waiting.includes('Two'))
  const load = async () => (await (await fetch(`${api}/chat-1/messages?now`)).json()) as Message[]
  const lastAsked = (messages: readonly Message[]) => messages.findLast(({ role }) => role === 'user')?.id
  let messages = await load()
  expect(messages.map(textIn)).toEqual(['One', 'To One', 'Two'])
  // As in docs/ui.md: an answer is read to its end, then the page takes the next question.
  for (let isMore = true; isMore; ) {
    const asked = lastAsked(messages) ?? ''
    const reconnectTo = () => `${api}/chat-1/stream?prompt=${asked}`
    const page = clientFor(7, { api, id: 'chat-1', messages, reconnectTo })
    const reading = page.resume()
    await until(() => page.messages.at(-1)?.role === 'assistant')
    const [prompt = ''] = replies.waiting
    await answer(prompt)
    await reading
    expect(textIn(page.messages.at(-1) as Message)).toBe(`To ${prompt}`)
    if (prompt !== 'Four') await until(() => replies.waiting.length > 0)
    messages = await load()
    isMore = lastAsked(messages) !== asked
  }
  expect(messages.map(textIn)).toEqual(conversation)
  expect((await fetch(`${api}/chat-1/stream?prompt=other`)).status).toBe(204)
})

test('a message that is queued twice by a page that is not sure counts once', async () => {
  const { runs, replies, answer } = await scene()
  const api = await serve(uiMessageHandler(runs))
  const post = (...texts: string[]) => {
    const messages = texts.map((text) => ({ id: text, role: 'user', parts: [{ type: 'text', text }] }))
    return posted(api, { id: 'chat-1', messages })
  }
  const first = post('One')
  await until(() => replies.waiting.includes('One'))
  const [second, third] = [post('One', 'Two'), post('One', 'Two')]
  for (const { text } of [second, third]) await until(() => text().includes('"Queued"'))
  const run = await (await runs.chat('chat-1')).run()
  for (const prompt of ['One', 'Two']) await answer(prompt)
  await Promise.all([first, second, third].map(({ over }) => over))
  for (const { text } of [second, third]) expect(text()).toContain('To Two')
  expect((await run?.result)?.messages.map(textOf)).toEqual(conversation.slice(0, 4))
})

test('questions that come at the same moment are queued behind the first of them', async () => {
  const runs = await opened(storeFile(), { it: new Agent(answering((request) => `To ${lastText(request)}`)) })
  const api = await serve(uiMessageHandler(runs))
  const asked = ['One', 'Two', 'Three']
  const ask = async (id: string, text: string) => {
    const messages = [{ id: text, role: 'user', parts: [{ type: 'text', text }] }]
    const response = await fetch(api, { method: 'POST', headers, body: JSON.stringify({ id, messages }) })
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining(`To ${text}`)])
  }
  for (const id of ['a', 'b', 'c', 'd', 'e']) {
    await Promise.all(asked.map((text) => ask(id, text)))
    const history = (await (await runs.chat(id)).history()).map(textOf)
    expect(history.toSorted()).toEqual([...asked, ...asked.map((text) => `To ${text}`)].toSorted())
  }
})

test('a queued message outlives its page and its process', async () => {
  const { runs, path, replies } = await scene()
  const api = await serve(uiMessageHandler(runs))
  const client = clientFor(7, { api, id: 'chat-1' })
  void client.send('One')
  await until(() => replies.waiting.includes('One'))
  void client.send('Two')
  await until(() => statesIn(client.messages).includes('Queued'))
  const again = await opened(afterKill(path), {
    it: new Agent(answering((request) => `To ${lastText(request)}`)),
  })
  const chat = await again.chat('chat-1')
  await (await chat.run())?.result
  expect((await chat.history()).map(textOf)).toEqual(conversation.slice(0, 4))
})

test('a message behind an answer that fails is asked again, and one behind an answer that is stopped is not', async () => {
  const { runs, replies, answer } = await scene()
  const api = await serve(uiMessageHandler(runs, { onError: () => {} }))
  const client = clientFor(7, { api, id: 'chat-1' })
  void client.send('One')
  await until(() => replies.waiting.includes('One'))
  void client.send('Two')
  await until(() => statesIn(client.messages).includes('Queued'))
  replies.answer('One', [{ error: { message: 'It broke.' } }])
  await answer('Two')
  await until(() => client.messages.some((message) => textIn(message) === 'To Two'))
  void client.send('Three')
  await until(() => replies.waiting.includes('Three'))
  void client.send('Four')
  await until(() => statesIn(client.messages).includes('Queued'))
  await fetch(`${api}/chat-1/stream`, { method: 'DELETE' })
  await settled(client)
  expect(replies.waiting).toEqual(['Three'])
})

test('a message to a chat that sleeps wakes it', async () => {
  const agent = new Agent(
    answering((request) => {
      if (lastText(request) === 'One')
        return [{ toolCall: { id: 's', name: 'sleep', arguments: { seconds: 3600 } } }]
      return lastText(request) === '' ? 'I am awake.' : `To ${lastText(request)}`
    }),
    { tools: [sleepTool()] },
  )
  const runs = await opened(storeFile(), { it: agent })
  const client = clientFor(7, { api: await serve(uiMessageHandler(runs)), id: 'chat-1' })
  void client.send('One')
  await until(async () => (await (await (await runs.chat('chat-1')).run())?.info())?.status === 'waiting')
  await client.send('Two')
  await settled(client)
  expect(client.messages.map(textIn).toSorted()).toEqual(['I am awake.', 'One', 'To Two', 'Two'])
})

test('AG-UI shows a queued message, and its own answer', async () => {
  const { runs, replies, answer } = await scene()
  const url = await serve(aguiHandler(runs))
  const ask = (text: string) =>
    posted(url, {
      threadId: 'chat-1',
      runId: text,
      messages: [{ id: text, role: 'user', content: text }],
      tools: [],
      context: [],
      state: {},
      forwardedProps: {},
    })
  const first = ask('One')
  await until(() => replies.waiting.includes('One'))
  const second = ask('Two')
  await until(() => second.text().includes('"Queued"'))
  for (const prompt of ['One', 'Two']) await answer(prompt)
  await Promise.all([first.over, second.over])
  expect(first.text()).toContain('To One')
  expect(first.text()).not.toContain('To Two')
  expect(second.text()).toContain('To Two')
  expect(second.text()).not.toContain('To One')
})
