/** A batch of the user runs the calls of a turn as it likes: what it reports, and when, must not harm the run. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { type ToolResultPart, toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import type { ExecutionOptions, ToolExecutor } from '../../src/tools/toolExecutor.ts'
import { endOf, idle, watch } from './watching.ts'

const work = tool({ name: 'work', description: 'Works', execute: () => 'never' })
const calling = (...ids: string[]): ScriptTurn => ids.map((id) => ({ toolCall: { id, name: 'work' } }))
const result = (id: string, text = `did ${id}`): ToolResultPart => ({
  type: 'toolResult',
  id,
  name: 'work',
  result: text,
})

const started = (
  executeBatch: ToolExecutor['executeBatch'],
  ids = ['a', 'b'],
  options: AgentOptions = {},
) => {
  const agent = new Agent(scriptedModel([calling(...ids), 'ok']), {
    tools: [work],
    toolExecutor: { executeBatch },
    ...options,
  })
  const actor = agent.actor({ prompt: 'Go', id: 'job' })
  const watched = watch(actor)
  actor.start()
  const emitted = () => watched.emitted.flatMap((event) => (event.type === 'tool.result' ? event.result : []))
  return { actor, watched, emitted }
}

const resultsIn = ({ messages }: { messages: readonly Parameters<typeof toolResultsOf>[0][] }) =>
  messages.flatMap(toolResultsOf)

/** XState warns of events that are sent to an actor that was stopped. */
const warnings = () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  return warn
}

describe('a batch of the user', () => {
  test('gets what its calls need', async () => {
    const seen: unknown[] = []
    const { actor } = started(async (calls, tools, { attemptAt, signal, clock, self }) => {
      const keys = calls.map(({ id }) => attemptAt?.(id))
      seen.push(...keys, [...tools.keys()], signal.aborted, typeof clock?.setTimeout, self?.id)
      return calls.map(({ id }) => result(id))
    })
    await endOf(actor)
    expect(seen).toEqual([
      { attempt: 1, idempotencyKey: expect.stringMatching(/^job\/a\/.{36}$/) },
      { attempt: 1, idempotencyKey: expect.stringMatching(/^job\/b\/.{36}$/) },
      ['work'],
      false,
      'function',
      'toolExecutor',
    ])
  })

  test('gets the context of its send', async () => {
    const seen: unknown[] = []
    const executeBatch: ToolExecutor['executeBatch'] = async (calls, _, { context }) => {
      seen.push(context)
      return calls.map(({ id }) => result(id))
    }
    const agent = new Agent<{ user: string } | undefined>(scriptedModel([calling('a'), 'ok']), {
      tools: [work],
      toolExecutor: { executeBatch },
    })
    await agent.send('Go', { context: { user: 'ada' } })
    expect(seen).toEqual([{ user: 'ada' }])
  })

  test('reports each result once: the first one counts, and others are not of this turn', async () => {
    const batches: string[][] = []
    const { actor, emitted } = started(async (calls, _, { onResult = () => {} }) => {
      batches.push(calls.map(({ id }) => id))
      onResult(undefined as never)
      onResult(result('invented'))
      onResult(result('b', 'first'))
      onResult(result('b', 'second'))
      return [result('b', 'third'), result('a')]
    })
    expect(resultsIn(await endOf(actor))).toEqual([result('a'), result('b', 'first')])
    expect(emitted()).toEqual([result('b', 'first'), result('a')])
    expect(batches).toEqual([['a', 'b']])
  })

  test('ends with the last result that it reports, even if it does not return', async () => {
    const { actor, emitted } = started((calls, _, { onResult = () => {} }) => {
      for (const { id } of calls) onResult(result(id))
      return new Promise(() => {})
    })
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'ok' })
    expect(emitted()).toEqual([result('a'), result('b')])
  })

  test('counts what its tools used once, with a result or at the end', async () => {
    const { actor } = started(async (_, __, { onResult = () => {}, addUsage = () => {} }) => {
      addUsage({ inputTokens: 1 })
      addUsage({ inputTokens: 2 })
      onResult(result('a'))
      addUsage({ inputTokens: 10 })
      return [result('b')]
    })
    expect((await endOf(actor)).usage).toEqual({ inputTokens: 13 })
  })

  test('counts what is used for the last result that it reports', async () => {
    const { actor } = started(async (_, __, { onResult = () => {}, addUsage = () => {} }) => {
      onResult(result('a'))
      addUsage({ inputTokens: 5 })
      onResult(result('b'))
      return []
    })
    expect((await endOf(actor)).usage).toEqual({ inputTokens: 5 })
  })

  test.each<[string, unknown]>([
    ['holes', [undefined, null, result('b')]],
    ['something else', ['a', 7, result('b')]],
  ])('whose list has %s gives an error result for what is missing', async (_, list) => {
    const { actor } = started(async () => list as never)
    expect(resultsIn(await endOf(actor))).toMatchObject([
      { id: 'a', isError: true, result: expect.stringContaining('did not return a result for this call') },
      result('b'),
    ])
  })

  test.each<[string, ToolExecutor['executeBatch'], string]>([
    ['returns no list', async () => 'done' as never, 'executeBatch did not return a list of results'],
    [
      'throws at once',
      () => {
        throw new Error('no pool')
      },
      'no pool',
    ],
  ])('that %s fails the run', async (_, executeBatch, message) => {
    const { actor } = started(executeBatch)
    expect(await endOf(actor)).toMatchObject({
      status: 'failed',
      error: { name: 'OrchestrationError', message, state: 'ToolExecution' },
    })
  })

  test('is not listened to after an abort, which its signal shows', async () => {
    const warn = warnings()
    let given: Partial<ExecutionOptions> = {}
    let finish = (_: ToolResultPart[]): void => {}
    const { actor, watched } = started((_, __, options) => {
      given = options
      return new Promise((resolve) => {
        finish = resolve
      })
    })
    await idle()
    const { signal } = given
    expect(signal?.aborted).toBe(false)
    actor.send({ type: 'abort' })
    expect(signal?.aborted).toBe(true)
    const count = watched.emitted.length
    given.onResult?.(result('a'))
    given.report?.('a', 'late')
    finish([result('a'), result('b')])
    await idle()
    expect(watched.emitted).toHaveLength(count)
    expect(warn).not.toHaveBeenCalled()
  })

  test('that fails after an abort fails nothing', async () => {
    const warn = warnings()
    let fail = (_: Error): void => {}
    const { actor } = started(
      () =>
        new Promise((_, reject) => {
          fail = reject
        }),
    )
    await idle()
    actor.send({ type: 'abort' })
    fail(new Error('too late'))
    await idle()
    expect(await endOf(actor)).toMatchObject({ status: 'aborted' })
    expect(warn).not.toHaveBeenCalled()
  })
})

