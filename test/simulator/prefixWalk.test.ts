/** Request n+1 of a conversation begins with request n, or a `prefix` event says which part of it changed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  Agent,
  type AgentEmitted,
  type AgentOptions,
  Chat,
  reasoningOrchestrator,
  reflectionOrchestrator,
  type SendOptions,
  type Tool,
  tool,
} from '../../src/index.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { type Simulator, startSimulator } from '../../src/simulator/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

let simulator: Simulator

beforeAll(async () => {
  simulator = await startSimulator({ delayMs: 0, preservedThinking: true })
})
afterAll(() => simulator.close())

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
const deleteFile = tool({
  name: 'delete_order',
  description: 'Deletes an order.',
  input: z.object({ order: z.number() }),
  needsApproval: true,
  execute: () => 'Deleted.',
})

const oslo = 'What is the weather in Oslo?'
const rome = 'And the weather in Rome?'
const shape = z.object({ city: z.string() })

type Part = 'model' | 'system' | 'tools' | 'history'
type Watched = Partial<AgentOptions> & { name?: string }

/** Agents whose requests are noted, and the changes that their runs report for each answered request. */
const watched = (model: string, settings: Partial<AgentOptions>) => {
  const bodies: JsonObject[] = []
  const said: Part[][] = []
  let changed: Part[] = []
  const fetchNoting: typeof fetch = async (url, init) => {
    const body: unknown = JSON.parse(String(init?.body))
    const response = await fetch(url, init)
    expect(response.status).toBe(200)
    if (isJsonObject(body)) bodies.push(body)
    return response
  }
  const listen = (event: AgentEmitted): void => {
    if (event.type === 'prefix') changed = event.changed
    if (event.type !== 'step') return
    said.push(changed)
    changed = []
  }
  const agent = (options: Watched = {}): Agent =>
    new Agent(model, {
      apiKey: 'none',
      baseUrl: simulator.baseUrl,
      tools: [getWeather],
      connection: { fetch: fetchNoting },
      ...settings,
      ...options,
    })
  const watching: SendOptions = { onStart: (run) => void run.on('*', listen) }
  return { agent, bodies, said, watching }
}

/** A body without what may move: cache markers, and text that is short for one block. */
const plain = (value: JsonValue | undefined): string =>
  JSON.stringify(value ?? null, (key, each) => {
    if (key === 'cache_control') return undefined
    return (key === 'content' || key === 'system') && typeof each === 'string'
      ? [{ type: 'text', text: each }]
      : each
  })

const listAt = (body: JsonObject, ...keys: string[]): JsonValue[] =>
  keys.map((key) => body[key]).find(Array.isArray) ?? []

/** A system prompt; Anthropic's messages of that role are changes, and part of the conversation. */
const isInstruction = (message: JsonValue): boolean =>
  isJsonObject(message) &&
  /^(?:system|developer)$/.test(String(message.role)) &&
  !Array.isArray(message.content)

const openingOf = (body: JsonObject): string =>
  plain([
    plain({ system: body.system ?? null }),
    body.instructions ?? null,
    ...listAt(body, 'messages', 'input').filter(isInstruction),
  ])

const historyOf = (body: JsonObject): JsonValue[] =>
  listAt(body, 'messages', 'input').filter((message) => !isInstruction(message))

/** Signed thinking is bound to what precedes it: where that changed, it is left out. */
const withoutThinking = (message: JsonValue): JsonValue =>
  isJsonObject(message) && Array.isArray(message.content)
    ? {
        ...message,
        content: message.content.filter((block) => !isJsonObject(block) || block.type !== 'thinking'),
      }
    : message

/** The parts in which a request does not begin with the one before it, as its bytes show. */
const changesIn = (before: JsonObject, after: JsonObject): Part[] => {
  const opening: Part[] = [
    ...(before.model === after.model ? [] : ['model' as const]),
    ...(openingOf(before) === openingOf(after) ? [] : ['system' as const]),
    ...(plain(before.tools) === plain(after.tools) ? [] : ['tools' as const]),
  ]
  const seen = opening.length > 0 ? withoutThinking : (message: JsonValue) => message
  const history = historyOf(before).map(seen)
  const repeats = plain(historyOf(after).slice(0, history.length).map(seen)) === plain(history)
  return repeats ? opening : [...opening, 'history']
}

const changesOf = (bodies: readonly JsonObject[]): Part[][] =>
  bodies.map((body, index) => (index === 0 ? [] : changesIn(bodies[index - 1] ?? {}, body)))

type World = ReturnType<typeof watched>
type Path = [name: string, changes: Part[], walk: (world: World) => Promise<unknown>]

