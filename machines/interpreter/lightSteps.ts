import type { AnyActorScope, AnyEventObject, AnyMachineSnapshot, AnyStateMachine } from 'xstate'
import { isKnownAction } from './chartActs.ts'
import { isKnownGuard } from './chartGuards.ts'
import { ChartPlan, type Step, statesOf } from './chartPlan.ts'
import { derive } from './derive.ts'
import { type Cause, isKnownXState, Microstep } from './microstep.ts'

/**
 * Makes a machine take its steps in a fraction of the time and memory. A short run is a dozen of them, and for each one
 * XState's interpreter, made for charts of any kind, works out anew which states are left and entered; here that is
 * known beforehand. The chart, its guards, its actions and its snapshots stay what they are. A chart with anything in it
 * that is not known here keeps XState's own steps, and so does a machine whose actions or guards were replaced with
 * `provide`. The tests run both side by side.
 */
export const withLightSteps = <M extends AnyStateMachine>(machine: M): M => {
  if (!isKnownXState() || !isKnownChart(machine)) return machine
  return derive(machine, (original) => {
    const steps = new LightSteps(original)
    return {
      getInitialSnapshot: (scope, input) => steps.begin(scope, input),
      transition: (snapshot, event, scope) =>
        steps.take(snapshot, event, scope) ?? original.transition(snapshot, event, scope),
      provide: (implementations) => {
        const provided = original.provide(implementations) as M
        const isReplaced = implementations.actions !== undefined || implementations.guards !== undefined
        return isReplaced ? provided : withLightSteps(provided)
      },
    }
  })
}

/** Always at one leaf, without memory, delays or wildcards, and only actions, guards and actors of the usual kinds. */
const isKnownChart = (machine: AnyStateMachine): boolean =>
  statesOf(machine.root).every((state) => {
    const events = [...state.transitions.keys()]
    const transitions = [...state.transitions.values()].flat().concat(state.always ?? [])
    const actions = [...state.entry, ...state.exit, ...transitions.flatMap((each) => each.actions)]
    return (
      ['atomic', 'compound', 'final'].includes(state.type) &&
      (state.type !== 'final' || (state.parent === machine.root && state.exit.length === 0)) &&
      (state.parent !== undefined || state.exit.length === 0) &&
      (state.type !== 'compound' || state.initial.actions.length === 0) &&
      state.after.length === 0 &&
      events.every((event) => !event.includes('*')) &&
      actions.every((action) => isKnownAction(machine, action)) &&
      transitions.every(({ target = [], guard }) => target.length < 2 && isKnownGuard(machine, guard)) &&
      state.invoke.every(
        ({ src, onSnapshot }) => String(src) in machine.implementations.actors && onSnapshot === undefined,
      )
    )
  })

class LightSteps {
  readonly #machine: AnyStateMachine
  readonly #plan: ChartPlan

  constructor(machine: AnyStateMachine) {
    this.#machine = machine
    this.#plan = new ChartPlan(machine)
  }

  /** The snapshot before any event. */
  begin(scope: AnyActorScope, input: unknown): AnyMachineSnapshot {
    const { context } = this.#machine.config
    const first = this.#plan.first()
    const empty: AnyMachineSnapshot = { ...this.#plan.placeAt(first.to).snapshot }
    try {
      empty.context = typeof context === 'function' ? context({ input, self: scope.self }) : context
      const cause = { event: { type: 'xstate.init', input }, scope, raised: [] }
      return this.#settle(this.#step(empty, first, cause), cause)
    } catch (error) {
      return { ...empty, status: 'error', error } as AnyMachineSnapshot
    }
  }

  /** The snapshot after an event; undefined for one that nothing in the chart is made for. */
  take(
    snapshot: AnyMachineSnapshot,
    event: AnyEventObject,
    scope: AnyActorScope,
  ): AnyMachineSnapshot | undefined {
    if (snapshot.status !== 'active') return undefined
    const step = this.#select(snapshot, event)
    if (!step) return undefined
    const cause = { event, scope, raised: [] }
    return this.#settle(this.#step(snapshot, step, cause), cause)
  }

  /** Goes on as long as something is due: transitions that need no event, then events that actions raised. */
  #settle(reached: AnyMachineSnapshot, first: Cause): AnyMachineSnapshot {
    let snapshot = reached
    let cause = first
    let isChanged = true
    while (snapshot.status === 'active') {
      const always: Step | undefined = isChanged ? this.#selectAlways(snapshot, cause.event) : undefined
      if (!always) {
        const event = cause.raised.shift()
        if (!event) return snapshot
        cause = { ...cause, event }
      }
      const step: Step | undefined = always ?? this.#select(snapshot, cause.event)
      const next: AnyMachineSnapshot = step ? this.#step(snapshot, step, cause) : snapshot
      isChanged = !always || next !== snapshot
      snapshot = next
    }
    new Microstep(this.#machine, snapshot, cause).stopChildren()
    return snapshot
  }

  #select(snapshot: AnyMachineSnapshot, event: AnyEventObject): Step | undefined {
    const steps = this.#plan.placeOf(snapshot).on.get(event.type)
    return steps?.find(({ check }) => check === undefined || check(snapshot, event))
  }

  #selectAlways(snapshot: AnyMachineSnapshot, event: AnyEventObject): Step | undefined {
    const { always } = this.#plan.placeOf(snapshot)
    return always.find(({ check }) => check === undefined || check(snapshot, event))
  }

  #step(snapshot: AnyMachineSnapshot, { transition, acts, to }: Step, cause: Cause): AnyMachineSnapshot {
    const microstep = new Microstep(this.#machine, snapshot, cause)
    microstep.take(acts)
    const next = to
      ? microstep.snapshotAt(this.#plan.placeAt(to))
      : microstep.snapshotHere(this.#plan.placeOf(snapshot), snapshot)
    if (transition) {
      const { scope, event } = cause
      const told = {
        type: '@xstate.microstep',
        actorRef: scope.self,
        event,
        snapshot: next,
        _transitions: [transition],
      }
      inspectorsOf(scope)._sendInspectionEvent?.(told)
    }
    return next
  }
}

/** XState's types keep this to itself. */
const inspectorsOf = ({ system }: AnyActorScope) =>
  system as unknown as { _sendInspectionEvent?(told: object): void }
