import { afterAll, beforeAll, expect } from 'vitest'
import {
  Agent,
  type AgentOptions,
  type AgentOutput,
  type ErrorData,
  isFatal,
  toolCallsOf,
  toolResultsOf,
  validateHistory,
} from '../../src/index.ts'
import { farewell, type Ran, recordingTools } from '../hostile/hostileRun.ts'
import type { Wire } from '../hostile/wire.ts'
import { type FaultServer, faultServer, type ServedAnswer } from './faultServer.ts'
import { LeapClock } from './leapClock.ts'

export const words = 'Let me look.'

/** The two answers of a tool loop: words and two calls, then the farewell. */
export const loopAnswers = (wire: Wire): [ServedAnswer, ServedAnswer] => {
  const calls = [
    { id: 'call_1', name: 'get_weather', args: '{"city":"Oslo"}' },
    { id: 'call_2', name: 'get_time', args: '{}' },
  ]
  return [wholeAnswer(wire, { text: words, calls }), wholeAnswer(wire, { text: farewell })]
}

const wholeAnswer = (wire: Wire, turn: Parameters<Wire['events']>[0]): ServedAnswer =>
  bodyAnswer(wire, wire.events(turn).join(''))

export const bodyAnswer = (
  wire: Wire,
  body: string | Uint8Array,
  more: Partial<ServedAnswer> = {},
): ServedAnswer => ({
  headers: { 'content-type': wire.contentType },
  body: typeof body === 'string' ? Buffer.from(body) : body,
  ...more,
})

/** Where in the loop a fault is met: instead of the first answer, or of the one after the tools. */
export type Step = 'first request' | 'request after the tools'
export const steps: readonly Step[] = ['first request', 'request after the tools']

export const answersWith = (wire: Wire, step: Step, faults: readonly ServedAnswer[]): ServedAnswer[] => {
  const [first, second] = loopAnswers(wire)
  return step === 'first request' ? [...faults, first, second] : [first, ...faults, second]
}

export type Retried = { delayMs: number; restart: boolean; error: ErrorData | null }

export type Looped = {
  output: AgentOutput
  retries: Retried[]
  requests: number
  ran: Ran[]
  /** The text as listeners saw it, with what restarts made void. */
  shown: string
}

let server: FaultServer

/** Gives the tests of a file a server to meet faults at. */
export const withFaultServer = (): void => {
  beforeAll(async () => {
    server = await faultServer()
  })
  afterAll(() => server.close())
}

/** Runs the loop over these answers. Waits pass at once; an answer that stalls is timed out. */
export const faultedLoop = async (
  wire: Wire,
  answers: readonly ServedAnswer[],
  options: AgentOptions = {},
): Promise<Looped> => {
  const clock = new LeapClock()
  const script = server.script(answers, () => clock.leap())
  const ran: Ran[] = []
  const agent = new Agent(wire.model, {
    baseUrl: script.url,
    apiKey: 'key',
    tools: recordingTools(ran),
    maxSteps: 4,
    clock,
    ...options,
  })
  const actor = agent.actor({ prompt: 'How is the weather?' })
  const retries: Retried[] = []
  let shown = ''
  let finals = 0
  actor.on('retry', ({ delayMs, restart, error }) => retries.push({ delayMs, restart, error }))
  actor.on('chunk', (chunk) => {
    shown += chunk.output
    if (chunk.finishReason !== 'unspecified') finals += 1
  })
  const output = await new Promise<AgentOutput>((resolve, reject) => {
    actor.subscribe({
      error: reject,
      complete: () => {
        const { output } = actor.getSnapshot()
        if (output) resolve(output)
      },
    })
    actor.start()
  })
  expect(finals).toBe(1)
  expect(clock.size).toBe(0)
  expect(validateHistory(output.messages).filter(isFatal)).toEqual([])
  const calls = output.messages.flatMap(toolCallsOf).map(({ id }) => id)
  expect(output.messages.flatMap(toolResultsOf).map(({ id }) => id)).toEqual(calls)
  return { output, retries, requests: script.bodies.length, ran, shown }
}

/** The loop came to its right end, and each tool ran once. */
export const expectWhole = ({ output, ran }: Looped): void => {
  expect(output).toMatchObject({ status: 'complete', output: `${words}\n${farewell}`, finishReason: 'stop' })
  expect(ran.map(({ tool, args }) => [tool, args])).toEqual([
    ['get_weather', { city: 'Oslo' }],
    ['get_time', {}],
  ])
}

/** The loop failed at a step: what came before it is kept, and no tool ran for it. */
export const expectFailed = ({ output, ran }: Looped, step: Step, error: Partial<ErrorData>): void => {
  expect(output).toMatchObject({ status: 'failed', finishReason: 'error', error })
  expect(ran).toHaveLength(step === 'first request' ? 0 : 2)
}
