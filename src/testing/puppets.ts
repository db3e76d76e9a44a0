import type { ActorLogic, AnyActorRef, AnyEventObject, AnyStateMachine, Snapshot } from 'xstate'

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

export const sayToParent = (child: AnyActorRef, event: AnyEventObject): void =>
  child.send({ type: 'puppet.say', event })

export const finishPuppet = (child: AnyActorRef, output: unknown): void =>
  child.send({ type: 'puppet.finish', output })

export const failPuppet = (child: AnyActorRef, error: unknown): void =>
  child.send({ type: 'puppet.fail', error })
