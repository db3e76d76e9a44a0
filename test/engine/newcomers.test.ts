/** Mistakes of people who come from other libraries, and of those who set up servers: what each of them is answered. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createActor, setup } from 'xstate'
import { z } from 'zod'
import { createAgentMachine } from '../../machines/index.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { startInspector } from '../../src/inspector/index.ts'
import { connectMcp, mcpTools } from '../../src/mcp/index.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { cassette } from '../../src/testing/index.ts'
import { provePolicy } from '../../src/testing/provePolicy.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { nodeListener, uiMessageHandler } from '../../src/ui/index.ts'
import { loopback } from '../loopback.ts'
import { sentenceOf } from './sentenceOf.ts'

type Named = { type: string }

const model = scriptedModel([])
const weather = tool({ name: 'get_weather', description: 'Weather', execute: () => '21' })
const agentOf = (options: object) => new Agent(model, options)

describe('an option of another library', () => {
  it.each([
    [{ reasoning_effort: 'low' }, 'Write thinking: { effort }.'],
    [{ timeoutMs: 5 }, 'Write timeouts: { totalMs }.'],
    [{ topK: 40 }, 'Write providerOptions: { top_k }.'],
    [{ frequencyPenalty: 1 }, 'Write providerOptions: { frequency_penalty }.'],
    [
      { proxy: 'http://proxy' },
      'write connection: { dispatcher: new ProxyAgent(url) }, with ProxyAgent of undici.',
    ],
    [{ response_format: {} }, 'write agent.sendFor(prompt, schema).'],
    [{ mcpServers: {} }, 'write tools: [await connectMcp({ command, args })].'],
    [{ subagents: [] }, 'write tools: [agent.asTool({ name, description })].'],
    [{ messages: [] }, 'write send(prompt, { history: messages }).'],
    [{ context: {} }, 'write send(prompt, { context }).'],
    [{ signal: AbortSignal.abort() }, 'write send(prompt, { signal }).'],
    [{ verbose: true }, 'write inspect: inspector.inspect, or set STATEWIRE_INSPECT=1.'],
    [{ onError: () => {} }, 'write try and catch around await agent.send(prompt).'],
    [{ fallback: 'anthropic' }, "fallback must be a list, not a string: write fallback: ['anthropic']."],
    [{ system: () => 'Be brief.' }, 'write prepareStep: () => ({ system: … }).'],
    [{ tools: Promise.resolve([]) }, 'tools must be a list, not a promise: write await before it.'],
  ])('%j', async (options, advice) => {
    expect(await sentenceOf(agentOf, options)).toContain(advice)
  })
})

describe('a tool of another library', () => {
  const input = z.object({ city: z.string() })
  it.each([
    [
      'the AI SDK',
      { description: 'x', inputSchema: input, execute: () => 1 },
      'write tool({ name, description, input: inputSchema, execute }).',
    ],
    [
      'LangChain',
      { name: 'x', description: 'y', schema: input, func: () => 1 },
      'write tool({ name, description, input: schema, execute: func }).',
    ],
    [
      'OpenAI',
      { type: 'function', function: { name: 'x', parameters: {} } },
      'tools[0] is a definition alone: write tool({ name, description, input: { jsonSchema }, execute }).',
    ],
    ['Anthropic', { name: 'x', description: 'y', input_schema: {} }, 'tools[0] is a definition alone'],
    ['a provider', { type: 'web_search' }, 'serverTools: [webSearch()]'],
    ['a list', [weather], 'tools[0] is a list of tools: write ...tools.'],
    [
      'a promise',
      Promise.resolve(weather),
      'tools[0] must be an object, not a promise: write await before it.',
    ],
    ['a function', () => 1, 'tools[0] is a function: write tool({ name, description, input, execute }).'],
    ['nothing', undefined, 'tools[0] must be an object, not undefined.'],
  ])('%s', async (_, given, advice) => {
    expect(await sentenceOf(agentOf, { tools: [given] })).toContain(advice)
  })

  it('is made in the words of MCP, or with a schema that arguments cannot have', async () => {
    expect(await sentenceOf(tool, 'get_weather', 'Weather', {})).toBe(
      'What tool() takes is an object: write tool({ name, description, input, execute }).',
    )
    const described = { name: 'x', description: 'y', execute: () => 1 }
    expect(await sentenceOf(tool, { ...described, input: z.string() })).toContain(
      'write z.object({ … }) around it.',
    )
    expect(await sentenceOf(tool, { ...described, input: z.object({ day: z.date() }) })).toContain(
      'Write z.iso.datetime() instead, or pass { jsonSchema, schema }.',
    )
    expect(await sentenceOf(tool, { ...described, input: { schema: z.object({}) } })).toContain(
      'Write the schema itself, without { schema }.',
    )
  })
})

describe('a model or a prompt of another library', () => {
  const send = (prompt: string, options?: object) => new Agent(model).send(prompt, options)

  it.each([
    ['a client', { apiKey: 'k', chat: { completions: {} } }, "write its name, such as 'openai:gpt-6-luna'."],
    ['a cassette', cassette('tapes/none.json', { mode: 'record' }), 'connection: { fetch: cassette(path) }'],
  ])('%s is not a model', async (_, given, advice) => {
    expect(await sentenceOf((each: never) => new Agent(each), given)).toContain(advice)
  })

  it.each([
    [undefined, undefined, 'The prompt must be a string or a list of parts, not undefined.'],
    [Promise.resolve('Hi'), undefined, 'not a promise: write await before it.'],
    [{ prompt: 'Hi' }, undefined, "The prompt comes first: write send('…', { … })."],
    ['Hi', { signal: 5000 }, 'write signal: AbortSignal.timeout(5000).'],
    ['Hi', { timeoutMs: 5000 }, 'write signal: AbortSignal.timeout(ms).'],
    ['Hi', { model: 'openai:gpt-5' }, 'write new Agent(model, { … }) for each model.'],
    ['Hi', { baseUrl: 'http://localhost' }, 'write it into the options of the agent.'],
    ['Hi', { toolExecution: 'parallel' }, 'write it into the options of the agent.'],
    [
      'Hi',
      { attachments: './photo.png' },
      "write attachments: [dataPart('image/png', await readFile(path))].",
    ],
    [
      'Hi',
      { attachments: [Buffer.from('x')] },
      'attachments[0] is bytes: write dataPart(mimeType, bytes) or linkPart(url).',
    ],
    [
      'Hi',
      { attachments: [new URL('http://localhost/a.png')] },
      'attachments[0] is not a part: write dataPart(mimeType, bytes) or linkPart(url).',
    ],
    [
      'Hi',
      { providerOptions: { openai: { reasoningEffort: 'low' } } },
      'providerOptions are fields of the request, without the name of the provider: write providerOptions: { … } with what is in openai, as its API spells it.',
    ],
    ['Hi', { history: Promise.resolve([]) }, 'history must be a list, not a promise: write await before it.'],
    ['Hi', { history: { history: [] } }, 'write history: chat.history.'],
    ['Hi', { history: [['human', 'Hi']] }, "Write userMessage('…') or modelMessage('…')."],
    [
      'Hi',
      { history: [{ content: 'Hi', lc_namespace: [] }] },
      "Write userMessage('…') or modelMessage('…').",
    ],
    [
      'Hi',
      { history: [{ role: 'model', parts: [{ type: 'tool-call' }] }] },
      "Write { type: 'toolCall', id, name, arguments }.",
    ],
  ])('a send of %j with %j', async (prompt, options, advice) => {
    expect(await sentenceOf(send, prompt, options)).toContain(advice)
  })
})

describe('what a tool returns', () => {
  const calls: ScriptTurn[] = [[{ toolCall: { id: 'c', name: 'look', arguments: {} } }], 'Done.']
  /** The error that the model sees, and the class of what the developer gets. */
  const seenOf = async (execute: () => unknown): Promise<string> => {
    const look = tool({ name: 'look', description: 'Looks', execute })
    const thrown: unknown[] = []
    const agent = new Agent(scriptedModel(calls), {
      tools: [look],
      onToolError: ({ cause }) => thrown.push(cause),
    })
    const { messages } = await agent.send('Look')
    const [part] = messages[2]?.parts ?? []
    if (part?.type !== 'toolResult' || part.isError !== true) return 'was accepted'
    expect(thrown).toEqual([expect.any(Error)])
    return JSON.parse(part.result).error
  }

  it.each<[string, () => unknown, string]>([
    [
      'a Map',
      () => new Map([['a', 1]]),
      'its result is a Map, which JSON empties: return Object.fromEntries(map).',
    ],
    [
      'a Set in a list',
      () => [{ ids: new Set([1]) }],
      'its result holds a Set, which JSON empties: return [...set].',
    ],
    ['a Response', () => new Response('Hi'), 'return await response.text(), or await response.json().'],
    ['a promise inside', () => ({ body: Promise.resolve(1) }), 'its result holds a promise: await it first.'],
    [
      'an error inside',
      () => ({ error: new Error('no') }),
      'holds an Error, which JSON empties: throw it, or return its message.',
    ],
    [
      'a BigInt',
      () => ({ id: 10n }),
      'its result holds a BigInt, which JSON does not have: return String(value).',
    ],
    [
      'bytes',
      () => new Uint8Array([1]),
      'its result is bytes: return dataPart(mimeType, bytes), or their text.',
    ],
    [
      'a generator',
      function* () {
        yield 1
      },
      'is a stream or an iterator: return a list of what it brings.',
    ],
    ['a function', () => () => 1, 'its result is a function: return what it returns.'],
  ])('is %s', async (_, execute, sentence) => {
    const seen = await seenOf(execute)
    expect(seen).toMatch(/^The tool has run, but /)
    expect(seen).toContain(sentence)
  })

  it('is an error: the model sees its message, as if it was thrown', async () => {
    expect(await seenOf(() => new Error('There is no such city.'))).toBe('There is no such city.')
  })

  it('is a circle', async () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    expect(await seenOf(() => circle)).toContain('its result is not JSON: Converting circular structure')
  })

  it('is any other value: JSON of it', async () => {
    const hidden = { toJSON: () => ({}), self: {} }
    hidden.self = hidden
    for (const value of [{}, [], [{}], new Date(0), undefined, null, 3, { empty: {} }, hidden])
      expect(await seenOf(() => value)).toBe('was accepted')
  })
})

