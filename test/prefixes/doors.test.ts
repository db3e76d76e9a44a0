/** Every way into an agent, against a server that signs thinking and refuses it after anything else than it was signed after. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createActor, setup, waitFor } from 'xstate'
import { z } from 'zod'
import {
  Agent,
  type AgentEmitted,
  type AgentOptions,
  Chat,
  type ChatMessage,
  createDecision,
  deferred,
  reasoningOrchestrator,
  reflectionOrchestrator,
  type SendOptions,
  type Tool,
  tool,
} from '../../src/index.ts'
import { isJsonObject } from '../../src/messages/json.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { openaiHandler, uiMessageHandler } from '../../src/ui/index.ts'
import { opened, storeFile } from '../durable/storeFile.ts'
import { connected } from '../mcp/servers.ts'
import { changesIn, type Part, signingServer } from './signingServer.ts'

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city.',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `Sunny in ${city}. ${'It stays so. '.repeat(60)}`,
})
const getTime = tool({
  name: 'get_time',
  description: 'The time in a city.',
  input: z.object({ city: z.string() }),
  execute: () => '12:00',
})
const both = [getWeather, getTime]
const shape = z.object({ city: z.string() })
const weather = 'The weather, please.'
const two = 'The weather and the time, please.'

/** An agent on the server, and the changes that its runs report, for each answered request. */
const worldOn = async (claude = 'anthropic:claude-sonnet-5-5') => {
  const server = await signingServer()
  const said: Part[][] = []
  let changed: Part[] = []
  const listen = (event: AgentEmitted): void => {
    if (event.type === 'prefix') changed = event.changed
    if (event.type !== 'step') return
    said.push(changed)
    changed = []
  }
  const watching: SendOptions = { onStart: (run) => void run.on('*', listen) }
  const options: AgentOptions = { apiKey: 'none', baseUrl: `${server.url}/v1`, tools: [getWeather] }
  const agent = (more: AgentOptions = {}): Agent => new Agent(claude, { ...options, ...more })
  return { server, said, listen, watching, agent, options }
}
type World = Awaited<ReturnType<typeof worldOn>>

const isUntouched = ({ server, said }: World) => {
  expect(server.refused).toEqual([])
  const seen = server.taken.map((body, at) => (at === 0 ? [] : changesIn(server.taken[at - 1] ?? {}, body)))
  // A stored run or an actor of its own reports to its host, and not to a listener here.
  if (said.length > 0) expect(said).toEqual(seen)
  return seen
}

const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value))

const kindsIn = ({ history }: Chat): unknown[] =>
  history.flatMap(({ metadata }) => (isJsonObject(metadata?.compaction) ? metadata.compaction.kind : []))

type Door = [name: string, changed: Part[], open: (world: World) => Promise<unknown>]

const yesterday = async ({ agent, watching }: World): Promise<ChatMessage[]> =>
  copy((await agent({ system: 'Be brief.' }).send(weather, watching)).messages)

