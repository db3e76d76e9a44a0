import { describe, expect, test, vi } from 'vitest'
import { defaultOrchestrator } from '../../machines/index.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import type { SendOptions } from '../../src/agent/options.ts'
import { StatewireError } from '../../src/messages/errors.ts'
import { type ChatMessage, modelMessage, userMessage } from '../../src/messages/messages.ts'
import type { ChatResult } from '../../src/messages/result.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type Accumulator, messageAccumulator } from '../../src/model/accumulator.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { createToolExecutor } from '../../src/tools/toolExecutor.ts'
import { raise, traps } from './hostileTool.ts'

// Every place where a user's function runs, times everything such a function can do wrong. A run has one end all
// the same: a result or a typed error, in time, with a history that can be sent. Then the agent answers as before.

// biome-ignore lint/suspicious/noExplicitAny: a user's function, of any type that its place asks for.
type Callback = (...args: any[]) => any
/** Makes a bad function of a good one. */
type Mischief = (good: Callback) => Callback

/** Empties and overwrites everything that can be reached from a value. */
const ruin = (value: unknown, seen = new Set<unknown>()): void => {
  if (typeof value !== 'object' || value === null || seen.has(value)) return
  // What is live, and not data, is the user's to call: a signal, a map of tools, a run.
  const isData = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype
  if (!isData) return
  seen.add(value)
  for (const [key, inner] of Object.entries(value)) {
    ruin(inner, seen)
    if (typeof inner === 'function') continue
    Reflect.set(value, key, typeof inner === 'string' ? 'ruined' : null)
  }
  Reflect.set(value, 'ruined', true)
  if (Array.isArray(value)) Reflect.set(value, 'length', 0)
}

const mischiefs: Record<string, Mischief> = {
  throws: () => raise(new Error('mischief')),
  'throws undefined': () => raise(undefined),
  'throws a proxy full of traps': () => raise(new Proxy({}, traps)),
  rejects: () => () => Promise.reject(new Error('mischief')),
  'never settles': () => () => new Promise(() => {}),
  'answers nothing': () => () => undefined,
  'answers with a function': () => () => () => 1,
  'answers with a loop': () => () => {
    const loop: { self?: unknown } = {}
    loop.self = loop
    return loop
  },
  'answers twice':
    (good) =>
    (...args) => {
      good(...args)
      return good(...args)
    },
  'changes what it was given':
    (good) =>
    (...args) => {
      const answer = good(...args)
      const change = () => {
        for (const arg of args) ruin(arg)
      }
      if (answer instanceof Promise) return answer.finally(change)
      change()
      return answer
    },
  'changes what it answered':
    (good) =>
    (...args) => {
      const answer = good(...args)
      queueMicrotask(() => ruin(answer))
      return answer
    },
}

const call: ScriptTurn = [
  { text: 'Let me look.' },
  { metadata: { source: 'here' } },
  { toolCall: { id: 'a', name: 'work', arguments: { list: [1, 2] } } },
  { usage: { inputTokens: 10, outputTokens: 5 } },
]
const answer: ScriptTurn = [
  { text: 'All ' },
  { text: 'done.' },
  { usage: { inputTokens: 20, outputTokens: 5 } },
]

/** A tool that is right, but for the part that is replaced. */
const worker = (part: object = {}) =>
  tool({
    name: 'work',
    description: 'Works',
    input: { jsonSchema: { type: 'object' } },
    execute: () => 'worked',
    timeoutMs: 100,
    ...part,
  })

type Plugged = { options?: AgentOptions; send?: SendOptions }
const { executeSingle, executeBatch } = createToolExecutor()

/** Places where a user's functions run. Each puts one into an agent, or into a send. */
const places: Record<string, (bad: Mischief) => Plugged> = {
  'execute of a tool': (bad) => ({ options: { tools: [worker({ execute: bad(() => 'worked') })] } }),
  'needsApproval of a tool': (bad) => ({
    options: { tools: [worker({ needsApproval: bad(() => false) })], onApproval: () => true },
  }),
  'the schema of a tool': (bad) => ({
    options: {
      tools: [
        worker({
          input: {
            jsonSchema: { type: 'object' },
            schema: {
              '~standard': { version: 1, vendor: 'own', validate: bad((value: unknown) => ({ value })) },
            },
          },
        }),
      ],
    },
  }),
  onApproval: (bad) => ({
    options: { tools: [worker({ needsApproval: true })], onApproval: bad(() => true) },
  }),
  'executeSingle of the executor': (bad) => ({
    options: { toolExecutor: { executeSingle: bad(executeSingle) } },
  }),
  'executeBatch of the executor': (bad) => ({
    options: {
      toolExecutor: {
        executeBatch: bad((...args: Parameters<typeof executeBatch>) => executeBatch(...args)),
      },
    },
  }),
  'accumulate of the accumulator': (bad) => ({
    options: {
      accumulator: {
        accumulate: bad((...args: Parameters<Accumulator['accumulate']>) =>
          messageAccumulator.accumulate(...args),
        ),
      },
    },
  }),
  'consolidate of the accumulator': (bad) => ({
    options: {
      accumulator: {
        consolidate: bad((...args: Parameters<Accumulator['consolidate']>) =>
          messageAccumulator.consolidate(...args),
        ),
      },
    },
  }),
  price: (bad) => ({ options: { price: bad(() => 0.01) } }),
  prepareStep: (bad) => ({ options: { prepareStep: bad(() => ({ system: 'Be brief.' })) } }),
  'prepareStep of a send': (bad) => ({ send: { prepareStep: bad(() => ({ system: 'Be brief.' })) } }),
  inspect: (bad) => ({ options: { inspect: bad(() => {}) } }),
  'a listener of the run': (bad) => ({
    send: {
      onStart: (run) => {
        for (const type of ['chunk', 'message', 'tool.call', 'tool.result', 'step'] as const)
          run.on(
            type,
            bad(() => {}),
          )
      },
    },
  }),
}

