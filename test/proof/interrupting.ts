import { afterEach, beforeEach, expect, vi } from 'vitest'
import type { Actor } from 'xstate'
import type { AgentMachine } from '../../machines/index.ts'
import type { Agent } from '../../src/agent/Agent.ts'
import { AbortedError, type StatewireError } from '../../src/messages/errors.ts'
import type { ChatMessage } from '../../src/messages/messages.ts'
import type { FinishReason } from '../../src/messages/result.ts'
import { isFatal, validateHistory } from '../../src/messages/validateHistory.ts'
import { stateName } from '../engine/watching.ts'

/** How a run ended: in a final state, or without one because it was left. */
export type End = 'Complete' | 'Aborted' | 'Failed' | 'left'

/** Counts what an inspector sees; at one of these moments it does something. */
export class Moments {
  seen = 0
  #at = -1
  #act: (() => void) | undefined

  readonly tick = (): void => {
    if (this.seen++ === this.#at) this.#act?.()
  }

  /** Starts counting again. */
  at(moment: number, act?: () => void): void {
    this.seen = 0
    this.#at = moment
    this.#act = act
  }
}

/** Whatever answers prompts: an agent, a chat, an agent that is asked for typed output. */
export type Runner = {
  send(prompt: string, options: { signal?: AbortSignal }): Promise<{ messages: ChatMessage[] }>
  sendStream(
    prompt: string,
    options: { signal?: AbortSignal },
  ): AsyncIterableIterator<{ finishReason: FinishReason }>
  actor?: Agent['actor']
}

export const runnerOf = (agent: Agent): Runner => ({
  send: (prompt, options) => agent.send(prompt, options),
  sendStream: (prompt, options) => agent.sendStream(prompt, options),
  actor: (input) => agent.actor(input),
})

/** One way to interrupt a run: starts it, and gives its end. `at` says when `act` is due. */
export type Interruption = (
  runner: Runner,
  prompt: string,
  at: (act: () => void) => void,
  controller: AbortController,
) => Promise<End>

const expectUsable = (messages: readonly ChatMessage[]) =>
  expect(validateHistory(messages).filter(isFatal)).toEqual([])

/** The end of an actor: one final state with one final chunk, or none of both. */
const byActor =
  (interrupt: (actor: Actor<AgentMachine>) => void): Interruption =>
  ({ actor: actorFor }, prompt, at) => {
    const actor = actorFor?.({ prompt })
    if (!actor) throw new Error('This runner has no actors.')
    let finals = 0
    let ends = 0
    actor.on('chunk', ({ finishReason }) => {
      if (finishReason !== 'unspecified') finals += 1
    })
    const over = new Promise<End>((resolve, reject) => {
      const complete = () => {
        const snapshot = actor.getSnapshot()
        ends += 1
        expect(ends).toBe(1)
        expect(finals).toBe(snapshot.status === 'done' ? 1 : 0)
        expectUsable(snapshot.output?.messages ?? [])
        resolve(snapshot.status === 'done' ? (stateName(snapshot) as End) : 'left')
      }
      actor.subscribe({ error: reject, complete })
    })
    at(() => interrupt(actor))
    actor.start()
    return over
  }

const aborted = (error: StatewireError): End => {
  expect(error).toBeInstanceOf(AbortedError)
  expectUsable(error.partial?.messages ?? [])
  return 'Aborted'
}

const sent: Interruption = (runner, prompt, at, controller) => {
  at(() => controller.abort(new Error('enough')))
  return runner.send(prompt, { signal: controller.signal }).then(({ messages }) => {
    expectUsable(messages)
    return 'Complete'
  }, aborted)
}

/** A loop that is left at the first chunk after the moment. */
const looped =
  (isAborted: boolean): Interruption =>
  async (runner, prompt, at, controller) => {
    let isDue = false
    at(() => {
      isDue = true
      if (isAborted) controller.abort()
    })
    try {
      for await (const _ of runner.sendStream(prompt, { signal: controller.signal })) {
        if (isDue) return 'left'
      }
      return 'Complete'
    } catch (error) {
      return aborted(error as StatewireError)
    }
  }

/** A stream that is left while it waits for a chunk, as a stop button does it. */
const returned: Interruption = async (runner, prompt, at) => {
  const stream = runner.sendStream(prompt, {})
  let isLeft = false
  at(() => {
    isLeft = true
    void stream.return?.()
  })
  let last: string | undefined
  for await (const { finishReason } of stream) last = finishReason
  return isLeft ? 'left' : last === 'stop' ? 'Complete' : 'Failed'
}

/** The ways that need no actor. */
export const outerWays: Record<string, Interruption> = {
  'an AbortSignal': sent,
  break: looped(false),
  'an AbortSignal and break': looped(true),
  'return of the stream': returned,
}

export const interruptions: Record<string, Interruption> = {
  ...outerWays,
  'an abort event': byActor((actor) => actor.send({ type: 'abort' })),
  'an abort event, later': byActor((actor) => queueMicrotask(() => actor.send({ type: 'abort' }))),
  'three abort events': byActor((actor) => {
    actor.send({ type: 'abort' })
    actor.send({ type: 'abort' })
    setImmediate(() => actor.send({ type: 'abort' }))
  }),
  'actor.stop': byActor((actor) => actor.stop()),
  'actor.stop, later': byActor((actor) => setImmediate(() => actor.stop())),
  'an abort event and actor.stop': byActor((actor) => {
    actor.send({ type: 'abort' })
    actor.stop()
  }),
}

/** Fails a test that leaves a rejection, an exception or a warning to the process. */
export const expectNothingUnhandled = (): void => {
  const kinds = ['unhandledRejection', 'uncaughtException', 'warning']
  const unhandled: unknown[] = []
  const note = (problem: unknown) => unhandled.push(problem)
  beforeEach(() => {
    unhandled.length = 0
    for (const kind of kinds) process.on(kind, note)
    // XState's development build warns of events that came after the end, which is what these tests are about.
    vi.spyOn(console, 'warn').mockImplementation(() => {})
  })
  afterEach(() => {
    for (const kind of kinds) process.off(kind, note)
    expect(unhandled).toEqual([])
    vi.restoreAllMocks()
  })
}
