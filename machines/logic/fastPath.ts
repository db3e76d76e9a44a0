import type { AnyActorScope, AnyEventObject, AnyMachineSnapshot, MachineContext } from 'xstate'
import type { AgentEmitted } from '../agent/events.ts'
import { type AnyRunMachine, changed, withContext } from './runMachine.ts'

/** What an event of a running stream changes, and what listeners get. */
export type Read = { context: MachineContext; emitted: readonly AgentEmitted[] }

/** The event that the chart gets instead of one that could not be read. */
export type Misread = { instead: AnyEventObject }

export type Lane = {
  /** The read; undefined for an event that is the chart's business. */
  read(snapshot: AnyMachineSnapshot, event: AnyEventObject): Read | Misread | undefined
  /** The actions and guards of the chart that it replaces: a user who provides their own expects every read. */
  standsFor: readonly string[]
}

/**
 * Lets the reads of a running stream skip the interpreter's macrostep, which costs more than everything else that a
 * read needs. In the chart such an event is a transition without a target, in a state tagged `streaming`, whose whole
 * effect is the function that the lane calls: the chart's result is the same, and a test walks both. Listeners,
 * inspectors and the pure `transition()` get it through the actor's scope, as by any action, once the snapshot is
 * committed. Only `@xstate.microstep` is missing: XState has no public way to send it.
 */
export const withFastPath = <M extends AnyRunMachine>(machine: M, lane: Lane): M =>
  changed(machine, (inner) => ({
    transition: (snapshot: AnyMachineSnapshot, event, scope) => {
      const isStreaming = snapshot.status === 'active' && snapshot.hasTag('streaming')
      const read = isStreaming ? lane.read(snapshot, event) : undefined
      if (!read) return inner.transition(snapshot, event, scope)
      if ('instead' in read) return inner.transition(snapshot, read.instead, scope)
      emitAll(read, event, scope)
      return withContext(snapshot, read.context)
    },
    provide: (parts) => {
      const provided = inner.provide(parts)
      const names = Object.keys({ ...parts.actions, ...parts.guards })
      return names.some((name) => lane.standsFor.includes(name)) ? provided : withFastPath(provided, lane)
    },
  }))

/** As XState's `emit` does, except that the events of one read are put off together. */
const emitAll = ({ context, emitted }: Read, event: AnyEventObject, scope: AnyActorScope): void => {
  if (emitted.length === 0) return
  const info = { context, event, self: scope.self, system: scope.system }
  const due: AgentEmitted[] = []
  for (const each of emitted) {
    const exec = () => void due.push(each)
    scope.actionExecutor({ type: 'xstate.emit', info, params: { event: each }, exec })
  }
  scope.defer(() => {
    for (const each of due) scope.emit(each)
  })
}
