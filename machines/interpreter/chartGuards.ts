import type { AnyEventObject, AnyMachineSnapshot, AnyStateMachine, AnyTransitionDefinition } from 'xstate'

type Args = { context: unknown; event: AnyEventObject }
type Guard = AnyTransitionDefinition['guard']
/** What `not`, `and` and `or` of XState make. */
type Combined = { check(snapshot: AnyMachineSnapshot, args: Args, guard: Combined): boolean }

/** Whether a transition may be taken. */
export type Check = (snapshot: AnyMachineSnapshot, event: AnyEventObject) => boolean

export const isKnownGuard = (machine: AnyStateMachine, guard: Guard): boolean =>
  guard === undefined || isCombined(guard) || typeof named(machine, guard) === 'function'

/** The guard of a transition with its name resolved. */
export const checkOf = (machine: AnyStateMachine, guard: Guard): Check | undefined => {
  if (guard === undefined) return undefined
  if (isCombined(guard)) {
    return (snapshot, event) => guard.check(snapshot, { context: snapshot.context, event }, guard)
  }
  const implementation = named(machine, guard)
  const params: unknown = typeof guard === 'object' ? guard.params : undefined
  return ({ context }, event) => {
    const args = { context, event }
    return implementation(args, typeof params === 'function' ? params(args) : params)
  }
}

const isCombined = (guard: unknown): guard is Combined => typeof guard === 'function' && 'check' in guard

const named = ({ implementations }: AnyStateMachine, guard: Guard) =>
  implementations.guards[typeof guard === 'object' ? guard.type : String(guard)] as (
    args: Args,
    params: unknown,
  ) => boolean
