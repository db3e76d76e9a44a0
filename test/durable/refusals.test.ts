/** Commands and options that a store refuses, with the reason. */
import { describe, expect, test } from 'vitest'
import { setup } from 'xstate'
import type { AgentInput } from '../../machines/agent/events.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { AbortedError, ConfigurationError, OrchestrationError } from '../../src/messages/errors.ts'
import { textOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { readAll } from './reading.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

describe('a command', () => {
  test.each([
    ['for no call', { type: 'tool.approve', callId: 'x' }, /No call "x" waits/],
    ['without a call', { type: 'tool.approve' }, /callId of the command must be a string/],
    ['of no type', { type: 'explode' }, /"explode" is not a command/],
    ['that is not an object', null, /A command is an object/],
    ['with a function', { type: 'steer', text: () => 1 }, /not JSON/],
    ['with a list for a text', { type: 'steer', text: ['a'] }, /text of the command must be a string/],
    ['of twenty megabytes', { type: 'steer', text: 'x'.repeat(20e6) }, /is longer than/],
    [
      'with arguments that are not an object',
      { type: 'tool.approve', callId: 'c', arguments: 5 },
      /must be an object/,
    ],
  ])('%s is refused, and changes nothing', async (_, command, message) => {
    const { agent, wiped } = wiping([[callOf('c', 'b')]])
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Wipe b', { id: 'job' })
    await run.result
    const before = await run.info()
    await expect(runs.send('job', command as never)).rejects.toThrow(message)
    await expect(runs.send('job', command as never)).rejects.toBeInstanceOf(ConfigurationError)
    expect(await run.info()).toEqual(before)
    expect(wiped).toEqual([])
  })

  test('for a run that is not there is refused', async () => {
    const runs = await opened(storeFile(), { agent: wiping([]).agent })
    await expect(runs.send('missing', { type: 'abort' })).rejects.toThrow('There is no run "missing".')
  })

  test('reaches a run that is under way', async () => {
    const { agent } = wiping([[{ text: 'Well' }, { hang: true }]])
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Hi', { id: 'job' })
    for await (const { chunk } of run.stream()) if (chunk.output === 'Well') break
    await runs.send('job', { type: 'abort', reason: 'enough' })
    const error = await run.result.catch((thrown) => thrown)
    expect(error).toBeInstanceOf(AbortedError)
    expect(error.partial.output).toBe('Well')
  })

  test('of a tool to its own run is taken once the step is over', async () => {
    const stop = tool({
      name: 'stop',
      description: 'Stops.',
      execute: async () => {
        await runs.send('job', { type: 'steer', text: 'Enough.' })
        return 'sent'
      },
    })
    const model = scriptedModel([[{ toolCall: { id: 'c', name: 'stop' } }], 'Done.'])
    const runs = await opened(storeFile(), { agent: new Agent(model, { tools: [stop] }) })
    const run = await runs.start('agent', 'Hi', { id: 'job' })
    expect((await run.result).output).toBe('Done.')
    expect(model.requests[1]?.messages.map(textOf)).toContain('Enough.')
  })
})

describe('what cannot be', () => {
  test.each(['', 'a\nb', 'x'.repeat(201), 5, null])('an id such as %j is refused', async (id) => {
    const runs = await opened(storeFile(), { agent: wiping([]).agent })
    await expect(runs.start('agent', 'Hi', { id: id as string })).rejects.toThrow(/An id must be/)
  })

  test('an id of 200 characters is taken', async () => {
    const runs = await opened(storeFile(), { agent: wiping(['Hi']).agent })
    const id = 'x'.repeat(200)
    expect((await runs.start('agent', 'Hi', { id })).id).toBe(id)
  })

  test('an agent that is not there is refused by name', async () => {
    const runs = await opened(storeFile(), { agent: wiping([]).agent })
    await expect(runs.start('toString', 'Hi')).rejects.toThrow(
      'There is no agent "toString". There are: agent.',
    )
  })

  test('a context that is not JSON is refused', async () => {
    const runs = await opened(storeFile(), { agent: wiping([]).agent })
    const error = await runs.start('agent', 'Hi', { context: { at: 5n } }).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(error.message).toMatch(/must be JSON: it holds a bigint, which JSON cannot hold/)
    expect(error.cause).toBeInstanceOf(TypeError)
  })

  test('options that make no sense are refused', async () => {
    const { agent } = wiping([])
    const open = (options: object) => opened(storeFile(), { agent }, options as never)
    await expect(open({ maxRecoveries: -1 })).rejects.toThrow(/maxRecoveries must be/)
    await expect(open({ context: 5 })).rejects.toThrow(/context must be a function/)
    await expect(open({ synchronous: 'off' })).rejects.toThrow(/synchronous must be/)
    await expect(opened(':memory:', { agent })).rejects.toThrow(/cannot be ":memory:"/)
    await expect(opened(storeFile(), { agent: 5 } as never)).rejects.toBeInstanceOf(ConfigurationError)
  })

  test('after a close everything is refused, and nothing hangs', async () => {
    const { agent } = wiping([[{ hang: true }]])
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Hi', { id: 'job' })
    const result = run.result.catch((thrown) => thrown)
    const read = readAll(run).catch((thrown) => thrown)
    await runs.close()
    expect(await result).toBeInstanceOf(ConfigurationError)
    expect(await read).toMatchObject({ message: 'These runs were closed: open them again.' })
    await expect(runs.start('agent', 'Hi')).rejects.toThrow(/were closed/)
    await expect(runs.list()).rejects.toThrow(/were closed/)
    await expect(runs.close()).resolves.toBeUndefined()
  })

  test('a run that cannot be stored fails, and says so', async () => {
    const agent = new Agent(scriptedModel(['Hi']), {
      orchestrator: {
        providerHint: 'spawning',
        create: ({ lifecycle }) =>
          setup({
            types: { input: {} as AgentInput, context: {} as { input: AgentInput; size: bigint } },
            actors: { run: lifecycle() },
          }).createMachine({
            id: 'spawning',
            context: ({ input }) => ({ input, size: 5n }),
            initial: 'Answering',
            states: {
              Answering: { invoke: { src: 'run', input: ({ context }) => context.input } },
            },
          }),
      },
    })
    const runs = await opened(storeFile(), { agent })
    const error = await runs.start('agent', 'Hi', { id: 'job' }).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(OrchestrationError)
    expect(error.message).toMatch(/cannot be stored/)
    expect(await runs.list()).toEqual([])
  })
})