describe('a server at a wrong address', () => {
  const failure = async (named: string, options: object, path = '') => {
    const answers = { status: 404, headers: { 'content-type': 'text/html' }, body: '<h1>404 Not Found</h1>' }
    const server = await loopback(() => ({ ...answers, ...options }))
    const baseUrl = new URL(path, server.url).href
    const agent = new Agent(named, { baseUrl, apiKey: 'k', retry: { maxRetries: 0 } })
    const error: unknown = await agent.send('Hi').catch((thrown: unknown) => thrown)
    return error instanceof Error ? error.message : ''
  }

  it.each([
    [
      'openai-chat:m',
      {},
      '',
      /^HTTP 404 Not Found \(openai-chat:m at .*\. Is \/v1 missing from baseUrl\?\)$/,
    ],
    [
      'openai-chat:m',
      {},
      '/v1/chat/completions',
      /baseUrl ends before \/chat\/completions: leave the rest out\.\)$/,
    ],
    ['ollama:m', {}, '', /Is \/api missing from baseUrl\?\)$/],
    ['google:m', {}, '', /Is \/v1beta missing from baseUrl\?\)$/],
    [
      'ollama:m',
      { body: '{"error":"model \\"m\\" not found"}' },
      '',
      /not found \(ollama:m at .*, HTTP 404\. Check the name of the model\.\)$/,
    ],
    [
      'openai-chat:gpt-6-lunaa',
      { status: 400, body: '{"error":{"message":"model `x` does not exist"}}' },
      '/v1',
      /Did you mean openai-chat:gpt-6-luna\?\)$/,
    ],
    [
      'openai-chat:m',
      { status: 200, body: '<!doctype html><title>nginx</title>' },
      '',
      /^The server answered with an HTML page instead of a model stream\. \(openai-chat:m at 127\.0\.0\.1:\d+\/chat\/completions\. Is \/v1 missing from baseUrl\?\)$/,
    ],
  ])('%s with %j at %s', async (named, answer, path, sentence) => {
    expect(await failure(named, answer, path)).toMatch(sentence)
  })

  it.each([
    ['localhost:1234/v1', 'write http://localhost:1234/v1.'],
    ['api.example.com/v1', 'write https://api.example.com/v1.'],
    ['undefined/v1', 'a variable in it is not set.'],
    ['', 'not empty: leave it out for the server of the provider.'],
    [new URL('http://localhost:1/v1'), 'not an object: write url.href.'],
  ])('%s', async (baseUrl, advice) => {
    expect(await sentenceOf(agentOf, { baseUrl })).toContain(advice)
  })
})