const doors: Door[] = [
  [
    'send with a history',
    [],
    async (world) => {
      const history = await yesterday(world)
      await world.agent({ system: 'Be brief.' }).send(two, { ...world.watching, history })
    },
  ],
  [
    'send with a history, and one more tool',
    ['tools'],
    async (world) => {
      const history = await yesterday(world)
      await world.agent({ system: 'Be brief.', tools: both }).send(two, { ...world.watching, history })
    },
  ],
  [
    'send with a history, and another system prompt',
    ['system'],
    async (world) => {
      const history = await yesterday(world)
      await world.agent().send(two, { ...world.watching, history, system: 'Be kind.' })
    },
  ],
  [
    'send with a trimmed history',
    ['history'],
    async (world) => {
      const first = await yesterday(world)
      const agent = world.agent({ system: 'Be brief.' })
      const { messages } = await agent.send(weather, { ...world.watching, history: first })
      await agent.send('Thanks.', { ...world.watching, history: copy(messages) })
    },
  ],
  [
    'send with a redacted history',
    ['history'],
    async (world) => {
      const history = await yesterday(world)
      const redacted = history.map((each, at) =>
        at === 0 ? { ...each, parts: [{ type: 'text' as const, text: 'The weather.' }] } : each,
      )
      await world.agent({ system: 'Be brief.' }).send(two, { ...world.watching, history: redacted })
    },
  ],
  [
    'send with a history whose last answer was broken off, and another system prompt',
    ['system'],
    async (world) => {
      const history = await yesterday(world)
      const broken: ChatMessage[] = [
        { role: 'user', parts: [{ type: 'text', text: 'And now?' }] },
        { role: 'model', parts: [{ type: 'text', text: 'It' }], metadata: { interrupted: true } },
      ]
      await world
        .agent()
        .send(two, { ...world.watching, history: [...history, ...broken], system: 'Be kind.' })
    },
  ],
  [
    'a chat that was stored, with one more tool',
    [],
    async ({ agent, watching }) => {
      const chat = new Chat(agent())
      await chat.send(weather, watching)
      await Chat.from(agent({ tools: both }), copy(chat.toJSON())).send(two, watching)
    },
  ],
  [
    'a chat that was stored, with another system prompt',
    ['system'],
    async ({ agent, watching }) => {
      const chat = new Chat(agent({ system: 'Be brief.' }))
      await chat.send(weather, watching)
      await Chat.from(agent({ system: 'Be kind.' }), copy(chat.toJSON())).send(two, watching)
    },
  ],
  [
    'a chat that was stored without its hashes',
    ['tools'],
    async ({ agent, watching }) => {
      const chat = new Chat(agent())
      await chat.send(weather, watching)
      const { prefix: _, ...stored } = copy(chat.toJSON())
      await Chat.from(agent({ tools: both }), stored).send(two, watching)
    },
  ],
  [
    'a chat whose system prompt changes with the second send, and back',
    [],
    async ({ agent, watching }) => {
      const chat = new Chat(agent({ system: 'Be brief.' }))
      await chat.send(weather, watching)
      await chat.send(weather, { ...watching, system: 'Be kind.' })
      await chat.send('Thanks.', watching)
    },
  ],
  [
    'prepareStep with other tools, then all of them',
    [],
    async ({ agent, watching }) => {
      const prepareStep = ({ step }: { step: number }) => ({ tools: step === 1 ? [getWeather] : both })
      const chat = new Chat(agent({ tools: both, prepareStep }))
      await chat.send(two, watching)
      await chat.send('Thanks.', watching)
    },
  ],
  [
    'prepareStep with a prompt that has the time in it',
    [],
    async ({ agent, watching }) => {
      let time = 0
      const chat = new Chat(
        agent({ tools: both, prepareStep: () => ({ system: `It is ${++time} o'clock.` }) }),
      )
      await chat.send(two, watching)
      await chat.send(weather, watching)
    },
  ],
  [
    'an MCP server that gains a tool in the middle of a run, and loses it later',
    ['tools', 'history'],
    async ({ agent, watching }) => {
      const names = ['get_map']
      const annotations = { readOnlyHint: true }
      const inputSchema = z.object({ city: z.string() })
      const handler = createMcpHandler(() => {
        const server = new McpServer(
          { name: 'city', version: '1' },
          { capabilities: { tools: { listChanged: true } } },
        )
        const answer = () => ({ content: [{ type: 'text' as const, text: '12:00' }] })
        for (const name of names) server.registerTool(name, { annotations, inputSchema }, answer)
        return server
      })
      onTestFinished(() => handler.close())
      const fetchServer = (input: string | URL | Request, init?: RequestInit) =>
        handler.fetch(new Request(input, init))
      const remote = await connected({ url: 'http://city.test/mcp', fetch: fetchServer })
      const listed = async (...next: string[]) => {
        names.splice(0, names.length, ...next)
        handler.notify.toolsChanged()
        await vi.waitFor(() => expect(remote.tools.map(({ name }) => name)).toEqual(next), 30_000)
      }
      const gaining = { ...getWeather, execute: () => listed('get_map', 'get_time').then(() => 'Sunny.') }
      const chat = new Chat(agent({ tools: [gaining, remote] }))
      await chat.send(two, watching)
      await listed('get_map')
      await chat.send('Thanks.', watching)
      await listed()
      await chat.send('Thanks again.', watching)
      await chat.send('And again.', watching)
    },
  ],
  [
    'old results that are cleared, then more turns',
    ['history'],
    async ({ agent, watching }) => {
      const model = scriptedModel(Array(9).fill('They spoke of the weather.'))
      const long = { ...getWeather, execute: () => 'It stays so. '.repeat(400) }
      const chat = new Chat(agent({ tools: [long], compaction: { window: 4000, keepTokens: 100, model } }))
      for (let turn = 0; turn < 8; turn++) await chat.send(weather, watching)
      expect(kindsIn(chat)).toContain('cleared')
    },
  ],
  [
    'older messages that are summarised, then more turns',
    ['history'],
    async ({ agent, watching }) => {
      const model = scriptedModel(Array(9).fill('They spoke of words.'))
      const chat = new Chat(agent({ compaction: { window: 400, keepTokens: 50, model }, tools: [] }))
      for (let turn = 0; turn < 8; turn++) await chat.send(`${turn}: ${'Some words. '.repeat(20)}`, watching)
      expect(kindsIn(chat)).toContain('summarised')
      await Chat.from(chat.agent, copy(chat.toJSON())).send('Thanks.', watching)
    },
  ],
  [
    'an agent without tools whose history had some, until they are summarised',
    ['tools', 'history'],
    async ({ agent, watching }) => {
      const chat = new Chat(agent())
      await chat.send(weather, watching)
      const model = scriptedModel(Array(9).fill('They spoke of words.'))
      const other = agent({ tools: [], compaction: { window: 900, keepTokens: 50, model } })
      const later = Chat.from(other, copy(chat.toJSON()))
      for (let turn = 0; turn < 3; turn++) await later.send('Some words. '.repeat(20), watching)
      expect(kindsIn(later)).toContain('summarised')
    },
  ],
  [
    'reasoning, in a chat',
    [],
    async ({ agent, watching }) => {
      const chat = new Chat(agent({ orchestrator: reasoningOrchestrator(), tools: both }))
      await chat.send(two, watching)
      await chat.send('Thanks.', watching)
    },
  ],
  [
    'reflection, in a chat',
    [],
    async ({ agent, watching }) => {
      const chat = new Chat(
        agent({ orchestrator: reflectionOrchestrator({ isContent: () => false }), tools: both }),
      )
      await chat.send(two, watching)
      await chat.send('Thanks.', watching)
    },
  ],
  [
    'a typed answer by the native schema, in a chat',
    [],
    async ({ agent, watching }) => {
      const chat = new Chat(agent({ tools: both }))
      await chat.sendFor(two, shape, watching)
      await chat.sendFor('Again.', shape, watching)
      await chat.send('Thanks.', watching)
    },
  ],
  [
    'a typed answer by a tool, in a chat',
    ['tools'],
    async ({ agent, watching }) => {
      const profile = { nativeSchema: false }
      const chat = new Chat(agent({ profile }))
      await chat.sendFor(weather, shape, watching)
      await chat.sendFor('Again.', shape, watching)
      await chat.send('Thanks.', watching)
    },
  ],
  [
    'a typed answer in two phases, in a chat',
    ['tools', 'history'],
    async ({ agent, watching }) => {
      const profile = { nativeSchema: true, schemaWithTools: false }
      const chat = new Chat(agent({ profile }))
      await chat.sendFor(weather, shape, watching)
      await chat.sendFor('Again.', shape, watching)
      await chat.send('Thanks.', watching)
    },
  ],
  [
    'a typed answer whose schema the API cannot hold a model to, in a chat',
    ['history'],
    async ({ agent, watching }) => {
      const chat = new Chat(agent({ tools: both }))
      await chat.send('Hello.', watching)
      await chat.sendFor('Answer in JSON.', z.record(z.string(), z.string()), watching)
      await chat.sendFor('Answer in JSON.', z.record(z.string(), z.string()), watching)
      await chat.send('Thanks.', watching)
      await chat.send('Thanks again.', watching)
    },
  ],
  [
    'a typed answer of a reasoning agent',
    [],
    async ({ agent, watching }) => {
      const chat = new Chat(agent({ orchestrator: reasoningOrchestrator(), tools: both }))
      await chat.sendFor(two, shape, watching)
      await chat.send('Thanks.', watching)
    },
  ],
  [
    'steering, and a last answer at a limit',
    [],
    async ({ agent, watching, listen }) => {
      const chat = new Chat(agent({ tools: both, limits: { toolCalls: 1 }, atLimit: 'answer' }))
      await chat.send(two, {
        onStart: (run) => {
          run.on('*', listen)
          run.on('tool.call', () => run.steer('Think of Rome, too.'))
        },
      })
      await chat.send('Thanks.', watching)
    },
  ],
  [
    'a fallback, and back',
    ['model'],
    async ({ agent, watching, server }) => {
      let fails = false
      const failing: typeof fetch = (url, init) =>
        fails && String(init?.body).includes('claude-sonnet-5-5')
          ? Promise.resolve(
              new Response('{"type":"error","error":{"type":"api_error","message":"down"}}', { status: 500 }),
            )
          : fetch(url, init)
      const chat = new Chat(
        agent({
          retry: { maxRetries: 0 },
          connection: { fetch: failing },
          fallback: [{ model: 'anthropic:claude-opus-5-5', apiKey: 'none', baseUrl: `${server.url}/v1` }],
        }),
      )
      await chat.send(weather, watching)
      fails = true
      await chat.send(weather, watching)
      fails = false
      await chat.send(weather, watching)
    },
  ],
  [
    'deferred tools',
    [],
    async ({ agent, watching }) => {
      const chat = new Chat(agent({ tools: [getTime, deferred([getWeather])] }))
      await chat.send('Search: which tools?', watching)
      await chat.send(two, watching)
    },
  ],
  [
    'skills',
    [],
    async ({ agent, watching }) => {
      const skills = mkdtempSync(join(tmpdir(), 'skills-'))
      onTestFinished(() => rmSync(skills, { recursive: true }))
      mkdirSync(join(skills, 'greeting'))
      writeFileSync(
        join(skills, 'greeting/SKILL.md'),
        '---\nname: greeting\ndescription: Greets.\n---\nSay hi.',
      )
      const chat = new Chat(
        agent({ skills, toolChoice: { tool: 'load_skill' }, limits: { toolCalls: 1 }, atLimit: 'answer' }),
      )
      await chat.send('Greet.', watching)
      await chat.send('Thanks.', { ...watching, toolChoice: 'auto' })
    },
  ],
  [
    'a policy that changes system, tools and model',
    ['model'],
    async ({ agent, watching, server, options }) => {
      const machine = setup({}).createMachine({
        id: 'desk',
        initial: 'Triage',
        states: {
          Triage: {
            meta: { system: 'You are the triage.', tools: ['get_weather'] },
            on: { 'get_weather.call': { actions: () => {} }, 'get_weather.done': 'Clock' },
          },
          Clock: {
            meta: { system: 'You are the clock.', tools: ['get_time'] },
            on: { 'get_time.call': { actions: () => {} }, 'get_time.done': 'Other' },
          },
          Other: { meta: { model: 'other' } },
        },
      })
      const other = new Agent('anthropic:claude-opus-5-5', options).model
      const chat = new Chat(agent({ tools: both, policy: { machine, models: { other } } }))
      await chat.send(two, watching)
      await chat.send('Thanks.', watching)
      expect(server.taken.map(({ model }) => model)).toContain('claude-opus-5-5')
    },
  ],
  [
    'an approval that is decided on later, in another process',
    [],
    async ({ agent, watching }) => {
      const asking: Tool = { ...getWeather, needsApproval: true }
      const chat = new Chat(agent({ tools: [asking] }))
      const waiting = await chat.send(weather, watching)
      const stored = copy(chat.toJSON())
      const [call] = waiting.pendingApproval?.calls ?? []
      const later = Chat.from(agent({ tools: [asking] }), stored)
      await later.resume({ [call?.id ?? '']: true }, watching)
      await later.send('Thanks.', watching)
    },
  ],
  [
    'a chat in a store, whose agent has one more tool after a restart',
    [],
    async ({ agent }) => {
      const path = storeFile()
      const turn = async (assistant: Agent, prompt: string) => {
        const runs = await opened(path, { assistant })
        await (await (await runs.chat('mine')).send(prompt)).result
        await runs.close()
      }
      await turn(agent(), weather)
      await turn(agent({ tools: both }), two)
      await turn(agent({ tools: both }), 'Thanks.')
    },
  ],
  [
    'a decision with a reminder',
    [],
    async ({ options, server }) => {
      const decide = createDecision({
        model: 'anthropic:claude-sonnet-5-5',
        ...options,
        events: { refund: { description: 'Refund', input: shape }, escalate: { description: 'Escalate' } },
      })
      const actor = createActor(decide, { input: { prompt: 'Decide.' } })
      actor.subscribe({ error: () => {} })
      actor.start()
      await expect(waitFor(actor, ({ status }) => status !== 'active')).rejects.toThrow('did not choose')
      expect(server.taken.length).toBeGreaterThan(1)
    },
  ],
]

