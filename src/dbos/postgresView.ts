import type { Snapshot } from 'xstate'
import type { HostedFrom } from '../agent/options.ts'
import { messagesFrom } from '../durable/conversation.ts'
import { messagesOf } from '../durable/snapshots.ts'
import type { StoreView } from '../durable/storeView.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import { rootOf, tasksOf } from './PostgresTask.ts'
import type { Service } from './Service.ts'
import { historyOf, storedConversation } from './storedConversation.ts'
import { damaged, fromJson } from './tables.ts'

/** Bytes of a run that are read to show it. */
const mostShown = 128 * 1024 * 1024

/** The view of runs in Postgres. */
export const postgresView = (service: Service, isWorker: boolean): StoreView => {
  const { rows, agents, database } = service
  return {
    store: database.place,
    hasOwner: async () => (await rows.workers()).length > 0,
    isOwner: () => isWorker,
    from: (id) => shownFrom(service, id),
    conversation: async (id) => {
      const [size] = await database.query(`SELECT ${sizeOf} AS size FROM statewire.runs WHERE id = $1`, id)
      if (!size) return undefined
      if (Number(size.size) > mostShown) throw damaged(id)
      return await storedConversation(service, await rows.known(id))
    },
    tasks: async (id) => {
      const run = await rootOf(service, id)
      const all = run ? (await tasksOf(service, run)).map((task) => task.info) : []
      return run?.id === id ? all : all.filter((task) => task.id.startsWith(`${id}/`))
    },
    agent: (name) => agents.find(name),
    newestChat: async (agent) => {
      const [chat] = await database.query(
        `SELECT chats.id FROM statewire.chats JOIN statewire.runs ON runs.id = chats.run
         WHERE chats.agent = $1 ORDER BY runs.created_at DESC, runs.id DESC LIMIT 1`,
        agent,
      )
      return typeof chat?.id === 'string' ? chat.id : undefined
    },
    lastRun: async (id) => {
      const [chat] = await database.query('SELECT run FROM statewire.chats WHERE id = $1', id)
      return typeof chat?.run === 'string' ? chat.run : undefined
    },
  }
}

const sizeOf = 'octet_length(start) + coalesce(octet_length(snapshot), 0) + coalesce(octet_length(result), 0)'

/**
 * Reads what is stored of a run now: its input, or the snapshot that it waits with. A run that works, or is over, has
 * none here: it is shown with its state, and with the messages that are stored beside its stream.
 */
const shownFrom = async ({ database }: Service, id: string): Promise<HostedFrom | undefined> => {
  const [row] = await database.query(
    `SELECT status, state, step, start, snapshot, result, error FROM statewire.runs WHERE id = $1 AND ${sizeOf} <= $2`,
    id,
    mostShown,
  )
  if (!row) return undefined
  const [start, snapshot, result, error] = [row.start, row.snapshot, row.result, row.error].map(fromJson)
  const { status, state } = row
  const isKept = isJsonObject(snapshot)
  const kept: JsonObject = { snapshot: snapshot ?? null }
  if (status === 'waiting' && isKept) return kept as HostedFrom
  const isNew = status === 'running' && state === '' && !isKept
  if (isNew && isJsonObject(start) && isJsonObject(start.input)) return start as HostedFrom
  const output = isKept ? undefined : result
  const messages = messagesFrom(isKept ? messagesOf(snapshot) : Object(output).messages)
  const history = historyOf(start, !isKept && output === undefined)
  const context = { step: Number(row.step), input: { history }, messages }
  return { snapshot: { ...ended(status, output, error), ...{ value: state, context, children: {} } } }
}

/** The end of a run as the snapshot of its actor would have it. */
const ended = (
  status: unknown,
  output: JsonValue | undefined,
  error: JsonValue | undefined,
): Snapshot<unknown> => {
  if (status === 'abandoned') return { status: 'error', output: undefined, error }
  return status === 'running' || status === 'waiting'
    ? { status: 'active', output: undefined, error: undefined }
    : { status: 'done', output, error: undefined }
}
