/** A chart that breaks, or ends with something else than an answer, is a failed run with a reason. */
import { describe, expect, test } from 'vitest'
import { type AnyActorLogic, fromCallback, setup } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { brokenError } from '../../src/agent/runOutcome.ts'
import { findDriver } from '../../src/durable/sqlite/driver.ts'
import { ConfigurationError, OrchestrationError } from '../../src/messages/errors.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { readAll } from './reading.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

const later = fromCallback(({ sendBack }) => {
  queueMicrotask(() => sendBack({ type: 'go' }))
})

const throwing = () => {
  throw new Error('a bug of mine')
}

const agentOf = (create: () => AnyActorLogic) =>
  new Agent(scriptedModel([]), { orchestrator: { providerHint: 'own', create } })

const brokenIn = (state: string) =>
  agentOf(() => {
    const chart = setup({ actors: { later } })
    const start = { invoke: { src: 'later' as const }, on: { go: { actions: throwing } } }
    return state === ''
      ? chart.createMachine({ id: 'own', ...start })
      : chart.createMachine({ id: 'own', initial: state, states: { [state]: start } })
  })

describe('a chart that breaks after it was stored', () => {
  test.each([
    ['Working', 'Working'],
    ['', 'its only state'],
  ])('in %j is a failed run, also later', async (state, name) => {
    const path = storeFile()
    const agent = brokenIn(state)
    const runs = await opened(path, { agent })
    const run = await runs.start('agent', 'Hi', { id: 'job' })
    const message = `The machine "own" broke in ${name}: a bug of mine`
    const error = await run.result.catch((thrown) => thrown)
    expect(error).toBeInstanceOf(OrchestrationError)
    expect(error).toMatchObject({ message, orchestrator: 'own', state: name })
    const info = await run.info()
    expect(info).toMatchObject({ status: 'failed', state, error: { name: 'OrchestrationError', message } })
    const { chunks } = await readAll(run)
    expect(chunks.map(({ finishReason }) => finishReason)).toEqual(['error'])
    await runs.close()
    const again = await opened(path, { agent })
    expect(await again.list()).toEqual([info])
    const later = await again.get('job')
    await expect(later?.result).rejects.toThrow(message)
    expect(later && (await readAll(later)).chunks).toEqual(chunks)
  })

  test('because of its configuration keeps that error', async () => {
    const agent = agentOf(() =>
      setup({ actors: { later } }).createMachine({
        id: 'own',
        invoke: { src: 'later' },
        on: {
          go: {
            actions: () => {
              throw new ConfigurationError('Give me a key.')
            },
          },
        },
      }),
    )
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Hi')
    await expect(run.result).rejects.toBeInstanceOf(ConfigurationError)
    expect((await run.info()).error).toMatchObject({ name: 'ConfigurationError', message: 'Give me a key.' })
  })

  test('a machine without an id is unknown', () => {
    const actor = { logic: {}, getSnapshot: () => ({ value: 'A' }) }
    expect(brokenError(actor as never, 'odd').message).toBe('The machine "unknown" broke in A: odd')
  })
})

test('a chart that ends without an answer is a failed run', async () => {
  const path = storeFile()
  const agent = agentOf(() =>
    setup({ actors: { later } }).createMachine({
      id: 'own',
      initial: 'Working',
      states: { Working: { invoke: { src: 'later' }, on: { go: 'Done' } }, Done: { type: 'final' } },
    }),
  )
  const runs = await opened(path, { agent })
  const run = await runs.start('agent', 'Hi', { id: 'job' })
  const message = 'The machine of the run ended without an AgentOutput.'
  await expect(run.result).rejects.toThrow(message)
  await expect(run.result).rejects.toBeInstanceOf(OrchestrationError)
  expect(await run.info()).toMatchObject({ status: 'failed', state: 'Done', error: { message } })
})

describe('what a run has reached', () => {
  const usage = { inputTokens: 3 }
  const asking = [
    { responseId: 'r1' },
    { text: 'May I?' },
    { metadata: { mood: 'careful' } },
    { usage },
    callOf('c', 'b'),
  ]

  const waiting = async () => {
    const path = storeFile()
    const runs = await opened(path, { agent: wiping([asking]).agent })
    const run = await runs.start('agent', 'Wipe b', { id: 'job' })
    return { path, runs, run, result: await run.result }
  }

  test('comes with what it waits for', async () => {
    const { run, result } = await waiting()
    const { messages, pendingApproval, ...rest } = result
    expect(rest).toEqual({
      status: 'waiting',
      id: 'r1',
      output: 'May I?',
      answer: 'May I?',
      finishReason: 'toolCalls',
      rawFinishReason: 'tool_calls',
      metadata: { mood: 'careful' },
      usage,
    })
    expect(messages.map(({ role }) => role)).toEqual(['user', 'model'])
    expect(pendingApproval).toEqual({
      calls: [
        {
          type: 'toolCall',
          id: 'c',
          name: 'wipe',
          arguments: { file: 'b' },
          kind: 'approval',
          question: expect.any(String),
        },
      ],
    })
    expect(await run.info()).toMatchObject({ usage, step: 1 })
  })

  test('comes with the error of a run that is over without a result', async () => {
    const { runs, run, result, path } = await waiting()
    await runs.close()
    const file = (await findDriver())(path)
    file.exec(`UPDATE runs SET status = 'complete', pending = NULL`)
    file.close()
    const later = await (await opened(path, {})).get(run.id)
    const error = await later?.result.catch((thrown) => thrown)
    expect(error).toBeInstanceOf(OrchestrationError)
    expect(error.message).toBe('The run "job" ended without a result.')
    expect(error.partial.messages).toEqual(result.messages)
    expect(error.partial.pendingApproval).toBeUndefined()
  })
})
