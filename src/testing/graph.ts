import { getAdjacencyMap } from '@xstate/graph'
import {
  type AnyEventObject,
  type AnyStateMachine,
  getInitialSnapshot,
  type InputFrom,
  type Snapshot,
  type SnapshotFrom,
} from 'xstate'

/** How `planPaths` and `checkModel` explore a machine. */
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

/** A state of the graph: one snapshot that has its key, the shortest way to it, and where each event leads. */
export type GraphState<M extends AnyStateMachine> = {
  snapshot: SnapshotFrom<M>
  way: MachinePath<M>
  edges: readonly { event: AnyEventObject; to: string }[]
}

type Leads = Record<string, { event: AnyEventObject; state: Snapshot<unknown> }>

/** Every state that can be reached from an input, by key, the nearest first. */
export const exploreGraph = <M extends AnyStateMachine>(
  machine: M,
  input: InputFrom<M>,
  options: PathOptions<M>,
): Map<string, GraphState<M>> => {
  const key = (snapshot: Snapshot<unknown>) => options.key(snapshot as SnapshotFrom<M>)
  const adjacency = new Map(
    Object.entries(
      getAdjacencyMap(
        machine as AnyStateMachine,
        {
          input,
          events: (snapshot: Snapshot<unknown>) => options.events(snapshot as SnapshotFrom<M>),
          serializeState: key,
          stopWhen: ({ status }: Snapshot<unknown>) => status !== 'active',
          limit: 100_000,
        } as never,
      ),
    ),
  )
  const graph = new Map<string, GraphState<M>>()
  const visit = (at: string, way: MachinePath<M>): void => {
    const found = adjacency.get(at)
    if (!found || graph.has(at)) return
    const edges = Object.values(found.transitions as Leads).map(({ event, state }) => ({
      event,
      to: key(state),
    }))
    graph.set(at, { snapshot: found.state as SnapshotFrom<M>, way, edges })
  }
  const start = key(getInitialSnapshot(machine as AnyStateMachine, input))
  visit(start, { input, events: [], keys: [start] })
  // A map hands out what is added to it while it is walked: this is a breadth-first search.
  for (const { way, edges } of graph.values()) {
    for (const { event, to } of edges) {
      visit(to, { input, events: [...way.events, event], keys: [...way.keys, to] })
    }
  }
  return graph
}
