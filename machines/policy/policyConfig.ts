import type { AnyActorRef, AnyStateMachine, AnyStateNode } from 'xstate'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { amount, fields, having, oneOf, type Rule, type Rules } from '../../src/messages/optionRules.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { type AnyToolEntry, isToolSource } from '../../src/tools/tool.ts'
import type { StreamingState } from '../agent/streamingState.ts'
import { recordOf } from '../stored/shape.ts'
import type { PolicyOptions } from './policyEvents.ts'
import { nodesOf, policyFlaw, settledForms } from './policyLogic.ts'
import { isReserved, type ResolvedPolicy } from './questions.ts'
import { unseenItems, withUnseen } from './unseen.ts'

const defaultHoldMs = 300_000

const machineRule: Rule = (name, value) =>
  having('getInitialSnapshot', 'transition', 'resolveState', 'provide')(name, value) === undefined
    ? undefined
    : `${name} must be a statechart of XState, as setup().createMachine() makes it.`

const optionRules = (model: Rule): Rules<PolicyOptions<unknown>> => ({
  machine: machineRule,
  others: oneOf('refuse', 'ask', 'allow'),
  holdMs: amount,
  chunks: oneOf('hold'),
  models: (name, value) => recordOf(model)(name, value),
})

/** The rule for a policy, with a rule for its models: a statechart, or one with options. */
export const policyRule =
  (model: Rule): Rule =>
  (name, value) =>
    isOptions(value)
      ? (machineRule(`${name}.machine`, value.machine) ?? fields(optionRules(model))(name, value))
      : machineRule(name, value)

const isOptions = (value: unknown): value is { machine: unknown } =>
  typeof value === 'object' && value !== null && 'machine' in value && !('transition' in value)

/** The options of a policy, also of one that is given as its machine alone. */
export const policyOptions = <Model>(policy: AnyStateMachine | PolicyOptions<Model>): PolicyOptions<Model> =>
  'machine' in policy ? policy : { machine: policy }

/** The names of models in the `meta` of the states of a machine. */
export const modelsNamedIn = ({ root }: AnyStateMachine): string[] => {
  const models = nodesOf(root).map(({ meta }): unknown => Object(meta).model)
  return [...new Set(models.filter((model) => typeof model === 'string'))]
}

/** A policy with every default filled in. Throws if a tool of the agent has no rule. */
export const resolvePolicy = (
  policy: AnyStateMachine | PolicyOptions,
  tools: readonly AnyToolEntry[],
): ResolvedPolicy => {
  const { machine, others, holdMs = defaultHoldMs, chunks, models = {} } = policyOptions(policy)
  const mentions = mentionedIn(machine)
  refuseDelays(machine)
  refuseReserved(tools)
  if (others === undefined) refuseUnmentioned(mentions, withInherited(tools))
  return {
    machine,
    others: others ?? 'refuse',
    holdMs,
    holdsChunks: chunks === 'hold',
    models: new Map<string, ChatModel>(Object.entries(models)),
    mentions,
  }
}

/**
 * Refuses `after`, and events with a delay, outside of a hold: XState forgets them when a policy is stored, so that a right
 * which was to expire would last. A hold that has lost its delay ends the run after `holdMs`.
 */
const refuseDelays = ({ root, implementations }: AnyStateMachine): void => {
  const isInHold = ({ tags, parent }: AnyStateNode): boolean =>
    tags.includes('hold') || (parent !== undefined && isInHold(parent))
  const named: Readonly<Record<string, unknown>> = implementations.actions
  const isDelayed = (action: unknown): boolean => {
    const known = typeof action === 'function' ? action : named[String(Object(action).type ?? action)]
    return Object(known).delay !== undefined
  }
  for (const node of nodesOf(root)) {
    if (isInHold(node)) continue
    const what =
      node.after.length > 0 ? '"after"' : actionsOf(node).some(isDelayed) ? 'a delayed event' : undefined
    if (what === undefined) continue
    throw new ConfigurationError(
      `The ${node.parent ? `state ${node.path.join('.')}` : 'root'} of the policy has ${what}, which is forgotten when a run or a chat is stored: keep the moment in the context, and compare it in a guard.`,
    )
  }
}

/** The actions of a state and of its transitions. */
const actionsOf = (node: AnyStateNode): readonly unknown[] => [
  ...node.entry,
  ...node.exit,
  ...[...node.transitions.values(), node.always ?? []].flat().flatMap(({ actions }) => actions),
  ...node.initial.actions,
]