it('names the proxy that does not answer', async () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED'), {
    code: 'ECONNREFUSED',
    address: '10.0.0.1',
    port: 3128,
  })
  const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }))
  const agent = new Agent('openai:m', { apiKey: 'k', connection: { fetch }, retry: { maxRetries: 0 } })
  await expect(agent.send('Hi')).rejects.toThrow(
    'Request to api.openai.com:443 failed (ECONNREFUSED): the proxy 10.0.0.1:3128 does not answer. Check HTTP_PROXY, HTTPS_PROXY and NO_PROXY.',
  )
})

describe('a key that does not fit', () => {
  const refused = async (apiKey: string) => {
    const server = await loopback(() => ({ status: 401, body: { error: { message: 'Wrong key.' } } }))
    const error: unknown = await new Agent('openai:m', { baseUrl: `${server.url}/v1`, apiKey })
      .send('Hi')
      .catch((thrown: unknown) => thrown)
    return error instanceof Error ? error.message : ''
  }

  it.each([
    ['Bearer sk-1234567890', 'The key begins with "Bearer": write what follows alone.'],
    ['"sk-1234567890"', 'The key has quotation marks around it: leave them out.'],
    ['sk-ant-api03-1234567890', 'The key is one of Anthropic.'],
  ])('%s', async (key, advice) => {
    const message = await refused(key)
    expect(message).toContain(advice)
    expect(message).not.toContain('1234567890')
  })

  it('is in a variable of another name', async () => {
    vi.stubEnv('OPENAI_API_KEY', undefined)
    vi.stubEnv('OPENAI_KEY', 'sk-1234567890')
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(await sentenceOf(() => new Agent('openai').send('Hi'))).toBe(
      'openai needs an API key: set the environment variable OPENAI_API_KEY, or pass apiKey. OPENAI_KEY is set, but is not read.',
    )
  })
})