const ours = 'anthropic:claude-sonnet-5-5'

describe.each([ours, 'vertex:claude-sonnet-5-5'])('a door to %s', (claude) => {
  it.each(doors)('is passed: %s', async (_, changed, open) => {
    const world = await worldOn(claude)
    await open(world)
    const seen = isUntouched(world)
    // The clouds cannot hold a model to a schema, which changes more.
    if (claude === ours) expect(new Set(seen.flat())).toEqual(new Set(changed))
  })
})

it('is passed by sub-agents, in front and in the background', async () => {
  const { server, agent } = await worldOn()
  const helper = agent({ name: 'helper' })
  const front = helper.asTool({ name: 'get_weather', description: 'The weather.' })
  const behind = helper.asTool({ name: 'get_time', description: 'The time.', background: true })
  const chat = new Chat(agent({ tools: [front, behind] }))
  await chat.send(two)
  await chat.send(two)
  expect(server.refused).toEqual([])
  expect(server.taken.length).toBeGreaterThan(5)
})

it('costs one request where the chat was stored by a release that kept no hashes', async () => {
  const { server, agent } = await worldOn()
  const { messages } = await agent({ system: 'Be brief.' }).send(weather)
  const old = copy(messages).map((message) => {
    const data = message.metadata?.anthropic
    if (!isJsonObject(data)) return message
    const { prefix: _, content: __, request: ___, ...rest } = data
    return { ...message, metadata: { ...message.metadata, anthropic: rest } }
  })
  const chat = new Chat(agent({ system: 'Be kind.' }), { history: old })
  const { warnings } = await chat.send(weather)
  await chat.send('Thanks.')
  expect(server.refused).toHaveLength(1)
  expect(warnings).toMatchObject([{ setting: 'history', change: 'omitted' }])
})

