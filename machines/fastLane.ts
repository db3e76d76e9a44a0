import type { AnyStateMachine } from 'xstate'
import type { Accumulator } from '../src/accumulator.ts'
import type { ChildEvent } from './events.ts'
import { receiveDeltas } from './receiveDeltas.ts'

type DeltasEvent = Extract<ChildEvent, { type: 'model.deltas' }>

/**
 * Lets the deltas of a running stream skip the interpreter's macrostep, which costs more than everything else a chunk
 * needs. Only the event that the chart declares as an internal, unguarded self-transition goes this way, in a state
 * tagged `streaming`: no other transition can be taken by it, so the result is the chart's own. The snapshot is new
 * each time, and listeners are told after it is committed, as after any event.
 */
export const withFastLane = <M extends AnyStateMachine>(machine: M, accumulator: Accumulator): M => {
  const transition: M['transition'] = (snapshot, event, scope) => {
    if (event.type !== 'model.deltas' || !snapshot.tags.has('streaming') || snapshot.status !== 'active') {
      return machine.transition(snapshot, event, scope)
    }
    const deltas: DeltasEvent = event
    // A first read belongs to a stream that began anew: the chart decides what becomes of the old one.
    if (deltas.seq === 0) return machine.transition(snapshot, event, scope)
    const { state, emitted } = receiveDeltas(snapshot.context, deltas, accumulator)
    if (emitted.length > 0) {
      scope.defer(() => {
        for (const each of emitted) scope.emit(each)
      })
    }
    return { ...snapshot, context: state }
  }
  const lane: M = Object.create(machine, {
    transition: { value: transition, enumerable: true },
    provide: {
      value: (implementations: Parameters<M['provide']>[0]) =>
        withFastLane(machine.provide(implementations), accumulator),
    },
  })
  return lane
}
