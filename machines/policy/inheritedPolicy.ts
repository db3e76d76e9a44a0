import type { ActorLogic, AnyActorRef, Snapshot } from 'xstate'
import { ConfigurationError } from '../../src/messages/errors.ts'
import type { AnyToolEntry } from '../../src/tools/tool.ts'
import type { ChildEvent } from '../agent/events.ts'
import { hostOf } from '../logic/runEnvironment.ts'
import { callOf, onStop, policyOfCall } from '../tools/toolCall.ts'
import { asGiven, type PolicyItem, type PolicyQuestion } from './openQuestions.ts'
import { policyActor, refuseReserved } from './policyConfig.ts'
import { askFor, type PolicyActorInput } from './policyLogic.ts'
import type { ResolvedPolicy } from './questions.ts'

// A sub-agent that inherits the policy of the run that called it has a policy without a machine: a child that asks the
// policy above, and passes its answers on. Nothing is decided here.

/** The policy of sub-agents that inherit this one: prompts, answers and messages of the user are those of the run itself. */
export const inheritedFrom = (policy: ResolvedPolicy, tools: readonly AnyToolEntry[]): ResolvedPolicy => {
  refuseReserved(tools)
  return {
    ...policy,
    machine: undefined,
    holdsChunks: false,
    mentions: (type) => !isOfRun(type) && policy.mentions(type),
  }
}

const isOfRun = (type: string): boolean => ['prompt', 'answer', 'steer'].includes(type.split('.', 1)[0] ?? '')

/** The policy of the run that makes this call. Throws if there is none: no agent that inherits one runs without it. */
export const policyAbove = (call: AnyActorRef | undefined): ResolvedPolicy => {
  const policy = policyOfCall(call)
  if (!call || !policy)
    throw new ConfigurationError(
      "An agent with policy: 'inherit' is called by a run that has no policy, or by an executor of your own: give the calling agent a policy.",
    )
  if (hostOf(call).newId)
    throw new ConfigurationError(
      "An agent with policy: 'inherit' cannot be a part of a run that is replayed from its records: give it a policy of its own.",
    )
  return policy
}

type Reply = Extract<ChildEvent, { type: 'policy.verdict' | 'policy.holds' }>

/** The policy of a sub-agent that inherits: after a restore its run asks again, as with any policy. */
export const inheritedPolicy = (): ActorLogic<
  Snapshot<undefined>,
  PolicyQuestion | Reply,
  PolicyActorInput
> => {
  const restored = new WeakSet<AnyActorRef>()
  const stopped = new WeakSet<AnyActorRef>()
  return {
    getInitialSnapshot: () => ({ status: 'active', output: undefined, error: undefined }),
    start: (_, { self }) => {
      onStop(self, () => stopped.add(self))
      if (restored.has(self)) self._parent?.send({ type: 'policy.ready' })
    },
    transition: (snapshot, event, { self, defer }) => {
      if (event.type === 'policy.ask')
        defer(() => askAbove(self, event, (reply) => !stopped.has(self) && self.send(reply as Reply)))
      else if (event.type === 'policy.verdict' || event.type === 'policy.holds')
        defer(() => self._parent?.send(event))
      return snapshot
    },
    getPersistedSnapshot: (snapshot) => snapshot,
    restoreSnapshot: (stored, { self }) => {
      restored.add(self)
      return stored as Snapshot<undefined>
    },
  }
}

const askAbove = (
  self: AnyActorRef,
  { id, items }: PolicyQuestion,
  report: (reply: ChildEvent) => void,
): void => {
  const { calls, policy } = callersOf(self._parent)
  if (policy) {
    const own = items.map((item) => itemOf(calls, item))
    askFor(policy, JSON.stringify(calls), { id, items: own }, report)
    return
  }
  const ended = { verdict: 'refuse', state: '', reason: 'the run that called it has no policy' } as const
  self._parent?.send(asGiven({ type: 'policy.verdict', id, verdicts: {}, ended }))
}

/** The calls that lead to the run of a sub-agent, the outermost first, and the policy of the run that made that one. */
const callersOf = (run: AnyActorRef | undefined): { calls: string[]; policy?: AnyActorRef } => {
  const of = callOf(run?._parent)
  const caller = run?._parent?._parent?._parent
  const policy = caller && policyActor(caller)
  if (!of || !policy) return { calls: [] }
  if ('judging' in policy.getSnapshot()) return { calls: [of.call.id], policy }
  const { calls, ...above } = callersOf(caller)
  return { calls: [...calls, of.call.id], ...above }
}

/** Calls of sub-agents may have the ids of other calls: the policy gets theirs as people do, with those that led to them. */
const itemOf = (calls: readonly string[], { event, refused, ...item }: PolicyItem): PolicyItem => {
  const withPath = (each: { type: string; [field: string]: unknown }) => ({
    ...each,
    ...(each.callId !== undefined && { callId: [...calls, each.callId].join('/') }),
  })
  return { ...item, ...(event && { event: withPath(event) }), ...(refused && { refused: withPath(refused) }) }
}
