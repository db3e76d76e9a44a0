import type { AnyActorRef } from 'xstate'
import { type Clock, longestTimeoutMs } from '../src/model/clock.ts'

/** The time in an actor system: that of the clock given to `createActor`. XState's clocks need not have it. */
export const timeIn = ({ _clock: clock }: AnyActorRef['system']): number =>
  'now' in clock && typeof clock.now === 'function' ? clock.now() : Date.now()

/** That clock itself. */
export const clockIn = (system: AnyActorRef['system']): Clock => ({
  now: () => timeIn(system),
  setTimeout: (callback, ms) => system._clock.setTimeout(callback, Math.min(ms, longestTimeoutMs)),
  clearTimeout: (id) => system._clock.clearTimeout(id),
})
