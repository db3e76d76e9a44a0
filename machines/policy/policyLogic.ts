import type {
  ActorLogic,
  AnyActorRef,
  AnyActorScope,
  AnyEventObject,
  AnyMachineSnapshot,
  AnyStateMachine,
  AnyStateNode,
  Snapshot,
} from 'xstate'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import type { ChildEvent } from '../agent/events.ts'
import { valuesOf } from '../logic/runEnvironment.ts'
import { runMachineOf } from '../logic/runMachine.ts'
import { type AnyRunMachine, wrapLogic } from '../logic/wrapLogic.ts'
import type { PolicyMeta } from './policyEvents.ts'

/**
 * An item of a question. `ask`: the policy must take the event. `show`: it may ignore the event, and the item is
 * withheld only in a state that refuses. `look`: only the state counts. `report`: nothing is decided.
 */
export type PolicyItem = {
  key: string
  mode: 'ask' | 'show' | 'look' | 'report'
  event?: AnyEventObject
  /** The verdict on a call that no state of the machine mentions, if it is more than that of the state. */
  others?: 'refuse' | 'ask' | 'allow'
  /** The event for a policy that has refused the item, so that it can leave the state. */
  refused?: AnyEventObject
}

/** A question of a run: asked again after a restore, it is continued and not repeated. */
export type PolicyQuestion = { type: 'policy.ask'; id: string; items: readonly PolicyItem[] }

/** The verdict on one item. `possible`: the calls that the state takes, if it did not take this one. */
export type Verdict = {
  verdict: 'pass' | 'ask' | 'refuse'
  state: string
  reason?: string
  possible?: string[]
}

/** The verdicts on the items of a question, by their keys. */
export type Verdicts = { [key: string]: Verdict }

/** The progress of a question. The items are the run's own data, and not stored twice. */
type OpenQuestion = {
  id: string
  at: number
  /** The machine has taken the event of the current item. */
  isTaken: boolean
  /** The item whose event was taken: after a restore, the run may have other tools, and so other items. */
  key?: string
  verdicts: Verdicts
  items?: readonly PolicyItem[]
}

/** The part of a policy's snapshot that is not its machine's. `isOver`: the machine is in a final state. */
type Judging = { isOver: boolean; open: OpenQuestion | null }

type PolicySnapshot = AnyMachineSnapshot & { judging: Judging }

/** The input of the actor: the id of the run, and the policy of the conversation so far. */
export type PolicyActorInput = { id: string; policy: JsonObject | null }

/**
 * The policy of a run as an actor: the user's machine, which XState interprets, and around it the questions of the run.
 * Each is answered in order, one item after the other; while the machine is in a state tagged `hold`, the next item waits.
 * The progress is stored with the machine, so that after a restore no event is sent twice.
 */
