/** The chunks themselves: calls that are streamed, answers that start over, and work that is linear in its size. */
import { describe, expect, test } from 'vitest'
import { SimulatedClock } from 'xstate'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { dataPart } from '../../src/messages/messages.ts'
import { startSimulator } from '../../src/simulator/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { uiMessageHandler } from '../../src/ui/uiMessages/handler.ts'
import { clientFor, lastTexts, versions } from './chatClients.ts'
import { serve } from './serve.ts'
import { kinds, target } from './targets.ts'

const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: { jsonSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
  execute: (_, { report }) => {
    report({ percent: 50 })
    return { celsius: 21 }
  },
})

const post = (body: object) =>
  new Request('http://localhost/api/chat', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const asked = (text: string) => ({ id: 'u1', role: 'user', parts: [{ type: 'text', text }] })

/** The chunks of an answer, in order. */
const chunksOf = async (agent: Agent, text = 'hi'): Promise<JsonObject[]> => {
  const response = await uiMessageHandler(agent)(post({ id: 'chat-1', messages: [asked(text)] }))
  const lines = (await response.text()).split('\n\n').filter((line) => line.startsWith('data: {'))
  return lines.map((line) => JSON.parse(line.slice(6)))
}
const scripted = (turns: ScriptTurn[], options: AgentOptions = {}) => new Agent(scriptedModel(turns), options)
const typesOf = (chunks: readonly JsonObject[]) => chunks.map(({ type }) => type)

describe('the stream', () => {
  test('shows the arguments of a call while they come, and the progress of the tool', async () => {
    const simulator = await startSimulator({ delayMs: 0 })
    const agent = new Agent('openai-chat:simulator', { baseUrl: simulator.baseUrl, tools: [weather] })
    const chunks = await chunksOf(agent, 'What is the weather in Oslo?')
    await simulator.close()
    const about = chunks.filter(({ toolCallId }) => toolCallId !== undefined)
    const [first, ...rest] = typesOf(about)
    expect(first).toBe('tool-input-start')
    expect(rest.slice(-2)).toEqual(['tool-input-available', 'tool-output-available'])
    const pieces = about.flatMap(({ inputTextDelta }) =>
      typeof inputTextDelta === 'string' ? [inputTextDelta] : [],
    )
    expect(pieces.length).toBeGreaterThan(0)
    expect(JSON.parse(pieces.join(''))).toEqual({ city: 'Oslo' })
    expect(chunks.find(({ type }) => type === 'data-progress')?.data).toEqual({ percent: 50 })
  })

  test('goes through the states of the chart', async () => {
    const turns: ScriptTurn[] = [
      [{ toolCall: { id: 'c1', name: 'get_weather', arguments: { city: 'Oslo' } } }],
      'Warm.',
    ]
    const chunks = await chunksOf(scripted(turns, { tools: [weather] }))
    const states = chunks.flatMap(({ type, data }) =>
      type === 'data-state' ? [(data as JsonObject).state] : [],
    )
    expect(states).toEqual(['Accumulating', 'ToolExecution', 'Accumulating', 'Complete'])
  })

  test('ends every part that it begins, and every step, in every case', async () => {
    const call = { toolCall: { id: 'c1', name: 'get_weather', arguments: { city: 'Oslo' } } }
    const scenes: ScriptTurn[][] = [
      [
        [{ thinking: 'a' }, { text: 'b' }, { thinking: 'c' }, call],
        [{ thinking: 'd' }, { text: 'e' }],
      ],
      [[{ text: 'a' }, { error: {} }]],
      [[{ thinking: 'a' }, { cut: true }]],
      [[call], [call], 'a'],
    ]
    for (const turns of scenes) {
      const chunks = await chunksOf(scripted(turns, { tools: [weather], retry: { maxRetries: 0 } }))
      const count = (type: string) => chunks.filter((chunk) => chunk.type === type).length
      expect(count('text-start')).toBe(count('text-end'))
      expect(count('reasoning-start')).toBe(count('reasoning-end'))
      expect(count('finish') + count('error')).toBe(1)
      if (count('finish') === 1) expect(count('start-step')).toBe(count('finish-step'))
      const ids = chunks.filter(({ type }) => /-start$/.test(String(type))).map(({ id }) => id)
      expect(new Set(ids).size).toBe(ids.length)
    }
  })

  test('shows images that a tool gives, and sends them back with the conversation', async () => {
    const draw = tool({ name: 'draw', description: 'Draws', execute: () => dataPart('image/png', 'AAAA') })
    const model = scriptedModel([[{ toolCall: { id: 'c1', name: 'draw' } }], 'There.', 'Good.'])
    const client = clientFor(7, {
      api: await serve(uiMessageHandler(new Agent(model, { tools: [draw] }))),
      id: 'chat-1',
    })
    await client.send('Draw')
    await client.send('Nice')
    expect(JSON.stringify(client.messages[1])).toContain('"data":"AAAA"')
    expect(model.requests[2]?.messages[2]).toEqual(model.requests[1]?.messages[2])
  })

  test('brings files of the page to the model', async () => {
    const model = scriptedModel(['I see.'])
    const parts = [
      { type: 'text', text: 'Look' },
      { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AAAA', filename: 'a.png' },
      { type: 'file', mediaType: 'image/png', url: 'https://example.com/b.png' },
      { type: 'file', mediaType: 'text/plain', url: 'file:///etc/passwd' },
      { type: 'file', mediaType: 'text/plain', url: 'data:text/plain,hello' },
    ]
    const handler = uiMessageHandler(new Agent(model))
    await (await handler(post({ id: 'chat-1', messages: [{ id: 'u1', role: 'user', parts }] }))).text()
    expect(model.requests[0]?.messages[0]?.parts).toEqual([
      { type: 'text', text: 'Look' },
      { type: 'data', mimeType: 'image/png', data: 'AAAA', name: 'a.png' },
      { type: 'link', url: 'https://example.com/b.png', mimeType: 'image/png' },
    ])
  })

  test('hands the context of the request to the tools', async () => {
    const seen: unknown[] = []
    const who = tool({
      name: 'who',
      description: 'Who asks',
      execute: (_, { context }) => void seen.push(context),
    })
    const agent = scripted([[{ toolCall: { name: 'who' } }], 'You.'], { tools: [who] })
    const handler = uiMessageHandler(agent, { context: async (request, chatId) => [chatId, request.method] })
    await (await handler(post({ id: 'chat-1', messages: [asked('Who am I?')] }))).text()
    expect(seen).toEqual([['chat-1', 'POST']])
  })
})

describe.each(kinds)('with %s, an answer that starts over', (kind) => {
  test.each(versions)('is shown to its end by ai %i, with a restart chunk', async (version) => {
    const model = scriptedModel([[{ text: 'Wrong' }, { cut: true }], 'Right.'])
    const served = await target(kind, model, { retry: { midStream: true, initialDelayMs: 1 } })
    const handler = uiMessageHandler(served, { clientVersion: version })
    const client = clientFor(version, { api: await serve(handler), id: 'chat-1' })
    await client.send('hi')
    expect(client.error).toBeUndefined()
    // A reader of stored runs may come too late for the text that was discarded.
    if (kind === 'an agent') expect(lastTexts(client)).toEqual(['Wrong', 'Right.'])
    else expect(lastTexts(client).at(-1)).toBe('Right.')
  })

  test('says so in a part that is not kept', async () => {
    const clock = new SimulatedClock()
    const model = scriptedModel([[{ text: 'Wrong' }, { delayMs: 1 }, { cut: true }], 'Right.'], { clock })
    const served = await target(kind, model, { retry: { midStream: true, initialDelayMs: 1 } })
    const response = await uiMessageHandler(served)(post({ id: 'chat-1', messages: [asked('hi')] }))
    const seen = response.clone().body?.pipeThrough(new TextDecoderStream())
    for await (const text of seen ?? []) if (text.includes('Wrong')) break
    clock.increment(1)
    expect(await response.text()).toMatch(
      /"Wrong"[\s\S]*text-end[\s\S]*{"type":"data-restart","data":{},"transient":true}[\s\S]*"Right."/,
    )
  })
})

describe('a request of the largest size', () => {
  const size = 40_000
  const many = (part: (index: number) => object) => Array.from({ length: size }, (_, index) => part(index))
  const call = (index: number) => ({
    type: 'tool-x',
    toolCallId: `c${index}`,
    state: 'output-available',
    input: {},
    output: 1,
  })

  test.each<[string, () => object[]]>([
    ['calls in one message', () => [{ role: 'assistant', parts: many(call) }]],
    ['calls of one id', () => [{ role: 'assistant', parts: many(() => call(1)) }]],
    ['steps', () => [{ role: 'assistant', parts: many(() => ({ type: 'step-start' })) }]],
    [
      'messages',
      () =>
        many((index) => ({ role: index % 2 ? 'user' : 'assistant', parts: [{ type: 'text', text: 'a' }] })),
    ],
  ])('with many %s is read in no time', async (_, messages) => {
    const handler = uiMessageHandler(scripted(['Hello.']), { maxBodyBytes: 16 * 1024 * 1024 })
    const request = post({ id: 'chat-1', messages: [...messages(), asked('hi')] })
    // The time of the processor, which does not pass while other programs have it.
    const start = process.cpuUsage()
    const response = await handler(request)
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(1_500)
    await response.body?.cancel()
    expect(response.status).toBe(200)
  })
})
