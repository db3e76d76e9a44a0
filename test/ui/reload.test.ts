/** A page that is loaded again shows what it showed before: the same answers, once, with the same ids and metadata. */
import { describe, expect, test } from 'vitest'
import { SimulatedClock } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { textOf } from '../../src/messages/messages.ts'
import type { Delta } from '../../src/model/delta.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { uiMessageHandler } from '../../src/ui/uiMessages/handler.ts'
import { uiMessagesOf } from '../../src/ui/uiMessages/messages.ts'
import { opened, storeFile } from '../durable/storeFile.ts'
import { type Client, clientFor, lastTexts, type Message, settled, type Version } from './chatClients.ts'
import { serve, until } from './serve.ts'
import { kinds, target } from './targets.ts'

const look = tool({ name: 'look', description: 'Looks', execute: () => 'seen' })
const send = tool({ name: 'send', description: 'Sends', needsApproval: true, execute: () => 'sent' })
const tools = [look, send]

const messagesAt = async (api: string): Promise<Message[]> =>
  (await fetch(`${api}/chat-1/messages`)).json() as Promise<Message[]>
const loaded = async (version: Version, api: string): Promise<Client> =>
  clientFor(version, { api, id: 'chat-1', messages: await messagesAt(api) })
/** The messages without what only the running answer shows. */
const kept = (messages: Message[]): Message[] =>
  messages.map(({ id, role, metadata, parts }) => ({
    id,
    role,
    ...(metadata !== undefined && { metadata }),
    parts: parts.flatMap(({ type, text, toolCallId, output }) =>
      type === 'data-state' ? [] : [JSON.parse(JSON.stringify({ type, text, toolCallId, output }))],
    ),
  }))
const storedPage = async (turns: ScriptTurn[], version: Version = 7, clock = new SimulatedClock()) => {
  const runs = await opened(storeFile(), { it: new Agent(scriptedModel(turns, { clock }), { tools }) })
  const api = await serve(uiMessageHandler(runs, { clientVersion: version }))
  return { runs, api, clock, client: clientFor(version, { api, id: 'chat-1' }) }
}

