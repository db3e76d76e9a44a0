/**
 * Every option with values that it cannot take: a ConfigurationError that names it, or as if it were not there. Never a
 * hang, never an error from somewhere inside.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createActor, toPromise } from 'xstate'
import type { AgentMachineConfig } from '../../machines/agent/agentConfig.ts'
import { createAgentMachine } from '../../machines/agent/agentMachine.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { Chat, type ChatOptions } from '../../src/agent/Chat.ts'
import { ConfigurationError, StatewireError } from '../../src/messages/errors.ts'
import { type Simulator, startSimulator } from '../../src/simulator/index.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import type { Schema } from '../../src/tools/schema.ts'
import { type ToolOptions, tool } from '../../src/tools/tool.ts'
import { expectNothingUnhandled } from '../proof/interrupting.ts'
import { LeapClock } from '../proof/leapClock.ts'
import { badValues, names, rows, type Takes, withOption, withoutOption } from './badValues.ts'

expectNothingUnhandled()

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ delayMs: 0 })
})
afterAll(() => simulator.close())

const weather: ToolOptions<Schema> = {
  name: 'get_weather',
  description: 'Current weather in a city',
  input: { jsonSchema: { type: 'object', properties: { city: { type: 'string' } } } },
  execute: () => '21',
}
const prompt = 'What is the weather in Oslo?'

/** How a run ends: with an answer or with an error of ours. Anything else is thrown on. */
const endOf = async (run: () => Promise<{ output: string }>): Promise<unknown> => {
  try {
    return (await run()).output
  } catch (error) {
    if (error instanceof StatewireError) return `${error.name}: ${error.message}`
    throw error
  }
}

const errorOf = (make: () => unknown): unknown => {
  try {
    return make()
  } catch (error) {
    return error
  }
}

const expectRefused = (make: () => unknown, option: string): void => {
  const error = errorOf(make)
  expect(error).toBeInstanceOf(ConfigurationError)
  expect(error).toHaveProperty('message', expect.stringContaining(option))
}

