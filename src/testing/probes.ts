import { type AnyStateMachine, and, or } from 'xstate'
import { type ChartNode, nodesOf, transitionsOf } from '../visualize/transitions.ts'

/** How often a transition was chosen, and how often its guard said no. */
export type Probe = { isGuarded: boolean; taken: number; refused: number; targets: readonly string[] }

/**
 * Watches every transition of a machine from inside its guard: also where there is no actor to inspect. The machine is
 * changed, so it must not be used elsewhere.
 */
export const probeTransitions = (machine: AnyStateMachine): Map<string, Probe> =>
  new Map(
    [...transitionsOf(machine)].map(([name, transition]) => {
      const { guard, target = [] } = transition
      const targets = target.map(({ id }) => id)
      const probe: Probe = { isGuarded: guard !== undefined, taken: 0, refused: 0, targets }
      const yes = () => {
        probe.taken += 1
        return true
      }
      const no = () => {
        probe.refused += 1
        return false
      }
      transition.guard = guard === undefined ? yes : or([and([guard as never, yes]), no])
      return [name, probe]
    }),
  )

/** The states that were entered: at the start and by transitions that were taken, with those around and first inside. */
export const enteredStates = (machine: AnyStateMachine, probes: Iterable<Probe>): Set<string> => {
  const nodes = new Map(nodesOf(machine.root).map((node) => [node.id, node]))
  const around = new Set<string>()
  const opened = new Set<string>()
  const open = (node: ChartNode | undefined): void => {
    if (!node || opened.has(node.id)) return
    opened.add(node.id)
    for (let outer = node.parent; outer; outer = outer.parent) around.add(outer.id)
    const inside = node.type === 'parallel' ? Object.values(node.states) : (node.initial?.target ?? [])
    for (const child of inside) open(nodes.get(child.id))
  }
  open(machine.root)
  for (const { taken, targets } of probes) {
    if (taken > 0) for (const id of targets) open(nodes.get(id))
  }
  return new Set([...around, ...opened])
}
