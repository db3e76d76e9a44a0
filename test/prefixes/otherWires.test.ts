/** Changes of the prefix that a wire makes by itself are reported like those of the engine. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { openai } from '../../providers/values/openai.ts'
import { Agent, type AgentEmitted, type AgentOptions, Chat, type SendOptions, tool } from '../../src/index.ts'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { loopback, type Received, type Reply } from '../loopback.ts'

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city.',
  input: z.object({ city: z.string() }),
  execute: () => 'Sunny.',
})
const other = tool({ name: 'get_time', description: 'The time.', execute: () => '12:00' })

/** A run's reports of changes, for each answered request. */
const listening = () => {
  const said: string[][] = []
  let changed: string[] = []
  const listen = (event: AgentEmitted): void => {
    if (event.type === 'prefix') changed = event.changed
    if (event.type !== 'step') return
    said.push(changed)
    changed = []
  }
  const watching: SendOptions = { onStart: (run) => void run.on('*', listen) }
  return { said, watching }
}

const lines = (...events: object[]): string => events.map((event) => `${JSON.stringify(event)}\n`).join('')

/** Ollama, which calls the first tool that it is shown, once. */
const ollama = ({ body }: Received): Reply => {
  const { tools, messages } = body
  const isAnswered = Array.isArray(messages) && messages.filter(isJsonObject).at(-1)?.role === 'tool'
  const call = { function: { name: 'get_weather', arguments: { city: 'Oslo' } } }
  const message =
    tools && !isAnswered
      ? { role: 'assistant', content: '', tool_calls: [call] }
      : { role: 'assistant', content: 'ok' }
  return {
    body: lines({ message, done: true, done_reason: 'stop' }),
    headers: { 'content-type': 'application/x-ndjson' },
  }
}

it('Ollama, which shows no tool that must not be called, says that the tools changed', async () => {
  const server = await loopback(ollama)
  const { said, watching } = listening()
  const chat = new Chat(
    new Agent('ollama:qwen3:8b', { baseUrl: `${server.url}/api`, tools: [getWeather, other] }),
  )
  await chat.send('Weather?', watching)
  await chat.send('Thanks.', { ...watching, toolChoice: 'none' })
  await chat.send('Thanks again.', { ...watching, toolChoice: 'none' })
  await chat.send('Weather?', { ...watching, toolChoice: { tool: 'get_weather' } })
  const tools = server.requests.map(({ body }) => JSON.stringify(body.tools))
  const isSame = tools.map((each, at) => at === 0 || each === tools[at - 1])
  expect(isSame).toEqual([true, true, false, true, false, true])
  expect(said).toEqual(isSame.map((same) => (same ? [] : ['tools'])))
})

const sse = (...events: object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
const chatAnswer = `${sse({ choices: [{ index: 0, delta: { content: 'ok' }, finish_reason: 'stop' }] })}data: [DONE]\n\n`

const onChat = async (
  refuses: (body: JsonObject) => string | undefined,
  options: Partial<AgentOptions>,
  turns: Partial<SendOptions>[],
) => {
  const server = await loopback(({ body }) => {
    const message = refuses(body)
    return message === undefined ? { body: chatAnswer } : { status: 400, body: { error: { message } } }
  })
  const { said, watching } = listening()
  const chat = new Chat(
    new Agent('openai:my-model', { baseUrl: `${server.url}/v1`, apiKey: 'k', ...options }),
  )
  for (const turn of turns) await chat.send('Hello.', { ...watching, ...turn })
  return { said, server }
}

it('names of tools that a server begins to refuse change the tools', async () => {
  let isStrict = false
  const odd = { ...getWeather, name: 'weather.of' }
  const message =
    "Invalid 'tools[0].function.name': string does not match pattern. Expected '^[a-zA-Z0-9_-]+$'."
  const refuses = (body: JsonObject) =>
    isStrict && JSON.stringify(body.tools).includes('weather.of') ? message : undefined
  const { said } = await onChat(
    (body) => {
      const refusal = refuses(body)
      isStrict = true
      return refusal
    },
    { tools: [odd] },
    [{}, {}, {}],
  )
  expect(said).toEqual([[], ['tools'], []])
})

it('a setting that a server refuses changes nothing that a cache holds', async () => {
  const refuses = (body: JsonObject) =>
    'temperature' in body
      ? "Unsupported parameter: 'temperature' is not supported with this model."
      : undefined
  const { said, server } = await onChat(refuses, { temperature: 0.5 }, [{}, {}])
  expect(server.requests).toHaveLength(3)
  expect(said).toEqual([[], []])
})

const responsesAnswer = sse(
  { type: 'response.created', response: { id: 'r' } },
  {
    type: 'response.output_item.added',
    output_index: 0,
    item: { type: 'message', id: 'm', role: 'assistant', content: [] },
  },
  { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'ok' },
  { type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } },
)

it.each([true, false])(
  'the answers of Responses keep what preceded them, so that a history from anywhere is compared: stored %s',
  async (store) => {
    const server = await loopback(() => ({ body: responsesAnswer }))
    const { said, watching } = listening()
    const ask = async (tools: (typeof getWeather | typeof other)[], options: SendOptions) => {
      const providerOptions = { store }
      const settings = { baseUrl: `${server.url}/v1`, apiKey: 'k', providerOptions, tools }
      const agent = new Agent('openai-responses:gpt-6-luna', settings)
      return (await agent.send('Hello.', { ...watching, ...options })).messages
    }
    const history = JSON.parse(JSON.stringify(await ask([getWeather], {})))
    await ask([getWeather], { history })
    await ask([getWeather, other], { history })
    await ask([getWeather], { history: history.slice(1) })
    expect(said).toEqual([[], [], ['tools'], ['history']])
    // A history that was shortened is not linked to: the server would bring back what was left out.
    const links = server.requests.map(({ body }) => 'previous_response_id' in body)
    expect(links).toEqual(store ? [false, true, true, false] : [false, false, false, false])
  },
)

it('Gemini keeps its placeholder on the calls of another model when their turn is over', async () => {
  const called = { index: 0, id: 'a', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }
  const other = await loopback(() => ({
    body: `${sse({ choices: [{ index: 0, delta: { tool_calls: [called] }, finish_reason: 'tool_calls' }] })}data: [DONE]\n\n`,
  }))
  const gemini = await loopback(() => ({
    body: sse({ candidates: [{ content: { parts: [{ text: 'ok' }] }, finishReason: 'STOP' }] }),
  }))
  const first = openai('my-model', { baseUrl: `${other.url}/v1`, apiKey: 'k' })
  const { said, watching } = listening()
  const agent = new Agent('google:gemini-3-flash', {
    baseUrl: `${gemini.url}/v1beta`,
    apiKey: 'k',
    tools: [getWeather],
    prepareStep: ({ messages }) => (messages.length === 1 ? { model: first } : {}),
  })
  const chat = new Chat(agent)
  await chat.send('Weather?', watching)
  await chat.send('Thanks.', watching)
  const [before = '', after = ''] = gemini.requests.map(({ body }) => JSON.stringify(body.contents))
  expect(before).toContain('skip_thought_signature_validator')
  expect(after.startsWith(before.slice(0, -1))).toBe(true)
  expect(said).toEqual([[], ['model'], []])
})