const history: ChatMessage[] = [userMessage('Hello'), modelMessage('Hi')]

const agentOf = ({ options }: Plugged, totalMs = 50_000) =>
  new Agent(scriptedModel([call, answer]), {
    tools: [worker()],
    timeouts: { totalMs },
    retry: { maxRetries: 0 },
    ...options,
  })

/** The result, or the typed error; nothing else may come. */
const endOf = async (sent: Promise<ChatResult>): Promise<ChatResult | StatewireError> =>
  sent.catch((error: unknown) => {
    if (error instanceof StatewireError) return error
    throw error
  })

const messagesOf = (end: ChatResult | StatewireError): readonly ChatMessage[] =>
  (end instanceof StatewireError ? end.partial?.messages : end.messages) ?? []

const withoutIds = (messages: readonly ChatMessage[]) => messages.map(({ role, parts }) => ({ role, parts }))

/** What these are given is the run itself, and is theirs to leave alone: a copy of it at each event would cost too much. */
const live = ['inspect', 'accumulate of the accumulator', 'consolidate of the accumulator']

describe.each(Object.entries(places))('%s', (placeName, place) => {
  const apt = Object.entries(mischiefs).filter(
    ([name]) => !live.includes(placeName) || !name.startsWith('changes'),
  )
  test.each(apt)('that %s', async (name, mischief) => {
    // What an inspector or a listener throws is a warning, once: that is how it should be.
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    let isBad = true
    const sometimes: Mischief = (good) => {
      const bad = mischief(good)
      return (...args) => (isBad ? bad : good)(...args)
    }
    const plugged = place(sometimes)
    const isHarmless = ['answers twice', 'changes what it was given'].includes(name)
    // What never settles must not keep a run; for a person it waits until the signal.
    const agent = agentOf(plugged, isHarmless ? 50_000 : 400)
    const signal = AbortSignal.timeout(isHarmless ? 50_000 : 1_000)
    const given = structuredClone(history)
    const end = await endOf(agent.send('Go', { history, signal, ...plugged.send }))

    expect(history).toEqual(given)
    const messages = messagesOf(end)
    expect(validateHistory([...history, ...messages])).toEqual([])
    expect(messages[0]).toEqual(userMessage('Go'))
    expect(() => JSON.stringify(end)).not.toThrow()

    const clean = await agentOf({}).send('Go', { history })
    // Data that is changed behind the back of a run changes nothing, and neither does an answer that is given again.
    if (isHarmless) expect(withoutIds(messages)).toEqual(withoutIds(clean.messages))

    isBad = false
    const again = agentOf(plugged)
    expect(withoutIds((await again.send('Go', { history, ...plugged.send })).messages)).toEqual(
      withoutIds(clean.messages),
    )
  })
})

describe('an orchestrator', () => {
  test.each(Object.entries(mischiefs))('that %s is refused, or answers', async (_, mischief) => {
    const create = mischief(defaultOrchestrator.create)
    const sent = async () => {
      const agent = agentOf({ options: { orchestrator: { providerHint: 'own', create } } })
      return agent.send('Go')
    }
    const end = await endOf(sent())
    expect(validateHistory(messagesOf(end))).toEqual([])
    // It is refused before anything is asked, or it answers as the plain one does.
    const isRefused = end instanceof StatewireError && end.name === 'OrchestrationError'
    expect(isRefused || (!(end instanceof StatewireError) && end.output)).toEqual(
      isRefused || expect.stringContaining('All done.'),
    )
    // Charts share parts. Another agent's run ends as it should, also where it ends at a limit.
    const limited = await agentOf({ options: { maxSteps: 1 } }).send('Go')
    expect(limited.finishReason).toBe('maxSteps')
    expect(validateHistory(limited.messages)).toEqual([])
  })
})
