/** Every way to XState's inside that must be found: never run, only read by `publicTypes.test.ts`. */
import { type AnyActor, type AnyStateMachine, StateMachine } from 'xstate'

// biome-ignore lint/complexity/useLiteralKeys: in brackets the compiler lets private members pass.
export const withBrackets = (actor: AnyActor) => [actor['_deferred'], actor['logger']]

export const withACast = (actor: AnyActor) => (actor as object as { _snapshot: unknown })._snapshot

export const withAPattern = (actor: AnyActor) => {
  const { mailbox } = actor as object as { mailbox: unknown }
  return mailbox
}

export const withAText = (actor: AnyActor): unknown => Reflect.get(actor, 'observers')

export const withIn = (actor: AnyActor) => '_processingStatus' in actor

export const throughUnknown = (machine: AnyStateMachine) =>
  machine as unknown as { idMap: Map<string, object> }

export const withAnHeir = (machine: AnyStateMachine): object => Object.create(machine)

export const forEverybody = (transition: AnyStateMachine['transition']) => {
  StateMachine.prototype.transition = transition
  Object.assign(StateMachine.prototype, { transition })
}
