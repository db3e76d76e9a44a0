import {
  type AnyActorLogic,
  type AnyActorRef,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createMachine,
  type Snapshot,
} from 'xstate'
import { errorDataOf, errorFrom } from '../../src/messages/errors.ts'
import { type CheckOutcome, hostOf } from '../logic/runEnvironment.ts'
import { isChart, isRunMachine } from '../logic/wrapLogic.ts'

/**
 * Lets the host of a run record its checks: what its policy invokes while it holds. Without the record, a run that is
 * replayed would check again, and could come to another verdict. Agents, and the charts among the actors, keep
 * their logic: their own requests and checks are recorded.
 */
export const withRecordedChecks = (machine: AnyStateMachine): AnyStateMachine => {
  const { actors, ...implementations } = machine.implementations
  const named = Object.entries(actors).map(([name, logic]) => [name, recorded(logic as AnyActorLogic)])
  const config = withRecordedInvokes(machine.config)
  const parts = { ...implementations, actors: Object.fromEntries(named) }
  if (config !== machine.config) return createMachine(config, parts as never)
  return named.length === 0 ? machine : machine.provide(parts as never)
}

const recorded = (logic: AnyActorLogic): AnyActorLogic => {
  if (isChart(logic)) return withRecordedChecks(logic)
  return isRunMachine(logic) ? logic : checkLogic(logic)
}

type InvokeConfig = { src?: unknown }
type StateConfig = { invoke?: InvokeConfig | InvokeConfig[]; states?: Record<string, StateConfig> }

/** The config of a machine whose invoked actors without a name are recorded; the same one if it has none. */
const withRecordedInvokes = <Config extends object>(config: Config): Config => {
  const { invoke, states }: StateConfig = config
  const invokes = [invoke ?? []].flat()
  const isInline = ({ src }: InvokeConfig) => typeof src === 'object' && src !== null
  const inner = Object.entries(states ?? {}).map(
    ([name, state]) => [name, withRecordedInvokes(state)] as const,
  )
  const isSame = !invokes.some(isInline) && inner.every(([name, state]) => state === states?.[name])
  if (isSame) return config
  const recordedInvokes = invokes.map((each) =>
    isInline(each) ? { ...each, src: recorded(each.src as AnyActorLogic) } : each,
  )
  return {
    ...config,
    ...(invoke && { invoke: recordedInvokes }),
    ...(states && { states: Object.fromEntries(inner) }),
  }
}

type Recorded = { type: 'statewire.check'; outcome: Exclude<CheckOutcome, { status: 'stopped' }> }

/** Checks whose outcome is about to be recorded. */
const endings = new WeakMap<AnyActorRef, (outcome: CheckOutcome) => void>()

const checkLogic = (inner: AnyActorLogic): AnyActorLogic => ({
  ...inner,
  start: (snapshot: Snapshot<unknown>, scope) => {
    const { self } = scope
    const { check } = hostOf(self)
    const name = check && nameOf(self)
    if (!check || name === undefined) {
      inner.start?.(snapshot, scope)
      return
    }
    const run = () =>
      new Promise<CheckOutcome>((resolve) => {
        endings.set(self, resolve)
        inner.start?.(snapshot, scope)
      })
    void check(name, run).then((outcome) => {
      const current = self.getSnapshot()
      if (current.status !== 'active') return
      // Something else than its end took the policy out of its state: it does so again.
      if (outcome.status === 'stopped') inner.start?.(current, scope)
      else self.send({ type: 'statewire.check', outcome } satisfies Recorded)
    })
  },
  transition: (snapshot: Snapshot<unknown>, event, scope) => {
    if (event.type === 'statewire.check') return ended(snapshot, (event as Recorded).outcome)
    const next: Snapshot<unknown> = inner.transition(snapshot, event, scope)
    const end = endings.get(scope.self)
    if (!end || next.status === 'active') return next
    endings.delete(scope.self)
    end(outcomeOf(next))
    // The policy gets what is recorded, once it is.
    return next.status === 'stopped' ? next : snapshot
  },
})

const ended = (snapshot: Snapshot<unknown>, outcome: Recorded['outcome']): Snapshot<unknown> =>
  outcome.status === 'done'
    ? { ...snapshot, status: 'done', output: outcome.output, error: undefined }
    : { ...snapshot, status: 'error', output: undefined, error: errorFrom(outcome.error) }

/** The outcome of a check as JSON: a replay has no more than that, so the first time has no more either. */
const outcomeOf = ({ status, output, error }: Snapshot<unknown>): CheckOutcome => {
  if (status === 'error') return { status, error: errorDataOf(error) }
  if (status !== 'done') return { status: 'stopped' }
  try {
    return JSON.parse(JSON.stringify({ status, output }))
  } catch (thrown) {
    return { status: 'error', error: errorDataOf(thrown) }
  }
}

/** The name of a check: those of its run and of the question that is held, and its own; undefined if the policy does not hold. */
const nameOf = (self: AnyActorRef): string | undefined => {
  for (let actor = self._parent; actor; actor = actor._parent) {
    const snapshot: AnyMachineSnapshot = actor.getSnapshot()
    const { judging } = Object(snapshot)
    if (!judging) continue
    const { options } = Object(Object(actor._parent?.getSnapshot()).context)
    const held = `${String(Object(options).id)}/${String(judging.open?.id)}`
    return snapshot.hasTag('hold') ? `${held} check ${self.id}` : undefined
  }
  return undefined
}
