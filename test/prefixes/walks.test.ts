/**
 * Random walks through chats: with other agents, prompts, tools and histories at each turn. A server that signs what it
 * thought refuses nothing, the event says what the bytes show, and a stored response is only linked to where the server then
 * has the same conversation. `PROOF=1` takes more walks; `PROOF_SEED` begins elsewhere.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { z } from 'zod'
import {
  Agent,
  type AgentEmitted,
  type AgentOptions,
  Chat,
  type ChatMessage,
  deferred,
  reasoningOrchestrator,
  reflectionOrchestrator,
  type SendOptions,
  type Tool,
  tool,
} from '../../src/index.ts'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { loopback } from '../loopback.ts'
import { sse } from '../providers/wire/refusingServer.ts'
import { changesIn, type Part, signingServer } from './signingServer.ts'

const input = z.object({ city: z.string() })
const weather = (description: string): Tool =>
  tool({ name: 'get_weather', description, input, execute: () => `Sunny. ${'It stays so. '.repeat(40)}` })
const getTime = tool({ name: 'get_time', description: 'The time', input, execute: () => '12:00' })
const getMap = tool({ name: 'get_map', description: 'A map', input, execute: () => 'A map.' })
const toolsets = [
  [weather('The weather')],
  [weather('The weather'), getTime],
  [getTime],
  [weather('The weather of a city'), getTime],
  [],
  [weather('The weather'), deferred([getMap]), getTime],
]

const summary = (window: number) => ({
  compaction: { window, keepTokens: 50, model: scriptedModel(Array(60).fill('A summary.')) },
})
const habits: (() => AgentOptions)[] = [
  () => ({}),
  () => ({ system: 'Be brief.' }),
  () => ({ system: 'Be kind.' }),
  () => ({ orchestrator: reasoningOrchestrator() }) as AgentOptions,
  () => ({ orchestrator: reflectionOrchestrator({ isContent: () => false }) }) as AgentOptions,
  () => ({ limits: { toolCalls: 1 }, atLimit: 'answer' }),
  () => ({ prepareStep: ({ step }) => (step % 2 ? {} : { system: `Step ${step}.` }) }),
  () => summary(400),
  () => summary(900),
  () => ({ toolChoice: 'none' }),
  () => ({ thinking: false }),
]

const some = <T>(...list: T[]) => fc.constantFrom(...list)
const turns = fc.array(
  fc.record({
    kind: some('send', 'typed', 'other', 'stored', 'prompted', 'edited', 'shortened', 'rewritten', 'steered'),
    prompt: some('The weather, please.', 'The weather and the time.', 'Thanks.', 'Some words. '.repeat(20)),
    tools: fc.nat(toolsets.length - 1),
    habit: fc.nat(habits.length - 1),
  }),
  { minLength: 3, maxLength: 7 },
)
type Turn = { kind: string; prompt: string; tools: number; habit: number }

const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value))

const isPrompt = ({ role, parts }: ChatMessage) =>
  role === 'user' && !parts.some(({ type }) => type === 'toolResult')

/** The history after a user's hand was in it. */
const changed = (kind: string, chat: Chat): ChatMessage[] => {
  const history = copy([...chat.history])
  const first = history.findIndex((message, at) => at > 0 && isPrompt(message))
  const said = history.findLastIndex(
    ({ role, parts }) => role === 'model' && parts.every(({ type }) => type === 'text'),
  )
  if (kind === 'shortened') return first > 0 ? history.slice(first) : history
  const at = kind === 'edited' ? 0 : said
  return history.map((message, index) =>
    index === at ? { ...message, parts: [{ type: 'text', text: 'Something else.' }] } : message,
  )
}

/** Takes the turns of a walk, each with the agent that it needs. */
const walk = async (steps: Turn[], make: (turn: Turn) => Agent, watching: SendOptions): Promise<void> => {
  let chat: Chat | undefined
  for (const step of steps) {
    const { kind, prompt } = step
    chat ??= new Chat(make(step))
    if (kind === 'other') chat = Chat.from(make(step), copy(chat.toJSON()))
    if (kind === 'stored') chat = Chat.from(chat.agent, copy(chat.toJSON()))
    if (/^(?:edited|shortened|rewritten)$/.test(kind))
      chat = new Chat(chat.agent, { history: changed(kind, chat) })
    if (kind === 'typed') await chat.sendFor(prompt, input, watching).catch(() => {})
    else if (kind === 'steered')
      await chat.send(prompt, {
        onStart: (run) => {
          watching.onStart?.(run)
          run.on('tool.call', () => run.steer('Think of Rome, too.'))
        },
      })
    else await chat.send(prompt, kind === 'prompted' ? { ...watching, system: 'For now.' } : watching)
  }
}

