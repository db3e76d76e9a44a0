import { conversationAfter } from '../durable/conversation.ts'
import { endStatuses } from '../durable/runs.ts'
import type { ChatStore } from '../durable/StoredChat.ts'
import { PostgresRun } from './PostgresRun.ts'
import type { Service } from './Service.ts'
import { storedConversation } from './storedConversation.ts'
import type { NewRun, RunRow } from './tables.ts'

/** The end of a chat: the id of its last run, and how much of the conversation after it counts. */
type ChatPlace = { run: string | null; length: number | null }

/** The chats of a database. Each turn has a copy of the messages before it. */
export const dbosChats = (
  service: Service,
  begin: (run: NewRun) => Promise<PostgresRun | undefined>,
): ChatStore<ChatPlace, RunRow> => {
  const { agents, rows, database } = service
  return {
    agents,
    end: async (id) => {
      service.checkOpen()
      const [chat] = await database.query('SELECT agent, run, length FROM statewire.chats WHERE id = $1', id)
      if (!chat) return undefined
      const agent = String(chat.agent)
      const length = chat.length === null ? null : Number(chat.length)
      const run = typeof chat.run === 'string' ? await rows.find(chat.run) : undefined
      if (!run) return { agent, run, history: [], partial: [], place: { run: null, length } }
      const { policy, ...conversation } = await storedConversation(service, run)
      const isOver = endStatuses.includes(run.status)
      const history = isOver ? conversationAfter(conversation) : conversation.before
      const place = { run: run.id, length }
      const partial = isOver ? [] : conversation.added
      return { agent, run, history: history.slice(0, length ?? history.length), partial, ...policy, place }
    },
    known: (id) => rows.find(id),
    handle: (run) => PostgresRun.of(service, run),
    begin: ({ before: _, conversation, input, context, ...turn }, place) =>
      begin({
        ...turn,
        from: { input },
        context: context === undefined ? undefined : JSON.parse(context),
        chat: { id: conversation, end: place ?? undefined },
      }),
    fork: async (id, agent, place, length) => {
      const [made] = await database.query(
        `INSERT INTO statewire.chats (id, agent, run, length) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING RETURNING id`,
        id,
        agent,
        place?.run ?? null,
        length,
      )
      return made !== undefined
    },
  }
}
