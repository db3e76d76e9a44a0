import {
  type AnyActor,
  type AnyActorLogic,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  type InspectionEvent,
  SimulatedClock,
  type Snapshot,
} from 'xstate'
import { exploreGraph, type MachinePath, type PathOptions } from './graph.ts'
import { failPuppet, finishPuppet, sayToParent, withPuppets } from './puppets.ts'

export type { MachinePath, PathOptions } from './graph.ts'

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

/** What {@link replayPath} does on its way. */
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
