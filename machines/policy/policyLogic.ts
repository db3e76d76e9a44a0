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
import {
  answered,
  asGiven,
  asked,
  type Judging,
  judgingIn,
  next,
  nothingAsked,
  type OpenQuestion,
  type PolicyItem,
  type PolicyQuestion,
  storedJudging,
  unanswered,
  type Verdict,
} from './openQuestions.ts'
import type { PolicyMeta } from './policyEvents.ts'
import { withRecordedChecks } from './recordedChecks.ts'
import { strictMachine } from './strictMachine.ts'

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
  const strict = strictMachine(withRecordedChecks(machine))
  const judging = (inner: AnyRunMachine): Partial<AnyRunMachine> => {
    const step = (snapshot: PolicySnapshot, event: AnyEventObject, scope: AnyActorScope): PolicySnapshot => {
      const next: AnyMachineSnapshot = strict.step(event, () => inner.transition(snapshot, event, scope))
      return masked(next.context === snapshot.context ? next : withJson(next), snapshot.judging)
    }

    const persisted = (snapshot: PolicySnapshot) => ({
      ...inner.getPersistedSnapshot(snapshot),
      judging: storedJudging(snapshot.judging),
    })

    /** Continues the open question, and those that wait for it, as far as the machine lets them. */
    const proceed = (from: PolicySnapshot, scope: AnyActorScope): PolicySnapshot => {
      let snapshot = from
      for (;;) {
        const { open } = snapshot.judging
        if (snapshot.status !== 'active') return snapshot
        const ended = snapshot.judging.isOver && snapshot.hasTag('refuse')
        if (!open?.items || (!ended && snapshot.hasTag('hold'))) {
          for (const { id, asker } of unanswered(snapshot.judging))
            report(scope, { type: 'policy.holds', id }, asker)
          return snapshot
        }
        const item = open.items[open.at]
        if (ended || !item) {
          const { id, asker, verdicts } = open
          const end = ended ? { ended: verdictOf(machine, snapshot, 'refuse') } : {}
          report(scope, asGiven({ type: 'policy.verdict', id, verdicts, ...end }), asker)
          snapshot = withJudging(snapshot, answered(snapshot.judging))
          const settled = snapshot
          settledForms.set(scope.self, () => persisted(settled))
        } else snapshot = judge(snapshot, open, item, scope)
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
        const after = isOver ? snapshot : step(snapshot, frozen(event), scope)
        if (mode === 'ask' && (isOver || !strict.hasTaken())) {
          const possible = callsIn(machine, after, isOver)
          return settle(after, open, item, { ...verdictOf(machine, after, 'refuse'), possible }, scope)
        }
        if (!isOver) return withOpen(after, { ...open, isTaken: true, key: item.key })
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
          ? ofNextRun(restoredFrom(inner.restoreSnapshot(policy as never, scope), policy))
          : masked(
              withJson(
                strict.step(undefined, () =>
                  inner.getInitialSnapshot(scope, { id, context: valuesOf(scope.self).context }),
                ),
              ),
              nothingAsked,
            )
      },
      transition: (snapshot: PolicySnapshot, event: AnyEventObject, scope) => {
        if (event.type === 'xstate.stop') return inner.transition(snapshot, event, scope)
        if (event.type === 'policy.ask') {
          const judging = asked(snapshot.judging, event as PolicyQuestion)
          return proceed(withJudging(snapshot, judging), scope)
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
  const { provide: _, ...policy } = runMachineOf(strict.machine, { around })
  // People see the machine as it was written.
  const { config, root, implementations } = machine
  return { ...policy, config, root, implementations } as typeof policy
}

/** A guard that changed the arguments would judge others than those that the tool gets: it throws instead. */
const frozen = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return value
  Object.freeze(value)
  for (const each of Object.values(value)) frozen(each)
  return value
}

/** The last state in which each policy had answered, as data: one that breaks is continued from there. */
export const settledForms = new WeakMap<AnyActorRef, () => unknown>()

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

const withJudging = (snapshot: PolicySnapshot, judging: Judging): PolicySnapshot =>
  copyOf(snapshot, { judging })

const withOpen = (snapshot: PolicySnapshot, open: OpenQuestion): PolicySnapshot =>
  withJudging(snapshot, { ...snapshot.judging, open })

/** The questions of the last run are not those of the next one. */
const ofNextRun = (snapshot: PolicySnapshot): PolicySnapshot =>
  withJudging(snapshot, { isOver: snapshot.judging.isOver, open: null })

/** Returns the same snapshot with other fields, whether its methods are its own or its prototype's. */
const copyOf = (snapshot: AnyMachineSnapshot, fields: object): PolicySnapshot =>
  Object.setPrototypeOf({ ...snapshot, ...fields }, Object.getPrototypeOf(snapshot))

const restoredFrom = (snapshot: AnyMachineSnapshot, stored: object): PolicySnapshot =>
  copyOf(snapshot, { judging: judgingIn(stored) ?? nothingAsked })

/** The sub-agents that ask a policy, by their name in its questions. */
const askers = new WeakMap<AnyActorRef, Map<string, (reply: ChildEvent) => void>>()

/** Asks the policy of a run for a sub-agent. The answers are reported to it. */
export const askFor = (
  policy: AnyActorRef,
  asker: string,
  question: Omit<PolicyQuestion, 'type' | 'asker'>,
  answer: (reply: ChildEvent) => void,
): void => {
  const known = askers.get(policy) ?? new Map<string, (reply: ChildEvent) => void>()
  askers.set(policy, known)
  known.set(asker, answer)
  policy.send({ type: 'policy.ask', asker, ...question })
}

/** Reports to the run, or to the sub-agent that has asked, once the step is stored. */
const report = (scope: AnyActorScope, event: ChildEvent, asker: string | undefined): void =>
  scope.defer(() => {
    const { self } = scope
    if (asker === undefined) self._parent?.send(event)
    else askers.get(self)?.get(asker)?.(event)
  })

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
export const policyFlaw = (machine: AnyStateMachine | undefined, stored: unknown): string | undefined => {
  if (!isJsonObject(stored)) return 'it has no policy, and its agent has one'
  if (stored.status !== 'active') return 'its policy is not active'
  if (!machine) return 'its policy is that of the run that called it'
  if (!judgingIn(stored)) return 'its policy has no record of what it was asked'
  const { value } = stored
  try {
    machine.resolveState({ value: value as never, context: {} })
  } catch {
    return `its policy is in the state ${JSON.stringify(value) ?? 'undefined'}, which the machine does not have`
  }
  if (!isJsonObject(stored.context)) return 'its policy has no context'
  const known = new Set(
    nodesOf(machine.root).flatMap(({ id, invoke }) => [id, ...invoke.map((each) => each.id)]),
  )
  // XState would return to the first state instead of the one that was left, and would not find the check.
  const lost = [...rememberedIn(stored), ...checksIn(stored)].find((id) => !known.has(id))
  return lost === undefined ? undefined : `its policy remembers "${lost}", which the machine does not have`
}

/** A state and all those in it. */
export const nodesOf = (node: AnyStateNode): AnyStateNode[] => [
  node,
  ...Object.values(node.states).flatMap(nodesOf),
]

/** The states that a stored policy would return to. */
const rememberedIn = ({ historyValue }: JsonObject): string[] =>
  Object.values(Object(historyValue))
    .flat()
    .map((node) => String(Object(node).id))

/** The checks of a stored policy that its states invoke. */
const checksIn = ({ children }: JsonObject): string[] =>
  Object.entries(Object(children)).flatMap(([id, child]) =>
    String(Object(child).src).startsWith('xstate.invoke.') ? id : [],
  )
