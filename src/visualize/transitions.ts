import type { AnyStateMachine, AnyTransitionDefinition } from 'xstate'

/** What is read of a machine: XState's own have it, and so have those of agents. */
export type Charted = Pick<AnyStateMachine, 'id' | 'root'>

export type ChartNode = AnyStateMachine['root']

/** A state and all that are inside it. */
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

/** Stable across `provide`, which makes new nodes: the state, the event, and which alternative it is. */
export const nameOf = (transition: AnyTransitionDefinition): string => {
  const { source, eventType } = transition
  const always = (source.always ?? []) as AnyTransitionDefinition[]
  const isAlways = always.includes(transition)
  const siblings = isAlways ? always : (source.transitions.get(eventType) ?? [])
  const alternative = siblings.length > 1 ? ` #${siblings.indexOf(transition) + 1}` : ''
  return `${source.id} ${isAlways ? 'always' : `on ${eventType}`}${alternative}`
}
