import type { HostedFrom } from '../agent/options.ts'
import {
  type Conversation,
  forkedHistory,
  messagesFrom,
  policyAfter,
  renameRun,
} from '../durable/conversation.ts'
import { holdsDecisions } from '../durable/snapshots.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import type { ChatMessage } from '../messages/messages.ts'
import { writtenChunks } from './PostgresRun.ts'
import type { Service } from './Service.ts'
import { fromJson, type RunRow } from './tables.ts'

/** The conversation of a stored run, the policy as it has left it, and the snapshot that it continues from if it waits. */
type StoredConversation = Conversation & { policy: { policy?: JsonObject }; snapshot: JsonValue | undefined }

export const storedConversation = async (
  service: Service,
  { id, status, segment }: RunRow,
): Promise<StoredConversation> => {
  const [row] = await service.database.query(
    'SELECT start, snapshot, result FROM statewire.runs WHERE id = $1',
    id,
  )
  const [start, snapshot, result] = [row?.start, row?.snapshot, row?.result].map(fromJson)
  // A run that is under way, or was ended from outside, has no result; one that sleeps has not either.
  const isSettled = isJsonObject(result) && status !== 'running' && status !== 'abandoned'
  const before = historyOf(start, !isSettled)
  const added = isSettled ? messagesFrom(result.messages) : await shown(service, id, segment)
  // The policy has seen what it has seen.
  const left = { ...(isJsonObject(snapshot) && snapshot), output: result }
  const policy = { ...policyAfter(Object(start)), ...policyAfter({ snapshot: left }) }
  return { before, added, policy, snapshot }
}

/**
 * Reads the beginning of a fork: the snapshot of a run that waits, under the new id; otherwise the conversation before
 * one of its model calls, which is asked again.
 */
export const forkStart = async (
  service: Service,
  run: RunRow,
  ownId: string,
  atStep: number | undefined,
): Promise<HostedFrom> => {
  const { before, added, policy, snapshot } = await storedConversation(service, run)
  // A decision belongs to one run.
  const isWaiting = run.status === 'waiting' && isJsonObject(snapshot) && !holdsDecisions(snapshot)
  if (atStep === undefined && isWaiting) {
    const from: JsonObject = { snapshot }
    renameRun(from, run.id, ownId)
    return from as HostedFrom
  }
  const answers = added.filter(({ role }) => role === 'model').length
  const step = atStep ?? answers + (added.at(-1)?.role === 'user' ? 1 : 0)
  return { input: { history: forkedHistory(run.id, { before, added }, step), id: ownId, ...policy } }
}

/** Reads what a run that is under way has added: the messages in its stream. */
const shown = async (service: Service, id: string, segments: number): Promise<ChatMessage[]> => {
  const messages: ChatMessage[] = []
  for (let segment = 1; segment <= segments; segment += 1)
    for await (const chunk of writtenChunks(service, id, segment)) messages.push(...chunk.messages)
  return messages
}

/** Reads the conversation that a run began with. A fork of a run that waited began with more than its history. */
export const historyOf = (start: JsonValue | undefined, isWhole: boolean): ChatMessage[] => {
  const { input, snapshot } = isJsonObject(start) ? start : {}
  if (isJsonObject(input)) return messagesFrom(input.history)
  const context = isJsonObject(snapshot) ? snapshot.context : undefined
  if (!isJsonObject(context)) return []
  const added = messagesFrom(context.messages)
  if (Array.isArray(context.history)) {
    const history = messagesFrom(context.history)
    return isWhole ? history : history.slice(0, history.length - added.length)
  }
  const before = isJsonObject(context.input) ? messagesFrom(context.input.history) : []
  return isWhole ? [...before, ...added] : before
}
