import { describe, expect, test } from 'vitest'
import { SimulatedClock } from 'xstate'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type Tool, tool } from '../../src/tools/tool.ts'
import { gated, recorder } from './sampleTools.ts'
import { collect, idle } from './watching.ts'

const twoCalls: ScriptTurn = [
  { toolCall: { id: 'bad', name: 'bad' } },
  { toolCall: { id: 'good', name: 'echo' } },
]

const bad = (execute: () => unknown): Tool => tool({ name: 'bad', description: 'Hostile', execute })

const raise = (thrown: unknown) => () => {
  throw thrown
}

describe('a tool that never settles', () => {
  test('is answered when its time is up, its signal fires, and what it says later is ignored', async () => {
    const clock = new SimulatedClock()
    const slow = gated('bad')
    const model = scriptedModel([twoCalls, 'went on'])
    const agent = new Agent(model, { tools: [{ ...slow.tool, timeoutMs: 50 }, recorder().tool], clock })
    const sent = agent.send('Go')
    await idle()
    clock.increment(49)
    await idle()
    expect(slow.signals.get('bad')?.aborted).toBe(false)
    clock.increment(1)
    const { messages, output } = await sent
    expect(slow.signals.get('bad')?.aborted).toBe(true)
    expect(output).toBe('went on')
    expect(messages.flatMap(toolResultsOf).map(({ isError }) => isError)).toEqual([true, undefined])
    expect(messages.flatMap(toolResultsOf)[0]?.result).toContain('did not finish within 50 ms')
    slow.release('bad', 'too late')
    await idle()
    expect(model.requests).toHaveLength(2)
  })

  test('a rejection after the timeout is not an unhandled one', async () => {
    const clock = new SimulatedClock()
    let reject: (error: Error) => void = () => {}
    const late = { ...bad(() => new Promise((_, no) => (reject = no))), timeoutMs: 5 }
    const sent = new Agent(scriptedModel([twoCalls, 'ok']), { tools: [late, recorder().tool], clock }).send(
      'Go',
    )
    await idle()
    clock.increment(5)
    await sent
    reject(new Error('without a listener'))
    await idle()
  })

  test('without a limit waits as long as it takes', async () => {
    const clock = new SimulatedClock()
    const slow = gated('bad')
    const tools = [{ ...slow.tool, timeoutMs: Number.POSITIVE_INFINITY }, recorder().tool]
    const sent = new Agent(scriptedModel([twoCalls, 'ok']), { tools, clock }).send('Go')
    await idle()
    clock.increment(1e12)
    slow.release('bad', 'at last')
    expect((await sent).messages.flatMap(toolResultsOf)[0]?.result).toBe('at last')
  })
})

describe('arguments are checked', () => {
  const run = async (input: Parameters<typeof tool>[0]['input'], args: string) => {
    const seen: unknown[] = []
    const checked = tool({
      name: 'checked',
      description: 'Checked',
      ...(input && { input }),
      execute: (a) => seen.push(a),
    })
    const model = scriptedModel([[{ toolCall: { id: 'a', name: 'checked', arguments: args } }], 'ok'])
    const { messages } = await new Agent(model, { tools: [checked] }).send('Go')
    return { seen, result: messages.flatMap(toolResultsOf)[0] }
  }
  const even = z.object({ n: z.number().refine(async (n) => n % 2 === 0, 'must be even') })
  const jsonSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }

  test('by a zod schema with an async refinement', async () => {
    expect((await run(even, '{"n":2}')).seen).toEqual([{ n: 2 }])
    const { seen, result } = await run(even, '{"n":3}')
    expect(seen).toEqual([])
    expect(result?.result).toContain('n: must be even')
  })

  test('by a bare JSON Schema', async () => {
    expect((await run({ jsonSchema }, '{"n":2}')).seen).toEqual([{ n: 2 }])
    const { seen, result } = await run({ jsonSchema }, '{"n":2.5}')
    expect(seen).toEqual([])
    expect(result).toMatchObject({ isError: true, result: expect.stringContaining('n: ') })
    expect((await run({ jsonSchema }, '{}')).result?.isError).toBe(true)
  })

  test('by a Standard Schema beside its JSON Schema', async () => {
    const schema = {
      '~standard': {
        version: 1 as const,
        vendor: 'mine',
        validate: (value: unknown) =>
          (value as { n?: unknown }).n === 1
            ? { value: { one: true } }
            : { issues: [{ message: 'not 1', path: ['n'] }] },
      },
    }
    expect((await run({ jsonSchema, schema }, '{"n":1}')).seen).toEqual([{ one: true }])
    expect((await run({ jsonSchema, schema }, '{"n":2}')).result?.result).toContain('n: not 1')
    expect(() => tool({ name: 'x', description: '', input: schema, execute: () => 1 })).toThrow(
      /pass \{ jsonSchema, schema \}/,
    )
  })

  test('and a validator that throws is an error result', async () => {
    const throwing = z.object({ n: z.number().transform(() => raise(new Error('in transform'))()) })
    expect((await run(throwing, '{"n":1}')).result).toMatchObject({
      isError: true,
      result: expect.stringContaining('in transform'),
    })
  })

  test('a tool without an input gets {} whatever the model sends', async () => {
    expect((await run(undefined, '{"n":1}')).seen).toEqual([{}])
  })
})

describe('a tool that calls back into its own agent', () => {
  test('gets a run of its own, and both end', async () => {
    const inner: unknown[] = []
    const model = scriptedModel([[{ toolCall: { id: 'a', name: 'ask' } }], 'inner answer', 'outer answer'])
    const ask: Tool = tool({
      name: 'ask',
      description: 'Asks the agent itself',
      execute: async () => {
        const chunks = await collect(agent.sendStream('Nested'))
        inner.push(chunks.map(({ output }) => output).join(''))
        return 'asked'
      },
    })
    const agent: Agent = new Agent(model, { tools: [ask] })
    expect((await agent.send('Go')).output).toBe('outer answer')
    expect(inner).toEqual(['inner answer'])
    expect(model.requests[1]?.messages).toHaveLength(1)
  })
})
