import { getAdjacencyMap } from '@xstate/graph'
import {
  type ActorLogic,
  type AnyActor,
  type AnyActorLogic,
  type AnyActorRef,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  getInitialSnapshot,
  type InputFrom,
  type InspectionEvent,
  SimulatedClock,
  type Snapshot,
  type SnapshotFrom,
} from 'xstate'

/**
 * Every edge of the machine's graph as a path: the shortest way to each state, then one event more. Together the paths
 * try every event of `events` in every state that can be reached.
 *
 * @example
 * const paths = planPaths(light, {
 *   inputs: [undefined],
 *   events: () => [{ type: 'TIMER' }],
 *   key: ({ value }) => String(value),
 * })
 */
export const planPaths = <M extends AnyStateMachine>(
  machine: M,
  options: PathOptions<M>,
): MachinePath<M>[] => {
  const puppets = withPuppets(machine)
  return options.inputs.flatMap((input) =>
    [...exploreGraph(puppets, input, options).values()].flatMap(({ way, edges }) =>
      edges.length === 0
        ? [way]
        : edges.map(({ event, to }) => ({
            input,
            events: [...way.events, event],
            keys: [...way.keys, to],
          })),
    ),
  )
}

/** Options of {@link replayPath}. */
export type ReplayOptions<M extends AnyStateMachine> = Pick<PathOptions<M>, 'from'> & {
  inspect?: (event: InspectionEvent) => void
  /** Called after the start and after each event that was delivered. */
  onStep?: (actor: AnyActor, index: number) => void
  /** A persisted snapshot to start from instead of the input, and the number of events that it has seen. */
  resume?: { snapshot: Snapshot<unknown>; seen: number }
}

/**
 * Walks a path with a real actor whose children are puppets, in simulated time. The actor is returned as the path
 * leaves it.
 *
 * @example for (const path of paths) replayPath(light, path, { inspect: coverage.inspect }).stop()
 */
export const replayPath = <M extends AnyStateMachine>(
  machine: AnyActorLogic,
  path: MachinePath<M>,
  options: ReplayOptions<M> = {},
): AnyActor => {
  const clock = new SimulatedClock()
  const { snapshot, seen } = options.resume ?? { snapshot: undefined, seen: 0 }
  const actor: AnyActor = createActor<AnyActorLogic>(machine, {
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

/** The way in which `planPaths` and `checkModel` explore a machine. */
export type PathOptions<M extends AnyStateMachine> = {
  /** The inputs that the machine is started with; the graph is built once for each. */
  inputs: readonly InputFrom<M>[]
  /**
   * The events worth trying in a state: commands, reports of children, and XState's own `xstate.done.actor.<id>`,
   * `xstate.error.actor.<id>` and `xstate.after.<delay>.<stateId>`.
   */
  events: (snapshot: SnapshotFrom<M>) => readonly AnyEventObject[]
  /**
   * The identity of a state of the graph: the state value, and every datum that a guard looks at, clamped at the
   * guard's threshold so that the graph stays finite.
   */
  key: (snapshot: SnapshotFrom<M>) => string
  /** The child that an event comes from; undefined for events from outside. */
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

type Parts = Parameters<AnyStateMachine['provide']>[0]

/** A machine that takes parts: XState's own, or that of an agent. */
type Providing = Pick<AnyStateMachine, 'implementations'> & { provide(parts: Parts): unknown }

type PuppetEvent =
  | { type: 'puppet.say'; event: AnyEventObject }
  | { type: 'puppet.finish'; output: unknown }
  | { type: 'puppet.fail'; error: unknown }

type PuppetSnapshot = Snapshot<unknown> & { input: unknown }

/** A child that does nothing by itself: the test makes it send to its parent, finish or fail. */
const puppet: ActorLogic<PuppetSnapshot, PuppetEvent, unknown> = {
  getInitialSnapshot: (_, input) => ({ status: 'active', output: undefined, error: undefined, input }),
  transition: (snapshot, event, { self, defer }) => {
    switch (event.type) {
      case 'puppet.say':
        defer(() => self._parent?.send(event.event))
        return snapshot
      case 'puppet.finish':
        return { ...snapshot, status: 'done', output: event.output, error: undefined }
      case 'puppet.fail':
        return { ...snapshot, status: 'error', error: event.error, output: undefined }
      default:
        return snapshot
    }
  },
  getPersistedSnapshot: (snapshot) => snapshot,
  restoreSnapshot: (snapshot) => snapshot as PuppetSnapshot,
}

/**
 * The machine with every one of its actors replaced by a puppet.
 *
 * @example replayPath(withPuppets(machine), path)
 */
export const withPuppets = <M extends Providing>(machine: M): M => {
  const names = Object.keys(machine.implementations.actors)
  const actors = Object.fromEntries(names.map((name) => [name, puppet]))
  return machine.provide({ actors }) as M
}

const sayToParent = (child: AnyActorRef, event: AnyEventObject): void =>
  child.send({ type: 'puppet.say', event })

export const finishPuppet = (child: AnyActorRef, output: unknown): void =>
  child.send({ type: 'puppet.finish', output })

const failPuppet = (child: AnyActorRef, error: unknown): void => child.send({ type: 'puppet.fail', error })
