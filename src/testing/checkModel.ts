import {
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  and,
  or,
  type SnapshotFrom,
  transition,
} from 'xstate'
import { type ChartNode, nodesOf, transitionsOf } from '../visualize/transitions.ts'
import { exploreGraph, type GraphState, type PathOptions, withPuppets } from './paths.ts'

/** A way out that must be open in every running state, such as an abort. */
export type Exit<M extends AnyStateMachine> = {
  /** The events that are sent, one after the other. Each must be taken by a transition, until the machine is over. */
  events: readonly AnyEventObject[]
  /** The state it must have led to. */
  leadsTo: string
  /** The states in which it is asked for. Default: all that are not over. */
  when?: (snapshot: SnapshotFrom<M>) => boolean
}

/** Options of {@link checkModel}: the events that explore a machine, and the rules that must hold in it. */
export type ModelOptions<M extends AnyStateMachine> = PathOptions<M> & {
  exits?: readonly Exit<M>[]
  /** Things that must not happen on any path. */
  never?: readonly Never<M>[]
  /** Decides if a machine that is over has ended well. Default: when its status is `done`. */
  isEnd?: (snapshot: SnapshotFrom<M>) => boolean
}

/**
 * - `unreachable`: a state that is never entered.
 * - `stuck`: a state of the graph from which no end can be reached, exits aside.
 * - `neverTaken`: a transition that nothing leads to.
 * - `deadGuard`: a guard that is always true or always false, so that it, or what comes after it, is of no use.
 * - `closedExit`: a running state that does not take an exit, or is led elsewhere by it.
 * - `happens`: something that must never happen does, on a path.
 */
export type ModelProblem = {
  kind: 'unreachable' | 'stuck' | 'neverTaken' | 'deadGuard' | 'closedExit' | 'happens'
  /** The state, the transition, or the key of the state of the graph. */
  at: string
  why: string
}

/** The size of the graph, and the problems that were found. */
export type ModelReport = { states: number; edges: number; problems: ModelProblem[] }

/**
 * Walks every state a machine can be in, and lists what is wrong with the chart. Several machines are variants of one
 * chart, built with other settings: a state that one of them reaches counts as reached.
 *
 * @example
 * const exits = [{ events: [{ type: 'abort' }], leadsTo: 'Aborted' }]
 * expect(checkModel([machine], { inputs, events, key, exits }).problems).toEqual([])
 */
export const checkModel = <M extends AnyStateMachine>(
  machines: readonly M[],
  options: ModelOptions<M>,
): ModelReport => {
  const probes = new Map<string, Probe>()
  const names = new Set<string>()
  const entered = new Set<string>()
  const report: ModelReport = { states: 0, edges: 0, problems: [] }
  for (const machine of machines) {
    const probed = withPuppets(machine)
    const seen = probeTransitions(probed)
    const graphs = options.inputs.map((input) => exploreGraph(probed, input, options))
    addProbes(probes, seen)
    for (const { id } of nodesOf(probed.root)) names.add(id)
    for (const id of enteredStates(probed, seen.values())) entered.add(id)
    for (const graph of graphs) {
      report.states += graph.size
      for (const { edges } of graph.values()) report.edges += edges.length
      report.problems.push(
        ...stuckStates(graph, options),
        ...closedExits(probed, graph, options),
        ...happening(graph, options),
      )
    }
  }
  const unreachable = [...names].filter((name) => !entered.has(name))
  report.problems.push(
    ...unreachable.map((at): ModelProblem => ({ kind: 'unreachable', at, why: 'it is never entered' })),
    ...[...probes].flatMap(([at, probe]) => uselessness(at, probe)),
  )
  return report
}

const addProbes = (all: Map<string, Probe>, seen: ReadonlyMap<string, Probe>): void => {
  for (const [name, probe] of seen) {
    const { taken = 0, refused = 0 } = all.get(name) ?? {}
    all.set(name, { ...probe, taken: probe.taken + taken, refused: probe.refused + refused })
  }
}

const uselessness = (at: string, { isGuarded, taken, refused }: Probe): ModelProblem[] => {
  if (taken === 0 && refused === 0) return [{ kind: 'neverTaken', at, why: 'no event came to it' }]
  if (taken === 0) return [{ kind: 'deadGuard', at, why: `its guard was false each of ${refused} times` }]
  if (isGuarded && refused === 0)
    return [{ kind: 'deadGuard', at, why: `its guard was true each of ${taken} times` }]
  return []
}

type StateGraph<M extends AnyStateMachine> = ReadonlyMap<string, GraphState<M>>