const runs = {
  numRuns: process.env.PROOF === undefined ? 25 : 500,
  seed: Number(process.env.PROOF_SEED ?? 1),
}

it('a server that signs thinking refuses none of it, and each change of the beginning is said', {
  timeout: 3_600_000,
}, async () => {
  const property = async (steps: Turn[]) => {
    const server = await signingServer()
    const said: Part[][] = []
    let changes: Part[] = []
    const listen = (event: AgentEmitted): void => {
      if (event.type === 'prefix') changes = event.changed
      if (event.type !== 'step') return
      said.push(changes)
      changes = []
    }
    const make = ({ tools, habit }: Turn) =>
      new Agent('anthropic:claude-sonnet-5-5', {
        apiKey: 'none',
        baseUrl: `${server.url}/v1`,
        tools: toolsets[tools] ?? [],
        ...habits[habit]?.(),
      })
    await walk(steps, make, { onStart: (run) => void run.on('*', listen) })
    expect(server.refused).toEqual([])
    const seen = server.taken.map((body, at) => (at === 0 ? [] : changesIn(server.taken[at - 1] ?? {}, body)))
    // A history that was shortened may be, by chance, the very one before.
    expect(said.map((each, at) => (seen[at]?.length ? each : []))).toEqual(seen)
  }
  await fc.assert(fc.asyncProperty(turns, property), runs)
})

const textOf = ({ content }: JsonObject): string =>
  Array.isArray(content) ? content.map((part) => Object(part).text ?? '').join('') : String(content ?? '')

/** An item of a conversation, without the names that a server gives to it. */
const named = (item: JsonObject): string[] => {
  if (item.type === 'reasoning') return []
  if (item.type === 'function_call') return [`call ${item.name} ${item.arguments}`]
  if (item.type === 'function_call_output') return [`result ${JSON.stringify(item.output)}`]
  return [item.role === undefined ? String(item.type) : `${item.role}: ${textOf(item)}`]
}

const listIn = (body: JsonObject, field: string): JsonObject[] => {
  const list = body[field]
  return Array.isArray(list) ? list.filter(isJsonObject) : []
}

/** The conversations that a server has put together of links and inputs, request by request. */
const conversations = async (steps: Turn[], store: boolean): Promise<string[]> => {
  const kept = new Map<unknown, string[]>()
  const seen: string[] = []
  const server = await loopback(({ body }) => {
    const before = body.previous_response_id === undefined ? [] : kept.get(body.previous_response_id)
    const all = [...(before ?? ['unknown']), ...listIn(body, 'input').flatMap(named)]
    seen.push(JSON.stringify([body.instructions ?? '', all, body.tool_choice ?? '']))
    const nth = seen.length
    const prompt = all.findLast((line) => line.startsWith('user: ')) ?? ''
    const joined = listIn(body, 'input').flatMap((item) => listIn(item, 'tools'))
    const offers = [...listIn(body, 'tools'), ...joined].some(({ name }) => name === 'get_weather')
    const calls = offers && prompt.includes('weather') && !all.at(-1)?.startsWith('result ')
    const text = JSON.stringify(body.text ?? '').includes('json_schema')
      ? '{"city":"Oslo"}'
      : `Answer ${nth}.`
    const item: JsonObject =
      calls && body.tool_choice !== 'none'
        ? { type: 'function_call', call_id: `call_${nth}`, name: 'get_weather', arguments: '{"city":"Oslo"}' }
        : { type: 'message', id: `m_${nth}`, role: 'assistant', content: [{ type: 'output_text', text }] }
    const id = `resp_${nth}`
    kept.set(id, [...all, ...named(item)])
    const reasoning = { type: 'reasoning', id: `rs_${nth}`, summary: [], encrypted_content: 'E' }
    return {
      body: sse(
        { type: 'response.created', response: { id } },
        { type: 'response.output_item.done', output_index: 0, item: reasoning },
        { type: 'response.output_item.done', output_index: 1, item },
        { type: 'response.completed', response: { id, status: 'completed', output: [] } },
      ),
    }
  })
  const make = ({ tools, habit }: Turn) =>
    new Agent('openai-responses:gpt-6-luna', {
      apiKey: 'none',
      baseUrl: `${server.url}/v1`,
      tools: toolsets[tools] ?? [],
      providerOptions: { store },
      ...habits[habit]?.(),
    })
  await walk(steps, make, {})
  return seen
}

it('a stored response is linked to only where the server then has the conversation that was sent', {
  timeout: 3_600_000,
}, async () => {
  const property = async (steps: Turn[]) => {
    expect(await conversations(steps, true)).toEqual(await conversations(steps, false))
  }
  await fc.assert(fc.asyncProperty(turns, property), runs)
})
