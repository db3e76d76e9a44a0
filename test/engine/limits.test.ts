/** A run stops at its limits, asks a person before it continues, and says what it cost. */
import { describe, expect, test } from 'vitest'
import { createActor, SimulatedClock, waitFor } from 'xstate'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import {
  Agent,
  type AgentCommand,
  type AgentEmitted,
  type AgentOptions,
  type ChatMessage,
  ConfigurationError,
  dataPart,
  type RunLimits,
  reflectionOrchestrator,
  textPart,
  tool,
  toolCallsOf,
  toolResultsOf,
  validateHistory,
} from '../../src/index.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { type ScriptStep, type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { storeFile } from '../durable/storeFile.ts'
import { idle, rejection } from './watching.ts'

let calls = 0
const step = tool({
  name: 'step',
  description: 'Goes a step',
  input: { jsonSchema: { type: 'object' } },
  execute: () => `step ${++calls}`,
})

const call = (id: string, args: object = {}, name = 'step'): ScriptStep[] => [
  { toolCall: { id, name, arguments: { ...args } } },
  { usage: { inputTokens: 100, outputTokens: 10 } },
]
const endless = Array.from({ length: 40 }, (_, index) => call(`c${index}`))

const ran = async (limits: RunLimits, options: AgentOptions = {}, turns: ScriptTurn[] = endless) => {
  const model = scriptedModel(turns)
  const run = new Agent(model, { tools: [step], limits, ...options }).start('Go.')
  const reached: Extract<AgentEmitted, { type: 'limit' }>[] = []
  run.on('limit', (event) => reached.push(event))
  const result = await run.result
  expect(validateHistory(result.messages)).toEqual([])
  expect(result.messages.at(-1)?.role).toBe('model')
  return { result, reached, requests: model.requests as ModelRequest[] }
}

describe('a limit', () => {
  test.each<[string, RunLimits, number, object]>([
    ['of steps', { steps: 3 }, 3, { limit: 'steps', used: 3, allowed: 3 }],
    ['of tokens', { tokens: 300 }, 3, { limit: 'tokens', used: 330, allowed: 300 }],
    ['of tool calls', { toolCalls: 2 }, 2, { limit: 'toolCalls', used: 2, allowed: 2 }],
    ['of cost', { cost: 0.005 }, 5, { limit: 'cost', allowed: 0.005 }],
  ])('%s ends the run in order', async (_, limits, requests, event) => {
    const price = () => 0.001
    const { result, reached, requests: sent } = await ran(limits, { price })
    expect(sent).toHaveLength(requests)
    expect(reached).toMatchObject([event])
    expect(result.finishReason).toBe('steps' in limits ? 'maxSteps' : 'limit')
  })

  test('of a send replaces that of the agent', async () => {
    const agent = (turns: ScriptTurn[]) =>
      new Agent(scriptedModel(turns), { tools: [step], limits: { steps: 2 } })
    const { messages } = await agent(endless).send('Go.', { limits: { steps: 4 } })
    expect(messages.flatMap(toolCallsOf)).toHaveLength(4)
    expect((await agent(endless).send('Go.', { maxSteps: 3 })).messages.flatMap(toolCallsOf)).toHaveLength(3)
  })

  test('that is said in two ways is refused', () => {
    expect(() => new Agent(scriptedModel([]), { maxSteps: 3, limits: { steps: 4 } }).machine).toThrow(
      ConfigurationError,
    )
  })

  test('refuses the calls beyond it, and says so to the model', async () => {
    const three: ScriptTurn = ['a', 'b', 'c'].map((id) => ({ toolCall: { id, name: 'step' } }))
    const { result, requests } = await ran({ toolCalls: 2 }, {}, [three, 'never'])
    const results = result.messages.flatMap(toolResultsOf)
    expect(results.map(({ isError = false }) => isError)).toEqual([false, false, true])
    expect(results[2]?.result).toContain('at most: the call was not made')
    expect(requests).toHaveLength(1)
  })

  test('of one tool leaves the others alone', async () => {
    const { result } = await ran({ perTool: { step: 1 } }, {}, [call('a'), call('b'), 'Done.'])
    expect(result).toMatchObject({ answer: 'Done.', finishReason: 'stop' })
    expect(result.messages.flatMap(toolResultsOf).map(({ isError = false }) => isError)).toEqual([
      false,
      true,
    ])
  })
})

