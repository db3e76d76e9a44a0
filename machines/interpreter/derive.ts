import type { AnyStateMachine } from 'xstate'

type Overrides<M extends AnyStateMachine> = Partial<
  Pick<M, 'transition' | 'start' | 'getInitialSnapshot' | 'provide'>
>

/** The same machine with some of its logic replaced; `provide` gives a machine that is changed in the same way. */
export const derive = <M extends AnyStateMachine>(machine: M, change: (machine: M) => Overrides<M>): M => {
  const provide = (implementations: Parameters<M['provide']>[0]) =>
    derive(machine.provide(implementations) as M, change)
  const overrides = Object.entries({ provide, ...change(machine) })
  return Object.create(
    machine,
    Object.fromEntries(overrides.map(([name, value]) => [name, { value, enumerable: true }])),
  )
}