describe('a page that keeps the conversation itself', () => {
  const post = async (handler: (request: Request) => Promise<Response>, path: string, body: object) => {
    const response = await handler(
      new Request(`http://page.test${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    )
    expect(response.status).toBe(200)
    return response.text()
  }
  const said = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] })

  it.each(['one more tool', 'a store behind it'])('is passed by useChat, with %s', async (kind) => {
    const { server, agent } = await worldOn()
    const path = storeFile()
    const handlerOf = async (assistant: Agent) =>
      uiMessageHandler(kind === 'one more tool' ? assistant : await opened(path, { assistant }))
    const first = await post(await handlerOf(agent()), '/api/chat', {
      id: 'c',
      messages: [said('1', weather)],
    })
    const [, toolCallId = ''] = /"toolCallId":"([^"]+)"/.exec(first) ?? []
    expect(toolCallId).not.toBe('')
    const called = {
      type: 'tool-get_weather',
      toolCallId,
      state: 'output-available',
      input: { city: 'Oslo' },
      output: 'Sunny.',
    }
    const answer = {
      id: '2',
      role: 'assistant',
      parts: [called, { type: 'step-start' }, { type: 'text', text: 'It is fine.' }],
    }
    const messages = [said('1', weather), answer, said('3', two)]
    await post(await handlerOf(agent({ tools: both })), '/api/chat', { id: 'c', messages })
    expect(server.refused).toEqual([])
    expect(server.taken.length).toBeGreaterThan(3)
  })

  it('is passed by clients of chat completions', async () => {
    const { server, agent } = await worldOn()
    const handler = openaiHandler({ agent: agent({ tools: both }) })
    const ask = (...messages: object[]) => post(handler, '/v1/chat/completions', { model: 'agent', messages })
    await ask({ role: 'user', content: weather })
    await ask(
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: weather },
      { role: 'assistant', content: 'It is fine.' },
      { role: 'user', content: two },
    )
    expect(server.refused).toEqual([])
    expect(server.taken.length).toBeGreaterThan(3)
  })
})