test.each<Version>([5, 6, 7])('after a crash, ai %i shows an answer once', async (version) => {
  const path = storeFile()
  const dying = await opened(path, {
    it: new Agent(scriptedModel([[{ text: 'Half of it' }, { hang: true }]]), { tools }),
  })
  const api = await serve(uiMessageHandler(dying, { clientVersion: version }))
  const client = clientFor(version, { api, id: 'chat-1' })
  void client.send('hi')
  await until(() => lastTexts(client).includes('Half of it'))
  await dying.close()

  const clock = new SimulatedClock()
  const model = scriptedModel([[{ text: 'The ' }, { delayMs: 1 }, { text: 'whole.' }]], { clock })
  const runs = await opened(path, { it: new Agent(model, { tools }) })
  const again = await loaded(version, await serve(uiMessageHandler(runs, { clientVersion: version })))
  const reading = again.resume()
  await until(() => lastTexts(again).join('').startsWith('The'))
  clock.increment(1)
  await reading
  expect(lastTexts(again)).toEqual(['The whole.'])
  expect(again.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
})

test('a page that waited at a question when the process died sees the answer after it once', async () => {
  const path = storeFile()
  const call: ScriptTurn = [{ toolCall: { id: 'c1', name: 'send' } }]
  const first = await opened(path, {
    it: new Agent(scriptedModel([call, [{ text: 'Lost' }, { hang: true }]]), { tools }),
  })
  const client = clientFor(7, { api: await serve(uiMessageHandler(first)), id: 'chat-1' })
  await client.send('hi')
  void client.decide('send', 'c1', true)
  await until(() => lastTexts(client).includes('Lost'))
  await first.close()
  const runs = await opened(path, { it: new Agent(scriptedModel(['Sent it.']), { tools }) })
  const again = await loaded(7, await serve(uiMessageHandler(runs)))
  await again.resume()
  await until(() => lastTexts(again).length > 0)
  expect(lastTexts(again)).toEqual(['Sent it.'])
})

const used = { usage: { inputTokens: 5, outputTokens: 2 } }
const answers: ScriptTurn[] = [
  [{ toolCall: { id: 'c1', name: 'look' } }, used],
  [{ text: 'One.' }, used],
  [{ text: 'Two.' }, used],
  [{ text: 'Three.' }, used],
]
const usages = (messages: Message[]) =>
  messages.flatMap(({ role, metadata }) => (role === 'assistant' ? [Object(metadata).usage] : []))

describe('the ids and the tokens of messages', () => {
  test('are the same after a reload of a stored chat, also where one was edited and asked again', async () => {
    const { client, api } = await storedPage(answers)
    await client.send('First')
    await client.send('Second')
    expect(kept(await messagesAt(api))).toEqual(kept(client.messages))
    expect(usages(client.messages)).toEqual([
      { inputTokens: 10, outputTokens: 4 },
      { inputTokens: 5, outputTokens: 2 },
    ])
    const again = await loaded(7, api)
    await again.send('Third', again.messages[2]?.id)
    const texts = (await messagesAt(api)).map(({ parts }) => parts.findLast(({ text }) => text)?.text)
    expect(texts).toEqual(['First', 'One.', 'Third', 'Three.'])
    expect(kept(await messagesAt(api))).toEqual(kept(again.messages))
    expect(usages(again.messages)).toEqual([
      { inputTokens: 10, outputTokens: 4 },
      { inputTokens: 5, outputTokens: 2 },
    ])
  })

  test('do not change when a later answer fails', async () => {
    const { client, api } = await storedPage([...answers.slice(0, 2), [{ cut: true }], [{ cut: true }]])
    await client.send('First')
    await client.send('Fails')
    expect(client.error).toBeDefined()
    expect(usages(await messagesAt(api))).toEqual([{ inputTokens: 10, outputTokens: 4 }])
    expect(kept(await messagesAt(api))).toEqual(kept(client.messages.slice(0, 2)))
  })

  test.each(kinds)('are in the messages that onFinish gets, with %s', async (kind) => {
    let saved: Message[] = []
    const handler = uiMessageHandler(await target(kind, scriptedModel(answers), { tools }), {
      onFinish: ({ messages }) => {
        saved = uiMessagesOf(messages) as Message[]
      },
    })
    const client = clientFor(7, { api: await serve(handler), id: 'chat-1' })
    await client.send('First')
    await client.send('Second')
    expect(kept(saved)).toEqual(kept(client.messages))
  })
})

describe('a page that loads at the very end of an answer', () => {
  test.each<Version>([6, 7])(
    'reads it once with ai %i, whether it has it already or not',
    async (version) => {
      const { client, api, clock } = await storedPage(
        [[{ text: 'A' }, { delayMs: 1 }, { text: 'B' }]],
        version,
      )
      const asked = client.send('hi')
      await until(() => lastTexts(client).length > 0)
      const early = await loaded(version, api)
      clock.increment(1)
      await asked
      const late = await loaded(version, api)
      for (const page of [early, late]) {
        await page.resume()
        expect(kept(page.messages)).toEqual(kept(client.messages))
      }
    },
  )

  test('does not read an answer that failed, or that ended long ago', async () => {
    const { client, api, runs } = await storedPage(['One.', [{ cut: true }]])
    await client.send('hi')
    const run = await (await runs.chat('chat-1')).run()
    const old = Object.assign(Object.create(runs), {
      chat: async (id: string) => {
        const chat = await runs.chat(id)
        const info = async () => ({ ...(await run?.info()), updatedAt: new Date(Date.now() - 60_000) })
        return Object.assign(Object.create(chat), {
          run: async () => Object.assign(Object.create(run ?? null), { info }),
        })
      },
    })
    expect((await uiMessageHandler(old)(new Request('http://localhost/chat-1/stream'))).status).toBe(204)
    expect((await fetch(`${api}/chat-1/stream`)).status).toBe(200)
    await client.send('again')
    expect((await fetch(`${api}/chat-1/stream`)).status).toBe(204)
  })
})

describe('a page that sends only its last message', () => {
  const only = (id: string, text: string, over: object = {}) =>
    new Request('http://localhost/api/chat', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        id: 'chat-1',
        messages: [{ id, role: 'user', parts: [{ type: 'text', text }] }],
        ...over,
      }),
    })
  const texts = ['One.', 'Two.', 'Three.', 'Again.']
  test.each([
    ['the last answer', 'u3', 'Go', ['Hi', 'One.', 'Go', 'Two.', 'Go', 'Again.']],
    ['an earlier one', 'u1', 'Hi', ['Hi', 'Again.']],
    ['one whose id is not known', 'x', 'Go', ['Hi', 'One.', 'Go', 'Two.', 'Go', 'Again.']],
    ['one whose text is not known', 'x', 'y', ['Hi', 'One.', 'Go', 'Two.', 'Go', 'Again.']],
  ])('asks for %s again, and the conversation before it stays', async (_, id, text, conversation) => {
    const runs = await opened(storeFile(), { it: new Agent(scriptedModel(texts)) })
    const handler = uiMessageHandler(runs)
    for (const [key, prompt] of [
      ['u1', 'Hi'],
      ['u2', 'Go'],
      ['u3', 'Go'],
    ] as const)
      await (await handler(only(key, prompt))).text()
    const again = await handler(only(id, text, { trigger: 'regenerate-message', messageId: 'answer-u3' }))
    expect(await again.text()).toContain('Again.')
    expect((await (await runs.chat('chat-1')).history()).map(textOf)).toEqual(conversation)
  })
})

