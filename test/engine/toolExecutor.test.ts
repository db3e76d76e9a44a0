/** The executor by itself, as a wrapper calls it. */
import { describe, expect, test } from 'vitest'
import { SimulatedClock } from 'xstate'
import { z } from 'zod'
import type { JsonObject } from '../../src/messages/json.ts'
import type { ToolCallPart } from '../../src/messages/messages.ts'
import { type Tool, type ToolContext, tool } from '../../src/tools/tool.ts'
import { createToolExecutor, type ExecutionOptions, isOwnBatch } from '../../src/tools/toolExecutor.ts'

const call = (name: string, id = 'a', args = {}): ToolCallPart => ({
  type: 'toolCall',
  id,
  name,
  arguments: args,
})
const offered = (...tools: Tool[]) => new Map(tools.map((each) => [each.name, each]))
const anything = { jsonSchema: { type: 'object' } }
const doing = (execute: (args: JsonObject, context: ToolContext) => unknown, more: object = {}) =>
  tool({ name: 'do', description: 'Does it', input: anything, execute, ...more })

const endless = () => new Promise<never>(() => {})
const run = (own: Tool, options: Partial<ExecutionOptions> = {}, args = {}) =>
  createToolExecutor().executeSingle(call('do', 'a', args), offered(own), {
    signal: new AbortController().signal,
    ...options,
  })
const error = (problem: string) => ({
  type: 'toolResult',
  id: 'a',
  name: 'do',
  result: JSON.stringify({ error: problem }),
  isError: true,
})

