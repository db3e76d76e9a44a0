import { describe, expect, test } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { StatewireError } from '../../src/messages/errors.ts'
import { type ToolResultPart, toolResultsOf } from '../../src/messages/messages.ts'
import type { ChatResult } from '../../src/messages/result.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import type { ModelSink } from '../../src/model/chatModel.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import type { ToolExecutor } from '../../src/tools/toolExecutor.ts'
import { collect, idle, rejection } from '../engine/watching.ts'
import { openai as wire } from '../hostile/chatWire.ts'
import { raise, revoked, thenable, trap, traps, withMessage } from './hostileTool.ts'
import { expectNothingUnhandled, Moments } from './interrupting.ts'
import { expectNothingLeft, farewell, loopServer, prompt, timers, toolLoop } from './toolLoop.ts'

/** Whatever a user plugs in, a run has one end, with a result or a typed error. */
expectNothingUnhandled()

const asking: ScriptTurn = [{ toolCall: { id: 'a', name: 'ask' } }]

const asker = (ran: string[], needsApproval: boolean | ((args: unknown) => boolean) = true) =>
  tool({ name: 'ask', description: 'Asks', needsApproval, execute: (_, { callId }) => ran.push(callId) })

/** The result, or the typed error. */
const outcome = (sent: Promise<ChatResult>): Promise<ChatResult | StatewireError> =>
  sent.catch((error: unknown) => {
    if (error instanceof StatewireError) return error
    throw error
  })

describe('an approval', () => {
  const unclear = [undefined, null, 0, 1, 'yes', {}, { approve: 'yes' }, { approve: 1 }, [], () => true]

  test.each(unclear.map((answer) => [answer]))('answered with %o is no approval', async (answer) => {
    const ran: string[] = []
    const tools = [asker(ran)]
    const onApproval = () => answer as never
    const { output } = await new Agent(scriptedModel([asking, 'ok']), { tools, onApproval }).send('Go')
    expect(output).toBe('ok')
    const agent = new Agent(scriptedModel([asking, 'ok', 'ok']), { tools })
    const { pendingApproval } = await agent.send('Go')
    if (!pendingApproval) throw new Error('Nothing is pending.')
    const resumed = agent.resume(pendingApproval, { a: answer as never })
    if (answer === undefined) expect((await resumed).pendingApproval).toBeDefined()
    else await expect(resumed).rejects.toThrow('says neither yes nor no')
    expect(ran).toEqual([])
  })

  test('whose callback throws or rejects with anything is not one either', async () => {
    for (const thrown of [undefined, null, new Proxy({}, traps), withMessage({ get: trap })]) {
      for (const onApproval of [raise(thrown), () => Promise.reject(thrown), () => thenable({ get: trap })]) {
        const ran: string[] = []
        const agent = new Agent(scriptedModel([asking, 'ok']), { tools: [asker(ran)], onApproval })
        expect((await agent.send('Go')).output).toBe('ok')
        expect(ran).toEqual([])
      }
    }
  })

  test('whose rule is asynchronous, or throws, is asked for', async () => {
    const rules = [
      raise(new Error('no')),
      () => Promise.reject(new Error('no')),
      () => Promise.resolve(false),
    ]
    for (const rule of rules) {
      const agent = new Agent(scriptedModel([asking]), { tools: [asker([], rule as never)] })
      expect((await agent.send('Go')).pendingApproval?.calls).toHaveLength(1)
    }
  })
})

describe('a model', () => {
  type Stream = (request: unknown, sink: ModelSink) => unknown
  const modelOf = (stream: Stream) => ({ ...scriptedModel([]), stream: stream as never })
  const answer = (sink: ModelSink) => {
    sink.deltas([
      { type: 'text', text: 'fine' },
      { type: 'finish', reason: 'stop' },
    ])
    sink.end()
  }
  const soon = (act: () => void) => queueMicrotask(act)

  const working: [string, Stream][] = [
    ['answers before it returns', (_, sink) => answer(sink)],
    ['returns nothing that closes it', (_, sink) => soon(() => answer(sink))],
    ['is an async function', async (_, sink) => answer(sink)],
    ['throws when it is closed', (_, sink) => [soon(() => answer(sink)), trap][1]],
    ['rejects after its end', async (_, sink) => answer(sink) ?? raise(new Error('late'))()],
    [
      'ends, fails and ends again',
      (_, sink) => soon(() => [answer(sink), sink.fail(undefined as never), sink.end()]),
    ],
  ]
  test.each(working)('that %s works', async (_, stream) => {
    const agent = new Agent(modelOf(stream), { retry: { maxRetries: 0 } })
    expect((await agent.send('Hi')).output).toBe('fine')
    expect((await collect(agent.sendStream('Hi'))).map(({ output }) => output).join('')).toBe('fine')
    await idle()
  })

  const failing: [string, Stream][] = [
    ['throws undefined', raise(undefined)],
    ['throws a proxy full of traps', raise(new Proxy({}, traps))],
    ['throws an error whose message is a trap', raise(withMessage({ get: trap }))],
    ['rejects', () => Promise.reject(new Error('no'))],
    ['rejects with a revoked proxy', async () => raise(revoked())()],
    ['fails with nothing', (_, sink) => soon(() => sink.fail(undefined as never))],
    ['fails with an error', (_, sink) => soon(() => sink.fail(new Error('no') as never))],
    ['fails with a proxy full of traps', (_, sink) => soon(() => sink.fail(new Proxy({}, traps) as never))],
    ['sends no deltas but null', (_, sink) => soon(() => sink.deltas(null as never))],
    ['sends deltas that are null', (_, sink) => soon(() => sink.deltas([null, undefined] as never))],
  ]
  test.each(failing)('that %s fails the run with a typed error', async (_, stream) => {
    const error = await rejection(
      new Agent(modelOf(stream), { retry: { maxRetries: 0 } }).send('Hi'),
      StatewireError,
    )
    expect(error.partial?.messages.map(({ role }) => role)).toEqual(['user'])
    expect(() => JSON.stringify(error)).not.toThrow()
    await idle()
  })
})

