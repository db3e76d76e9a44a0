/** The exception of a tool keeps its class and its stack for the developer; the model and what is stored have its message. */
import { inspect } from 'node:util'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { AgentEmitted } from '../../machines/agent/events.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { ModelError, ToolExecutionError } from '../../src/messages/errors.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { createToolExecutor } from '../../src/tools/toolExecutor.ts'
import { inspecting, listen } from '../inspector/watching.ts'
import { observe } from '../telemetry/observed.ts'

class DatabaseDown extends Error {
  override readonly name = 'DatabaseDown'
}

const thrower = (thrown: unknown) =>
  tool({
    name: 'look_up',
    description: 'Looks it up',
    execute: function lookUp() {
      throw thrown
    },
  })

const turns = (): ScriptTurn[] => [[{ toolCall: { id: 'a', name: 'look_up', arguments: {} } }], 'Sorry.']

type ResultEvent = Extract<AgentEmitted, { type: 'tool.result' }>

/** The event of the call, and the run afterwards. */
const resultOf = async (agent: Agent) => {
  const run = agent.start('Hi')
  const events: ResultEvent[] = []
  run.on('tool.result', (event) => events.push(event))
  const result = await run.result
  return { event: events[0], result, snapshot: run.snapshot() }
}

/** The warnings of this process while a function runs in this environment. */
const warningsIn = async (environment: string, run: () => Promise<unknown>) => {
  vi.stubEnv('NODE_ENV', environment)
  const warnings: (string | Error)[] = []
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation((warning, options) => {
    const { detail = '' } = Object(options)
    warnings.push(`${warning}\n${detail}`)
  })
  await run()
  spy.mockRestore()
  return warnings
}

afterEach(() => vi.unstubAllEnvs())

describe('the exception of a tool', () => {
  it('is in the event of its result, and in nothing that is stored', async () => {
    const thrown = new DatabaseDown('no connection')
    const agent = new Agent(scriptedModel(turns()), { tools: [thrower(thrown)] })
    const { event, result, snapshot } = await resultOf(agent)
    expect(event?.error).toBeInstanceOf(ToolExecutionError)
    expect(event?.error).toMatchObject({ message: 'no connection', toolName: 'look_up', cause: thrown })
    expect(event?.result.result).toBe('{"error":"no connection"}')
    expect(JSON.stringify([result, snapshot])).not.toMatch(/DatabaseDown|toolErrors\.test/)
  })

  it('is in the event of a batch, too', async () => {
    const thrown = new DatabaseDown('no connection')
    const { executeBatch } = createToolExecutor()
    const agent = new Agent(scriptedModel(turns()), {
      tools: [thrower(thrown)],
      toolExecutor: { executeBatch: (...batch) => executeBatch(...batch) },
    })
    expect((await resultOf(agent)).event?.error).toMatchObject({ cause: thrown })
  })

  it('is not there where a call fails without one', async () => {
    const agent = new Agent(scriptedModel(turns()))
    const { event } = await resultOf(agent)
    expect(event?.result.isError).toBe(true)
    expect(event).not.toHaveProperty('error')
  })

  it('is not reported where it was thrown on purpose, for the model', async () => {
    const seen: unknown[] = []
    const agent = new Agent(scriptedModel(turns()), {
      tools: [thrower(new ToolExecutionError('Try another city.'))],
      onToolError: (error) => seen.push(error),
    })
    const { event } = await resultOf(agent)
    expect(event?.result.result).toBe('{"error":"Try another city."}')
    expect(event).not.toHaveProperty('error')
    expect(seen).toEqual([])
  })

  it('goes to onToolError, which cannot break the run', async () => {
    const thrown = new DatabaseDown('no connection')
    const seen: unknown[] = []
    const agent = new Agent(scriptedModel(turns()), {
      tools: [thrower(thrown)],
      onToolError: (error, call) => {
        seen.push([error.cause, call.name])
        throw new Error('broken reporter')
      },
    })
    const warnings = await warningsIn('production', () => agent.send('Hi'))
    expect(seen).toEqual([[thrown, 'look_up']])
    expect(warnings).toEqual(['onToolError threw: broken reporter\n'])
  })

  it('is a warning with its stack in development, without credentials', async () => {
    const key = 'sk-proj-abcdefgh12345678'
    const send = (thrown: unknown) => () =>
      new Agent(scriptedModel(turns()), { tools: [thrower(thrown)] }).send('Hi')
    const warnings = await warningsIn('development', send(new DatabaseDown(`refused ${key}`)))
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain(
      'The tool "look_up" threw. The model sees the message; onToolError gets the error.\nDatabaseDown: refused ***',
    )
    expect(warnings[0]).toContain('toolErrors.test.ts')
    expect(warnings[0]).not.toContain(key)
    expect(await warningsIn('development', send('a string'))).toHaveLength(1)
    expect(await warningsIn('production', send(new Error('no')))).toEqual([])
  })

  it.each([
    [
      true,
      {
        'exception.type': 'DatabaseDown',
        'exception.message': 'no connection',
        'exception.stacktrace': expect.stringContaining('toolErrors.test'),
      },
    ],
    [false, { 'exception.type': 'DatabaseDown' }],
  ])('is recorded by telemetry; its texts only where content is: %s', async (captureContent, attributes) => {
    const observed = observe()
    const tools = [thrower(new DatabaseDown('no connection'))]
    await new Agent(scriptedModel(turns()), { tools, inspect: telemetry({ captureContent }) }).send('Hi')
    const { events } = observed.span('execute_tool look_up')
    expect(events).toMatchObject([{ name: 'exception' }])
    expect(events[0]?.attributes).toEqual(attributes)
  })

  it('is on the card of the inspector', async () => {
    const inspector = await inspecting()
    const feed = await listen(inspector)
    const tools = [thrower(new DatabaseDown('no connection'))]
    await new Agent(scriptedModel(turns()), { tools, inspect: inspector.inspect }).send('Hi')
    await feed.until(() => [...feed.tools.values()].some(({ status }) => status === 'failed'))
    expect([...feed.tools.values()][0]?.stack).toMatch(/^DatabaseDown: no connection\n.*toolErrors\.test/s)
  })
})

