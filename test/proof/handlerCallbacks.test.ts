/**
 * Every place where a function of a server's owner runs while it answers others, times everything such a function can do
 * wrong. The request is answered, or refused, all the same; the process does not end; the next request is answered.
 */
import { describe, expect, test, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { type McpHandler, mcpHandler, mcpTools } from '../../src/mcp/index.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { AgentChatTransport, aguiHandler, openaiHandler, uiMessageHandler } from '../../src/ui/index.ts'
import { opened, storeFile } from '../durable/storeFile.ts'
import { raise, trap, traps, withMessage } from './hostileTool.ts'
import { expectNothingUnhandled } from './interrupting.ts'

// biome-ignore lint/suspicious/noExplicitAny: a user's function, of any type that its place asks for.
type Callback = (...args: any[]) => any
type Mischief = (good: Callback) => Callback
type Handler = (request: Request) => Promise<Response>

const mischiefs: Record<string, Mischief> = {
  throws: () => raise(new Error('mischief')),
  'throws undefined': () => raise(undefined),
  'throws a proxy full of traps': () => raise(new Proxy({}, traps)),
  rejects: () => async () => raise(new Error('mischief'))(),
  'rejects with nothing': () => async () => raise(undefined)(),
  'rejects with a message that is a trap': () => async () => raise(withMessage({ get: trap }))(),
  'answers with what rejects when it is awaited': () => () => ({
    // biome-ignore lint/suspicious/noThenProperty: the mischief is that it has one.
    then: (_: unknown, reject: (problem: Error) => void) => reject(new Error('mischief')),
  }),
  'answers nothing': () => () => undefined,
  'answers with a function': () => () => () => 1,
  'answers later':
    (good) =>
    async (...args) =>
      good(...args),
}

/** An answer, a call that waits, and an answer that fails: each asks other functions. */
const agent = () =>
  new Agent(
    scriptedModel(
      [
        ['Hello.'],
        [{ toolCall: { id: 'c1', name: 'erase' } }],
        [{ text: 'Well' }, { error: { message: 'no more' } }],
        ['Hello.'],
      ].map((turn) => turn.map((step) => (typeof step === 'string' ? { text: step } : step))),
    ),
    {
      tools: [tool({ name: 'erase', description: 'Erases', needsApproval: true, execute: () => 'erased' })],
      retry: { maxRetries: 0 },
    },
  )

const posted = (url: string, body: object) =>
  new Request(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: 'Bearer key',
    },
    body: JSON.stringify(body),
  })

const said = { id: 'u1', role: 'user', content: 'Hi', parts: [{ type: 'text', text: 'Hi' }] }
const requests = {
  ui: (nth: number) => posted('http://localhost/chat', { id: `chat-${nth}`, messages: [said] }),
  agui: (nth: number) =>
    posted('http://localhost/agui', { threadId: `chat-${nth}`, runId: `run-${nth}`, messages: [said] }),
  openai: (nth: number) =>
    posted('http://localhost/v1/responses', {
      model: 'assistant',
      stream: nth % 2 === 0,
      input: 'Hi',
      ...(nth === 3 && { previous_response_id: 'earlier' }),
    }),
  mcp: (nth: number) =>
    posted('http://localhost/mcp', {
      jsonrpc: '2.0',
      id: nth,
      method: 'tools/call',
      params: { name: 'ask', arguments: { prompt: 'Hi' } },
    }),
}

type Place = {
  make: (options: object) => Handler | Promise<Handler>
  ask: (nth: number) => Request
  callbacks: Record<string, Callback>
}

const ofAll = { onError: () => {}, onFinish: () => {}, showError: () => 'no' }
const ofChats = { ...ofAll, authorize: () => true, context: () => ({}), client: () => 'me' }
const kept = { get: () => undefined, set: () => {}, delete: () => true }
const nested = (options: object, name: string): object =>
  name.includes('.')
    ? { [name.split('.')[0] ?? '']: { ...kept, [name.split('.')[1] ?? '']: Object.values(options)[0] } }
    : options