describe.each(kinds)('with %s', (kind) => {
  const picture = { type: 'data', mimeType: 'image/png', data: 'AAAA' } as const
  const sources: Delta[] = [
    {
      type: 'metadata',
      metadata: { citations: [{ type: 'url_citation', url: 'https://a.example/', title: 'A' }] },
    },
    {
      type: 'metadata',
      metadata: {
        citations: ['https://b.example/', { url: 'https://a.example/' }, { url: 'javascript:alert(1)' }],
      },
    },
  ]

  test.each<Version>([5, 6, 7])('ai %i gets pictures as files and citations as sources', async (version) => {
    const model = scriptedModel([
      [{ text: 'Here.' }, { deltas: [{ type: 'part', part: picture }, ...sources] }],
      'Thanks.',
    ])
    const handler = uiMessageHandler(await target(kind, model), { clientVersion: version })
    const client = clientFor(version, { api: await serve(handler), id: 'chat-1' })
    await client.send('Draw')
    expect(client.error).toBeUndefined()
    const shown = client.messages[1]?.parts.filter(({ type }) => type !== 'data-state')
    expect(shown).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'Here.' },
      { type: 'file', url: 'data:image/png;base64,AAAA', mediaType: 'image/png' },
      { type: 'source-url', sourceId: 'source-1', url: 'https://a.example/', title: 'A' },
      { type: 'source-url', sourceId: 'source-2', url: 'https://b.example/' },
    ])
    expect(shown).toHaveLength(5)
    // The model sees its picture again.
    await client.send('Nice')
    expect(model.requests[1]?.messages[1]?.parts).toContainEqual(picture)
  })

  test('data-state is the state that the run is in, each once, up to the end', async () => {
    const model = scriptedModel([
      [{ text: 'a' }, { toolCall: { id: 'c1', name: 'look' } }],
      [{ toolCall: { id: 'c2', name: 'send' } }],
      'Done.',
    ])
    const handler = uiMessageHandler(await target(kind, model, { tools }))
    const client = clientFor(7, { api: await serve(handler), id: 'chat-1' })
    const state = () => client.messages.at(-1)?.parts.find(({ type }) => type === 'data-state')?.data
    await client.send('hi')
    expect(state()).toEqual({ state: 'AwaitingApproval' })
    await client.decide('send', 'c2', true)
    await settled(client)
    expect(state()).toEqual({ state: 'Complete' })
  })
})
