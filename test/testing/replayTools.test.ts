import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  Agent,
  type ChatMessage,
  ConfigurationError,
  dataPart,
  type Tool,
  type ToolResultPart,
  tool,
  toolResultsOf,
} from '../../src/index.ts'
import { startSimulator } from '../../src/simulator/index.ts'
import { cassette, replayTools, type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'
import { agentAt, places, startMock } from '../aimock/mockServer.ts'
import { tapePath } from './tapePath.ts'

/** The results of the calls that a scripted model makes, each in a turn of its own. */
const resultsOfCalls = async (
  tools: ReturnType<typeof replayTools>,
  calls: readonly { name: string; arguments?: object }[],
): Promise<ToolResultPart[]> => {
  const turns = calls.map((toolCall): ScriptTurn => [{ toolCall: JSON.parse(JSON.stringify(toolCall)) }])
  const { messages } = await new Agent(scriptedModel([...turns, 'Done.']), { tools }).send('Go')
  return messages.flatMap(toolResultsOf)
}

const textsOfCalls = async (...given: Parameters<typeof resultsOfCalls>): Promise<string[]> =>
  (await resultsOfCalls(...given)).map(({ result }) => result)

const spiedTools = () => {
  const run = vi.fn()
  let count = 0
  const weather = tool({
    name: 'get_weather',
    description: 'Current weather in a city',
    input: z.object({ city: z.string(), unit: z.string().default('celsius') }),
    execute: (args) => {
      run(args)
      return { ...args, degrees: 21 }
    },
  })
  const status = tool({
    name: 'get_status',
    description: 'How far it is',
    execute: () => {
      run()
      count += 1
      return count < 3 ? 'running' : 'done'
    },
  })
  const broken = tool({
    name: 'get_broken',
    description: 'Always fails',
    execute: () => {
      run()
      throw new Error('The disk is "full".')
    },
  })
  return { tools: [weather, status, broken], run }
}

const oslo = { name: 'get_weather', arguments: { city: 'Oslo' } }
const rome = { name: 'get_weather', arguments: { city: 'Rome' } }
const status = { name: 'get_status' }
const broken = { name: 'get_broken' }

const recordedMessages = async (tools: Tool[]): Promise<ChatMessage[]> => {
  const turns = [oslo, status, status, status, broken].map((toolCall): ScriptTurn => [{ toolCall }])
  return (await new Agent(scriptedModel([...turns, 'Done.']), { tools }).send('Go')).messages
}

describe('from messages', () => {
  test('a call gets the result of its name and arguments, and nothing runs', async () => {
    const { tools, run } = spiedTools()
    const messages = await recordedMessages(tools)
    run.mockClear()
    const replayed = replayTools(messages, tools)
    const spelledOut = { name: 'get_weather', arguments: { unit: 'celsius', city: 'Oslo' } }
    const results = await textsOfCalls(replayed, [spelledOut, oslo])
    expect(results).toEqual(Array(2).fill('{"city":"Oslo","unit":"celsius","degrees":21}'))
    expect(run).not.toHaveBeenCalled()
  })

  test('the same call gets its results in order, and then the last one again', async () => {
    const { tools } = spiedTools()
    const replayed = replayTools(await recordedMessages(tools), tools)
    expect(await textsOfCalls(replayed, [status, status, status, status])).toEqual([
      'running',
      'running',
      'done',
      'done',
    ])
  })

  test('what was not recorded is an error result that says so', async () => {
    const { tools } = spiedTools()
    const [result] = await resultsOfCalls(replayTools(await recordedMessages(tools), tools), [rome])
    expect(result?.isError).toBe(true)
    expect(JSON.parse(result?.result ?? '').error).toBe(
      'No result of get_weather was recorded for these arguments: {"city":"Rome","unit":"celsius"}',
    )
  })

  test('a call that failed fails again, in the same words', async () => {
    const { tools } = spiedTools()
    const messages = await recordedMessages(tools)
    const [recorded] = messages.flatMap(toolResultsOf).filter(({ name }) => name === 'get_broken')
    const [result] = await resultsOfCalls(replayTools(messages, tools), [broken])
    expect(result).toMatchObject({ result: recorded?.result, isError: true })
  })

  test('files come back', async () => {
    const photo = tool({
      name: 'take_photo',
      description: 'A photo',
      execute: () => dataPart('image/png', new Uint8Array([1, 2, 3])),
    })
    const take = { name: 'take_photo' }
    const model = scriptedModel([[{ toolCall: take }], 'Done.'])
    const { messages } = await new Agent(model, { tools: [photo] }).send('Go')
    const [result] = await resultsOfCalls(replayTools(messages, [photo]), [take])
    const [recorded] = messages.flatMap(toolResultsOf)
    expect(recorded?.parts).toHaveLength(1)
    expect({ ...result, id: '' }).toEqual({ ...recorded, id: '' })
  })

  test('nobody is asked: approvals, external tools and sub-agents answer by themselves', async () => {
    const helper = new Agent(scriptedModel(['From the helper.'])).asTool({
      name: 'ask_helper',
      description: 'Asks',
    })
    const pay = tool({ name: 'pay', description: 'Pays', needsApproval: true, execute: () => 'paid' })
    const where = tool({ name: 'where', description: 'Asks the browser' })
    const calls = [{ name: 'pay' }, { name: 'where' }, { name: 'ask_helper', arguments: { prompt: 'Hi' } }]
    const answered: ChatMessage[] = calls.flatMap((call, at): ChatMessage[] => [
      {
        role: 'model',
        parts: [{ type: 'toolCall', id: `c${at}`, name: call.name, arguments: call.arguments ?? {} }],
      },
      {
        role: 'user',
        parts: [{ type: 'toolResult', id: `c${at}`, name: call.name, result: `result ${at}` }],
      },
    ])
    const replayed = replayTools(answered, [pay, where, helper])
    expect(await textsOfCalls(replayed, calls)).toEqual(['result 0', 'result 1', 'result 2'])
  })
})

describe.each(places)('from a tape of $provider', (place) => {
  test('another model gets the recorded results', async () => {
    const mock = await startMock()
    const { tools, run } = spiedTools()
    const path = tapePath()
    const toolCalls = [oslo, rome, broken].map((call, at) => ({ arguments: {}, ...call, id: `call_${at}` }))
    mock.on({ hasToolResult: true }, { content: 'Done.' })
    mock.on({ userMessage: 'Go', hasToolResult: false }, { toolCalls })
    const tape = cassette(path, { mode: 'record' })
    const { messages } = await agentAt(mock, place, { tools, connection: { fetch: tape } }).send('Go')
    await tape.done()
    run.mockClear()

    const wanted = messages.flatMap(toolResultsOf).map(({ result, isError }) => ({ result, isError }))
    expect(wanted).toHaveLength(3)
    const results = await resultsOfCalls(replayTools(path, tools), [oslo, rome, broken, status])
    expect(results.map(({ result, isError }) => ({ result, isError })).slice(0, 3)).toEqual(wanted)
    expect(results[3]?.result).toContain('No result of get_status was recorded')
    expect(run).not.toHaveBeenCalled()
  })
})

test.each(['openai-chat:simulator', 'openai-responses:simulator', 'anthropic:simulator'])(
  'of a tape with several conversations, each call counts once: %s',
  async (provider) => {
    const { baseUrl, close } = await startSimulator({ delayMs: 0 })
    const path = tapePath()
    let count = 0
    const weather = tool({
      name: 'get_weather',
      description: 'Current weather in a city',
      input: z.object({ city: z.string() }),
      execute: () => {
        count += 1
        return `reading ${count}`
      },
    })
    const tape = cassette(path, { mode: 'record' })
    const agent = new Agent(provider, { baseUrl, tools: [weather], connection: { fetch: tape } })
    const { messages } = await agent.send('What is the weather in Oslo?')
    await agent.send('What is the weather in Rome?', { history: messages })
    await agent.send('What is the weather in Oslo, please?')
    await tape.done()
    await close()
    expect(count).toBe(3)
    const replayed = replayTools(path, [weather])
    expect(await textsOfCalls(replayed, [oslo, rome, oslo, oslo])).toEqual([
      'reading 1',
      'reading 2',
      'reading 3',
      'reading 3',
    ])
  },
)

test('what is no recording and no tool is refused', () => {
  const { tools } = spiedTools()
  expect(() => replayTools('/nowhere.json', tools)).toThrow(ConfigurationError)
  expect(() => replayTools([{ role: 'nobody' }] as never, tools)).toThrow(ConfigurationError)
  expect(() => replayTools([], [{ name: 'x' }] as never)).toThrow(/is not a tool/)
})