const places: Record<string, Place> = {
  uiMessageHandler: {
    make: (options) => uiMessageHandler(agent(), options),
    ask: requests.ui,
    callbacks: ofChats,
  },
  'uiMessageHandler with stored runs': {
    make: async (options) => uiMessageHandler(await opened(storeFile(), { agent: agent() }), options),
    ask: requests.ui,
    callbacks: { ...ofChats, agent: () => 'agent' },
  },
  aguiHandler: { make: (options) => aguiHandler(agent(), options), ask: requests.agui, callbacks: ofChats },
  openaiHandler: {
    make: (options) => openaiHandler({ assistant: agent() }, options),
    ask: requests.openai,
    callbacks: {
      ...ofAll,
      authorize: () => true,
      context: () => ({}),
      'store.get': () => undefined,
      'store.set': () => {},
    },
  },
  mcpHandler: {
    make: (options): McpHandler => mcpHandler({ ask: agent() }, options),
    ask: requests.mcp,
    callbacks: {
      context: () => ({}),
      showError: () => 'no',
      'waiting.get': kept.get,
      'waiting.set': kept.set,
      'waiting.delete': kept.delete,
    },
  },
}

expectNothingUnhandled()

/** Reads an answer to its end, or to the error that ends it. */
const read = (response: Response) => response.text().catch(String)

const all = Object.entries(places).flatMap(([name, place]) =>
  Object.keys(place.callbacks).map((callback) => [name, callback, place] as const),
)

describe.each(all)('%s: %s', (_, callback, { make, ask, callbacks }) => {
  test.each(Object.entries(mischiefs))(
    'that %s ends neither the process nor the next answer',
    async (__, mischief) => {
      vi.spyOn(console, 'error').mockImplementation(() => {})
      vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
      let isBad = true
      const good = callbacks[callback] ?? (() => {})
      const bad = mischief(good)
      const sometimes: Callback = (...args) => (isBad ? bad : good)(...args)
      const handler = await make(nested({ [callback]: sometimes }, callback))
      for (const nth of [1, 2, 3]) {
        // A thing that nothing can be asked of may be thrown on, and is the server's to answer.
        const response = await handler(ask(nth)).catch(() => new Response('', { status: 500 }))
        expect(response.status).toBeLessThan(600)
        expect(await read(response)).not.toContain('mischief')
      }
      isBad = false
      const last = await handler(ask(4))
      expect(last.status).toBe(200)
      await read(last)
      // What is not handled is reported a turn later.
      await new Promise((resolve) => setImmediate(resolve))
    },
  )
})

test.each(Object.entries(mischiefs))('showError of a transport that %s', async (_, mischief) => {
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const failing = new Agent(scriptedModel([[{ error: { message: 'no' } }]]), { retry: { maxRetries: 0 } })
  const transport = new AgentChatTransport({ agent: failing, showError: mischief(() => 'no') })
  const sent = {
    trigger: 'submit-message',
    chatId: 'c',
    messageId: undefined,
    messages: [said],
    abortSignal: undefined,
  } as const
  const chunks: { type: string }[] = []
  for await (const chunk of await transport.sendMessages(sent)) chunks.push(chunk)
  expect(chunks.at(-1)?.type).toBe('error')
})

test.each(['onSkipped', 'onInterrupted', 'needsApproval'])('%s of the tools of a server', async (name) => {
  for (const mischief of Object.values(mischiefs)) {
    const bad = mischief(() => (name === 'onInterrupted' ? 'ask' : false))
    const listTools = async () => ({ tools: [{ name: '' }, { name: 'good', inputSchema: {} }] })
    const callTool = async () => ({ content: [] })
    const tools = await mcpTools({ listTools, callTool }, { [name]: bad }).catch(() => [])
    const model = scriptedModel([[{ toolCall: { name: 'good' } }], 'Done.'])
    await new Agent(model, { tools }).send('Go')
    await new Promise((resolve) => setImmediate(resolve))
  }
})
