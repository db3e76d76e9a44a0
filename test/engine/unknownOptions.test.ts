/** An option that does not exist is refused where it is written, with the name to write instead. */
import { describe, expect, it } from 'vitest'
import { createAgentMachine } from '../../machines/agent/agentMachine.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { Chat } from '../../src/agent/Chat.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { connectMcp } from '../../src/mcp/index.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { uiMessageHandler } from '../../src/ui/index.ts'

const model = scriptedModel([])
const named = { name: 'get_weather', description: 'Current weather', execute: () => '21' }

/** The error of a call with options that the types would refuse. */
const errorOf = async (call: (options: object) => unknown, options: object): Promise<unknown> => {
  try {
    return await call(options)
  } catch (error) {
    return error
  }
}

describe('an option that does not exist', () => {
  it.each([
    ['baseURL', 'Write baseUrl.'],
    ['instructions', 'Write system.'],
    ['maxTokens', 'Write maxOutputTokens.'],
    ['stopWhen', 'Write limits.'],
    ['maxRetries', 'Write retry: { maxRetries }.'],
    ['temprature', 'Did you mean temperature?'],
  ])('of an agent: %s', async (name, advice) => {
    const error = await errorOf((options) => new Agent(model, options), { [name]: 1 })
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(error).toHaveProperty('message', `The options of an agent cannot have "${name}". ${advice}`)
  })

  it.each([
    ['inputSchema', 'Write input.'],
    ['parameters', 'Write input.'],
    ['excute', 'Did you mean execute?'],
  ])('of a tool: %s', async (name, advice) => {
    const error = await errorOf((options) => tool({ ...named, ...options }), { [name]: {} })
    expect(error).toHaveProperty('message', `What tool() takes cannot have "${name}". ${advice}`)
  })

  it('of a send is refused before anything is asked', async () => {
    const agent = new Agent(scriptedModel(['never asked']))
    const error = await errorOf((options) => agent.send('Hello', options), { abortSignal: 1 })
    expect(error).toHaveProperty('message', 'The options of a send cannot have "abortSignal". Write signal.')
  })

  it('inside of an option names the option', async () => {
    const error = await errorOf((options) => new Agent(model, options), { retry: { maxRetrys: 1 } })
    expect(error).toHaveProperty('message', 'retry cannot have "maxRetrys". Did you mean maxRetries?')
  })

  it('is refused wherever options are taken', async () => {
    const strange = { zzzzzzzz: 1 }
    const calls: ((options: object) => unknown)[] = [
      (options) => createAgentMachine({ model, ...options }),
      (options) => new Chat(new Agent(model), options),
      (options) => openRuns({ store: sqlite('never-opened.db'), ...options }),
      (options) => sqlite('never-opened.db', options),
      (options) => connectMcp({ command: 'never-started', ...options }),
      (options) => uiMessageHandler(new Agent(model), options),
    ]
    for (const call of calls) {
      const error = await errorOf(call, strange)
      expect(error).toBeInstanceOf(ConfigurationError)
      expect(error).toHaveProperty('message', expect.stringContaining('cannot have "zzzzzzzz". There are: '))
    }
  })

  it('counts as absent where it is undefined', () => {
    const options: object = { baseURL: undefined }
    expect(new Agent(model, options).model).toBe(model)
  })

  it('may be the own member of an object that a caller brings', () => {
    const accumulator = { accumulate: () => undefined, consolidate: () => undefined, seen: 0 }
    const options: object = { accumulator }
    expect(new Agent(model, options).model).toBe(model)
  })
})
