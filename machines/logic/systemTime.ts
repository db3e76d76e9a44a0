import type { AnyActorRef } from 'xstate'
import { type Clock, longestTimeoutMs } from '../../src/model/clock.ts'
import { agentClockOf, hostOf } from './runEnvironment.ts'

type SystemClock = AnyActorRef['system']['_clock']

/**
 * The time in an actor system: that of the clock given to `createActor`. XState's clocks need not have a time, nor
 * other systems a clock.
 */
export const timeIn = (system: AnyActorRef['system'] | undefined): number => nowBy(system?._clock)

const nowBy = (clock: SystemClock | Clock | undefined): number => {
  const { now }: { now?: unknown } = Object(clock)
  return typeof now === 'function' ? now.call(clock) : Date.now()
}

/** The time of the run that an actor belongs to. */
export const timeOf = (actor: AnyActorRef): number => nowBy(agentClockOf(actor) ?? actor.system?._clock)

/** The time of a run as its host has recorded it; without a host that records, the time of the run. */
export const recordedTime = (actor: AnyActorRef): number => hostOf(actor).now?.() ?? timeOf(actor)

/** The clock of the run that an actor belongs to: its agent's, or else that of the actor system. */
export const clockOf = (actor: AnyActorRef): Clock => {
  const clock: SystemClock | Clock = agentClockOf(actor) ?? actor.system._clock
  return {
    now: () => nowBy(clock),
    setTimeout: (callback, ms) => clock.setTimeout(callback, Math.min(ms, longestTimeoutMs)),
    // XState's clocks have ids of their own type.
    clearTimeout: (id) => (clock as Clock).clearTimeout(id),
  }
}
