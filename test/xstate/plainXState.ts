import { getAdjacencyMap } from '@xstate/graph'
import {
  type AnyActorRef,
  type AnyStateMachine,
  assign,
  createActor,
  emit,
  enqueueActions,
  fromCallback,
  fromPromise,
  initialTransition,
  type Snapshot,
  sendTo,
  setup,
  stateIn,
  transition,
} from 'xstate'
import { inspection } from './inspected.ts'

/** A machine with one of each: what must work on a changed copy of XState before it can prove anything about us. */
const machine = setup({
  types: {
    context: {} as { count: number; seen: string[] },
    events: {} as { type: 'go' } | { type: 'more' } | { type: 'ping' } | { type: 'snap' },
    emitted: {} as { type: 'noted'; count: number } | { type: 'odd' },
    tags: {} as 'busy',
  },
  actors: {
    work: fromPromise(async () => 'worked'),
    echo: fromCallback<{ type: 'hello' }>(({ sendBack, receive }) => {
      receive(() => sendBack({ type: 'ping' }))
    }),
    watched: fromPromise(async () => 'watched'),
  },
  guards: { isResting: stateIn('#plain.resting') },
  actions: {
    note: emit(({ context }) => ({ type: 'noted' as const, count: context.count })),
    count: assign({ count: ({ context }) => context.count + 1 }),
    both: enqueueActions(({ context, enqueue }) => {
      enqueue.assign({ count: context.count + 1 })
      if (context.count > 0) enqueue.emit({ type: 'odd' })
    }),
  },
}).createMachine({
  id: 'plain',
  context: { count: 0, seen: [] },
  initial: 'resting',
  states: {
    resting: {
      meta: { calm: true },
      on: {
        go: { target: 'working', guard: 'isResting', actions: ['both', 'note'] },
        more: { actions: 'both' },
      },
    },
    working: {
      tags: 'busy',
      invoke: [
        { id: 'work', src: 'work', onDone: { target: 'over', actions: 'note' } },
        { id: 'echo', src: 'echo' },
        {
          id: 'watched',
          src: 'watched',
          onSnapshot: {
            actions: assign({
              seen: ({ context, event }) => [...context.seen, event.snapshot.status],
            }),
          },
        },
      ],
      entry: sendTo('echo', { type: 'hello' }),
      on: { ping: { actions: 'count' } },
    },
    over: { type: 'final' },
  },
  output: ({ context }) => context,
})

/** What XState does with it, step by step, from the start and from every stored snapshot. */
export const plainXState = async (): Promise<unknown> => {
  const log: unknown[] = []
  const { seen, inspect } = inspection()
  const stored: string[] = []
  const actor = createActor(machine, { id: 'plain', inspect })
  actor.on('noted', (event) => log.push(event))
  actor.on('*', ({ type }) => log.push(`any ${type}`))
  actor.subscribe((snapshot) => {
    log.push([snapshot.value, snapshot.context, snapshot.getMeta(), snapshot.can({ type: 'go' })])
    log.push([snapshot.matches('working'), snapshot.hasTag('busy'), Object.keys(snapshot.children)])
    stored.push(JSON.stringify(actor.getPersistedSnapshot()))
  })
  actor.start()
  actor.send({ type: 'more' })
  actor.send({ type: 'go' })
  await settled(actor)
  for (const text of stored) log.push(await restored(JSON.parse(text)))
  const [initial, first] = initialTransition(machine)
  const [next, second] = transition(machine, initial, { type: 'go' })
  log.push([initial.value, next.value, [...first, ...second].map(({ type }) => type)])
  log.push(JSON.parse(JSON.stringify(initial)).value, await broken())
  const map = getAdjacencyMap(machine as AnyStateMachine, { events: [{ type: 'go' }], limit: 20 })
  log.push(Object.values(map).map(({ state }) => state.status))
  return [log, seen]
}

const settled = (actor: AnyActorRef): Promise<void> =>
  new Promise((resolve) => actor.subscribe({ complete: resolve, error: () => resolve() }))

const restored = async (snapshot: Snapshot<unknown>): Promise<unknown> => {
  const actor = createActor(machine, { snapshot })
  const end = settled(actor)
  actor.start()
  actor.send({ type: 'go' })
  await end
  return actor.getSnapshot().output
}

/** An actor that fails keeps its last snapshot, methods included. */
const broken = async (): Promise<unknown> => {
  const throwing = machine.provide({
    actions: {
      note: () => {
        throw new Error('noted too much')
      },
    },
  })
  const actor = createActor(throwing)
  const end = settled(actor)
  actor.start()
  actor.send({ type: 'go' })
  await end
  const snapshot = actor.getSnapshot()
  return [snapshot.status, String(snapshot.error), snapshot.matches('resting')]
}