/** Refuses tools whose events are those of the run itself: a refused call of "answer" would be a refused answer. */
export const refuseReserved = (tools: readonly AnyToolEntry[]): void => {
  const tool = tools.find((entry) => !isToolSource(entry) && isReserved(entry.name))
  if (!tool || isToolSource(tool)) return
  throw new ConfigurationError(
    `A tool of an agent with a policy cannot be named "${tool.name}": the policy would take its events for those of the run. Give it another name.`,
  )
}

/** The tools of an agent, and those of its sub-agents that inherit its policy. */
const withInherited = (tools: readonly AnyToolEntry[]): readonly AnyToolEntry[] => {
  const found = new Set(tools)
  for (const each of found)
    if ('inherits' in each) for (const inner of each.inherits?.() ?? []) found.add(inner)
  return [...found]
}

/** Refuses sub-agents that inherit a policy if there is none: nothing would judge their calls. */
export const refuseInheriting = (tools: readonly AnyToolEntry[]): void => {
  const tool = tools.find((entry) => 'inherits' in entry && entry.inherits !== undefined)
  if (!tool || isToolSource(tool)) return
  throw new ConfigurationError(
    `The agent behind "${tool.name}" has policy: 'inherit', and the agent that calls it has no policy: give it one.`,
  )
}

/** Refuses tools that no state mentions: each of them would be refused at every call. */
const refuseUnmentioned = (mentions: (type: string) => boolean, tools: readonly AnyToolEntry[]): void => {
  const names = tools.flatMap((entry) =>
    isToolSource(entry) || entry.inputSchema === null || mentions(`${entry.name}.call`) ? [] : entry.name,
  )
  if (names.length === 0) return
  const [first] = names
  throw new ConfigurationError(
    `No state of the policy mentions ${names.join(', ')}: handle '${first}.call' where it may be called, or say with policy: { machine, others } what happens to such calls.`,
  )
}

/** Says whether a machine mentions an event. Its descriptors may end in a wildcard, as in XState. */
const mentionedIn = (machine: AnyStateMachine): ((type: string) => boolean) => {
  const events: readonly string[] = machine.events
  const known = new Map<string, boolean>()
  return (type) => {
    const found = known.get(type) ?? events.some((descriptor) => isMatch(descriptor, type))
    known.set(type, found)
    return found
  }
}

const isMatch = (descriptor: string, type: string): boolean => {
  if (descriptor === type || descriptor === '*') return true
  if (!descriptor.endsWith('.*')) return false
  const prefix = descriptor.slice(0, -2)
  return type === prefix || type.startsWith(`${prefix}.`)
}

/** The policy that a run leaves behind, to be continued by the next run of the conversation. */
export const policyOf = (run: AnyActorRef, state: StreamingState): { policy?: JsonObject } => {
  const policy = policyActor(run)
  if (!policy) return {}
  const snapshot = policy.getSnapshot()
  const isActive = snapshot.status === 'active'
  // One that is inherited stays with the run that called.
  if (isActive && !('judging' in snapshot)) return {}
  // One that broke is continued from its last answer: what it has seen, it has seen.
  const form = isActive ? () => policy.getPersistedSnapshot() : settledForms.get(policy)
  if (!form) return {}
  const open = isActive ? snapshot.judging.open : null
  return { policy: withUnseen(storedForm(form), unseenItems(state, open)) }
}

/** A policy as data. XState cannot store one whose check does not exist, for example. */
const storedForm = (form: () => unknown): JsonObject => {
  try {
    return JSON.parse(JSON.stringify(form()))
  } catch {
    return {}
  }
}

/** The actor of the policy of a run. A run that ends while it is made has not asked it anything. */
export const policyActor = (run: AnyActorRef): AnyActorRef | undefined => {
  try {
    return run.getSnapshot()?.children?.policy
  } catch {
    return undefined
  }
}

/** Says what is wrong with the policy of a stored run. */
export const storedPolicyFlaw = (
  policy: ResolvedPolicy | undefined,
  { status, children }: Readonly<Record<string, unknown>>,
): string | undefined => {
  if (status !== 'active') return undefined
  const child = isJsonObject(children) ? children.policy : undefined
  if (policy) return flawIn(policy, isJsonObject(child) ? child.snapshot : undefined)
  return child === undefined ? undefined : 'it has a policy, and its agent has none'
}

const flawIn = ({ machine }: ResolvedPolicy, stored: unknown): string | undefined => {
  if (machine || !isJsonObject(stored)) return policyFlaw(machine, stored)
  return stored.status === 'active' && !('value' in stored)
    ? undefined
    : 'its policy is not that of the run that called it'
}