describe('a store, a server or a test that is set up wrongly', () => {
  const agent = new Agent(model)
  const opened = async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'statewire-newcomers-')), 'runs.db')
    const runs = await openRuns({ store: sqlite(path), agents: { agent } })
    onTestFinished(() => runs.close())
    return runs
  }

  it.each<[string, (...given: never[]) => unknown, unknown[], string]>([
    ['openRuns', openRuns, [{ path: 'runs.db' }], 'Write store: sqlite(path).'],
    ['openRuns', openRuns, [{ store: sqlite('x.db'), agents: [agent] }], 'write agents: { agent }.'],
    [
      'openRuns',
      openRuns,
      [{ store: sqlite('x.db'), agents: { a: 'openai' } }],
      "write new Agent('openai').",
    ],
    ['sqlite', sqlite, [{ path: 'runs.db' }], "write sqlite('runs.db')."],
    ['sqlite', sqlite, [''], 'is empty: write the path of a file, such as runs.db.'],
    ['sqlite', sqlite, ['~/runs.db'], "only a shell replaces: write join(homedir(), 'runs.db')."],
    ['sqlite', sqlite, ['file:runs.db'], 'write the path alone, without file:.'],
    ['sqlite', sqlite, [new URL('file:///runs.db')], 'write sqlite(fileURLToPath(url)).'],
    ['telemetry', telemetry, [{ serviceName: 'x' }], 'where your program sets up the SDK of OpenTelemetry.'],
    ['telemetry', telemetry, [{ recordInputs: true }], 'Write captureContent.'],
    [
      'telemetry',
      telemetry,
      [{ type: '@xstate.event' }],
      'write inspect: telemetry(), with its parentheses.',
    ],
    [
      'mcpTools',
      mcpTools,
      [{ command: 'npx' }],
      'write connectMcp({ url }) or connectMcp({ command, args }).',
    ],
    ['connectMcp', connectMcp, [{ url: 'ws://localhost' }], "write url: 'http://localhost:3000/mcp'."],
    ['startInspector', startInspector, [agent], 'write new Agent(model, { inspect: inspector.inspect }).'],
    ['startInspector', startInspector, [{ runs: sqlite('x.db') }], 'write runs: await openRuns({ store }).'],
    ['uiMessageHandler', uiMessageHandler, [{ agent }], 'write the agent alone, and then the options.'],
    [
      'provePolicy',
      provePolicy,
      [
        setup({}).createMachine({}),
        { tools: [], never: { a: ({ event }: { event: Named }) => event.type === 'x' } },
      ],
      "write event === 'refund.call'.",
    ],
    ['nodeListener', nodeListener, [agent], 'write nodeListener(uiMessageHandler(agent)).'],
  ])('%s of %j', async (_, call, given, advice) => {
    expect(await sentenceOf(call, ...given)).toContain(advice)
  })

  it('starts a run without a question: nothing is stored', async () => {
    const runs = await opened()
    const start = (...given: never[]) => Reflect.apply(runs.start, runs, given)
    for (const given of [['agent'], ['agent', 5], ['agent', undefined, { id: 'job' }]])
      expect(await sentenceOf(start, ...given)).toContain("write runs.start('agent', 'What is …?', options).")
    expect(await runs.list()).toEqual([])
    expect(await sentenceOf(start, 'agent', 'Hi', { runId: 'job' })).toContain('Write id.')
  })

  it('backs up into a folder that is not there, and aborts a stored run by a signal', async () => {
    const runs = await opened()
    const folder = join(tmpdir(), 'statewire-no-such-folder', 'copy.db')
    expect(await sentenceOf(() => runs.backup(folder))).toBe(
      `"${folder}" cannot be opened: its folder must exist. Make it first.`,
    )
    const start = (...given: never[]) => Reflect.apply(runs.start, runs, given)
    expect(await sentenceOf(start, 'agent', 'Hi', { signal: AbortSignal.abort() })).toContain(
      'write run.abort() where it must end: a stored run outlives its caller.',
    )
  })

  it('names the variable of a server that is not a URL', async () => {
    vi.stubEnv('OPENAI_BASE_URL', 'localhost:8080')
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(await sentenceOf(() => new Agent('openai:m', { apiKey: 'k' }).send('Hi'))).toBe(
      'OPENAI_BASE_URL must be an absolute http or https URL, such as https://api.openai.com/v1.',
    )
  })

  it('resumes a result', async () => {
    const erase = tool({ name: 'erase', description: 'Erases', needsApproval: true, execute: () => 'gone' })
    const asks: ScriptTurn[] = [[{ toolCall: { id: 'c', name: 'erase', arguments: {} } }], 'Done.']
    const janitor = new Agent(scriptedModel(asks), { tools: [erase] })
    const result = await janitor.send('Go')
    const resume = (...given: never[]) => Reflect.apply(janitor.resume, janitor, given)
    expect(await sentenceOf(resume, result, { c: true })).toContain(
      'write resume(result.pendingApproval, decisions).',
    )
  })

  it.each([
    ['no-such-program-of-mine', [], 'there is no such program. Is it installed, and in PATH?'],
    [
      process.execPath,
      ['-e', ''],
      "it ended before it answered. Is it an MCP server? stderr: 'inherit' shows",
    ],
  ])('starts a program that is not an MCP server: %s', async (command, args, advice) => {
    await expect(connectMcp({ command, args })).rejects.toThrow(advice)
  })

  it('posts a chat without its id', async () => {
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] })
    const headers = { 'content-type': 'application/json' }
    const answer = await uiMessageHandler(agent)(new Request('http://x/', { method: 'POST', headers, body }))
    expect(await answer.text()).toBe('The request names no chat: its id, or its threadId, is missing.')
  })
})