describe('one call', () => {
  test('of a tool that is not there, cannot be read, cannot be run here, or does not fit', async () => {
    const signal = new AbortController().signal
    const { executeSingle } = createToolExecutor()
    const outside = tool({ name: 'do', description: 'Elsewhere' })
    const strict = tool({
      name: 'do',
      description: 'Adds',
      input: z.object({ n: z.number() }),
      execute: () => 1,
    })
    const unread = { ...call('do'), argumentsError: 'The arguments are not JSON.' }
    expect(await executeSingle(call('do'), offered(), { signal })).toEqual(
      error('There is no tool named "do". No tools are available.'),
    )
    expect(await executeSingle(unread, offered(doing(() => 1)), { signal })).toEqual(
      error('The arguments are not JSON.'),
    )
    expect(await run(outside)).toEqual(error('The tool "do" is external: it cannot be run here.'))
    expect((await run(strict)).result).toContain('The arguments do not fit the schema of \\"do\\": n: ')
  })

  test('gets its own arguments, its id and its context', async () => {
    const args = { list: [1] }
    const seen: unknown[] = []
    const own = doing((given, { callId, context, attempt, idempotencyKey, self }) => {
      given.added = 2
      seen.push(callId, context, attempt, idempotencyKey, self)
      return given
    })
    const attemptAt = (id: string) => ({ attempt: 2, idempotencyKey: `key of ${id}` })
    expect((await run(own, { context: 'ours', attemptAt }, args)).result).toBe('{"list":[1],"added":2}')
    expect(args).toEqual({ list: [1] })
    expect(seen).toEqual(['a', 'ours', 2, 'key of a', undefined])
  })

  test('is the first attempt, with a key of its own, where nothing else is said', async () => {
    const keys: string[] = []
    const own = doing((_, { attempt, idempotencyKey, addUsage, report }) => {
      addUsage({ inputTokens: 1 })
      report('half')
      keys.push(idempotencyKey)
      return attempt
    })
    expect((await run(own)).result).toBe('1')
    await run(own)
    expect(new Set(keys).size).toBe(2)
  })

  test('reports its progress under its id, and what it used', async () => {
    const reported: unknown[] = []
    const own = doing((_, { addUsage, report }) => {
      report('half')
      addUsage({ inputTokens: 3 })
      return 'done'
    })
    await run(own, { report: (...of) => reported.push(of), addUsage: (usage) => reported.push(usage) })
    expect(reported).toEqual([['a', 'half'], { inputTokens: 3 }])
  })

  test('that throws says why, without what is to be hidden', async () => {
    const { executeSingle } = createToolExecutor((text) => text.replace('s3cret', '***'))
    const broken = createToolExecutor(() => {
      throw new Error('no')
    })
    const own = offered(doing(() => Promise.reject(new Error('Key s3cret is wrong.'))))
    const options = { signal: new AbortController().signal }
    expect(await executeSingle(call('do'), own, options)).toEqual(error('Key *** is wrong.'))
    expect(await broken.executeSingle(call('do'), own, options)).toEqual(error('The tool failed.'))
  })

  test('that is aborted before it starts is not started, and while it runs not waited for', async () => {
    const end = new AbortController()
    let signal: AbortSignal | undefined
    const under = run(
      doing((_, context) => {
        signal = context.signal
        return endless()
      }),
      { signal: end.signal },
    )
    await new Promise(setImmediate)
    end.abort()
    expect(await under).toEqual(
      error('The run was aborted while this tool was running; whether it took effect is unknown.'),
    )
    expect(signal?.aborted).toBe(true)
    const never = run(
      doing(() => {
        throw new Error('started')
      }),
      { signal: end.signal },
    )
    expect(await never).toEqual(error('The run was aborted before this tool started.'))
  })

  test('that is aborted while its arguments are checked is not started', async () => {
    const end = new AbortController()
    const slow = z.object({}).refine(async () => {
      end.abort()
      return true
    })
    let isStarted = false
    const own = tool({
      name: 'do',
      description: 'Does it',
      input: slow,
      execute: () => {
        isStarted = true
      },
    })
    expect((await run(own, { signal: end.signal })).isError).toBe(true)
    expect(isStarted).toBe(false)
  })

  test('has as much time as its tool says, and leaves no timer behind', async () => {
    const clock = new SimulatedClock()
    let signal: AbortSignal | undefined
    const own = doing(
      (_, context) => {
        signal = context.signal
        return endless()
      },
      { timeoutMs: 50 },
    )
    const late = run(own, { clock: timeOf(clock) })
    await new Promise(setImmediate)
    clock.increment(49)
    expect(signal?.aborted).toBe(false)
    clock.increment(1)
    expect(await late).toEqual(
      error('The tool did not finish within 50 ms; whether it took effect is unknown.'),
    )
    expect(signal?.aborted).toBe(true)

    const set: number[] = []
    const counting = {
      now: () => 0,
      setTimeout: () => set.push(1),
      clearTimeout: (id: unknown) => set.splice(Number(id) - 1, 1),
    }
    expect(
      (
        await run(
          doing(() => 'quick', { timeoutMs: 50 }),
          { clock: counting },
        )
      ).result,
    ).toBe('quick')
    expect(set).toEqual([])
  })
})

const timeOf = (clock: SimulatedClock) => ({
  now: () => clock.now(),
  setTimeout: (run: () => void, ms: number) => clock.setTimeout(run, ms),
  clearTimeout: (id: number) => clock.clearTimeout(id),
})

describe('a batch', () => {
  test('runs one call after the other, reports each result, and gives them in order', async () => {
    const order: unknown[] = []
    const own = doing(async ({ n }) => {
      order.push(`begin ${n}`)
      await new Promise(setImmediate)
      order.push(`end ${n}`)
      return n
    })
    const { executeBatch } = createToolExecutor()
    const results = await executeBatch(
      [call('do', 'a', { n: 1 }), call('gone', 'b'), call('do', 'c', { n: 2 })],
      offered(own),
      { signal: new AbortController().signal, onResult: ({ id }) => order.push(id) },
    )
    expect(order).toEqual(['begin 1', 'end 1', 'a', 'b', 'begin 2', 'end 2', 'c'])
    expect(results.map(({ id, isError = false }) => [id, isError])).toEqual([
      ['a', false],
      ['b', true],
      ['c', false],
    ])
  })

  test('of this executor is not the user’s own', () => {
    expect(isOwnBatch(createToolExecutor().executeBatch)).toBe(false)
    expect(isOwnBatch(undefined)).toBe(false)
    expect(isOwnBatch(async () => [])).toBe(true)
  })
})
