import type { AnyEventObject, AnyStateMachine, AnyStateNode, MachineContext } from 'xstate'
import type { Microstep } from './microstep.ts'

type Action = AnyStateNode['entry'][number]

export type Args = { context: MachineContext; event: AnyEventObject; self: unknown; system: unknown }
/** A value, or how to get it. */
export type Expression<T> = T | ((args: Args, params: unknown) => T)

/** How XState's own creators write an action down, as far as it is known here how to carry it out. */
export type KnownAction =
  | { type: 'xstate.assign'; assignment: Expression<Record<string, Expression<unknown>>> }
  | { type: 'xstate.emit'; event: Expression<AnyEventObject> }
  | { type: 'xstate.spawnChild'; src: string; id: string; systemId?: string | undefined; input?: unknown }
  | { type: 'xstate.stopChild'; actorRef: string }
  | { type: 'xstate.enqueueActions'; collect(args: Args & { enqueue: Microstep }, params: unknown): void }

/** An action with its name resolved. */
export type Act = { action: KnownAction; params: unknown }

const knownTypes = new Set<unknown>([
  'xstate.assign',
  'xstate.emit',
  'xstate.stopChild',
  'xstate.enqueueActions',
])

export const isKnownAction = (machine: AnyStateMachine, action: Action): boolean =>
  knownTypes.has(actOf(machine, action).action?.type)

export const entryActs = (machine: AnyStateMachine, { entry, invoke }: AnyStateNode): Act[] => [
  ...actsOf(machine, entry),
  ...invoke.map(
    ({ src, id, systemId, input }): Act => ({
      action: { type: 'xstate.spawnChild', src: String(src), id, systemId, input },
      params: undefined,
    }),
  ),
]

export const exitActs = (machine: AnyStateMachine, { exit, invoke }: AnyStateNode): Act[] => [
  ...actsOf(machine, exit),
  ...invoke.map(({ id }): Act => ({ action: { type: 'xstate.stopChild', actorRef: id }, params: undefined })),
]

export const actsOf = (machine: AnyStateMachine, actions: readonly Action[]): Act[] =>
  actions.map((action) => actOf(machine, action))

const actOf = ({ implementations }: AnyStateMachine, action: Action): Act => {
  const name = typeof action === 'object' ? action.type : action
  const found = typeof name === 'function' ? name : implementations.actions[name]
  return {
    action: found as unknown as KnownAction,
    params: typeof action === 'object' ? action.params : undefined,
  }
}