describe('a machine that is used wrongly', () => {
  const { machine } = new Agent(model)
  const provide = (parts: never) => machine.provide(parts)

  it.each<[unknown, string]>([
    [{ services: {} }, 'The chart "agent" has no services: provide guards, actions or actors.'],
    [{ delays: { soon: 5 } }, 'The chart "agent" has no delays: provide guards, actions or actors.'],
    [{ guards: { isWorthRetrying: true } }, 'guards.isWorthRetrying must be a function.'],
    [{ actors: { model: () => 'Hello.' } }, 'actors.model must be actor logic, such as fromPromise(…).'],
  ])('provide(%j)', async (parts, sentence) => {
    expect(await sentenceOf(provide, parts)).toBe(sentence)
  })

  it('is made of an agent', async () => {
    expect(await sentenceOf(createAgentMachine, new Agent(model))).toBe(
      'The configuration of an agent machine is an agent: write agent.machine.',
    )
  })

  it.each<[object, string]>([
    [
      { type: 'approve', callId: 'c' },
      'The machine "agent" has no event "approve". Did you mean tool.approve?',
    ],
    [
      { type: 'tool.reject', id: 'c' },
      `An event "tool.reject" without callId has no effect: write { type: 'tool.reject', callId }.`,
    ],
    [
      { type: 'steer', message: 'Go' },
      `An event "steer" without text has no effect: write { type: 'steer', text }.`,
    ],
  ])('gets %j: a warning in development, once', (event, sentence) => {
    vi.stubEnv('NODE_ENV', 'development')
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => {
      warn.mockRestore()
      vi.unstubAllEnvs()
    })
    const actor = createActor(new Agent(scriptedModel(['Hi'])).machine, { input: { prompt: 'Hi' } }).start()
    for (let times = 0; times < 2; times++) Reflect.apply(actor.send, actor, [event])
    actor.send({ type: 'abort' })
    expect(warn.mock.calls.map(([text]) => text)).toEqual([sentence])
  })
})
