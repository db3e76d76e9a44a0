import type { InspectionEvent, Observer } from 'xstate'
import { describeThrown } from '../messages/errors.ts'
import { isThenable } from '../tools/isThenable.ts'

/** Sees every actor, event and transition: what XState takes as `inspect`. */
export type Inspect = Observer<InspectionEvent> | ((event: InspectionEvent) => void)

const harmlessOnes = new WeakMap<Inspect, (event: InspectionEvent) => void>()

/**
 * Makes an inspector harmless, since it only watches: XState would let what it throws break the run, and keep it from
 * other inspectors. The same function for the same inspector, so that a run inside a run is not shown to it twice.
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

/** Makes a listener harmless: XState would let what it throws, and Node what it rejects with, end the process. */
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

const emitWarning = (text: string): void =>
  typeof process === 'undefined' ? console.warn(text) : process.emitWarning(text)
