import { prefixFrom, type RequestPrefix } from '../../machines/model/requestPrefix.ts'
import { openIn } from '../../machines/tools/pendingCalls.ts'
import type { HostedFrom } from '../agent/options.ts'
import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import { isMessage } from '../messages/messageFlaw.ts'
import { type ChatMessage, toolResultsOf } from '../messages/messages.ts'
import { isFatal, validateHistory } from '../messages/validateHistory.ts'
import { messagesOf } from './snapshots.ts'

/** The conversation before a run, and what the run has added to it. */
export type Conversation = { before: ChatMessage[]; added: ChatMessage[] }

/** Reads the conversation of a run from its stored input or snapshot. */
export const conversationOf = (from: HostedFrom): Conversation => {
  if ('input' in from) return { before: messagesFrom(from.input.history), added: [] }
  const snapshot: unknown = from.snapshot
  const context = isJsonObject(snapshot) && isJsonObject(snapshot.context) ? snapshot.context : {}
  const added = messagesFrom(messagesOf(snapshot))
  // A chart made of runs keeps its input, a single run its whole history.
  const { input, history } = context
  const before = Array.isArray(history)
    ? messagesFrom(history.slice(0, Math.max(0, history.length - added.length)))
    : messagesFrom(isJsonObject(input) ? input.history : undefined)
  return { before, added }
}

/**
 * The conversation after a run that is over, with its partial result. A prompt without any answer is dropped: the next
 * prompt could not follow it.
 */
export const conversationAfter = ({ before, added }: Conversation): ChatMessage[] => {
  const whole = [...before, ...added]
  const isKept = added.at(-1)?.role === 'model' && !validateHistory(whole).some(isFatal)
  return isKept ? whole : before
}

/** The conversation before model call number `step` of a run; undefined if there was no such call. */
export const conversationBefore = (
  { before, added }: Conversation,
  step: number,
): ChatMessage[] | undefined => {
  const answers = added.flatMap(({ role }, index) => (role === 'model' ? [index] : []))
  const end = step === answers.length + 1 ? added.length : answers[step - 1]
  const asked = end === undefined ? [] : [...before, ...added.slice(0, end)]
  return asked.at(-1)?.role === 'user' ? asked : undefined
}

/**
 * The policy as a run leaves it, for the next run of the conversation. A run that broke has no output: then the last
 * stored policy counts.
 */
export const policyAfter = (from: { input: unknown } | { snapshot: unknown }): { policy?: JsonObject } => {
  const given = 'input' in from ? from.input : Object(from.snapshot)
  const { output, children, context } = Object(given)
  const found = [
    Object(output).policy,
    policyBelow(children),
    Object(context).policy,
    Object(Object(context).options).policy,
    Object(Object(context).input).policy,
    Object(given).policy,
  ].find((each) => isJsonObject(each))
  return found ? { policy: found } : {}
}

/** The hashes of the last request of a run, for the next run of the conversation. */
export const prefixAfter = (from: { input: unknown } | { snapshot: unknown }): { prefix?: RequestPrefix } => {
  const { context, prefix: given } = Object('input' in from ? from.input : from.snapshot)
  const prefix = prefixFrom(Object(Object(context).totals).prefix ?? given)
  return prefix ? { prefix } : {}
}

/** The policy of a run, or of the phase that a chart made of runs is in. */
const policyBelow = (children: unknown): unknown => {
  const { policy, run } = Object(children)
  const { snapshot } = Object(policy ?? run)
  return policy || !run ? snapshot : policyBelow(Object(snapshot).children)
}

/** Distinguishes a prompt from the results of tools, which are user messages, too. */
export const isPrompt = (message: ChatMessage | undefined): boolean =>
  message?.role === 'user' && toolResultsOf(message).length === 0

/** The messages of a stored list; other values in it are left out. */
export const messagesFrom = (list: unknown): ChatMessage[] =>
  Array.isArray(list) ? list.filter(isMessage) : []

/** The history that a fork of a run begins with: the conversation before one of the run's model calls. */
export const forkedHistory = (id: string, conversation: Conversation, step: number): ChatMessage[] => {
  const history = conversationBefore(conversation, step)
  if (history) return history
  const answers = conversation.added.filter(({ role }) => role === 'model').length
  throw new ConfigurationError(
    `The run "${id}" has no model call number ${step} to fork before: it has ${answers} answers.`,
  )
}

/** Distinguishes the run of a background agent, which is stored with its tool, from that of a sub-agent. */
const isTaskRun = (value: unknown): value is { run: unknown } =>
  isJsonObject(value) && isJsonObject(value.run) && typeof value.tool === 'string'

/**
 * Renames the stored start of a run, in place: `from` must be freshly parsed JSON. The data of the run has its id, and
 * the runs inside it are named after it. Their questions are asked again, because the id is part of a question.
 */
export const renameRun = (from: { input?: unknown; snapshot?: unknown }, id: string, newId: string): void => {
  const rename = (named: unknown, key = 'id') => {
    const name = isJsonObject(named) ? named[key] : undefined
    if (!isJsonObject(named) || typeof name !== 'string') return
    if (name === id || name.startsWith(`${id}/`)) named[key] = newId + name.slice(id.length)
  }
  const visit = (snapshot: unknown): void => {
    if (!isJsonObject(snapshot)) return
    for (const data of [snapshot.context, snapshot.input].filter(isJsonObject)) {
      rename(data.options)
      rename(data.input)
    }
    rename(snapshot.input)
    // The tool executor, with the runs of sub-agents, which it may have left to the run itself.
    rename(snapshot, 'run')
    const { round } = Object(snapshot.context)
    for (const runs of [snapshot.runs, Object(round).runs].filter(isJsonObject))
      for (const run of Object.values(runs)) visit(isTaskRun(run) ? run.run : run)
    const children: JsonObject = isJsonObject(snapshot.children) ? snapshot.children : {}
    for (const child of Object.values(children)) visit(isJsonObject(child) ? child.snapshot : undefined)
    const { waiting } = Object(round)
    const { runs } = Object(Object(children.toolExecutor).snapshot)
    for (const [callId, run] of Object.entries(Object(runs)))
      if (isJsonObject(waiting) && Object.hasOwn(waiting, callId))
        waiting[callId] = openIn(run).map((call) => ({ ...call, id: `${callId}/${call.id}` }))
    const { runs: taskRuns } = Object(Object(children.tasks).snapshot)
    const { tasks = [] } = Object(snapshot.context)
    for (const task of Array.isArray(tasks) ? tasks.filter(isJsonObject) : []) {
      const { run } = Object(Object(taskRuns)[String(task.id)])
      if (task.waiting && run)
        task.waiting = openIn(run).map((call) => ({ ...call, id: `${String(task.id)}/${call.id}` }))
    }
  }
  visit('input' in from ? from : from.snapshot)
}
