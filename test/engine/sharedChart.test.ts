/** Agents of one shape share a chart: each works with its own options in it, and none weighs what a chart does. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { createActor, type EventFromLogic } from 'xstate'
import { createAgentMachine } from '../../machines/index.ts'
import { Agent, tool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { endOf } from './watching.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const asks = (name: string) => ({ toolCall: { name, arguments: {} } })
const fails = { error: { retryable: true } }

describe('agents that share a chart', () => {
  test('do so', () => {
    const [one, other] = [scriptedModel([]), scriptedModel([])].map((model) => createAgentMachine({ model }))
    expect(one?.root).toBe(other?.root)
  })

  test('each have their own model, tools, limits and retries, also at the same time', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const name = `tool_${index}`
        const model = scriptedModel([
          ...Array.from({ length: index % 3 }, () => [fails]),
          [asks(name)],
          `answer ${index}`,
        ])
        const own = tool({ name, description: '', execute: () => index })
        const retry = { maxRetries: index % 3, initialDelayMs: 0 }
        const maxSteps = index === 7 ? 1 : 5
        return new Agent(model, { tools: [own], retry, maxSteps }).send('Go')
      }),
    )
    expect(answers.map(({ output }) => output)).toEqual([
      ...Array.from({ length: 7 }, (_, index) => `answer ${index}`),
      '',
    ])
    const results = answers.map(({ messages }) => messages.flatMap(({ parts }) => parts))
    for (const [index, parts] of results.entries())
      expect(parts).toContainEqual(expect.objectContaining({ type: 'toolResult', result: `${index}` }))
    expect(answers.at(-1)?.finishReason).toBe('maxSteps')
  })

  test('keep them where an action of one takes a step of another', async () => {
    const inner = createActor(createAgentMachine({ model: scriptedModel(['inner']) }), {
      input: { prompt: 'Go' },
    })
    const outer = createAgentMachine({
      model: scriptedModel([[fails], 'outer']),
      retry: { maxRetries: 1, initialDelayMs: 0 },
    }).provide({ actions: { announceRetry: () => void inner.start() } })
    const actor = createActor(outer, { input: { prompt: 'Go' } })
    actor.start()
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'outer' })
    expect(await endOf(inner)).toMatchObject({ status: 'complete', output: 'inner' })
  })

  test('cannot change it for each other', () => {
    const { config, implementations } = createAgentMachine({ model: scriptedModel([]) })
    expect(Object.isFrozen(config.states?.Complete)).toBe(true)
    expect(Object.isFrozen(implementations.guards)).toBe(true)
    expect(Object.isFrozen(implementations.actions)).toBe(true)
  })

  test('answer what a snapshot of theirs can take', () => {
    const actor = new Agent(scriptedModel([[{ delayMs: 1e6 }]])).actor({ prompt: 'Go' })
    actor.start()
    const can = (event: EventFromLogic<typeof actor.logic>) => actor.getSnapshot().can(event)
    expect(can({ type: 'abort' })).toBe(true)
    expect(can({ type: 'message', text: 'Stop', when: 'now' })).toBe(true)
    expect(can({ type: 'tool.approve', callId: 'none' })).toBe(false)
    actor.send({ type: 'abort' })
  })

  test('have a chart of their own for what works without a run', () => {
    const [one, other] = [1, 2].map((maxRetries) => new Agent(scriptedModel([]), { retry: { maxRetries } }))
    expect(one?.chart).toBe(one?.chart)
    expect(one?.chart).not.toBe(other?.chart)
    const begun = createActor(one?.chart ?? expect.fail(), { input: { prompt: 'Go' } }).getSnapshot()
    expect(begun.value).toEqual({ Accumulating: 'Requesting' })
  })
})

test('an agent with an actor that does nothing weighs no more than 16 KB', async () => {
  const heap = async (): Promise<number> => {
    // What a finished task still holds is free in the next one.
    for (let round = 0; round < 4; round += 1) {
      await new Promise((resolve) => setImmediate(resolve))
      collectGarbage()
    }
    return process.memoryUsage().heapUsed
  }
  const idle = () => new Agent('openai:gpt-5-mini', { apiKey: 'none' }).actor({ prompt: 'Go' })
  const held = [idle()]
  const weights: number[] = []
  for (let round = 0; round < 3; round += 1) {
    const before = await heap()
    for (let count = 0; count < 500; count += 1) held.push(idle())
    weights.push((await heap()) - before)
  }
  expect(held).toHaveLength(1501)
  expect(Math.min(...weights) / 500 / 1024).toBeLessThan(16)
})
