import { getEventListeners, setMaxListeners } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { collect, idle } from './watching.ts'

const unhandled: unknown[] = []
const note = (error: unknown) => unhandled.push(error)

beforeAll(() => {
  process.on('unhandledRejection', note)
  process.on('uncaughtException', note)
})

afterAll(() => {
  process.off('unhandledRejection', note)
  process.off('uncaughtException', note)
})

const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length

const tools = [
  tool({ name: 'quick', description: 'Answers at once', execute: () => 'ok' }),
  tool({ name: 'never', description: 'Never answers', execute: () => new Promise(() => {}) }),
  tool({ name: 'fails', description: 'Rejects', execute: () => Promise.reject(new Error('no')) }),
]
const call = (name: string): ScriptTurn => [{ text: 'a' }, { toolCall: { name } }]
const agentOf = (...turns: ScriptTurn[]) => new Agent(scriptedModel(turns), { tools })

const failed = (promise: Promise<unknown>) =>
  promise.then(
    () => 'completed',
    () => 'failed',
  )

type Ending = { name: string; run: (signal: AbortSignal) => Promise<unknown>; expected: unknown }

/** Every way a run may end, each with a signal that outlives it. */
const endings: Ending[] = [
  {
    name: 'complete',
    run: async (signal) =>
      (await agentOf(call('quick'), call('fails'), 'done').send('x', { signal })).finishReason,
    expected: 'stop',
  },
  {
    name: 'streamed',
    run: async (signal) => (await collect(agentOf(call('quick'), 'done').sendStream('x', { signal }))).length,
    expected: 7,
  },
  {
    name: 'failed',
    run: (signal) => failed(agentOf([{ text: 'a' }, { error: { message: 'no' } }]).send('x', { signal })),
    expected: 'failed',
  },
  {
    name: 'refused input',
    run: (signal) => failed(agentOf().send([], { signal })),
    expected: 'failed',
  },
  {
    name: 'broken out',
    run: async (signal) => {
      for await (const { output } of agentOf([{ text: 'a' }, { hang: true }]).sendStream('x', { signal }))
        if (output) return output
    },
    expected: 'a',
  },
  {
    name: 'broken out in a tool',
    run: async (signal) => {
      for await (const { messages } of agentOf(call('never')).sendStream('x', { signal })) {
        if (messages[0]?.role === 'model') return idle(1)
      }
    },
    expected: undefined,
  },
  {
    name: 'aborted by a signal of its own',
    run: (shared) => {
      const own = new AbortController()
      const sent = failed(agentOf(call('never')).send('x', { signal: AbortSignal.any([shared, own.signal]) }))
      setImmediate(() => own.abort())
      return sent
    },
    expected: 'failed',
  },
  {
    name: 'aborted in a back-off',
    run: (shared) => {
      const own = new AbortController()
      const sent = failed(
        agentOf([{ error: { retryable: true } }]).send('x', {
          signal: AbortSignal.any([shared, own.signal]),
        }),
      )
      setImmediate(() => own.abort())
      return sent
    },
    expected: 'failed',
  },
]

describe('500 runs', () => {
  test('leave no listener, no timer and no unhandled error behind, however they end', async () => {
    const shared = new AbortController()
    const before = timers()
    for (let round = 0; round < 63; round += 1) {
      for (const { run, expected } of endings) expect(await run(shared.signal)).toBe(expected)
    }
    await idle()
    expect(getEventListeners(shared.signal, 'abort')).toEqual([])
    expect(timers()).toBeLessThanOrEqual(before)
    expect(unhandled).toEqual([])
  })

  test.each(endings)('$name: one run alone leaves nothing', async ({ run, expected }) => {
    const shared = new AbortController()
    const before = timers()
    expect(await run(shared.signal)).toBe(expected)
    await idle()
    expect(getEventListeners(shared.signal, 'abort')).toEqual([])
    expect(timers()).toBeLessThanOrEqual(before)
  })

  test('that are aborted together by one shared signal all end', async () => {
    const shared = new AbortController()
    setMaxListeners(0, shared.signal)
    const before = timers()
    const runs = Array.from({ length: 100 }, (_, index) =>
      failed(
        agentOf(index % 2 ? call('never') : [{ text: 'a' }, { hang: true }]).send('x', {
          signal: shared.signal,
        }),
      ),
    )
    await idle()
    shared.abort()
    expect(new Set(await Promise.all(runs))).toEqual(new Set(['failed']))
    await idle()
    expect(getEventListeners(shared.signal, 'abort')).toEqual([])
    expect(timers()).toBeLessThanOrEqual(before)
    expect(unhandled).toEqual([])
  })
})