describe('at a limit', () => {
  test('`answer` asks once more, with the tools, and none of them may be called', async () => {
    const { result, requests } = await ran({ steps: 1 }, { atLimit: 'answer' }, [
      call('a'),
      'As far as I came.',
    ])
    expect(result).toMatchObject({ answer: 'As far as I came.', finishReason: 'maxSteps' })
    expect(requests[1]).toMatchObject({ toolChoice: 'none', tools: [{ name: 'step' }] })
  })

  test('a last answer that calls tools all the same calls nothing', async () => {
    const before = calls
    const { result } = await ran({ steps: 1 }, { atLimit: 'answer' }, [call('a'), call('b')])
    expect(calls).toBe(before + 1)
    expect(result.messages.map(({ role }) => role)).toEqual([
      'user',
      'model',
      'user',
      'model',
      'user',
      'model',
    ])
    expect(result.messages.flatMap(toolResultsOf).at(-1)).toMatchObject({ id: 'b', isError: true })
  })

  const asking = (turns: ScriptTurn[], limits: RunLimits = { steps: 1 }) =>
    new Agent(scriptedModel(turns), { tools: [step], limits, atLimit: 'ask' })

  test('`ask` waits, and the answer may come from another process', async () => {
    const first = await asking([call('a')]).send('Go.')
    const limit = { limit: 'steps', used: 1, allowed: 1 }
    expect(first.pendingApproval?.calls).toEqual([
      {
        type: 'toolCall',
        id: 'limit',
        name: 'limit',
        kind: 'limit',
        arguments: limit,
        question: expect.any(String),
      },
    ])
    const pending = JSON.parse(JSON.stringify(first.pendingApproval))
    const raised = await asking(['Done.']).resume(pending, { limit: true })
    expect(raised).toMatchObject({ answer: 'Done.', finishReason: 'stop' })
    const more = await asking([call('b'), call('c'), 'Done.']).resume(pending, {
      limit: { approve: true, arguments: { steps: 4 } },
    })
    expect(more).toMatchObject({ answer: 'Done.' })
    const stopped = await asking([]).resume(pending, { limit: false })
    expect(stopped.finishReason).toBe('maxSteps')
    expect(validateHistory(stopped.messages)).toEqual([])
  })

  test('commands answer it as well; the time meanwhile does not count', async () => {
    const agent = new Agent(scriptedModel([call('a'), call('b'), 'Done.']), {
      tools: [step],
      limits: { steps: 1 },
      atLimit: 'ask',
      timeouts: { totalMs: 300 },
    })
    const clock = new SimulatedClock()
    const actor = createActor(agent.machine, { input: { prompt: 'Go.' }, clock }).start()
    await waitFor(actor, (snapshot) => snapshot.hasTag('waiting'))
    clock.increment(400)
    actor.send({ type: 'tool.approve', callId: 'limit', arguments: { steps: 2 } })
    await waitFor(actor, (snapshot) => snapshot.hasTag('waiting') && snapshot.context.step === 2)
    actor.send({ type: 'tool.approve', callId: 'limit' })
    const { output } = await waitFor(actor, ({ status }) => status === 'done')
    expect(output).toMatchObject({ status: 'complete', answer: 'Done.' })
  })

  test('what was said while it waited is in the history, whatever is decided', async () => {
    const commands: AgentCommand[] = [
      { type: 'tool.reject', callId: 'limit' },
      { type: 'tool.approve', callId: 'limit', arguments: { steps: 9 } },
    ]
    for (const command of commands) {
      const actor = createActor(asking([call('a'), 'Done.', 'Done again.']).machine, {
        input: { prompt: 'Go.' },
      })
      actor.start()
      await waitFor(actor, (snapshot) => snapshot.hasTag('waiting'))
      actor.send({ type: 'steer', text: 'Hurry.' })
      actor.send(command)
      const { output } = await waitFor(actor, ({ status }) => status === 'done')
      expect(JSON.stringify(output?.messages)).toContain('Hurry.')
      expect(validateHistory(output?.messages ?? [])).toEqual([])
    }
  })

  test('a sub-agent asks through the run that called it', async () => {
    const inner = asking([call('a'), 'Inner done.'])
    const outer = new Agent(
      scriptedModel([[{ toolCall: { id: 'x', name: 'help', arguments: { prompt: 'Help.' } } }], 'Done.']),
      { tools: [inner.asTool({ name: 'help', description: 'Helps' })] },
    )
    const run = outer.start('Go.')
    const reached: unknown[] = []
    run.on('limit', (event) => reached.push(event))
    await idle(10)
    expect(run.pending).toMatchObject([{ id: 'x/limit', kind: 'limit' }])
    const { question } = run.pending[0] ?? {}
    expect(reached).toEqual([
      { type: 'limit', callId: 'x/limit', question, limit: 'steps', used: 1, allowed: 1 },
    ])
    run.approve('x/limit')
    expect(await run.result).toMatchObject({ answer: 'Done.' })
  })

  test('a chart made of runs passes the question on', async () => {
    const agent = new Agent(scriptedModel([call('a'), 'Draft.', 'APPROVED', 'never']), {
      tools: [step],
      limits: { steps: 1 },
      atLimit: 'ask',
      orchestrator: reflectionOrchestrator(),
    })
    const first = await agent.send('Go.')
    expect(first.pendingApproval?.calls).toMatchObject([{ kind: 'limit' }])
  })

  test('a stored run waits for the answer, and takes it from any process', async () => {
    const path = storeFile()
    const runs = await openRuns({ store: sqlite(path), agents: { worker: asking([call('a'), 'Done.']) } })
    const run = await runs.start('worker', 'Go.', { id: 'job' })
    await run.result
    expect(await run.info()).toMatchObject({ status: 'waiting', pending: [{ kind: 'limit' }] })
    await runs.close()
    const guest = await openRuns({ store: sqlite(path) })
    await expect(
      guest.send('job', { type: 'tool.approve', callId: 'limit', arguments: { steps: -1 } }),
    ).rejects.toThrow(/To raise a limit, pass the new limits/)
    await guest.send('job', { type: 'tool.approve', callId: 'limit', arguments: { steps: 5 } })
    await guest.close()
    const later = await openRuns({ store: sqlite(path), agents: { worker: asking(['Done.']) } })
    expect(await (await later.get('job'))?.result).toMatchObject({ answer: 'Done.' })
    await expect(later.send('job', { type: 'tool.reject', callId: 'limit' })).rejects.toThrow(/is over/)
    await later.close()
  })
})