export const policyLogic = (
  machine: AnyStateMachine,
): ActorLogic<Snapshot<undefined>, PolicyQuestion, PolicyActorInput> => {
  const restored = new WeakSet<AnyActorRef>()
  const judging = (inner: AnyRunMachine): Partial<AnyRunMachine> => {
    const step = (snapshot: PolicySnapshot, event: AnyEventObject, scope: AnyActorScope): PolicySnapshot =>
      masked(inner.transition(snapshot, event, scope), snapshot.judging)

    const persisted = (snapshot: PolicySnapshot) => ({
      ...inner.getPersistedSnapshot(snapshot),
      judging: storedJudging(snapshot.judging),
    })

    /** Continues the open question as far as the machine lets it. */
    const proceed = (from: PolicySnapshot, scope: AnyActorScope): PolicySnapshot => {
      let snapshot = from
      for (;;) {
        const { open } = snapshot.judging
        if (!open?.items || snapshot.status !== 'active') return snapshot
        const ended = snapshot.judging.isOver && snapshot.hasTag('refuse')
        const item = open.items[open.at]
        if (!ended && snapshot.hasTag('hold')) {
          report(scope, { type: 'policy.holds', id: open.id })
          return snapshot
        }
        if (ended || !item) {
          const { id, verdicts } = open
          const end = ended ? { ended: verdictOf(machine, snapshot, 'refuse') } : {}
          report(scope, { type: 'policy.verdict', id, verdicts, ...end })
          settledForms.set(scope.self, () => persisted(snapshot))
          return snapshot
        }
        snapshot = judge(snapshot, open, item, scope)
      }
    }

    /** Sends the event of an item, or decides on it by the state that the machine is in then. */
    const judge = (
      snapshot: PolicySnapshot,
      open: OpenQuestion,
      item: PolicyItem,
      scope: AnyActorScope,
    ): PolicySnapshot => {
      const { mode, event } = item
      const { isOver } = snapshot.judging
      if (event && !open.isTaken) {
        const isPossible = !isOver && (mode !== 'ask' || snapshot.can(event))
        if (isPossible)
          return withOpen(step(snapshot, event, scope), { ...open, isTaken: true, key: item.key })
        if (mode === 'ask') {
          const possible = callsIn(machine, snapshot, isOver)
          return settle(snapshot, open, item, { ...verdictOf(machine, snapshot, 'refuse'), possible }, scope)
        }
      }
      if (mode === 'report') return withOpen(snapshot, next(open))
      const isRefused = snapshot.hasTag('refuse') || item.others === 'refuse'
      const isAsked = (mode !== 'show' && snapshot.hasTag('approval')) || item.others === 'ask'
      const decided = verdictOf(machine, snapshot, isRefused ? 'refuse' : isAsked ? 'ask' : 'pass')
      const verdict =
        item.others === 'refuse' ? { ...decided, reason: 'the policy has no rule for it' } : decided
      return settle(snapshot, open, { ...item, ...(!isRefused && { refused: undefined }) }, verdict, scope)
    }

    const settle = (
      snapshot: PolicySnapshot,
      open: OpenQuestion,
      { key, refused }: { key: string; refused?: AnyEventObject | undefined },
      verdict: Verdict,
      scope: AnyActorScope,
    ): PolicySnapshot => {
      const settled = withOpen(snapshot, next({ ...open, verdicts: { ...open.verdicts, [key]: verdict } }))
      return refused && !snapshot.judging.isOver ? step(settled, refused, scope) : settled
    }

    return {
      getInitialSnapshot: (scope, { id, policy }: PolicyActorInput) => {
        if (policy) settledForms.set(scope.self, () => policy)
        return policy
          ? withOpen(restoredFrom(inner.restoreSnapshot(policy as never, scope), policy), null)
          : masked(
              withJson(inner.getInitialSnapshot(scope, { id, context: valuesOf(scope.self).context })),
              nothingAsked,
            )
      },
      transition: (snapshot: PolicySnapshot, event: AnyEventObject, scope) => {
        if (event.type === 'xstate.stop') return inner.transition(snapshot, event, scope)
        if (event.type === 'policy.ask') {
          const { id, items } = event as PolicyQuestion
          const { open } = snapshot.judging
          return proceed(
            withOpen(snapshot, open?.id === id ? continued(open, items) : begun(id, items)),
            scope,
          )
        }
        return snapshot.judging.isOver ? snapshot : proceed(step(snapshot, event, scope), scope)
      },
      getPersistedSnapshot: (snapshot: PolicySnapshot, options) => ({
        ...inner.getPersistedSnapshot(snapshot, options),
        judging: storedJudging(snapshot.judging),
      }),
      restoreSnapshot: (stored, scope) => {
        restored.add(scope.self)
        settledForms.set(scope.self, () => stored)
        return restoredFrom(inner.restoreSnapshot(stored, scope), stored)
      },
      start: (snapshot, scope) => {
        inner.start(snapshot, scope)
        if (restored.has(scope.self)) scope.self._parent?.send({ type: 'policy.ready' })
      },
    }
  }
  const around = (chart: AnyRunMachine) => wrapLogic('policy', chart, judging)
  // Telemetry and stores would take a copy that can be provided with parts for the machine of a run.
  const { provide: _, ...policy } = runMachineOf(machine, { around })
  return policy
}

/** The last state in which each policy had answered, as data: one that breaks is continued from there. */
export const settledForms = new WeakMap<AnyActorRef, () => unknown>()

const nothingAsked: Judging = { isOver: false, open: null }

const begun = (id: string, items: readonly PolicyItem[]): OpenQuestion => ({
  id,
  at: 0,
  isTaken: false,
  verdicts: {},
  items,
})

/** An item that is not the one whose event was taken has not been asked about yet. */
const continued = (open: OpenQuestion, items: readonly PolicyItem[]): OpenQuestion => ({
  ...open,
  items,
  isTaken: open.isTaken && items[open.at]?.key === open.key,
})

const next = (open: OpenQuestion): OpenQuestion => ({ ...open, at: open.at + 1, isTaken: false })

/** Refuses data that would be lost with the first process: a rule that looks at it would decide otherwise then. */
const withJson = (snapshot: AnyMachineSnapshot): AnyMachineSnapshot => {
  if (isPlain(snapshot.context)) return snapshot
  throw new ConfigurationError('The context of the policy must be JSON: it is stored with the run.')
}

const isPlain = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null)
    return typeof value === 'number'
      ? Number.isFinite(value)
      : value === undefined || typeof value === 'string' || typeof value === 'boolean' || value === null
  if (Array.isArray(value)) return value.every(isPlain)
  const prototype = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && Object.values(value).every(isPlain)
}

/** An actor that has ended takes no questions: a machine in a final state is kept, and takes nothing more. */
const masked = (snapshot: AnyMachineSnapshot, judging: Judging): PolicySnapshot => {
  const { children }: { children: Readonly<Record<string, AnyActorRef | undefined>> } = snapshot
  const missing = Object.keys(children).find((id) => children[id] === undefined)
  if (missing !== undefined)
    throw new ConfigurationError(`The policy invokes "${missing}", but has no such actor: give it to setup.`)
  const isOver = judging.isOver || snapshot.status === 'done'
  const status = snapshot.status === 'done' ? 'active' : snapshot.status
  return copyOf(snapshot, { status, judging: { ...judging, isOver } })
}

