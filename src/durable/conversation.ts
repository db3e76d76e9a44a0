import type { HostedFrom } from '../agent/Agent.ts'
import { isJsonObject } from '../messages/json.ts'
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
 * The conversation after a run that is over: what was reached is kept. A prompt that got no answer at all is dropped: the
 * next one could not follow it.
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

/** Distinguishes a prompt from the results of tools, which are user messages, too. */
export const isPrompt = (message: ChatMessage | undefined): boolean =>
  message?.role === 'user' && toolResultsOf(message).length === 0

/** The messages of a stored list; other values in it are left out. */
export const messagesFrom = (list: unknown): ChatMessage[] =>
  Array.isArray(list) ? list.filter(isMessage) : []
