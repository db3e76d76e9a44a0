import { Agent as Undici } from 'undici'
import {
  AbortedError,
  Agent,
  type AgentOptions,
  type ChatMessage,
  type ChatResult,
  StatewireError,
} from '../../src/index.ts'
import type { LeapClock } from './leapClock.ts'
import { type Ran, recordedTools } from './recordedTools.ts'
import type { Plan } from './soakPlan.ts'

/** Everything a user of the run saw of it. */
export type Observed = {
  chunks: ChatResult[]
  /** The number of ends that were reported: by a result, an error, an output or a last chunk. */
  ends: number
  outcome: 'complete' | 'failed' | 'aborted' | 'left'
  result: ChatResult | undefined
  error: Error | undefined
  ran: Ran[]
  signal: AbortSignal
}

const dispatcher = new Undici()

const carrierOf: Record<Plan['carrier'], AgentOptions> = {
  own: {},
  dispatcher: { connection: { dispatcher } },
  fetch: { connection: { fetch: globalThis.fetch } },
}

export const agentFor = (
  plan: Plan,
  baseUrl: string,
  ran: Ran[],
  clock: LeapClock,
  inspect: NonNullable<AgentOptions['inspect']>,
): Agent =>
  new Agent(plan.subject.model, {
    baseUrl,
    apiKey: 'key',
    system: 'Be brief.',
    tools: recordedTools(ran),
    maxSteps: 4,
    retry: plan.retry,
    clock,
    ...(plan.isWatched && { inspect }),
    ...carrierOf[plan.carrier],
  })

/** The last chunk brings nothing but the way the run ended, and some providers give no word for that. */
const isLast = ({ output, messages, metadata }: ChatResult): boolean =>
  output === '' && messages.length === 0 && Object.keys(metadata).length === 0

export const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((next) => setImmediate(next))
}

/** Calls `interrupt` when the plan says so; gives the function that counts chunks. */
const interruptor = ({ after, interruption }: Plan, interrupt: () => void): (() => void) => {
  if (interruption === 'none') return () => {}
  if ('turns' in after) {
    turns(after.turns).then(interrupt)
    return () => {}
  }
  let seen = 0
  return () => {
    if (seen++ === after.chunks) interrupt()
  }
}

export const observe = async (
  plan: Plan,
  agent: Agent,
  ran: Ran[],
  history: ChatMessage[] = [],
): Promise<Observed> => {
  const controller = new AbortController()
  const { signal } = controller
  const seen: Observed = {
    chunks: [],
    ends: 0,
    outcome: 'left',
    result: undefined,
    error: undefined,
    ran,
    signal,
  }
  const fail = (error: unknown): void => {
    if (!(error instanceof StatewireError)) throw error
    seen.ends += 1
    seen.error = error
    seen.result = error.partial
    seen.outcome = error instanceof AbortedError ? 'aborted' : 'failed'
  }
  const complete = (result: ChatResult): void => {
    seen.ends += 1
    seen.result = result
    seen.outcome = 'complete'
  }

  if (plan.way === 'send') {
    interruptor(plan, () => controller.abort())
    await agent.send('Go', { signal, history }).then(complete, fail)
  } else if (plan.way === 'stream') {
    const stream = agent.sendStream('Go', { signal, history })
    let hasLeft = false
    const count = interruptor(plan, () => {
      if (plan.interruption === 'abort') controller.abort()
      else {
        hasLeft = true
        if ('turns' in plan.after) void stream.return?.()
      }
    })
    try {
      for await (const chunk of stream) {
        // A chunk may have been on its way already when the stream was left from outside.
        if (hasLeft) break
        seen.chunks.push(chunk)
        if (isLast(chunk)) complete(chunk)
        count()
        if (hasLeft) break
        await turns(plan.pause)
      }
    } catch (error) {
      fail(error)
    }
  } else await observeActor(plan, agent, seen, history)
  return seen
}

const observeActor = (plan: Plan, agent: Agent, seen: Observed, history: ChatMessage[]): Promise<void> =>
  new Promise((resolve, reject) => {
    const actor = agent.actor({ prompt: 'Go', history })
    let hasLeft = false
    const count = interruptor(plan, () => {
      if (actor.getSnapshot().status !== 'active') return
      if (plan.interruption === 'abort') actor.send({ type: 'abort', reason: 'enough' })
      else {
        actor.stop()
        // The current event is still emitted as a whole.
        queueMicrotask(() => {
          hasLeft = true
        })
      }
    })
    actor.on('chunk', (chunk) => {
      if (hasLeft) reject(new Error('The actor spoke after it was stopped.'))
      seen.chunks.push(chunk)
      if (isLast(chunk)) seen.ends += 1
      count()
    })
    actor.subscribe({
      error: reject,
      complete: () => {
        const { output } = actor.getSnapshot()
        if (!output) return resolve()
        const { status, ...result } = output
        seen.outcome = status
        seen.result = result
        if (output.status === 'failed')
          seen.error = Object.assign(new Error(output.error.message), output.error)
        resolve()
      },
    })
    actor.start()
  })