describe('repeats', () => {
  const look = (repeatable: boolean) =>
    tool({
      name: 'look',
      description: 'Looks',
      repeatable,
      input: { jsonSchema: { type: 'object' } },
      execute: () => 'nothing new',
    })
  const looks = (...places: number[]) =>
    Array.from({ length: 40 }, (_, index) =>
      call(`l${index}`, { at: places[index % places.length] ?? 0 }, 'look'),
    )
  const noteIn = (messages: readonly ChatMessage[]) =>
    messages.findIndex((message) => JSON.stringify(message).includes('the same calls with the same results'))

  test.each([
    ['one call again and again', [1], 3, 3],
    ['one call twice', [1], 2, 2],
    ['two in turns', [1, 2], 3, 6],
    ['three in turns', [1, 2, 3], 3, 9],
    ['four in turns', [1, 2, 3, 4], 3, 12],
    ['four in turns, twice', [1, 2, 3, 4], 2, 8],
  ])('of %s are noted, then a limit', async (_, places, repeats, noted) => {
    const tools = [look(false)]
    const { result, reached, requests } = await ran({ repeats, steps: 40 }, { tools }, looks(...places))
    expect(reached).toMatchObject([{ limit: 'repeats', allowed: repeats }])
    expect(noteIn(result.messages)).toBe(noted * 2)
    expect(requests).toHaveLength(noted + places.length)
  })

  test('of a tool that is not there are noted, then a limit', async () => {
    const unknown = looks(1).map((_, index) => call(`u${index}`, {}, 'lost'))
    const { result, reached } = await ran({ repeats: 3, steps: 10 }, {}, unknown)
    expect(reached).toMatchObject([{ limit: 'repeats', used: 3, allowed: 3 }])
    expect(noteIn(result.messages)).toBe(6)
  })

  test('are counted across an answer that was steered on from', async () => {
    const run = new Agent(
      scriptedModel([...looks(1).slice(0, 2), [{ delayMs: 1 }, { text: 'Hm.' }], ...looks(1).slice(2)]),
      { tools: [look(false)], limits: { repeats: 3, steps: 10 } },
    ).start('Go.')
    run.on('chunk', ({ output }) => {
      if (output.includes('Hm.')) run.steer('Look again.')
    })
    const { messages } = await run.result
    expect(messages.map(({ role }) => role).slice(0, 7)).toEqual([
      'user',
      'model',
      'user',
      'model',
      'user',
      'model',
      'user',
    ])
    // Two rounds, the answer and its steering, and the third round.
    expect(noteIn(messages)).toBe(8)
  })

  test.each([
    ['a call that may be repeated beside them do not count', true, 'steps'],
    ['the same call beside them are a limit', false, 'repeats'],
  ])('with %s', async (_, repeatable, limit) => {
    const wait = tool({ name: 'wait', description: 'Waits', repeatable, execute: () => 'waited' })
    const turns = looks(1).map((turn, index) => [...turn, ...call(`w${index}`, {}, 'wait')])
    const { reached } = await ran({ repeats: 3, steps: 10 }, { tools: [look(false), wait] }, turns)
    expect(reached).toMatchObject([{ limit }])
  })

  test.each([
    ['the same picture', () => 'AAAA', 'repeats'],
    ['another picture each time', (nth: number) => `AAA${nth % 10}`, 'steps'],
  ])('of results with %s', async (_, dataOf, limit) => {
    let nth = 0
    const photograph = tool({
      name: 'look',
      description: 'Looks',
      input: { jsonSchema: { type: 'object' } },
      execute: () => [textPart('A picture.'), dataPart('image/png', dataOf(++nth))],
    })
    const { reached } = await ran({ repeats: 3, steps: 9 }, { tools: [photograph] }, looks(1))
    expect(reached).toMatchObject([{ limit }])
  })

  test('with other results, or of a tool that may be repeated, do not count', async () => {
    const { reached } = await ran({ repeats: 3, steps: 10 })
    expect(reached).toMatchObject([{ limit: 'steps' }])
    const polling = await ran({ repeats: 3, steps: 10 }, { tools: [look(true)] }, looks(1))
    expect(polling.reached).toMatchObject([{ limit: 'steps' }])
    expect(noteIn(polling.result.messages)).toBe(-1)
  })
})

