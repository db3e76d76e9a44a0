/** Deferred tools: found by a search, called by their own names, and never a change of what was sent before. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent, Chat, deferred, type JsonObject, type Tool, tool } from '../../src/index.ts'
import { type ChatMessage, toolCallsOf, toolResultsOf, userMessage } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { loopback, type Reply } from '../loopback.ts'

const numbered = Array.from({ length: 200 }, (_, n) =>
  tool({ name: `other_${n}`, description: 'Something else.', execute: () => '' }),
)
const forecast = tool({
  name: 'forecast',
  description: 'The weather of the next days',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `Sun in ${city}`,
})

const call = (name: string, args: JsonObject, id = name): ScriptTurn => [
  { toolCall: { id, name, arguments: args } },
]
const search = call('search_tools', { query: 'weather of next week' })
const throughTool = call('call_tool', { name: 'forecast', arguments: { city: 'Oslo' } })

const resultsOf = (messages: Parameters<typeof toolResultsOf>[0][]) => messages.flatMap(toolResultsOf)

describe('where the API loads no tools by itself', () => {
  it('the model finds a tool and calls it; requests have two tools more, and always the same', async () => {
    const model = scriptedModel([search, throughTool, 'Sunny.'])
    const prefixes: unknown[] = []
    const run = new Agent(model, { tools: [deferred([...numbered, forecast])] }).start('Weather in Oslo?')
    run.on('prefix', (event) => prefixes.push(event))
    const { messages } = await run.result
    const [found, called] = resultsOf(messages)
    expect(JSON.parse(found?.result ?? '').tools).toEqual([
      { name: 'forecast', description: 'The weather of the next days', parameters: expect.any(Object) },
    ])
    // The call is the tool's own, as if the model had seen it.
    expect(called).toMatchObject({ name: 'forecast', result: 'Sun in Oslo' })
    expect(messages.flatMap(toolCallsOf).map(({ name }) => name)).toEqual(['search_tools', 'forecast'])
    expect(new Set(model.requests.map(({ tools }) => tools?.map(({ name }) => name).join()))).toEqual(
      new Set(['search_tools,call_tool']),
    )
    expect(prefixes).toEqual([])
  })

  it('a tool that prepareStep does not offer is neither found nor run', async () => {
    const model = scriptedModel([search, throughTool, 'No.'])
    const prepareStep = () => ({ tools: ['search_tools', 'call_tool', 'other_1'] })
    const agent = new Agent(model, { tools: [deferred([...numbered, forecast])], prepareStep })
    const [found, called] = resultsOf((await agent.send('Weather in Oslo?')).messages)
    expect(found?.result).not.toContain('forecast')
    expect(called).toMatchObject({ isError: true })
    expect(called?.result).not.toContain('Sun')
  })

  it('a call of a found tool waits for its approval, and goes on after the run was stored', async () => {
    const asking: Tool = { ...forecast, needsApproval: true }
    const first = new Agent(scriptedModel([search, throughTool]), { tools: [deferred([asking])] })
    const { pendingApproval } = JSON.parse(JSON.stringify(await first.send('Oslo?')))
    expect(pendingApproval.calls).toMatchObject([{ name: 'forecast', arguments: { city: 'Oslo' } }])
    const second = new Agent(scriptedModel(['Sunny.']), { tools: [deferred([asking])] })
    const result = await second.resume(pendingApproval, { call_tool: true })
    expect(resultsOf(result.messages).at(-1)).toMatchObject({ name: 'forecast', result: 'Sun in Oslo' })
  })

  it('a source that gains tools changes no request, and its new tools are found', async () => {
    const source: { tools: Tool[] } = { tools: [...numbered] }
    const model = scriptedModel([search, 'Nothing.', search, throughTool, 'Sunny.'])
    const agent = new Agent(model, {
      tools: [
        deferred({
          get tools() {
            return source.tools
          },
        }),
      ],
    })
    const chat = new Chat(agent)
    const before = await chat.send('Oslo?')
    expect(resultsOf(before.messages)[0]?.result).toContain('None of the 200 tools')
    source.tools = [...numbered, forecast]
    const after = await chat.send('And now?')
    expect(resultsOf(after.messages).at(-1)).toMatchObject({ result: 'Sun in Oslo' })
    expect(new Set(model.requests.map(({ tools }) => JSON.stringify(tools))).size).toBe(1)
  })

  it.each<[string, JsonObject, string]>([
    ['a tool that does not exist', { name: 'nothing', arguments: {} }, 'There is no tool named'],
    ['arguments that do not fit', { name: 'forecast', arguments: { town: 1 } }, 'do not fit the schema'],
    ['arguments in a text', { name: 'forecast', arguments: '{"city":"Rome"}' }, 'Sun in Rome'],
    ['arguments in a broken text', { name: 'forecast', arguments: '{"city":' }, 'not valid JSON'],
  ])('%s', async (_, args, said) => {
    const agent = new Agent(scriptedModel([call('call_tool', args), 'Done.']), {
      tools: [deferred([forecast])],
    })
    expect(resultsOf((await agent.send('Oslo?')).messages)[0]?.result).toContain(said)
  })

  it('two sources are searched together', async () => {
    const agent = new Agent(scriptedModel([search, throughTool, 'Done.']), {
      tools: [deferred(numbered), deferred([forecast])],
    })
    expect(resultsOf((await agent.send('Oslo?')).messages).at(-1)?.result).toBe('Sun in Oslo')
  })

  it('a search without a query, and one with long schemas, are answered', async () => {
    const long = tool({
      name: 'weather_map',
      description: 'A map',
      input: { jsonSchema: { type: 'object', description: 'x'.repeat(100_000) } },
      execute: () => '',
    })
    const agent = new Agent(scriptedModel([call('search_tools', {}), search, 'Done.']), {
      tools: [deferred([long])],
    })
    const [empty, found] = resultsOf((await agent.send('Oslo?')).messages)
    expect(empty).toMatchObject({ isError: true })
    expect(JSON.parse(found?.result ?? '').tools).toEqual([{ name: 'weather_map', description: 'A map' }])
  })
})

const history: ChatMessage[] = [
  userMessage('Weather?'),
  {
    role: 'model',
    parts: [{ type: 'toolCall', id: 's', name: 'search_tools', arguments: { query: 'weather' } }],
  },
  {
    role: 'user',
    parts: [
      {
        type: 'toolResult',
        id: 's',
        name: 'search_tools',
        result: '{"tools":[{"name":"forecast"},{"name":"gone"}]}',
      },
    ],
  },
]

/** The request of a model for a conversation in which a search has found a tool. */
const bodyOf = async (model: string, reply: (nth: number) => Reply): Promise<JsonObject[]> => {
  const server = await loopback((_, nth) => reply(nth))
  const agent = new Agent(model, {
    apiKey: 'none',
    headers: {},
    tools: [deferred([...numbered.slice(0, 3), forecast])],
    retry: { maxRetries: 0 },
    connection: { fetch: (url, init) => fetch(`${server.url}${new URL(String(url)).pathname}`, init) },
  })
  await agent.send([], { history }).catch(() => {})
  return server.requests.map(({ body }) => body)
}

