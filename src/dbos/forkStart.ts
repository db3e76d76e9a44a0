import type { HostedFrom } from '../agent/Agent.ts'
import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import { isMessage } from '../messages/messageFlaw.ts'
import type { ChatMessage } from '../messages/messages.ts'
import { writtenChunks } from './readChunks.ts'
import { fromJson, type RunRow } from './runRow.ts'
import type { Service } from './Service.ts'

/**
 * What a fork of a run begins with: the snapshot of one that waits, under the new id; otherwise the conversation before one
 * of its model calls, which is asked again.
 */
export const forkStart = async (
  service: Service,
  { id, status, leg }: Pick<RunRow, 'id' | 'status' | 'leg'>,
  newId: string,
  atStep: number | undefined,
): Promise<HostedFrom> => {
  const [row] = await service.database.query(
    'SELECT start, snapshot, result FROM statewire.runs WHERE id = $1',
    id,
  )
  const snapshot = fromJson(row?.snapshot)
  if (atStep === undefined && status === 'waiting' && isJsonObject(snapshot)) {
    const from: JsonObject = { snapshot: renamed(snapshot, id, newId) }
    return from as HostedFrom
  }
  const isRunning = status === 'running'
  const before = historyOf(fromJson(row?.start), isRunning)
  const added = isRunning ? await shown(service, id, leg) : messagesOf(fromJson(row?.result))
  return { input: { history: beforeStep(before, added, atStep), id: newId } }
}

/** The conversation before a model call of a run: its messages up to one of the model's. */
const beforeStep = (
  history: ChatMessage[],
  added: readonly ChatMessage[],
  atStep: number | undefined,
): ChatMessage[] => {
  const answers = added.flatMap(({ role }, index) => (role === 'model' ? [index] : []))
  const isOpen = added.at(-1)?.role === 'user'
  const last = answers.length + (isOpen ? 1 : 0)
  const step = atStep ?? last
  if (step < 1 || step > last)
    throw new ConfigurationError(
      `The run has made ${last} model calls: atStep must be from 1 to ${last}, not ${step}.`,
    )
  return [...history, ...added.slice(0, answers[step - 1] ?? added.length)]
}

/** What a run that is under way has added: the messages in its stream. */
const shown = async (service: Service, id: string, legs: number): Promise<ChatMessage[]> => {
  const messages: ChatMessage[] = []
  for (let leg = 1; leg <= legs; leg += 1)
    for await (const chunk of writtenChunks(service, id, leg)) messages.push(...messagesOf(chunk))
  return messages
}

/** The conversation that a run began with. A run that was forked from one that waited began with more than its history. */
const historyOf = (start: JsonValue | undefined, isWhole: boolean): ChatMessage[] => {
  const { input, snapshot } = isJsonObject(start) ? start : {}
  if (isJsonObject(input)) return messagesOf({ messages: input.history })
  const context = isJsonObject(snapshot) ? snapshot.context : undefined
  if (!isJsonObject(context)) return []
  const added = messagesOf(context)
  if (Array.isArray(context.history)) {
    const history = messagesOf({ messages: context.history })
    return isWhole ? history : history.slice(0, history.length - added.length)
  }
  const before = isJsonObject(context.input) ? messagesOf({ messages: context.input.history }) : []
  return isWhole ? [...before, ...added] : before
}

const messagesOf = (of: unknown): ChatMessage[] => {
  const list: unknown = isJsonObject(of) ? of.messages : undefined
  return Array.isArray(list) ? list.filter(isMessage) : []
}

/** A snapshot of a run as that of another one: a run keeps its id in its data, and so do the runs below it. */
const renamed = (snapshot: JsonValue, id: string, newId: string): JsonValue => {
  if (!isJsonObject(snapshot)) return snapshot
  const name = (text: JsonValue | undefined): JsonValue =>
    typeof text === 'string' && (text === id || text.startsWith(`${id}/`))
      ? newId + text.slice(id.length)
      : (text ?? null)
  const named = (key: string, of: JsonObject): JsonObject =>
    typeof of[key] === 'string' ? { ...of, [key]: name(of[key]) } : of
  const inner = (key: string, of: JsonObject, change: (value: JsonValue) => JsonValue): JsonObject => {
    const value = of[key]
    return value === undefined ? of : { ...of, [key]: change(value) }
  }
  const each = (change: (value: JsonValue) => JsonValue) => (value: JsonValue) =>
    isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, change(member)]))
      : value
  const ofObject = (change: (value: JsonObject) => JsonObject) => (value: JsonValue) =>
    isJsonObject(value) ? change(value) : value
  const below = (value: JsonValue) => renamed(value, id, newId)
  const withId = ofObject((value) => named('id', value))
  let next = named('run', snapshot)
  next = inner(
    'context',
    next,
    ofObject((context) => inner('input', inner('options', context, withId), withId)),
  )
  next = inner('children', next, each(ofObject((child) => inner('snapshot', child, below))))
  return inner('runs', next, each(below))
}
