import type { InspectionEvent, Observer } from 'xstate'
import { describeThrown } from '../messages/errors.ts'
import type { SendResult } from '../messages/result.ts'
import { emitWarning, isDevelopment } from '../messages/warn.ts'
import { isThenable } from '../tools/isThenable.ts'

/** Sees every actor, event and transition, like `inspect` of XState. */
export type Inspect = Observer<InspectionEvent> | ((event: InspectionEvent) => void)

const harmlessOnes = new WeakMap<Inspect, (event: InspectionEvent) => void>()

/**
 * Makes an inspector harmless, since it only watches: with XState alone, its exception would break the run and stop
 * other inspectors. The same inspector gives the same function, so that it does not see a run inside a run twice.
 */
export const harmlessInspect = (inspect: Inspect): ((event: InspectionEvent) => void) => {
  const known = harmlessOnes.get(inspect)
  if (known) return known
  const made = harmless('The inspector of an agent', (event: InspectionEvent) =>
    typeof inspect === 'function' ? inspect(event) : inspect.next?.(event),
  )
  harmlessOnes.set(inspect, made)
  return made
}

/** Makes a listener harmless: its exception or rejection would end the process. */
export const harmlessListener = <Event>(listener: (event: Event) => unknown): ((event: Event) => void) =>
  harmless('A listener of a run', listener)

/** Shows what is thrown once, as a warning. */
const harmless = <Event>(who: string, watch: (event: Event) => unknown): ((event: Event) => void) => {
  let hasWarned = false
  const warn = (thrown: unknown) => {
    if (!hasWarned) emitWarning(`${who} threw: ${describeThrown(thrown)}`)
    hasWarned = true
  }
  return (event) => {
    try {
      const returned = watch(event)
      if (isThenable(returned)) Promise.resolve(returned).catch(warn)
    } catch (thrown) {
      warn(thrown)
    }
  }
}

let hasWarnedOfWait = false

/**
 * Warns once, in development, if the caller of a send does not check whether its run waits: the output of a waiting run
 * is empty, and nothing continues it.
 */
export const watchedWait = (result: SendResult): SendResult => {
  if (result.status === 'complete' || hasWarnedOfWait || !isDevelopment()) return result
  const { status, pendingApproval } = result
  let isSeen = false
  const watched = <T>(value: T): PropertyDescriptor => ({
    enumerable: true,
    get: () => {
      isSeen = true
      return value
    },
  })
  setTimeout(() => {
    if (isSeen || hasWarnedOfWait) return
    hasWarnedOfWait = true
    const names = pendingApproval.calls.map(({ name }) => name).join(', ')
    emitWarning(
      `The run waits for a decision on ${names}, so its output is not complete. Look at result.status, and continue with agent.resume(result.pendingApproval, decisions).`,
    )
  })
  return Object.defineProperties(
    { ...result },
    { status: watched(status), pendingApproval: watched(pendingApproval) },
  )
}
