import { conversationAfter, conversationOf, policyAfter, prefixAfter } from '../conversation.ts'
import type { DurableRun } from '../runs.ts'
import type { ChatEnd, ChatStore } from '../StoredChat.ts'
import type { ChatRow } from './ChatRows.ts'
import { Items } from './Items.ts'
import type { RunRequest } from './ownerOptions.ts'
import { extentOf, hostedFrom, pack } from './pack.ts'
import type { RunOwner } from './RunOwner.ts'
import type { RunRow, RunSummary } from './runRow.ts'
import { SqliteRun } from './SqliteRun.ts'
import { whenFree } from './whenFree.ts'

/** The end of a chat in a file: a turn refers to the messages of the run before it. */
type ChatPlace = { chat: ChatRow; run: RunRow | undefined; items: Items }

/** Another turn has begun, or the chat was deleted. */
class MovedOn extends Error {}

/** The chats of a file. */
export const sqliteChats = (
  owner: RunOwner,
  begin: (run: RunRequest) => Promise<DurableRun>,
): ChatStore<ChatPlace, RunSummary> => {
  const { chats, runs, items: itemRows, file, synchronous } = owner.store
  const endOf = (id: string): ChatEnd<ChatPlace, RunSummary> | undefined => {
    const chat = chats.get(id)
    if (!chat) return undefined
    const { agent } = chat
    const run = chat.run === undefined ? undefined : runs.byNumber(chat.run)
    if (!run) return { agent, run, history: [], partial: [], place: { chat, run, items: new Items() } }
    const items = itemRows.load(run.n, run.base)
    const from = hostedFrom(run.packedSnapshot, items)
    const conversation = conversationOf(from)
    const isOver = run.status !== 'running' && run.status !== 'waiting'
    const history = isOver ? conversationAfter(conversation) : conversation.before
    const place = { chat, run, items }
    const after = { ...policyAfter(from), ...prefixAfter(from) }
    const partial = isOver ? [] : conversation.added
    return { agent, run, history: history.slice(0, chat.length), partial, ...after, place }
  }
  return {
    agents: owner.agents,
    end: async (id) => whenFree(() => endOf(id)),
    known: async (id) => whenFree(() => runs.summary(id)),
    handle: (run) => SqliteRun.of(owner, run),
    begin: async ({ before, ...turn }, place) => {
      const { id, agent, conversation } = turn
      const chat = place?.chat ?? { id: conversation, agent, run: undefined, length: undefined }
      const counts = () => extentOf(pack({ before }, place?.items ?? new Items()))
      const base = before.length > 0 && place?.run ? { run: place.run.n, counts: counts() } : undefined
      try {
        return await begin({
          ...turn,
          base,
          forkedFrom: undefined,
          answer: undefined,
          metadata: undefined,
          tags: [],
          inSameWrite: (n) => {
            if (!place) chats.insert(chat)
            if (!chats.advance(chat, n)) throw new MovedOn(id)
          },
        })
      } catch (thrown) {
        if (thrown instanceof MovedOn) return undefined
        throw thrown
      }
    },
    fork: async (id, agent, place, length) => {
      const chat = { ...(place?.chat ?? { run: undefined }), id, agent, length }
      return whenFree(() => file.write(synchronous, () => chats.insert(chat)))
    },
  }
}