describe('an error that nothing catches', () => {
  it('is printed without the conversation', async () => {
    const model = scriptedModel([[{ text: 'Half of the answer' }, { error: { message: 'cut' } }]])
    const error: unknown = await new Agent(model).send('My secret question').catch((thrown) => thrown)
    expect(error).toMatchObject({ partial: { output: 'Half of the answer' } })
    expect(inspect(error, { depth: null })).not.toMatch(/secret question|Half of the answer/)
    expect(JSON.stringify(error)).not.toContain('Half of the answer')
    expect(Object.keys(new ModelError('x'))).not.toContain('partial')
  })
})

describe('a send that waits', () => {
  const careful = () =>
    tool({ name: 'look_up', description: 'Looks it up', needsApproval: true, execute: () => 'found' })
  const agent = () => new Agent(scriptedModel(turns()), { tools: [careful()] })
  const later = () => new Promise((resolve) => setTimeout(resolve, 1))

  it('says so in its status', async () => {
    const waiting = agent()
    const result = await waiting.send('Hi')
    expect(result.status).toBe('waiting')
    if (result.status === 'complete') return
    const done = await waiting.resume(result.pendingApproval, { a: { approve: true } })
    expect([done.status, done.output]).toEqual(['complete', 'Sorry.'])
    expect(done).not.toHaveProperty('pendingApproval')
  })

  it('is a warning once, if the caller does not look', async () => {
    const looks = await warningsIn('development', async () => {
      const { pendingApproval } = await agent().send('Hi')
      expect(pendingApproval?.calls).toHaveLength(1)
      const { status } = await agent().send('Hi')
      expect(status).toBe('waiting')
      await later()
    })
    expect(looks).toEqual([])
    const ignores = await warningsIn('development', async () => {
      expect((await agent().send('Hi')).output).toBe('')
      expect((await agent().send('Hi')).output).toBe('')
      await later()
    })
    expect(ignores).toEqual([
      'The run waits for a decision on look_up, so its output is not complete. Look at result.status, and continue with agent.resume(result.pendingApproval, decisions).\n',
    ])
  })
})