describe('a part of the engine that is replaced', () => {
  const reportsNonsense: ToolExecutor['executeBatch'] = async (_, __, { onResult }) => {
    for (const nonsense of [null, 7, { id: 'x' }, { id: 'a' }]) onResult?.(nonsense as never)
    return []
  }
  const parts: [string, AgentOptions][] = [
    ['an executor of nothing', { toolExecutor: { executeSingle: async () => undefined as never } }],
    ['an executor of numbers', { toolExecutor: { executeSingle: async () => ({ result: 7 }) as never } }],
    ['an executor that throws a trap', { toolExecutor: { executeSingle: raise(new Proxy({}, traps)) } }],
    ['a batch of nothing', { toolExecutor: { executeBatch: async () => [null, undefined] as never } }],
    ['a batch that is not a list', { toolExecutor: { executeBatch: async () => undefined as never } }],
    ['a batch that reports nonsense', { toolExecutor: { executeBatch: reportsNonsense } }],
    ['a batch that throws at once', { toolExecutor: { executeBatch: raise(undefined) } }],
    ['an accumulator that throws a trap', { accumulator: { accumulate: raise(new Proxy({}, traps)) } }],
    ['an accumulator of nothing', { accumulator: { accumulate: () => undefined as never } }],
    ['a consolidator that throws', { accumulator: { consolidate: raise(null) } }],
    ['a consolidator of nothing', { accumulator: { consolidate: () => undefined as never } }],
  ]
  test.each(parts)('by %s leaves a usable history and a typed outcome', async (_, options) => {
    const agent = new Agent(scriptedModel([asking, 'ok']), { tools: [asker([], false)], ...options })
    const ended = await outcome(agent.send('Go'))
    const messages = ended instanceof StatewireError ? (ended.partial?.messages ?? []) : ended.messages
    expect(validateHistory(messages)).toEqual([])
    expect(
      messages.flatMap(toolResultsOf).every(({ result }: ToolResultPart) => typeof result === 'string'),
    ).toBe(true)
  })
})

describe('a callback at the start', () => {
  test('that throws anything rejects the send and the stream with it, and asks nothing', async () => {
    const model = scriptedModel([])
    const agent = new Agent(model)
    for (const thrown of [undefined, null, new Error('no'), new Proxy({}, traps)]) {
      const onStart = raise(thrown)
      const starts = [() => agent.send('Hi', { onStart }), () => agent.sendStream('Hi', { onStart }).next()]
      for (const start of starts) {
        const isThrown = await start().then(
          () => false,
          (error: unknown) => error === thrown,
        )
        expect(isThrown).toBe(true)
      }
    }
    expect(model.requests).toEqual([])
  })

  test('that leaves the stream ends the run', async () => {
    const model = scriptedModel([[{ text: 'a' }, { hang: true }]])
    const stream = new Agent(model).sendStream('Hi', { onStart: () => void stream.return?.() })
    expect(await stream.next()).toEqual({ value: undefined, done: true })
    expect(model.closed).toBe(1)
  })
})

describe('an inspector that throws', () => {
  test('at any event is reported once, and disturbs nothing', { timeout: 240_000 }, async () => {
    const reported: Error[] = []
    const warnings = process.listeners('warning')
    process.removeAllListeners('warning')
    process.on('warning', (warning) => reported.push(warning))
    try {
      const server = await loopServer(wire)
      const moments = new Moments()
      const { agent } = toolLoop(server, wire, true, { inspect: moments.tick })
      moments.at(-1)
      await agent.send(prompt)
      const length = moments.seen
      const before = timers()
      for (let moment = 0; moment < length; moment += 9) {
        moments.at(moment, trap)
        const { signal } = new AbortController()
        expect((await agent.send(prompt, { signal })).output).toContain(farewell)
        await expectNothingLeft(server, signal, before)
      }
      expect(reported.map(({ message }) => message)).toEqual(['The inspector of an agent threw: trapped'])
    } finally {
      process.removeAllListeners('warning')
      for (const listener of warnings) process.on('warning', listener)
    }
  })
})
