import type { AnyActorRef } from 'xstate'
import { type Clock, longestTimeoutMs } from '../../src/model/clock.ts'

/**
 * The time in an actor system: that of the clock given to `createActor`. XState's clocks need not have a time, nor
 * other systems a clock.
 */
export const timeIn = (system: AnyActorRef['system'] | undefined): number => {
  const { now }: { now?: unknown } = Object(system?._clock)
  return typeof now === 'function' ? now.call(system?._clock) : Date.now()
}

/** The clock of an actor system. */
export const clockIn = (system: AnyActorRef['system']): Clock => ({
  now: () => timeIn(system),
  setTimeout: (callback, ms) => system._clock.setTimeout(callback, Math.min(ms, longestTimeoutMs)),
  clearTimeout: (id) => system._clock.clearTimeout(id),
})
