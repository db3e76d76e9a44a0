import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import type { ChatMessage } from '../messages/messages.ts'
import { type Conversation, conversationBefore } from './conversation.ts'

/** The history that a fork of a run begins with: the conversation before one of the run's model calls. */
export const forkedHistory = (id: string, conversation: Conversation, step: number): ChatMessage[] => {
  const history = conversationBefore(conversation, step)
  if (history) return history
  const answers = conversation.added.filter(({ role }) => role === 'model').length
  throw new ConfigurationError(
    `The run "${id}" has no model call number ${step} to fork before: it has ${answers} answers.`,
  )
}

/**
 * Puts what a run continues from under another id, in place: `from` must be freshly parsed JSON. The run has its id in
 * its data, and the runs inside it are named after it.
 */
export const renameRun = (from: JsonObject, id: string, newId: string): void => {
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
      Object.values(runs).forEach(visit)
    const children: JsonObject = isJsonObject(snapshot.children) ? snapshot.children : {}
    for (const child of Object.values(children)) visit(isJsonObject(child) ? child.snapshot : undefined)
  }
  visit('input' in from ? from : from.snapshot)
}
