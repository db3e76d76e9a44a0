/** Mistakes that would be silent, or fail far from where they were made, and the sentence that each of them gets. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createActor, setup, toPromise } from 'xstate'
import { z } from 'zod'
import { createAgentMachine } from '../../machines/agent/agentMachine.ts'
import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { registerProvider } from '../../providers/namedProviders.ts'
import { uploadFile } from '../../providers/registry.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { Chat } from '../../src/agent/Chat.ts'
import { createDecision } from '../../src/agent/createDecision.ts'
import { openRuns, type StoredRuns, sqlite } from '../../src/durable/index.ts'
import { connectMcp, mcpTools } from '../../src/mcp/index.ts'
import { dataPart, linkPart, userMessage } from '../../src/messages/messages.ts'
import { webSearch } from '../../src/model/serverTools.ts'
import { provePolicy } from '../../src/testing/provePolicy.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { deferred } from '../../src/tools/deferred.ts'
import { tool } from '../../src/tools/tool.ts'
import { AgentChatTransport, uiMessageHandler, uiMessagesOf } from '../../src/ui/index.ts'
import { machineToJSON, toMermaid, toSvg } from '../../src/visualize/index.ts'
import { sentenceOf } from './sentenceOf.ts'

const model = scriptedModel([])
const agent = new Agent(model)
const agentOf = (options: object) => new Agent(model, options)
const erase = tool({ name: 'erase', description: 'Erases', needsApproval: true, execute: () => 'gone' })
const asks: ScriptTurn[] = [[{ toolCall: { id: 'c', name: 'erase', arguments: {} } }], 'Done.']

describe('an option of an agent', () => {
  it.each([
    [{ retry: 3 }, 'retry must be an object, not 3: write retry: { maxRetries: 3 }.'],
    [{ retry: false }, 'retry must be an object, not a boolean: write retry: { maxRetries: 0 }.'],
    [{ timeouts: 3000 }, 'timeouts must be an object, not 3000: write timeouts: { totalMs: 3000 }.'],
    [
      { toolExecution: 4 },
      "toolExecution must be 'sequential' or 'parallel', not 4: write toolExecution: { concurrency: 4 }.",
    ],
    [
      { thinking: 'high' },
      "thinking must be true or false, not a string: write thinking: { effort: 'high' }.",
    ],
    [{ thinking: { budget: 100 } }, 'thinking cannot have "budget". Write budgetTokens.'],
    [{ toolChoice: 'any' }, `toolChoice must be 'auto', 'none' or 'required', not "any": write 'required'.`],
    [
      { toolChoice: { type: 'function', function: {} } },
      "toolChoice.tool must be a string, not undefined: write toolChoice: { tool: 'get_weather' } for one tool.",
    ],
    [{ limits: { maxCost: 1 } }, 'limits cannot have "maxCost". Did you mean cost?'],
    [{ maxIterations: 3 }, 'The options of an agent cannot have "maxIterations". Write maxSteps.'],
    [
      { concurrency: 3 },
      'The options of an agent cannot have "concurrency". Write toolExecution: { concurrency }.',
    ],
    [{ telemetry: {} }, 'The options of an agent cannot have "telemetry". Write inspect: telemetry().'],
    [{ output: {} }, 'output is not an option here: write agent.sendFor(prompt, schema).'],
    [{ handoffs: [] }, 'handoffs is not an option here: write tools: [agent.asTool({ name, description })].'],
    [{ memory: {} }, 'memory is not an option here: write new Chat(agent), which keeps its history.'],
    [
      { model: 'x' },
      "model is not an option here: write it first, as in new Agent('openai:gpt-6-luna', { … }).",
    ],
    [
      { orchestrator: 'reflection' },
      'orchestrator must be an object, not a string: write reflectionOrchestrator().',
    ],
    [{ inspect: { inspect: () => {} } }, 'inspect has no function "next": write inspect: inspector.inspect.'],
    [{ inspect: Promise.resolve() }, 'inspect must be a function, not a promise: write await before it.'],
    [{ tools: [agent] }, 'tools[0] is an agent: write agent.asTool({ name, description }).'],
    [
      { tools: [webSearch()] },
      'tools[0] is run by the provider: write serverTools: [webSearch()], beside tools.',
    ],
  ])('%j', async (options, sentence) => {
    expect(await sentenceOf(agentOf, options)).toBe(sentence)
  })
})

describe('a model that is written wrongly', () => {
  const named = (name: string) => new Agent(name)

  it.each([
    ['openai.gpt-6-luna', 'There is no provider "openai.gpt-6-luna". Write "openai:gpt-6-luna".'],
    ['chatgpt:gpt-6-luna', 'There is no provider "chatgpt". Write "openai:gpt-6-luna".'],
  ])('%s', async (name, sentence) => {
    expect(await sentenceOf(named, name)).toBe(sentence)
  })

  it('is a name, or an agent, where a model is needed', async () => {
    expect(await sentenceOf(createAgentMachine, { model: 'openai:gpt-6-luna' })).toContain(
      "write openai('gpt-6-luna') of statewire/providers/openai, or new Agent('openai:gpt-6-luna').machine.",
    )
    expect(await sentenceOf(createAgentMachine, model)).toBe(
      'The configuration of an agent machine needs a model: write { model }.',
    )
    expect(await sentenceOf(createAgentMachine, { model, temperature: 1 })).toBe(
      'temperature is not an option here: write settings: { temperature }.',
    )
    expect(await sentenceOf(agentOf.bind(undefined), { fallback: [agent] })).toContain('fallback[0]')
    expect(await sentenceOf((given: never) => new Agent(given), agent)).toContain(
      'write its model: agent.model.',
    )
    expect(await sentenceOf(uploadFile)).toBe("A model is named by a string, such as 'openai:gpt-6-luna'.")
  })

  it('is of a provider that makes none', async () => {
    expect(await sentenceOf(registerProvider, 'mine', {})).toContain(
      "write registerProvider('mine', defineProvider({ … })), or a function that returns a chat model.",
    )
  })
})

describe('a send', () => {
  const send = (prompt: string, options?: object) => agent.send(prompt, options)

  it.each<[unknown, object | undefined, string]>([
    [
      userMessage('Hi'),
      undefined,
      'The prompt is a message. Write its text or its list of parts: send(message.parts).',
    ],
    [z.object({}), undefined, "The prompt is a schema. Write sendFor('…', schema): the prompt comes first."],
    [
      [linkPart('./plan.png')],
      undefined,
      "The prompt[0] is a link to a path: write dataPart('image/png', await readFile(path)).",
    ],
    [
      [dataPart('iVBORw0KGgo', 'image/png')],
      undefined,
      "The prompt[0] has no media type first: write dataPart('image/png', bytes).",
    ],
    [
      'Hi',
      { attachments: ['plan.png'] },
      'attachments[0] is a string: write dataPart(mimeType, bytes) or linkPart(url).',
    ],
    [
      'Hi',
      { attachments: [dataPart('image/png', 'data:image/png;base64,iVBO')] },
      "attachments[0] holds a data: URL: write dataPart('image/png', bytes), or the base64 text after its comma.",
    ],
    [
      'Hi',
      { history: { messages: [] } },
      'history must be a list, not an object: write history: result.messages.',
    ],
    [
      'Hi',
      { signal: new AbortController() },
      'signal has no function "addEventListener": write signal: controller.signal.',
    ],
    ['Hi', { timeout: 3 }, 'timeout is not an option here: write signal: AbortSignal.timeout(ms).'],
    ['Hi', { retry: {} }, 'retry is not an option here: write it into the options of the agent.'],
    [
      'Hi',
      { threadId: 'x' },
      'threadId is not an option here: write new Chat(agent), which keeps its history.',
    ],
    ['Hi', { stream: true }, 'stream is not an option here: write agent.sendStream(prompt).'],
  ])('of %j with %j', async (prompt, options, sentence) => {
    expect(await sentenceOf(send, prompt, options)).toBe(sentence)
  })

  it('has a part of another library', async () => {
    expect(await sentenceOf(send, [{ type: 'image_url', image_url: { url: 'x' } }])).toContain(
      '"image_url" is not a type of part. Write dataPart(mimeType, bytes) or linkPart(url).',
    )
  })

  it('of a chat has a history, which the chat would ignore', async () => {
    const chat = new Chat(agent)
    const options: object = { history: [] }
    expect(await sentenceOf(() => chat.send('Hi', options))).toBe(
      'history is not an option here: write new Chat(agent, { history }).',
    )
  })

  it('makes embeddings of the wrong kind of texts', async () => {
    const named = new Agent('openai', { apiKey: 'k' })
    const embed = (text: string) => named.embedQuery(text)
    const embedAll = (texts: string[]) => named.embedDocuments(texts)
    expect(await sentenceOf(embed, ['a'])).toContain('write embedDocuments(texts) for several.')
    expect(await sentenceOf(embedAll, 'a')).toBe('The texts of embedDocuments must be a list, not a string.')
  })
})

describe('a decision that decides nothing', () => {
  const sentence =
    'The decision on "c" says neither yes nor no: write true, false, { approve: true }, { approve: false, reason }, or { result } for an external tool.'

  it.each([{ approved: true }, 'yes', 1, null, {}])('%j', async (decision) => {
    const janitor = new Agent(scriptedModel(asks), { tools: [erase] })
    const asked = await janitor.send('Go')
    const resume = (decisions: Record<string, boolean>) =>
      janitor.resume(Object(asked).pendingApproval, decisions)
    expect(await sentenceOf(resume, { c: decision })).toBe(sentence)
  })

  it('is a no with its reason where onApproval returns it', async () => {
    const given: object = { onApproval: () => ({ approved: true }) }
    const janitor = new Agent(scriptedModel(asks), { tools: [erase], ...given })
    const { messages } = await janitor.send('Go')
    expect(JSON.stringify(messages)).toContain('onApproval returned neither true nor { approve: true }')
    expect(JSON.stringify(messages)).not.toContain('gone')
  })
})

describe('a tool', () => {
  it.each<[unknown, string]>([
    [() => 1, 'What tool() takes is an object: write tool({ name, description, input, execute }).'],
    [{ description: 'x' }, 'A tool needs a name: write tool({ name, description, input, execute }).'],
    [{ name: 'x', run: () => 1 }, 'What tool() takes cannot have "run". Write execute.'],
  ])('of %j', async (options, sentence) => {
    expect(await sentenceOf(tool, options)).toBe(sentence)
  })

  it('is deferred without a list', async () => {
    expect(await sentenceOf(deferred, erase)).toBe(
      'What deferred() takes must be a list, not an object: write deferred([tool]).',
    )
  })
})

describe('a chat', () => {
  const chatOf = (given: never) => new Chat(given)

  it.each<[unknown, string]>([
    ['openai', "The agent of a chat must be an object, not a string: write new Chat(new Agent('openai'))."],
    [{ agent }, 'The agent of a chat has no function "send": write new Chat(agent).'],
  ])('of %j', async (given, sentence) => {
    expect(await sentenceOf(chatOf, given)).toBe(sentence)
  })

  it('is restored from a text', async () => {
    const text: object = Object(JSON.stringify(new Chat(agent).toJSON()))
    expect(await sentenceOf(Chat.from, agent, text)).toContain('write Chat.from(agent, JSON.parse(text)).')
  })
})

describe('an orchestrator, a prepared step and a decision', () => {
  it.each([
    ['reflectionOrchestrator', reflectionOrchestrator],
    ['reasoningOrchestrator', reasoningOrchestrator],
  ])('%s does not take an option that it does not have', async (name, create) => {
    expect(await sentenceOf(create, { rounds: 3 })).toContain(`The options of ${name} cannot have "rounds".`)
  })

  it('a prepared step does not take one either', async () => {
    const options: object = { prepareStep: () => ({ sytem: 'x' }) }
    const error = await new Agent(scriptedModel(['x']), options).send('Hi').catch((thrown: Error) => thrown)
    expect(error).toHaveProperty(
      'message',
      'prepareStep failed: What prepareStep returns cannot have "sytem". Did you mean system?',
    )
  })

  it.each<[object, string]>([
    [
      { events: undefined },
      'The events of a decision are keyed by type: write events: { refund: { description, input } }.',
    ],
    [
      { events: ['refund'] },
      'The events of a decision are keyed by type: write events: { refund: { description, input } }.',
    ],
    [
      { events: { refund: { description: 'x', schema: {} } } },
      'events.refund cannot have "schema". Write input.',
    ],
  ])('a decision of %j', async (options, sentence) => {
    expect(await sentenceOf(createDecision, { model, ...options })).toBe(sentence)
  })
})

describe('an actor', () => {
  it('gets a text as its input', async () => {
    const input: object = Object('Hi')
    const actor = createActor(agent.machine, { input }).start()
    expect(await toPromise(actor)).toMatchObject({ status: 'failed' })
    const text = createActor(agent.machine, Object({ input: 'Hi' })).start()
    expect(await toPromise(text)).toMatchObject({
      error: { message: "The input of a run must be an object: write { prompt: '…' }." },
    })
  })

  it.each<[string, (snapshot: never) => unknown]>([
    ['it is a string: write JSON.parse(snapshot)', () => '{}'],
    [
      'it is a snapshot of a running actor: store what getPersistedSnapshot() returns',
      () =>
        createActor(new Agent(scriptedModel([[{ hang: true }]])).machine, { input: { prompt: 'x' } })
          .start()
          .getSnapshot(),
    ],
  ])('is restored, but %s', async (sentence, snapshotOf) => {
    const start = async (from: never) => await agent.start(from).result
    expect(await sentenceOf(start, { snapshot: Reflect.apply(snapshotOf, undefined, []) })).toContain(
      sentence,
    )
  })
})

describe('stored runs', () => {
  let runs: StoredRuns
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'statewire-mistakes-'))
    runs = await openRuns({ store: sqlite(join(folder, 'runs.db')), agents: { agent } })
  })
  afterAll(() => runs.close())

  it.each<[string, (id: never) => unknown]>([
    ['get', (id) => runs.get(id)],
    ['delete', (id) => runs.delete(id)],
    ['send', (id) => runs.send(id, { type: 'abort' })],
    ['wake', (id) => runs.wake(id, { at: new Date() })],
  ])('%s takes an id, and nothing that would end the driver', async (_, call) => {
    for (const id of [{ olderThanDays: 3 }, undefined, 3])
      expect(await sentenceOf(call, id)).toBe(
        'An id must be a string of 1 to 200 characters, none of them a control character.',
      )
  })

  it('are started with an agent instead of its name', async () => {
    const start = (name: string) => runs.start(name, 'Hi')
    expect(await sentenceOf(start, agent)).toBe(
      "Pass the name of an agent, not the agent itself: the name under which openRuns has it, such as 'agent'.",
    )
  })

  it.each<[object | undefined, string]>([
    [{}, "store must be an object, not undefined: write store: sqlite('runs.db')."],
    [
      { store: sqlite('never.db'), agents: agent },
      'agents have names, which are stored: write agents: { agent }.',
    ],
  ])('are opened with %j', async (options, sentence) => {
    expect(await sentenceOf(openRuns, options)).toBe(sentence)
  })

  it('are in a folder, or in a database that is not SQLite', async () => {
    expect(await sentenceOf(openRuns, { store: sqlite(folder), agents: { agent } })).toBe(
      `"${folder}" is a folder: write the path of a file in it, such as runs.db.`,
    )
    expect(await sentenceOf(sqlite, 'postgres://localhost/runs')).toContain(
      'For Postgres there is dbosRuns of statewire/dbos.',
    )
  })
})

describe('a server and a page', () => {
  it('a handler gets the request of node:http', async () => {
    const handler = uiMessageHandler(agent)
    expect(await sentenceOf(handler, { method: 'POST', url: '/', headers: {} }, {})).toContain(
      'write nodeListener(handler) for node:http, Express',
    )
  })

  it.each<[unknown, string]>([
    ['/api/chat', "for a server write new DefaultChatTransport({ api }) of 'ai'."],
    [{ api: '/api/chat' }, "for a server write new DefaultChatTransport({ api }) of 'ai'."],
    [agent, 'The agent is an option: write new AgentChatTransport({ agent }).'],
  ])('a transport of %j', async (given, sentence) => {
    expect(await sentenceOf((options: never) => new AgentChatTransport(options), given)).toContain(sentence)
  })

  it('a result is shown instead of its messages', async () => {
    expect(await sentenceOf(uiMessagesOf, { messages: [] })).toContain('write uiMessagesOf(result.messages).')
  })
})

describe('MCP', () => {
  it.each<[unknown, string]>([
    [
      'http://localhost/mcp',
      'connectMcp takes options: write connectMcp({ url }) or connectMcp({ command, args }).',
    ],
    [
      { mcpServers: {} },
      'mcpServers is not an option here: write connectMcp({ command, args }) for each server, and tools: [one, other].',
    ],
    [
      { command: 'npx -y server' },
      "command is a program alone: write command: 'npx', args: ['-y', 'server'].",
    ],
  ])('connects to %j', async (options, sentence) => {
    expect(await sentenceOf(connectMcp, options)).toBe(sentence)
  })

  it('makes tools of a text', async () => {
    expect(await sentenceOf(mcpTools, 'npx server')).toContain('write connectMcp({ url })')
  })
})

describe('tests and drawings', () => {
  it.each<[unknown, string]>([
    [
      'ok',
      "The turns of scriptedModel must be a list, not a string: write scriptedModel(['first answer', 'second answer']).",
    ],
    [
      [{ text: 'x' }],
      "[0] must be a list, not an object: write a string, or a list of steps: [[{ text: 'Hi' }]].",
    ],
    [[[{ txt: 'x' }]], 'is not a step of a turn: write { text } or { toolCall: { name, arguments } }.'],
  ])('a script of %j', async (turns, sentence) => {
    expect(await sentenceOf(scriptedModel, turns)).toContain(sentence)
  })

  const rules = setup({}).createMachine({ initial: 'a', states: { a: {} } })

  it.each<[unknown, unknown, string]>([
    [rules, { tools: [], nevr: {} }, 'The options of provePolicy cannot have "nevr". Did you mean never?'],
    [rules, { tools: [], never: { rule: true } }, "never['rule'] must be a function, not a boolean."],
    [rules, undefined, 'write provePolicy(machine, { tools, never }).'],
    [agent, { tools: [] }, 'provePolicy takes the statechart of a policy'],
  ])('a proof of a policy', async (machine, options, sentence) => {
    expect(await sentenceOf(provePolicy, machine, options)).toContain(sentence)
  })

  it.each([
    ['toSvg', toSvg],
    ['toMermaid', toMermaid],
    ['machineToJSON', machineToJSON],
  ])('%s of an agent', (_, draw) => {
    expect(() => Reflect.apply(draw, undefined, [agent])).toThrow(
      'Only machines of XState can be drawn: write agent.machine.',
    )
  })
})
