import type { AnyActor, AnyStateMachine } from 'xstate'
import { derive } from './derive.ts'

/** Done once: a child must not tell its end twice. */
const repeating = new WeakSet<AnyStateMachine>()

/**
 * Makes a restored machine hear of children that had ended already. A snapshot may be taken while the done event of a
 * child is still on its way to its parent: XState keeps the child then, but not the event, and the run would wait for
 * ever. Starting such a child again makes it tell its end once more.
 */
export const repeatEnds = <M extends AnyStateMachine>(machine: M): M => {
  if (repeating.has(machine)) return machine
  const repeater = derive(machine, (original) => ({
    start: (snapshot) => {
      original.start(snapshot)
      for (const child of Object.values(snapshot.children) as AnyActor[]) {
        if (child.getSnapshot().status !== 'active') child.start()
      }
    },
  }))
  repeating.add(repeater)
  return repeater
}
