import type { AnyActorRef, AnyStateMachine } from 'xstate'
import { derive } from './derive.ts'

/**
 * Makes a machine stop its children when it breaks. XState leaves them running: a guard or an action that throws, in a
 * chart or an implementation of the user's, would leave a socket open and tools at work.
 */
export const stopOrphans = <M extends AnyStateMachine>(machine: M): M =>
  derive(machine, (original) => ({
    transition: (snapshot, event, scope) => {
      try {
        return original.transition(snapshot, event, scope)
      } catch (thrown) {
        for (const child of Object.values(snapshot.children) as AnyActorRef[]) scope.stopChild(child)
        throw thrown
      }
    },
  }))
