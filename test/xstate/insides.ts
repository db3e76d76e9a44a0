import {
  type ActorLogic,
  assign,
  createActor,
  emit,
  enqueueActions,
  fromPromise,
  type InspectionEvent,
  initialTransition,
  type Snapshot,
  setup,
} from 'xstate'

const machine = setup({ actors: { child: fromPromise(async () => {}) } }).createMachine({
  entry: emit({ type: 'noted' }),
  invoke: { id: 'child', src: 'child' },
})

/** What can be seen of XState's inside, by name: how a test knows that a copy is really another one. */
export const insides = (): string[] => {
  const actor = createActor(machine)
  const snapshot = actor.getSnapshot()
  const actions: { type: string; params: unknown }[] = initialTransition(machine)[1]
  const noted = actions.find(({ type }) => type === 'xstate.emit')
  const stored = actor.getPersistedSnapshot() as { children?: { child?: object } }
  return [
    ...named('actor', actor),
    ...named('actor', Object.getPrototypeOf(actor)),
    ...named('system', actor.system),
    ...named('snapshot', snapshot),
    ...(Object.isFrozen(snapshot) ? [] : ['snapshot can be changed']),
    ...named('machine', machine),
    ...named('scope', scopeOf()),
    ...named('assign', assign({})),
    ...named(
      'enqueueActions',
      enqueueActions(() => {}),
    ),
    ...named('emit', emit({ type: 'noted' })),
    ...named('emit.params', noted?.params as object),
    ...named('stored child', stored.children?.child ?? {}),
    ...eventsOfARun(),
  ]
}

const named = (what: string, seen: object): string[] =>
  Object.getOwnPropertyNames(seen).map((name) => `${what}.${name}`)

const eventsOfARun = (): string[] => {
  const seen: string[] = []
  const inspect = (event: InspectionEvent) => 'event' in event && seen.push(`event ${event.event.type}`)
  createActor(machine, { inspect }).start().stop()
  return seen
}

const scopeOf = (): object => {
  let seen: object = {}
  const logic: ActorLogic<Snapshot<undefined>, { type: 'none' }> = {
    getInitialSnapshot: (scope) => {
      seen = scope
      return { status: 'active', output: undefined, error: undefined }
    },
    transition: (snapshot) => snapshot,
    getPersistedSnapshot: (snapshot) => snapshot,
  }
  createActor(logic)
  return seen
}
