import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  Agent,
  type AgentOptions,
  Chat,
  reasoningOrchestrator,
  reflectionOrchestrator,
  type Tool,
  tool,
} from '../../src/index.ts'
import { compactionMarker } from '../../src/messages/compaction.ts'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { type Simulator, startSimulator } from '../../src/simulator/index.ts'

let simulator: Simulator

beforeAll(async () => {
  simulator = await startSimulator({ delayMs: 0, preservedThinking: true })
})
afterAll(() => simulator.close())

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city.',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `Sunny in ${city}. ${'It stays so. '.repeat(40)}`,
})
const getTime = tool({
  name: 'get_time',
  description: 'The time in a city.',
  input: z.object({ city: z.string() }),
  execute: () => '12:00',
})

const question = 'What is the weather in Oslo?'

/** An agent on the simulator, and the bodies of its requests. */
const watched = (options: Partial<AgentOptions> = {}) => {
  const bodies: JsonObject[] = []
  const fetchNoting: typeof fetch = (url, init) => {
    const body: unknown = JSON.parse(String(init?.body))
    if (isJsonObject(body)) bodies.push(body)
    return fetch(url, init)
  }
  const agent = new Agent('anthropic:claude-sonnet-5-5', {
    apiKey: 'none',
    baseUrl: simulator.baseUrl,
    tools: [getWeather],
    connection: { fetch: fetchNoting },
    ...options,
  })
  return { agent, bodies }
}

const signedIn = (body: JsonObject | undefined): number =>
  JSON.stringify(body?.messages).split('"signature":"bound-').length - 1

describe.each([
  ['thinking as the model likes', {}],
  ['thinking that was asked for', { thinking: { effort: 'low' } }],
  ['thinking between tools only', { thinking: false }],
] as const)('with %s, a run completes', (_, settings) => {
  it('and sends every signed block back while nothing before it changes', async () => {
    const { agent, bodies } = watched(settings)
    const chat = new Chat(agent)
    await chat.send(question)
    await chat.send('And the weather in Rome?')
    expect(bodies.map(signedIn)).toEqual([0, 1, 2, 3])
  })

  it.each([
    ['tools', { tools: ['get_weather', 'get_time'] }],
    ['system prompt', { system: 'Be kind.' }],
  ])('although prepareStep gives a step another %s', async (_what, later) => {
    const { agent, bodies } = watched({
      ...settings,
      tools: [getWeather, getTime],
      prepareStep: ({ step }) => (step === 1 ? { tools: ['get_weather'] } : later),
    })
    await agent.send(question)
    // The beginning stays, and the change is a message: the block of the first step still counts.
    expect(bodies.map(signedIn)).toEqual([0, 1])
    expect(bodies[1]).toMatchObject({ tools: [{ name: 'get_weather' }] })
    expect(JSON.stringify(bodies[1]?.messages)).toContain('"role":"system"')
  })

  it('although a source gains a tool', async () => {
    const source: { tools: Tool[] } = { tools: [getWeather] }
    const { agent } = watched({
      ...settings,
      tools: [
        {
          get tools() {
            return source.tools
          },
        },
      ],
    })
    const chat = new Chat(agent)
    await chat.send(question)
    source.tools = [getWeather, getTime]
    expect((await chat.send('And the weather in Rome?')).finishReason).toBe('stop')
  })

  it('although the system prompt of a chat changes, and all blocks still count', async () => {
    const { agent, bodies } = watched(settings)
    const chat = new Chat(agent)
    await chat.send(question, { system: 'Be brief.' })
    await chat.send('And the weather in Rome?', { system: 'Be kind.' })
    expect(bodies.map(signedIn)).toEqual([0, 1, 2, 3])
  })

  it('although another agent has another system prompt, and blocks made since are sent back', async () => {
    const first = watched({ ...settings, system: 'Be brief.' })
    const chat = new Chat(first.agent)
    await chat.send(question)
    const second = watched({ ...settings, system: 'Be kind.' })
    await Chat.from(second.agent, JSON.parse(JSON.stringify(chat))).send('And the weather in Rome?')
    expect([...first.bodies, ...second.bodies].map(signedIn)).toEqual([0, 1, 0, 1])
  })

  it('although the agent gained a tool since yesterday', async () => {
    const yesterday = new Chat(watched(settings).agent)
    await yesterday.send(question)
    const history = JSON.parse(JSON.stringify(yesterday.history))
    const { agent } = watched({ ...settings, tools: [getWeather, getTime] })
    const answer = await new Chat(agent, { history }).send('And the weather in Rome?')
    expect(answer.finishReason).toBe('stop')
  })

  it.each(['cleared', 'summarised'] as const)('although the older part of a chat was %s', async (kind) => {
    const { agent, bodies } = watched(settings)
    const before = new Chat(agent)
    await before.send(question)
    const numbers = { kept: 1, tokensBefore: 900, tokensAfter: 90, reason: 'command' } as const
    const marker = compactionMarker({ kind, ...numbers }, kind === 'cleared' ? '' : 'They spoke of Oslo.')
    const chat = new Chat(agent, { history: [...before.history, marker] })
    await chat.send('And the weather in Rome?')
    // The blocks after what was changed are left out, and those made since are sent.
    const kept = kind === 'cleared' ? 1 : 0
    expect(bodies.map(signedIn)).toEqual([0, 1, kept, kept + 1])
  })

  it.each([
    ['reasoning', reasoningOrchestrator()],
    ['reflection', reflectionOrchestrator()],
  ])('in the phases of %s with a tool', async (_name, orchestrator) => {
    const { agent } = watched({ ...settings, orchestrator })
    expect((await agent.send(question)).finishReason).toBe('stop')
  })
})