const paths: Path[] = [
  [
    'a tool loop, and a chat',
    [],
    async ({ agent, watching }) => {
      const chat = new Chat(agent({ system: 'Be brief.' }))
      await chat.send(oslo, watching)
      await chat.send(rome, watching)
      await chat.sendFor('Which city was it? Answer.', shape, watching)
      await chat.send('Thanks.', watching)
    },
  ],
  [
    'reasoning',
    [],
    ({ agent, watching }) => agent({ orchestrator: reasoningOrchestrator() }).send(oslo, watching),
  ],
  [
    'reasoning to a typed answer',
    [],
    ({ agent, watching }) =>
      agent({ orchestrator: reasoningOrchestrator() })
        .sendFor(oslo, shape, watching)
        .catch(() => {}),
  ],
  [
    'reflection',
    [],
    ({ agent, watching }) =>
      agent({ orchestrator: reflectionOrchestrator({ isContent: () => false }) }).send(oslo, watching),
  ],
  ['a typed answer', [], ({ agent, watching }) => agent().sendFor(oslo, shape, watching)],
  [
    'a typed answer that is corrected',
    [],
    ({ agent, watching }) =>
      agent()
        .sendFor(oslo, z.object({ city: z.string().startsWith('X') }), watching)
        .catch(() => {}),
  ],
  [
    'a last answer at a limit',
    [],
    ({ agent, watching }) =>
      agent({ limits: { toolCalls: 1 }, atLimit: 'answer', tools: [getWeather, getTime] }).send(
        'What is the weather in Oslo? What is the time in Oslo?',
        watching,
      ),
  ],
  [
    'steering',
    [],
    async ({ agent, watching }) => {
      const run = agent().start(oslo, watching)
      run.on('tool.call', () => run.steer('Think of Rome, too.'))
      await run.result
    },
  ],
  [
    'a run that was stored and resumed',
    [],
    async ({ agent, watching }) => {
      const asking = agent({ tools: [deleteFile] })
      const waiting = await asking.send('Delete the order 7.', watching)
      const { snapshot } = JSON.parse(JSON.stringify(waiting.pendingApproval))
      const [call] = waiting.pendingApproval?.calls ?? []
      const run = asking.start({ snapshot, decisions: { [call?.id ?? '']: true } }, watching)
      await run.result
    },
  ],
  [
    'fewer tools and another prompt by prepareStep',
    [],
    ({ agent, watching }) =>
      agent({
        tools: [getWeather, getTime],
        prepareStep: ({ step }) => (step === 1 ? {} : { tools: [getTime], system: 'Be kind.' }),
      }).send(oslo, watching),
  ],
  [
    'a source that gains a tool in the middle of a run',
    [],
    async ({ agent, watching }) => {
      const source: { tools: Tool[] } = { tools: [getWeather] }
      const changing = {
        get tools() {
          return source.tools
        },
      }
      const run = agent({ tools: [changing] }).start(oslo, watching)
      run.on('tool.call', () => {
        source.tools = [getWeather, getTime]
      })
      await run.result
    },
  ],
  [
    'old results that are cleared',
    ['history'],
    async ({ agent, watching }) => {
      const model = scriptedModel(Array(9).fill('They spoke of the weather.'))
      const chat = new Chat(agent({ compaction: { window: 900, keepTokens: 100, model } }))
      for (const city of ['Oslo', 'Rome', 'Bern'])
        await chat.send(`What is the weather in ${city}?`, watching)
    },
  ],
  [
    'older messages that are summarised',
    ['history'],
    async ({ agent, watching }) => {
      const model = scriptedModel(Array(9).fill('They spoke of the weather.'))
      const chat = new Chat(agent({ compaction: { window: 400, keepTokens: 50, model }, tools: [] }))
      for (let turn = 0; turn < 6; turn++) await chat.send(`${turn}: ${'Some words. '.repeat(20)}`, watching)
    },
  ],
  [
    'a changed system prompt',
    [],
    async ({ agent, watching }) => {
      const chat = new Chat(agent())
      await chat.send(oslo, { ...watching, system: 'Be brief.' })
      await chat.send(rome, { ...watching, system: 'Be kind.' })
      const other = agent({ system: 'Be kind.', name: 'other' })
      const stored = JSON.parse(JSON.stringify(chat))
      await Chat.from(other, stored).send('Thanks.', watching)
    },
  ],
  [
    'a chat of yesterday whose agent has one more tool',
    [],
    async ({ agent, watching }) => {
      const chat = new Chat(agent())
      await chat.send(oslo, watching)
      const stored = JSON.parse(JSON.stringify(chat))
      await Chat.from(agent({ tools: [getWeather, getTime] }), stored).send(rome, watching)
    },
  ],
]

const ours = 'anthropic:claude-sonnet-5-5'

describe.each([
  [ours, {}],
  ['anthropic:claude-3-haiku', {}],
  ['openai:gpt-4o', {}],
  ['openai-responses:gpt-6-luna', { providerOptions: { store: false } }],
])('%s', (model, options) => {
  it.each(paths)(
    'begins each request with the one before, or says what changed: %s',
    async (_, changes, walk) => {
      const world = watched(model, options)
      await walk(world)
      expect(world.bodies.length).toBeGreaterThan(1)
      expect(world.said).toEqual(changesOf(world.bodies))
      // What a model cannot do, such as a native schema, may change more.
      if (model === ours) expect(new Set(world.said.flat())).toEqual(new Set(changes))
    },
  )
})