describe('an agent', () => {
  const takes: Takes<AgentOptions> = {
    temperature: [],
    maxOutputTokens: [],
    topP: [],
    stopSequences: ['an empty list'],
    seed: ['-1'],
    toolChoice: [],
    parallelToolCalls: [],
    thinking: ['an empty object'],
    cache: ['an empty object'],
    serverTools: ['an empty list'],
    providerOptions: ['an empty object'],
    apiKey: ['an empty text', 'a wrong word', 'a function'],
    baseUrl: [],
    headers: ['an empty object', 'an empty list'],
    connection: ['an empty object'],
    limits: ['an empty object'],
    profile: ['an empty object'],
    tools: ['an empty list'],
    system: ['an empty text', 'a wrong word'],
    maxSteps: [],
    atLimit: [],
    compaction: ['an empty object'],
    price: ['a function'],
    toolExecution: [],
    retry: ['an empty object'],
    timeouts: ['an empty object'],
    accumulator: ['an empty object'],
    toolExecutor: ['an empty object'],
    onApproval: ['a function'],
    onToolError: ['a function'],
    fallback: ['an empty list'],
    orchestrator: [],
    clock: [],
    inspect: ['an empty object', 'an empty list', 'a function'],
    skills: [],
    name: ['an empty text', 'a wrong word'],
    prepareStep: ['a function'],
    policy: [],
  }
  const inner = {
    'thinking.budgetTokens': [],
    'thinking.effort': [],
    'cache.ttl': [],
    'cache.key': ['an empty text', 'a wrong word'],
    'profile.like': ['an empty text', 'a wrong word'],
    'profile.tools': [],
    'profile.window': [],
    'profile.attachments': ['an empty object'],
    'limits.steps': [],
    'limits.tokens': ['Infinity'],
    'limits.cost': ['Infinity'],
    'limits.toolCalls': [],
    'limits.repeats': [],
    'limits.perTool': ['an empty object'],
    'compaction.window': [],
    'compaction.at': [],
    'compaction.keepTokens': ['Infinity'],
    'compaction.model': [],
    'compaction.instructions': ['an empty text', 'a wrong word'],
    'connection.dispatcher': [],
    'connection.fetch': ['a function'],
    'connection.limits': ['an empty object'],
    'connection.limits.maxEventSize': ['Infinity'],
    'connection.limits.maxResponseSize': ['Infinity'],
    'connection.limits.maxDocumentSize': ['Infinity'],
    'connection.limits.maxErrorBodySize': ['Infinity'],
    'retry.maxRetries': ['Infinity'],
    'retry.initialDelayMs': [],
    'retry.maxDelayMs': ['Infinity'],
    'retry.midStream': [],
    'timeouts.firstChunkMs': ['Infinity'],
    'timeouts.idleMs': ['Infinity'],
    'timeouts.totalMs': ['Infinity'],
    'accumulator.accumulate': ['a function'],
    'accumulator.consolidate': ['a function'],
    'toolExecutor.executeSingle': ['a function'],
    'toolExecutor.executeBatch': ['a function'],
  } as const
  const { taken, refused } = rows({ ...takes, ...inner })

  const answers = (options: AgentOptions) =>
    endOf(() => new Agent('openai:simulator', { retry: { maxRetries: 0 }, ...options }).send(prompt))

  /** Nothing may leave this machine where the row is about the address. */
  const optionsFor = (option: string): AgentOptions => {
    const all = { baseUrl: simulator.baseUrl, apiKey: 'k', tools: [tool(weather)] }
    const offline: typeof fetch = () => Promise.reject(new Error('offline'))
    return option === 'baseUrl' ? { ...all, connection: { fetch: offline } } : all
  }

  test.each(refused)('whose $option is $name is refused', ({ option, name }) => {
    expectRefused(() => new Agent(scriptedModel([]), withOption({}, option, badValues[name])), option)
  })

  test.each(taken)('whose $option is $name answers', async ({ option, name }) => {
    const without = withoutOption(optionsFor(option), option)
    const end = await answers(withOption(without, option, badValues[name]))
    if (name === 'undefined') expect(end).toBe(await answers(without))
  })

  test.each(names)('whose toolExecution.concurrency is %s is refused', (name) => {
    const options = withOption({}, 'toolExecution.concurrency', badValues[name])
    expectRefused(() => new Agent(scriptedModel([]), options), 'toolExecution.concurrency')
  })

  test.each(names)('whose model is %s is refused', (name) => {
    expect(errorOf(() => new Agent(badValues[name] as never))).toBeInstanceOf(ConfigurationError)
  })

  test.each(names)('whose options are %s is refused, or has none', (name) => {
    const made = errorOf(() => new Agent(scriptedModel([]), badValues[name] as never))
    const isFine = name === 'undefined' || name === 'an empty object'
    expect(made).toBeInstanceOf(isFine ? Agent : ConfigurationError)
  })

  test.each(names)('with %s among its tools or its fallbacks is refused', (name) => {
    const value = badValues[name] as never
    expectRefused(() => new Agent(scriptedModel([]), { tools: [value] }), 'tools[0]')
    if (typeof value !== 'string')
      expectRefused(() => new Agent(scriptedModel([]), { fallback: [value] }), 'fallback[0]')
  })

  test.each([
    [{ dispatcher: {} }, 'dispatcher is not an option here: write connection: { dispatcher }.'],
    [{ fetch: () => {} }, 'fetch is not an option here: write connection: { fetch }.'],
    [
      { limits: { maxEventSize: 1 } },
      'limits.maxEventSize is not an option here: write connection: { limits: { maxEventSize } }.',
    ],
  ])('with %o beside its connection learns where to write it', (options, sentence) => {
    expect(() => new Agent(scriptedModel([]), options as never)).toThrow(new ConfigurationError(sentence))
    const fallback = [{ model: 'openai:x', ...options }]
    const inFallback = new ConfigurationError(`fallback[0].${sentence}`)
    expect(() => new Agent(scriptedModel([]), { fallback: fallback as never })).toThrow(inFallback)
  })

  test('with two limits of steps is refused, and so is a send', async () => {
    const both = { maxSteps: 3, limits: { steps: 4 } }
    const error = new ConfigurationError('maxSteps is short for limits.steps: give one of them, not both.')
    expect(() => new Agent(scriptedModel([]), both)).toThrow(error)
    await expect(new Agent(scriptedModel(['Hi'])).send('Hi', both)).rejects.toThrow(error)
    const { output } = await new Agent(scriptedModel(['Hi']), { maxSteps: 3 }).send('Hi', {
      limits: { steps: 4 },
    })
    expect(output).toBe('Hi')
  })

  test.each(names)('whose header is %s is refused, or has none', (name) => {
    const make = () => new Agent(scriptedModel([]), withOption({}, 'headers.x-team', badValues[name]))
    if (['undefined', 'null', 'an empty text', 'a wrong word'].includes(name)) make()
    else expectRefused(make, 'headers')
  })

  test.each(names)('whose secret of AWS is %s is refused, unless it is a text', (name) => {
    const apiKey = { accessKeyId: 'AKIA', secretAccessKey: badValues[name] as never }
    const make = () => new Agent(scriptedModel([]), { apiKey })
    if (typeof badValues[name] === 'string') make()
    else expectRefused(make, 'apiKey')
  })

  test('whose fallback has an address without its scheme is refused', () => {
    const fallback = [{ model: 'openai:x', baseUrl: 'localhost:8000/v1' }]
    expectRefused(() => new Agent(scriptedModel([]), { fallback }), 'fallback[0].baseUrl')
  })
})

test('a retry delay that is undefined does not hide what the server asks for', async () => {
  const waits: number[] = []
  const model = scriptedModel([[{ error: { retryable: true, retryAfterMs: 40_000 } }], 'ok'])
  const agent = new Agent(model, {
    retry: { maxDelayMs: undefined } as never,
    clock: new LeapClock(),
  })
  const actor = agent.actor({ prompt })
  actor.on('retry', ({ delayMs }) => waits.push(delayMs))
  actor.start()
  expect((await toPromise(actor)).status).toBe('complete')
  expect(waits).toEqual([40_000])
})

