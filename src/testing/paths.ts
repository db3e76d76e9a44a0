import {
  type AnyActor,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  type EventFromLogic,
  type InputFrom,
  type InspectionEvent,
  SimulatedClock,
  type Snapshot,
  type SnapshotFrom,
} from 'xstate'
import { getAdjacencyMap, getShortestPaths } from 'xstate/graph'
import { failPuppet, finishPuppet, sayToParent, withPuppets } from './puppets.ts'

export type PathOptions<M extends AnyStateMachine> = {
  /** What the machine is started with; the graph is built once for each. */
  inputs: readonly InputFrom<M>[]
  /**
   * The events worth trying in a state: commands, reports of children, and XState's own `xstate.done.actor.<id>`,
   * `xstate.error.actor.<id>` and `xstate.after.<delay>.<stateId>`.
   */
  events: (snapshot: SnapshotFrom<M>) => readonly AnyEventObject[]
  /**
   * When two snapshots are the same state of the graph: the state value, and every datum a guard looks at, clamped at
   * the guard's threshold so that the graph stays finite.
   */
  key: (snapshot: SnapshotFrom<M>) => string
  /** Which child an event comes from; undefined for events from outside. */
  from?: (event: AnyEventObject) => string | undefined
}

/** A way through a machine: the input it starts with and the events it then gets. */
export type MachinePath<M extends AnyStateMachine> = {
  input: InputFrom<M>
  events: readonly AnyEventObject[]
  /** The keys of the states after the start and after each event. */
  keys: readonly string[]
}

/**
 * Every edge of the machine's graph as a path: the shortest way to each state, then one event more. Together the paths
 * try every event of `events` in every state that can be reached.
 */
export const planPaths = <M extends AnyStateMachine>(
  machine: M,
  options: PathOptions<M>,
): MachinePath<M>[] => {
  const puppets = withPuppets(machine)
  return options.inputs.flatMap((input) => {
    const traversal = {
      input,
      events: (snapshot: SnapshotFrom<M>) => options.events(snapshot) as EventFromLogic<M>[],
      serializeState: (snapshot: SnapshotFrom<M>) => options.key(snapshot),
      stopWhen: (snapshot: SnapshotFrom<M>) => isOver(snapshot),
      limit: 100_000,
    } as NonNullable<Parameters<typeof getShortestPaths>[1]>
    const graph: Graph = new Map(Object.entries(getAdjacencyMap(puppets, traversal)))
    return getShortestPaths(puppets, traversal).flatMap(({ steps }) => {
      const way = { input, events: steps.slice(1).map((step) => step.event), keys: steps.map(keyOfStep) }
      const edges = Object.values(graph.get(way.keys.at(-1) ?? '')?.transitions ?? {})
      if (edges.length === 0) return [way]
      return edges.map((edge) => ({
        input,
        events: [...way.events, edge.event],
        keys: [...way.keys, keyOfStep(edge)],
      }))
    })

    function keyOfStep(step: { state: Snapshot<unknown> }): string {
      return options.key(step.state as SnapshotFrom<M>)
    }
  })
}

type Edge = { event: AnyEventObject; state: Snapshot<unknown> }
type Graph = ReadonlyMap<string, { transitions: Record<string, Edge> }>

export type ReplayOptions<M extends AnyStateMachine> = Pick<PathOptions<M>, 'from'> & {
  inspect?: (event: InspectionEvent) => void
  /** Called after the start and after each event that was delivered. */
  onStep?: (actor: AnyActor, index: number) => void
  /** Start from here instead of from the input: a persisted snapshot, and how many events it has seen. */
  resume?: { snapshot: Snapshot<unknown>; seen: number }
}

/**
 * Walks a path with a real actor whose children are puppets, in simulated time. The actor is returned as the path
 * leaves it.
 */
export const replayPath = <M extends AnyStateMachine>(
  machine: M,
  path: MachinePath<M>,
  options: ReplayOptions<M> = {},
): AnyActor => {
  const clock = new SimulatedClock()
  const { snapshot, seen } = options.resume ?? { snapshot: undefined, seen: 0 }
  const actor: AnyActor = createActor(machine as AnyStateMachine, {
    clock,
    input: path.input,
    ...(snapshot && { snapshot }),
    ...(options.inspect && { inspect: options.inspect }),
  })
  actor.subscribe({ error: () => {} })
  actor.start()
  options.onStep?.(actor, seen)
  path.events.slice(seen).forEach((event, offset) => {
    deliver(actor, event, clock, options.from?.(event))
    options.onStep?.(actor, seen + offset + 1)
  })
  return actor
}

const deliver = (
  actor: AnyActor,
  event: AnyEventObject,
  clock: SimulatedClock,
  from: string | undefined,
): void => {
  const child = (id: string) => (actor.getSnapshot() as AnyMachineSnapshot).children[id]
  const [, kind, rest = ''] = /^xstate\.(done\.actor|error\.actor|after)\.(.+)$/.exec(event.type) ?? []
  if (kind === 'after') {
    clock.increment(Number.parseFloat(rest))
    return
  }
  const sender = child(kind ? rest : (from ?? ''))
  if (kind === 'done.actor') {
    if (sender) finishPuppet(sender, event.output)
  } else if (kind === 'error.actor') {
    if (sender) failPuppet(sender, event.error)
  } else if (from === undefined) actor.send(event)
  else if (sender) sayToParent(sender, event)
}

const isOver = (snapshot: Snapshot<unknown>): boolean => snapshot.status !== 'active'