describe('the cost of a run', () => {
  const used = (inputTokens: number, outputTokens: number, cost?: number) => ({
    usage: { inputTokens, outputTokens, ...(cost !== undefined && { cost }) },
  })
  const price: AgentOptions['price'] = ({ model }, { inputTokens = 0, outputTokens = 0 }) =>
    model === 'dear' ? inputTokens * 10 + outputTokens * 100 : inputTokens + outputTokens * 2

  test("is the provider's own figure where it has one, else the price", async () => {
    const model = scriptedModel([
      [{ toolCall: { id: 'a', name: 'step' } }, used(10, 1)],
      [{ text: 'Done.' }, used(20, 2, 7)],
    ])
    const steps: unknown[] = []
    const run = new Agent(model, { tools: [step], price }).start('Go.')
    run.on('step', ({ usage }) => steps.push(usage?.cost))
    expect((await run.result).usage?.cost).toBe(12 + 7)
    expect(steps).toEqual([12, 7])
  })

  test('adds up over retries, fallbacks, sub-agents and compactions', async () => {
    const helper = new Agent(scriptedModel([[{ text: 'Helped.' }, used(5, 5)]], { model: 'dear' }), { price })
    const first = scriptedModel([
      // Cut off after its usage: it is paid for all the same.
      [used(3, 0), { error: { message: 'cut', retryable: true } }],
      [used(4, 0), { error: { message: 'gone', retryable: false } }],
    ])
    const second = scriptedModel(
      [
        [{ toolCall: { id: 'x', name: 'help', arguments: { prompt: 'Help.' } } }, used(6, 1)],
        [used(7, 0), { error: { message: 'long', code: 'context_overflow', retryable: false } }],
        [{ text: 'A summary.' }, used(8, 1)],
        [{ text: 'Done.' }, used(9, 1)],
      ],
      { model: 'dear' },
    )
    const agent = new Agent(first, {
      price,
      fallback: [second],
      retry: { maxRetries: 1, initialDelayMs: 1 },
      tools: [helper.asTool({ name: 'help', description: 'Helps' })],
    })
    const history: ChatMessage[] = [1, 2, 3].flatMap((): ChatMessage[] => [
      { role: 'user', parts: [{ type: 'text', text: 'lorem '.repeat(300) }] },
      { role: 'model', parts: [{ type: 'text', text: 'lorem '.repeat(300) }] },
    ])
    const { usage } = await agent.send('Go.', { history })
    const dear = (input: number, output: number) => input * 10 + output * 100
    expect(usage?.cost).toBe(3 + 4 + dear(6, 1) + dear(5, 5) + dear(7, 0) + dear(8, 1) + dear(9, 1))
    expect(usage).toMatchObject({ inputTokens: 3 + 4 + 6 + 5 + 7 + 8 + 9, outputTokens: 1 + 5 + 1 + 1 })
  })

  test.each<[string, unknown]>([
    [
      'throws',
      () => {
        throw new Error('no idea')
      },
    ],
    ['gives a text', () => 'much'],
    ['gives nothing', () => undefined],
    ['gives NaN', () => Number.NaN],
  ])('is not known where the price %s', async (_, given) => {
    const agent = new Agent(scriptedModel([[{ text: 'Done.' }, used(1, 1)]]), {
      price: given as typeof price,
    })
    expect((await agent.send('Go.')).usage).toEqual({ inputTokens: 1, outputTokens: 1 })
  })
})

test('an infinite limit is not a limit, and a run with it can be stored', async () => {
  const ask = tool({ name: 'ask', description: 'Asks', needsApproval: true, execute: () => 'yes' })
  const agent = () =>
    new Agent(scriptedModel([call('a', {}, 'ask'), 'Done.']), {
      tools: [ask],
      limits: { tokens: Number.POSITIVE_INFINITY },
    })
  const { pendingApproval } = await agent().send('Go.')
  const stored = JSON.parse(JSON.stringify(pendingApproval))
  const next = new Agent(scriptedModel(['Done.']), { tools: [ask] })
  expect((await next.resume(stored, { a: true })).answer).toBe('Done.')
})

test('limits that are not amounts are refused', async () => {
  const agent = new Agent(scriptedModel(['Done.']))
  const error = await rejection(agent.send('Go.', { limits: { cost: -1 } }), ConfigurationError)
  expect(error.message).toContain('limits.cost')
})