/** The states from which no end can be reached: found backwards from the ends. */
const stuckStates = <M extends AnyStateMachine>(
  graph: StateGraph<M>,
  { isEnd = isDone, exits = [] }: ModelOptions<M>,
): ModelProblem[] => {
  const before = new Map<string, string[]>()
  const commands = new Set(exits.map(({ events }) => events[0]?.type))
  for (const [at, { edges }] of graph) {
    for (const { event, to } of edges) {
      // Where every state can be aborted, an abort would save them all.
      if (!commands.has(event.type)) before.set(to, [...(before.get(to) ?? []), at])
    }
  }
  const saved = new Set([...graph].filter(([, { snapshot }]) => isEnd(snapshot)).map(([at]) => at))
  for (const at of saved) for (const earlier of before.get(at) ?? []) saved.add(earlier)
  return [...graph]
    .filter(([at]) => !saved.has(at))
    .map(([at, { way }]) => ({ kind: 'stuck', at, why: `no end can be reached after ${wayOf(way)}` }))
}

const isDone = (snapshot: AnyMachineSnapshot): boolean => snapshot.status === 'done'

const closedExits = <M extends AnyStateMachine>(
  machine: M,
  graph: StateGraph<M>,
  { exits = [] }: ModelOptions<M>,
): ModelProblem[] =>
  exits.flatMap((exit) =>
    [...graph].flatMap(([at, { snapshot, way }]): ModelProblem[] => {
      const isAsked = !isOver(snapshot) && exit.when?.(snapshot) !== false
      const why = isAsked ? closure(machine, snapshot, exit) : ''
      return why === '' ? [] : [{ kind: 'closedExit', at, why: `${why} after ${wayOf(way)}` }]
    }),
  )

const happening = <M extends AnyStateMachine>(
  graph: StateGraph<M>,
  { never = [] }: ModelOptions<M>,
): ModelProblem[] =>
  never.flatMap((each): ModelProblem[] => {
    const events = brokenBy(graph, each)
    return events ? [{ kind: 'happens', at: each.name, why: `it happens after ${wayOf({ events })}` }] : []
  })

const isOver = ({ status }: AnyMachineSnapshot): boolean => status !== 'active'

/** The reason why an exit is closed in a state; empty if it is open. */
const closure = (
  machine: AnyStateMachine,
  start: AnyMachineSnapshot,
  { events, leadsTo }: Pick<Exit<AnyStateMachine>, 'events' | 'leadsTo'>,
): string => {
  let snapshot = start
  for (const event of events) {
    if (isOver(snapshot)) break
    if (!snapshot.can(event)) return `${event.type} is not taken`
    snapshot = transition(machine, snapshot, event)[0]
  }
  return snapshot.matches(leadsTo) ? '' : `the exit leads to ${JSON.stringify(snapshot.value)}`
}

const wayOf = ({ events }: { events: readonly AnyEventObject[] }): string =>
  ['the start', ...events.map(({ type }) => type)].join(', ')

/** A step of a machine: the snapshot before it, the event, and the snapshot after it. */
export type ModelStep<M extends AnyStateMachine> = {
  before: SnapshotFrom<M>
  event: AnyEventObject
  after: SnapshotFrom<M>
}

/** Something that must not happen on any path: `bad`, after `after` has happened and before `until` has. */
export type Never<M extends AnyStateMachine> = {
  name: string
  /** The start of the ban. Default: the start of the machine. */
  after?: (step: ModelStep<M>) => boolean
  until?: (step: ModelStep<M>) => boolean
  bad: (step: ModelStep<M>) => boolean
}

/** The events of a path on which it happens; undefined if it never does. */
const brokenBy = <M extends AnyStateMachine>(
  graph: ReadonlyMap<string, GraphState<M>>,
  { after, until, bad }: Never<M>,
): AnyEventObject[] | undefined => {
  const [start] = graph.keys()
  if (start === undefined) return undefined
  // The same state counts twice: before and after the thing that makes the other one bad.
  const nameOf = (at: string, isArmed: boolean) => `${isArmed} ${at}`
  const first = { at: start, isArmed: after === undefined, events: [] as AnyEventObject[] }
  const ways = new Map([[nameOf(first.at, first.isArmed), first]])
  // A map hands out what is added to it while it is walked: this is a breadth-first search.
  for (const { at, isArmed, events } of ways.values()) {
    const from = graph.get(at)
    for (const { event, to } of from?.edges ?? []) {
      const next = graph.get(to)
      if (!from || !next) continue
      const step = { before: from.snapshot, event, after: next.snapshot }
      const path = [...events, event]
      const isOpen = isArmed && !until?.(step)
      if (isOpen && bad(step)) return path
      const armed = isOpen || (after?.(step) ?? false)
      const name = nameOf(to, armed)
      if (!ways.has(name)) ways.set(name, { at: to, isArmed: armed, events: path })
    }
  }
  return undefined
}

/** Counts of a transition: the times that it was taken, and the times that its guard was false. */
type Probe = { isGuarded: boolean; taken: number; refused: number; targets: readonly string[] }

/**
 * Watches every transition of a machine from inside its guard: also where there is no actor to inspect. The machine is
 * changed, so it must not be used elsewhere.
 */
const probeTransitions = (machine: AnyStateMachine): Map<string, Probe> =>
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
const enteredStates = (machine: AnyStateMachine, probes: Iterable<Probe>): Set<string> => {
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