const broken = (): Reply => ({ status: 401, body: {} })

it('Claude gets them with defer_loading, and the results of a search as references', async () => {
  const [body] = await bodyOf('anthropic:claude-sonnet-5-5', broken)
  expect(body?.tools).toMatchObject([
    { name: 'search_tools' },
    ...['other_0', 'other_1', 'other_2', 'forecast'].map((name) => ({ name, defer_loading: true })),
  ])
  expect(JSON.stringify(body?.messages)).toContain(
    '"content":[{"type":"tool_reference","tool_name":"forecast"}]',
  )
})

it('OpenAI gets those that were found, after the search', async () => {
  const [body] = await bodyOf('openai-responses:gpt-6-luna', broken)
  expect(body?.tools).toMatchObject([{ name: 'search_tools' }])
  expect(body?.input).toMatchObject([
    { role: 'user' },
    { type: 'function_call' },
    { type: 'function_call_output' },
    { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'forecast' }] },
  ])
})

it('a server that refuses that gets all of them', async () => {
  const message = 'tools.1.custom.defer_loading: Extra inputs are not permitted'
  const refusal = { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message } } }
  const bodies = await bodyOf('anthropic:claude-opus-5-5', (nth) => (nth === 0 ? refusal : broken()))
  expect(bodies).toHaveLength(2)
  expect(JSON.stringify(bodies[1])).not.toMatch(/defer_loading|tool_reference/)
  expect(bodies[1]?.tools).toHaveLength(5)
})
