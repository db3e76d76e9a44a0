import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { type ToolCallPart, type ToolResultPart, toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { createToolExecutor, type ToolExecutor } from '../../src/tools/toolExecutor.ts'
import { gated, recorder } from './sampleTools.ts'
import { endOf, idle, watch } from './watching.ts'

const round = (...ids: string[]): ScriptTurn =>
  ids.map((id) => ({ toolCall: { id, name: 'slow', arguments: { id } } }))

const start = (slow: ReturnType<typeof gated>, ids: string[], options: AgentOptions = {}) => {
  const actor = new Agent(scriptedModel([round(...ids), 'ok']), { tools: [slow.tool], ...options }).actor({
    prompt: 'Go',
  })
  const watched = watch(actor)
  actor.start()
  return { actor, watched }
}

const resultsOf = async (actor: Parameters<typeof endOf>[0]) =>
  (await endOf(actor)).messages.flatMap(toolResultsOf)

describe('30: how many tools run at once', () => {
  test('one after the other by default', async () => {
    const slow = gated()
    const { actor } = start(slow, ['a', 'b', 'c'])
    for (const id of ['a', 'b', 'c']) {
      await idle()
      expect(slow.starts.at(-1)).toBe(id)
      slow.release(id)
    }
    expect((await resultsOf(actor)).map(({ result }) => result)).toEqual(['done a', 'done b', 'done c'])
    expect(slow.most).toBe(1)
  })

  test('all of them when parallel, with the results in call order however they finish', async () => {
    const slow = gated()
    const { actor, watched } = start(slow, ['a', 'b', 'c'], { toolExecution: 'parallel' })
    await idle()
    expect(slow.starts).toEqual(['a', 'b', 'c'])
    for (const id of ['c', 'a', 'b']) {
      slow.release(id)
      await idle(1)
    }
    expect((await resultsOf(actor)).map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    const emitted = watched.emitted.filter((event) => event.type === 'tool.result')
    expect(emitted.map(({ callId }) => callId)).toEqual(['c', 'a', 'b'])
  })

  test.each([
    { toolExecution: 'parallel' as const, steps: [['c', 'a', 'b']] },
    { toolExecution: 'sequential' as const, steps: [['a'], ['b'], ['c']] },
  ])('results that come at the same time are one step: $toolExecution', async ({ toolExecution, steps }) => {
    const slow = gated()
    const reported: string[][] = []
    const agent = new Agent(scriptedModel([round('a', 'b', 'c'), 'ok']), {
      tools: [slow.tool],
      toolExecution,
      inspect: (event) => {
        if (event.type !== '@xstate.event' || event.event.type !== 'tool.finished') return
        reported.push(event.event.results.map(({ id }: ToolResultPart) => id))
      },
    })
    const actor = agent.actor({ prompt: 'Go' })
    const { emitted } = watch(actor)
    actor.start()
    for (const ids of steps) {
      await idle()
      for (const id of ids) slow.release(id)
    }
    expect((await resultsOf(actor)).map(({ result }) => result)).toEqual(['done a', 'done b', 'done c'])
    expect(reported).toEqual(steps)
    const shown = emitted.flatMap((event) => (event.type === 'tool.result' ? [event.callId] : []))
    expect(shown).toEqual(steps.flat())
  })

  test('a result that has come is not reported to a run that was aborted since', async () => {
    const slow = gated()
    const { actor, watched } = start(slow, ['a', 'b'], { toolExecution: 'parallel' })
    await idle()
    slow.release('a')
    actor.send({ type: 'abort' })
    const { status, messages } = await endOf(actor)
    await idle()
    expect(status).toBe('aborted')
    expect(messages.flatMap(toolResultsOf).map(({ isError }) => isError)).toEqual([true, true])
    expect(watched.emitted.filter(({ type }) => type === 'tool.result')).toEqual([])
  })

  test('never more than the limit, and the next begins as soon as one is done', async () => {
    const slow = gated()
    const { actor } = start(slow, ['a', 'b', 'c', 'd'], { toolExecution: { concurrency: 2 } })
    await idle()
    expect(slow.starts).toEqual(['a', 'b'])
    slow.release('b')
    await idle()
    expect(slow.starts).toEqual(['a', 'b', 'c'])
    for (const id of ['c', 'a', 'd']) {
      slow.release(id)
      await idle()
    }
    expect((await resultsOf(actor)).map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd'])
    expect(slow.most).toBe(2)
  })

  test('one that fails and one that is slow lose nothing of the others', async () => {
    const slow = gated()
    const fail = tool({
      name: 'fail',
      description: 'Fails',
      execute: () => {
        throw new Error('no')
      },
    })
    const turn: ScriptTurn = [
      { toolCall: { id: 'a', name: 'slow' } },
      { toolCall: { id: 'b', name: 'fail' } },
      { toolCall: { id: 'c', name: 'echo' } },
    ]
    const actor = new Agent(scriptedModel([turn, 'ok']), {
      tools: [slow.tool, fail, recorder().tool],
      toolExecution: 'parallel',
    }).actor({ prompt: 'Go' })
    actor.start()
    await idle()
    slow.release('a')
    expect(await resultsOf(actor)).toMatchObject([
      { id: 'a', result: 'done a' },
      { id: 'b', isError: true },
      { id: 'c', result: '{}' },
    ])
  })

  test('three hundred calls in one turn all run', async () => {
    const echo = recorder('slow')
    const ids = Array.from({ length: 300 }, (_, index) => `c${index}`)
    const deltas = ids.map((id) => ({ type: 'toolCall' as const, call: { id, name: 'slow', arguments: {} } }))
    const model = scriptedModel([[{ deltas }], 'ok'])
    const { messages } = await new Agent(model, { tools: [echo.tool], toolExecution: 'parallel' }).send('Go')
    expect(messages.flatMap(toolResultsOf).map(({ id }) => id)).toEqual(ids)
  })

  test.each([0, 1.5, -3])('a concurrency of %d is refused', (concurrency) => {
    const options = { toolExecution: { concurrency } }
    expect(() => new Agent(scriptedModel([]), options)).toThrow(/concurrency must be a whole number/)
  })

  test('holds for any number of calls, any limit and any order of finishing', async () => {
    const order = fc.integer({ min: 1, max: 6 }).chain((count) => {
      const ids = Array.from({ length: count }, (_, index) => `c${index}`)
      return fc.record({
        ids: fc.constant(ids),
        finish: fc.shuffledSubarray(ids, { minLength: count }),
        limit: fc.integer({ min: 1, max: 7 }),
      })
    })
    await fc.assert(
      fc.asyncProperty(order, async ({ ids, finish, limit }) => {
        const slow = gated()
        const { actor } = start(slow, ids, { toolExecution: { concurrency: limit } })
        await idle(2)
        const waiting = new Set(finish)
        while (waiting.size > 0) {
          const next = [...waiting].find((id) => slow.starts.includes(id))
          if (!next) throw new Error('Nothing runs although calls wait.')
          waiting.delete(next)
          slow.release(next)
          await idle(2)
        }
        expect((await resultsOf(actor)).map(({ id }) => id)).toEqual(ids)
        expect(slow.most).toBe(Math.min(limit, ids.length))
        expect([...slow.starts].sort()).toEqual([...ids].sort())
      }),
      { numRuns: 25 },
    )
  })
})

describe('a custom executeSingle', () => {
  const run = async (executeSingle: ToolExecutor['executeSingle']) => {
    const model = scriptedModel([round('a', 'b'), 'ok'])
    const result = await new Agent(model, { tools: [gated().tool], toolExecutor: { executeSingle } }).send(
      'Go',
    )
    expect(validateHistory(result.messages)).toEqual([])
    return result.messages.flatMap(toolResultsOf)
  }

  test('runs every call, with the tools and a signal', async () => {
    const results = await run(async (call, tools, { signal }) => ({
      type: 'toolResult',
      id: call.id,
      name: call.name,
      result: `${call.arguments.id} of ${[...tools.keys()]} ${signal.aborted}`,
    }))
    expect(results.map(({ result }) => result)).toEqual(['a of slow false', 'b of slow false'])
  })

  test('may forget whose result it is: the call keeps its own', async () => {
    const results = await run(async () => ({ type: 'toolResult', id: 'x', name: 'y', result: 'z' }))
    expect(results.map(({ id, name }) => [id, name])).toEqual([
      ['a', 'slow'],
      ['b', 'slow'],
    ])
  })

  test('that rejects gives an error result', async () => {
    const results = await run(() => Promise.reject(new Error('executor down')))
    expect(results).toMatchObject([{ isError: true }, { isError: true }])
    expect(results[0]?.result).toBe('{"error":"executor down"}')
  })

  test('that throws at once gives an error result too', async () => {
    const results = await run(() => {
      throw new Error('executor down')
    })
    expect(results[0]?.result).toBe('{"error":"executor down"}')
  })
})

describe('a custom executeBatch', () => {
  const answer = (call: ToolCallPart): ToolResultPart => ({
    type: 'toolResult',
    id: call.id,
    name: call.name,
    result: `batch ${call.id}`,
  })
  const agentWith = (executeBatch: ToolExecutor['executeBatch'], ...ids: string[]) =>
    new Agent(scriptedModel([round(...ids), 'ok']), { tools: [gated().tool], toolExecutor: { executeBatch } })

  test('gets all calls of the turn at once; its results come out in call order, each emitted once', async () => {
    const seen: string[][] = []
    const agent = agentWith(
      async (calls) => {
        seen.push(calls.map(({ id }) => id))
        return calls.map(answer).reverse()
      },
      'a',
      'b',
    )
    const actor = agent.actor({ prompt: 'Go' })
    const watched = watch(actor)
    actor.start()
    expect((await resultsOf(actor)).map(({ result }) => result)).toEqual(['batch a', 'batch b'])
    expect(seen).toEqual([['a', 'b']])
    expect(watched.emitted.filter(({ type }) => type === 'tool.result')).toHaveLength(2)
  })

  test('that leaves calls out, repeats some or invents some still gives every call one result', async () => {
    const agent = agentWith(
      async ([first]) => (first ? [answer(first), answer(first), { ...answer(first), id: 'invented' }] : []),
      'a',
      'b',
    )
    const { messages } = await agent.send('Go')
    expect(validateHistory(messages)).toEqual([])
    expect(messages.flatMap(toolResultsOf)).toMatchObject([
      { id: 'a', result: 'batch a' },
      { id: 'b', isError: true },
    ])
  })

  test('that rejects fails the run with a typed error, and every call has a result', async () => {
    const agent = agentWith(() => Promise.reject(new Error('pool is gone')), 'a')
    await expect(agent.send('Go')).rejects.toMatchObject({
      name: 'OrchestrationError',
      message: 'pool is gone',
      state: 'ToolExecution',
      partial: {
        finishReason: 'error',
        messages: [{ role: 'user' }, { role: 'model' }, { role: 'user' }, { role: 'model' }],
      },
    })
  })

  test('gets onResult, and results it gave that way survive an abort', async () => {
    const agent = agentWith(
      (calls, _, { onResult }) => {
        for (const call of calls.slice(0, 1)) onResult?.(answer(call))
        return new Promise(() => {})
      },
      'a',
      'b',
    )
    const actor = agent.actor({ prompt: 'Go' })
    actor.start()
    await idle()
    actor.send({ type: 'abort' })
    expect((await resultsOf(actor)).map(({ result }) => result)[0]).toBe('batch a')
  })

  test('that is aborted does not claim that its calls never ran', async () => {
    let ran = 0
    const agent = agentWith(() => {
      ran += 1
      return new Promise(() => {})
    }, 'a')
    const actor = agent.actor({ prompt: 'Go' })
    actor.start()
    await idle()
    actor.send({ type: 'abort' })
    expect(ran).toBe(1)
    expect((await resultsOf(actor))[0]?.result).not.toContain('was not run')
  })

  test('may build on the default executor', async () => {
    const { executeBatch } = createToolExecutor()
    const echo = recorder('slow')
    const agent = new Agent(scriptedModel([round('a', 'b'), 'ok']), {
      tools: [echo.tool],
      toolExecutor: { executeBatch },
    })
    await agent.send('Go')
    expect(echo.calls).toEqual(['a', 'b'])
  })
})