test('a policy by a name is refused, and a machine has nothing to inherit one from', () => {
  expectRefused(() => new Agent(scriptedModel([]), { policy: 'parent' as never }), 'policy')
  const model = scriptedModel([])
  expectRefused(() => createAgentMachine({ model, policy: 'inherit' as never }), 'policy')
})

describe('an agent machine', () => {
  const takes: Takes<AgentMachineConfig> = {
    model: [],
    fallback: ['an empty list'],
    tools: ['an empty list'],
    system: ['an empty text', 'a wrong word'],
    settings: ['an empty object'],
    limits: ['an empty object'],
    maxSteps: [],
    atLimit: [],
    compaction: ['an empty object'],
    price: ['a function'],
    toolExecution: [],
    retry: ['an empty object'],
    timeouts: ['an empty object'],
    accumulator: ['an empty object'],
    toolExecutor: ['an empty object'],
    onApproval: ['a function'],
    callsTools: [],
    skillList: ['an empty text', 'a wrong word'],
    onToolError: ['a function'],
    newId: ['a function'],
    random: ['a function'],
    name: ['an empty text', 'a wrong word'],
    prepareStep: ['a function'],
    policy: [],
  }
  const { taken, refused } = rows(takes)

  const outputOf = async (config: AgentMachineConfig) => {
    const { status, output } = await toPromise(
      createActor(createAgentMachine(config), { input: { prompt } }).start(),
    )
    return { status, output }
  }
  const config = () => {
    const model = scriptedModel([[{ toolCall: { name: 'get_weather' } }], 'It is warm.'])
    return { model, tools: [tool(weather)], retry: { maxRetries: 0 } }
  }

  test.each(refused)('whose $option is $name is refused', ({ option, name }) => {
    expectRefused(() => createAgentMachine(withOption(config(), option, badValues[name])), option)
  })

  test.each(taken.filter(({ option }) => option !== 'model'))(
    'whose $option is $name answers',
    async ({ option, name }) => {
      const output = await outputOf(withOption(withoutOption(config(), option), option, badValues[name]))
      if (name === 'undefined') expect(output).toEqual(await outputOf(withoutOption(config(), option)))
      else expect(output.status).toMatch(/complete|failed/)
    },
  )

  test.each(names)('whose configuration is %s is refused', (name) => {
    expect(errorOf(() => createAgentMachine(badValues[name] as never))).toBeInstanceOf(ConfigurationError)
  })
})

describe('a tool', () => {
  const takes: Takes<ToolOptions<Schema>> = {
    name: ['a wrong word'],
    description: ['an empty text', 'a wrong word'],
    input: [],
    execute: ['a function'],
    needsApproval: ['a function'],
    expiresMs: [],
    onExpired: [],
    timeoutMs: ['Infinity'],
    endsRun: [],
    onInterrupted: [],
    maxResult: ['Infinity'],
    repeatable: [],
    wire: ['an empty object'],
  }
  const { taken, refused } = rows(takes)
  const isRequired = (option: string) => option === 'name'

  test.each(refused)('whose $option is $name is refused', ({ option, name }) => {
    expectRefused(() => tool(withOption(weather, option, badValues[name])), option)
  })

  test.each(taken)('whose $option is $name runs, if it needs none', async ({ option, name }) => {
    const options = withOption(weather, option, badValues[name])
    if (name === 'undefined' && isRequired(option)) return expectRefused(() => tool(options), option)
    const made = tool(options)
    const model = scriptedModel([[{ toolCall: { name: made.name } }], 'It is warm.'])
    const agent = new Agent(model, { tools: [made], onApproval: () => true })
    const { output } = await agent.send(prompt)
    // Without `execute`, the call is answered from outside.
    expect(output).toContain(option === 'execute' && name === 'undefined' ? '' : 'It is warm.')
  })

  test.each(names)('of %s is refused', (name) => {
    expect(errorOf(() => tool(badValues[name] as never))).toBeInstanceOf(ConfigurationError)
  })
})

describe('a chat', () => {
  const takes: Takes<ChatOptions> = { history: ['an empty list'], whenBusy: [] }
  const { taken, refused } = rows(takes)
  const agent = () => new Agent(scriptedModel(['Hello.']))

  test.each(refused)('whose $option is $name is refused', ({ option, name }) => {
    expectRefused(() => new Chat(agent(), withOption({}, option, badValues[name])), option)
  })

  test.each(taken)('whose $option is $name answers', async ({ option, name }) => {
    const chat = new Chat(agent(), withOption({}, option, badValues[name]))
    expect((await chat.send('Hi')).output).toBe('Hello.')
    expect(chat.history).toHaveLength(2)
  })

  test.each(names)('with %s for an agent, for its options or in its history is refused', (name) => {
    const value = badValues[name] as never
    const isFine = name === 'undefined' || name === 'an empty object'
    expect(errorOf(() => new Chat(value))).toBeInstanceOf(ConfigurationError)
    expect(errorOf(() => new Chat(agent(), value))).toBeInstanceOf(isFine ? Chat : ConfigurationError)
    expectRefused(() => new Chat(agent(), { history: [value] }), 'history[0]')
  })
})
