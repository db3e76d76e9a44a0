import type { InspectionEvent, Observer } from 'xstate'
import { describeThrown } from '../messages/errors.ts'

/** Sees every actor, event and transition: what XState takes as `inspect`. */
export type Inspect = Observer<InspectionEvent> | ((event: InspectionEvent) => void)

/** An inspector only watches: XState would let what it throws break the run. It is told once, as a warning. */
export const harmlessInspect = (inspect: Inspect): Inspect => {
  let isTold = false
  return (event) => {
    try {
      if (typeof inspect === 'function') inspect(event)
      else inspect.next?.(event)
    } catch (thrown) {
      if (!isTold) warn(`The inspector of an agent threw: ${describeThrown(thrown)}`)
      isTold = true
    }
  }
}

const warn = (text: string): void =>
  typeof process === 'undefined' ? console.warn(text) : process.emitWarning(text)
