import type { AnyStateMachine, AnyTransitionDefinition } from 'xstate'

/** The parts of a machine that are read: XState's machines have them, and so have those of agents. */
export type Charted = Pick<AnyStateMachine, 'id' | 'root'>

export type ChartNode = AnyStateMachine['root']

/** A state and all states inside it. */
export const nodesOf = (node: ChartNode): ChartNode[] => [
  node,
  ...Object.values(node.states).flatMap((child) => nodesOf(child)),
]

/** The transitions of a machine by name: each alternative, `always`, `after`, `onDone` and `onError` counts separately. */
export const transitionsOf = (machine: Charted): Map<string, AnyTransitionDefinition> =>
  new Map(
    nodesOf(machine.root)
      .flatMap((node) => [...[...node.transitions.values()].flat(), ...(node.always ?? [])])
      .map((transition) => [nameOf(transition), transition]),
  )

/** Names a transition by its state, its event and its place among the alternatives. `provide` makes new nodes but keeps the name. */
export const nameOf = (transition: AnyTransitionDefinition): string => {
  const { source, eventType } = transition
  const always = (source.always ?? []) as AnyTransitionDefinition[]
  const isAlways = always.includes(transition)
  const siblings = isAlways ? always : (source.transitions.get(eventType) ?? [])
  const alternative = siblings.length > 1 ? ` #${siblings.indexOf(transition) + 1}` : ''
  return `${source.id} ${isAlways ? 'always' : `on ${eventType}`}${alternative}`
}
