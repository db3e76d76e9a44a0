import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate'
import type { Accumulator } from '../src/model/accumulator.ts'
import { broken } from './agentFailures.ts'
import type { ChildEvent } from './events.ts'
import { derive } from './interpreter/derive.ts'
import { emitAll } from './interpreter/emitAll.ts'
import { receiveDeltas } from './receiveDeltas.ts'
import type { StreamingState } from './streamingState.ts'

type DeltasEvent = Extract<ChildEvent, { type: 'model.deltas' }>

/**
 * Lets the deltas of a running stream skip the interpreter's macrostep, which costs more than everything else a chunk
 * needs. Only the event that the chart declares as an internal, unguarded self-transition goes this way, in a state
 * tagged `streaming`: no other transition can be taken by it, so the result is the chart's own. A first read changes
 * the state: that step is the chart's, with the read still empty, and its deltas follow on the lane. The snapshot is
 * new each time, and listeners are told after it is committed, as after any event.
 */
export const withFastLane = <M extends AnyStateMachine>(machine: M, accumulator: Accumulator): M => {
  // Snapshots of one state differ in their data and children alone. Made from one and the same, not from each other,
  // they are copied the fast way: see `afterRead`.
  let streaming: AnyMachineSnapshot | undefined
  return derive(machine, (original) => ({
    transition: (snapshot, event, scope) => {
      if (event.type !== 'model.deltas' || snapshot.status !== 'active') {
        return original.transition(snapshot, event, scope)
      }
      const read: DeltasEvent = event
      const isGoingOn = read.seq > 0 && snapshot.tags.has('streaming')
      const entered = isGoingOn ? snapshot : original.transition(snapshot, { ...read, deltas: [] }, scope)
      if (!entered.tags.has('streaming') || entered.status !== 'active') return entered
      const received = tryReceive(entered.context, read, accumulator)
      if ('failed' in received) return original.transition(entered, received.failed, scope)
      const { state, emitted } = received
      if (emitted.length > 0) scope.defer(() => emitAll(scope, emitted))
      streaming ??= { ...entered, context: {}, children: {} }
      return { ...streaming, context: state, children: entered.children }
    },
    provide: (implementations) => {
      const provided = original.provide(implementations) as M
      // Who replaces what a read does wants to see every read.
      const isReplaced = implementations.actions !== undefined && 'receive' in implementations.actions
      return isReplaced ? provided : withFastLane(provided, accumulator)
    },
  }))
}

type Received = ReturnType<typeof receiveDeltas> | { failed: ChildEvent }

/** Whatever goes wrong is for the chart, which knows what to do then. */
const tryReceive = (state: StreamingState, read: DeltasEvent, accumulator: Accumulator): Received => {
  try {
    return receiveDeltas(state, read, accumulator)
  } catch (thrown) {
    return { failed: { type: 'model.failed', error: broken(thrown, 'Accumulating'), at: read.at } }
  }
}