const withOpen = (snapshot: PolicySnapshot, open: OpenQuestion | null): PolicySnapshot =>
  copyOf(snapshot, { judging: { ...snapshot.judging, open } })

/** Returns the same snapshot with other fields, whether its methods are its own or its prototype's. */
const copyOf = (snapshot: AnyMachineSnapshot, fields: object): PolicySnapshot =>
  Object.setPrototypeOf({ ...snapshot, ...fields }, Object.getPrototypeOf(snapshot))

const storedJudging = ({ isOver, open }: Judging): Judging => {
  if (!open) return { isOver, open }
  const { items: _, ...progress } = open
  return { isOver, open: progress }
}

const restoredFrom = (snapshot: AnyMachineSnapshot, stored: object): PolicySnapshot =>
  copyOf(snapshot, { judging: judgingIn(stored) ?? nothingAsked })

/** The part of a stored policy that is not its machine's; undefined if it cannot be read. */
const judgingIn = (stored: object): Judging | undefined => {
  const { judging }: { judging?: unknown } = stored
  if (!isJsonObject(judging) || typeof judging.isOver !== 'boolean') return undefined
  const { isOver, open } = judging
  if (open === null) return { isOver, open }
  const isOpen =
    isJsonObject(open) &&
    typeof open.id === 'string' &&
    Number.isInteger(open.at) &&
    typeof open.isTaken === 'boolean' &&
    isJsonObject(open.verdicts)
  return isOpen ? (judging as Judging) : undefined
}

/** Reports to the run, once the step is stored. */
const report = (scope: AnyActorScope, event: ChildEvent): void =>
  scope.defer(() => scope.self._parent?.send(event))

const verdictOf = (
  machine: AnyStateMachine,
  snapshot: AnyMachineSnapshot,
  verdict: Verdict['verdict'],
): Verdict => {
  const reason = verdict === 'pass' ? undefined : reasonIn(machine, snapshot, verdict)
  return { verdict, state: stateIn(snapshot), ...(reason !== undefined && { reason }) }
}

const stateIn = ({ value }: AnyMachineSnapshot): string =>
  typeof value === 'string' ? value : JSON.stringify(value).replace(/["{}]/g, '').replaceAll(':', '.')

/** The reason of a state, best of one that has the tag. */
const reasonIn = (
  machine: AnyStateMachine,
  snapshot: AnyMachineSnapshot,
  verdict: 'ask' | 'refuse',
): string | undefined => {
  const tag = verdict === 'ask' ? 'approval' : 'refuse'
  const nodes = activeNodes(machine.root, snapshot.value).toReversed()
  const having = nodes.filter(({ meta }) => metaOf(meta).reason !== undefined)
  const node = having.find(({ tags }) => tags.includes(tag)) ?? having[0]
  const { reason } = metaOf(node?.meta)
  return typeof reason === 'function' ? String(reason(snapshot as never)) : reason
}

const metaOf = (meta: unknown): PolicyMeta => (isJsonObject(meta) ? (meta as PolicyMeta) : {})

/** The `meta` of the states that a policy is in: inner states count before outer ones. */
export const metaIn = ({ root }: AnyStateMachine, { value }: { value: unknown }): PolicyMeta =>
  Object.assign({}, ...activeNodes(root, value).map(({ meta }) => metaOf(meta)))

/** The names of the tools that may be called now, as far as guards let them. */
const callsIn = ({ root }: AnyStateMachine, { value }: AnyMachineSnapshot, isOver: boolean): string[] => {
  const events = isOver ? [] : activeNodes(root, value).flatMap(({ ownEvents }) => ownEvents)
  return [...new Set(events)].flatMap((type) => (type.endsWith('.call') ? [type.slice(0, -5)] : []))
}

/** The states of a value, the outer ones first. */
const activeNodes = (node: AnyStateNode, value: unknown): AnyStateNode[] => {
  const inner = typeof value === 'string' ? { [value]: undefined } : Object(value)
  return [
    node,
    ...Object.keys(inner).flatMap((name) => {
      const child = node.states[name]
      return child ? activeNodes(child, inner[name]) : []
    }),
  ]
}

/** Says what is wrong with a stored policy: XState would start the run without it. */
export const policyFlaw = (machine: AnyStateMachine, stored: unknown): string | undefined => {
  if (!isJsonObject(stored)) return 'it has no policy, and its agent has one'
  if (stored.status !== 'active') return 'its policy is not active'
  if (!judgingIn(stored)) return 'its policy has no record of what it was asked'
  const { value } = stored
  try {
    machine.resolveState({ value: value as never, context: {} })
    return isJsonObject(stored.context) ? undefined : 'its policy has no context'
  } catch {
    return `its policy is in the state ${JSON.stringify(value) ?? 'undefined'}, which the machine does not have`
  }
}
