import {
  type AnyActorLogic,
  type AnyActorRef,
  type AnyActorScope,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  assign,
  createActor,
  emit,
  enqueueActions,
  type MachineContext,
  sendTo,
  spawnChild,
  stopChild,
} from 'xstate'
import type { Act, Args, Expression } from './chartActs.ts'
import type { Place } from './chartPlan.ts'

/** Why a step is taken, and where: what its actions raise is for later. */
export type Cause = { event: AnyEventObject; scope: AnyActorScope; raised: AnyEventObject[] }

/** What XState itself does for an action once it is decided on. That stays its own business. */
const executeOf = (action: unknown) =>
  (action as { execute(scope: AnyActorScope, params: unknown): void }).execute
const execute = {
  'xstate.emit': executeOf(emit({ type: '' })),
  'xstate.sendTo': executeOf(sendTo('', { type: '' })),
  'xstate.spawnChild': executeOf(spawnChild('')),
  'xstate.stopChild': executeOf(stopChild('')),
}

/** XState does not promise how its actions are made: one that makes them otherwise takes all steps itself. */
export const isKnownXState = (): boolean =>
  Object.values(execute).every((each) => typeof each === 'function') &&
  'assignment' in assign({}) &&
  'collect' in enqueueActions(() => {})

/**
 * One step of a chart while it is taken: the data and the children as they change. What is to be done is told to the
 * actor as XState's own interpreter tells it; `enqueueActions` gets the step itself as its `enqueue`.
 */
export class Microstep {
  readonly #machine: AnyStateMachine
  readonly #cause: Cause
  #context: MachineContext
  #children: Record<string, AnyActorRef>

  constructor(machine: AnyStateMachine, before: AnyMachineSnapshot, cause: Cause) {
    this.#machine = machine
    this.#cause = cause
    this.#context = before.context
    this.#children = before.children
  }

  /** Where it led. */
  snapshotAt({ snapshot, leaf }: Place): AnyMachineSnapshot {
    const reached = { ...snapshot, context: this.#context, children: this.#children }
    if (reached.status !== 'done') return reached
    const { output } = this.#machine.root
    const done = { type: `xstate.done.state.${leaf.id}`, output: this.#valueOf(leaf.output) }
    reached.output = typeof output === 'function' ? output({ ...this.#args(), event: done }) : output
    return reached
  }

  /** The same snapshot, if nothing changed. */
  snapshotHere(place: Place, before: AnyMachineSnapshot): AnyMachineSnapshot {
    const isSame = this.#context === before.context && this.#children === before.children
    return isSame ? before : this.snapshotAt(place)
  }

  take(acts: readonly Act[]): void {
    for (const { action, params } of acts) {
      switch (action.type) {
        case 'xstate.assign':
          if (typeof action.assignment !== 'function') this.assign(action.assignment)
          else
            this.#context = { ...this.#context, ...this.#valueOf(action.assignment, this.#valueOf(params)) }
          break
        case 'xstate.emit':
          this.#tell('xstate.emit', { event: this.#valueOf(action.event, this.#valueOf(params)) })
          break
        case 'xstate.spawnChild':
          this.spawnChild(action.src, action)
          break
        case 'xstate.stopChild':
          this.stopChild(action.actorRef)
          break
        case 'xstate.enqueueActions':
          action.collect({ ...this.#args(), enqueue: this }, this.#valueOf(params))
      }
    }
  }

  assign(change: Record<string, Expression<unknown>>): void {
    const context: MachineContext = { ...this.#context }
    for (const key of Object.keys(change)) context[key] = this.#valueOf(change[key])
    this.#context = context
  }

  emit(event: AnyEventObject): void {
    this.#tell('xstate.emit', { event })
  }

  raise(event: AnyEventObject): void {
    this.#cause.raised.push(event)
  }

  sendTo(to: AnyActorRef, event: AnyEventObject): void {
    this.#tell('xstate.sendTo', { to, targetId: undefined, event, id: undefined, delay: undefined })
  }

  spawnChild(src: string, options: { id: string; systemId?: string | undefined; input?: unknown }): void {
    const { id, systemId } = options
    const input = this.#valueOf(options.input)
    const actorRef = createActor(this.#machine.implementations.actors[src] as AnyActorLogic, {
      id,
      src,
      parent: this.#cause.scope.self,
      input,
      ...(systemId !== undefined && { systemId }),
      // As XState says it in stored snapshots; its types keep this to itself.
      ...{ syncSnapshot: false },
    })
    this.#children = { ...this.#children, [id]: actorRef }
    this.#tell('xstate.spawnChild', { id, systemId, actorRef, src, input })
  }

  stopChild(id: string): void {
    const { [id]: child, ...others } = this.#children
    this.#children = others
    this.#tell('xstate.stopChild', child)
  }

  /** All of them, at the end of a machine. */
  stopChildren(): void {
    for (const id of Object.keys(this.#children)) this.stopChild(id)
  }

  #tell(type: keyof typeof execute, params: unknown): void {
    const { scope } = this.#cause
    scope.actionExecutor({ type, info: this.#args(), params, exec: () => execute[type](scope, params) })
  }

  #valueOf<T>(value: Expression<T>, params?: unknown): T {
    return typeof value === 'function'
      ? (value as (args: Args, params: unknown) => T)(this.#args(), params)
      : value
  }

  #args() {
    const { event, scope } = this.#cause
    return { context: this.#context, event, self: scope.self, system: scope.system }
  }
}
