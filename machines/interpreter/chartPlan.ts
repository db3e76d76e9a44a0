import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type AnyTransitionDefinition,
  pathToStateValue,
} from 'xstate'
import { type Act, actsOf, entryActs, exitActs } from './chartActs.ts'
import { type Check, checkOf } from './chartGuards.ts'

/** A transition as it is taken from one leaf: all its actions in order, with those of the states it leaves and enters. */
export type Step = {
  transition: AnyTransitionDefinition | undefined
  check: Check | undefined
  acts: readonly Act[]
  /** The leaf it leads to; undefined where it stays. */
  to: AnyStateNode | undefined
}

/** A chart standing at one of its leaves. */
export type Place = {
  leaf: AnyStateNode
  /** Its snapshot without any data. */
  snapshot: AnyMachineSnapshot
  /** What an event may lead to, innermost first. */
  on: ReadonlyMap<string, readonly Step[]>
  /** What is taken without an event. */
  always: readonly Step[]
}

/**
 * What the transitions of a chart do, worked out once. Where nothing is parallel and nothing is remembered, a transition
 * leaves and enters the same states each time it is taken from a leaf.
 */
export class ChartPlan {
  readonly #machine: AnyStateMachine
  readonly #places = new Map<AnyStateNode, Place>()

  constructor(machine: AnyStateMachine) {
    this.#machine = machine
  }

  /** Into the chart. */
  first(): Step & { to: AnyStateNode } {
    const to = leafBelow(this.#machine.root)
    const acts = lineOf(to).flatMap((state) => entryActs(this.#machine, state))
    return { transition: undefined, check: undefined, acts, to }
  }

  placeOf(snapshot: AnyMachineSnapshot): Place {
    return this.placeAt(snapshot._nodes.find(({ type }) => type !== 'compound') ?? this.#machine.root)
  }

  placeAt(leaf: AnyStateNode): Place {
    const known = this.#places.get(leaf)
    if (known) return known
    const place = this.#workOut(leaf)
    this.#places.set(leaf, place)
    return place
  }

  #workOut(leaf: AnyStateNode): Place {
    const outwards = lineOf(leaf).toReversed()
    const events = new Set(outwards.flatMap(({ transitions }) => [...transitions.keys()]))
    const steps = (of: (state: AnyStateNode) => AnyTransitionDefinition[] | undefined) =>
      outwards.flatMap((state) => of(state) ?? []).map((transition) => this.#stepOf(transition, leaf))
    return {
      leaf,
      snapshot: this.#machine.resolveState({ value: pathToStateValue(leaf.path), context: {} }),
      on: new Map([...events].map((event) => [event, steps(({ transitions }) => transitions.get(event))])),
      always: steps(({ always }) => always),
    }
  }

  #stepOf(transition: AnyTransitionDefinition, from: AnyStateNode): Step {
    const machine = this.#machine
    const check = checkOf(machine, transition.guard)
    const own = actsOf(machine, transition.actions)
    const target: AnyStateNode | undefined = transition.target?.[0]
    if (!target) return { transition, check, acts: own, to: undefined }
    const to = leafBelow(target)
    const kept = keptBy(transition, target)
    const isChanged = (state: AnyStateNode) => !kept.includes(state)
    const left = lineOf(from).filter(isChanged).toReversed()
    const entered = lineOf(to).filter(isChanged)
    const acts = [
      ...left.flatMap((state) => exitActs(machine, state)),
      ...own,
      ...entered.flatMap((state) => entryActs(machine, state)),
    ]
    return { transition, check, acts, to }
  }
}

/** The states that are neither left nor entered: those around source and target, or the source where the target is in it. */
const keptBy = ({ source, reenter }: AnyTransitionDefinition, target: AnyStateNode): AnyStateNode[] => {
  const around = lineOf(target)
  if (!reenter && around.includes(source)) return lineOf(source)
  return lineOf(source).filter((state) => state !== source && state !== target && around.includes(state))
}

/** A state and all within it. */
export const statesOf = (state: AnyStateNode): AnyStateNode[] => [
  state,
  ...Object.values<AnyStateNode>(state.states).flatMap(statesOf),
]

/** A state and those around it, root first. */
const lineOf = (state: AnyStateNode): AnyStateNode[] =>
  state.parent ? [...lineOf(state.parent), state] : [state]

const leafBelow = (state: AnyStateNode): AnyStateNode =>
  state.type === 'compound' ? leafBelow(state.initial.target[0] as AnyStateNode) : state