describe('a call that is still running when its run is aborted', () => {
  test('learns of it by its signal, and what it does then is ignored', async () => {
    const warn = warnings()
    let given: Partial<ExecutionOptions> = {}
    let finish = (_: ToolResultPart): void => {}
    const agent = new Agent(scriptedModel([calling('a', 'b')]), {
      tools: [work],
      toolExecutor: {
        executeSingle: (_, __, options) => {
          given = options
          return new Promise((resolve) => {
            finish = resolve
          })
        },
      },
    })
    const actor = agent.actor({ prompt: 'Go' })
    const watched = watch(actor)
    actor.start()
    await idle()
    const { signal } = given
    expect(signal?.aborted).toBe(false)
    actor.send({ type: 'abort' })
    expect(signal?.aborted).toBe(true)
    const count = watched.emitted.length
    given.report?.('a', 'late')
    finish(result('a'))
    await idle()
    expect(watched.emitted).toHaveLength(count)
    expect(warn).not.toHaveBeenCalled()
  })

  test('of a person who is asked: an answer that comes later is ignored', async () => {
    const warn = warnings()
    let approve = (_: boolean): void => {}
    const ran: string[] = []
    const risky = tool({
      name: 'work',
      description: 'Asks',
      needsApproval: true,
      execute: (_, { callId }) => ran.push(callId),
    })
    const agent = new Agent(scriptedModel([calling('a')]), {
      tools: [risky],
      onApproval: () =>
        new Promise((resolve) => {
          approve = resolve
        }),
    })
    const actor = agent.actor({ prompt: 'Go' }).start()
    await idle()
    actor.send({ type: 'abort' })
    approve(true)
    await idle()
    expect(await endOf(actor)).toMatchObject({ status: 'aborted' })
    expect([ran, warn.mock.calls]).toEqual([[], []])
  })
})

test('what the tools of a turn used is counted for each call, the last one as well', async () => {
  const paid = tool({
    name: 'work',
    description: 'Uses a model',
    execute: (_, { callId, addUsage }) => {
      addUsage({ inputTokens: callId === 'a' ? 1 : 10 })
      if (callId === 'b') addUsage({ inputTokens: 100 })
      return 'ok'
    },
  })
  const agent = new Agent(scriptedModel([calling('a', 'b', 'c'), 'ok']), { tools: [paid] })
  expect((await agent.send('Go')).usage).toEqual({ inputTokens: 121 })
})
