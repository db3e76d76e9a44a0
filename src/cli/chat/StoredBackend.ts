import type { DurableChat, DurableRun, StoredRuns } from '../../durable/index.ts'
import { viewOf } from '../../durable/storeView.ts'
import type { Part } from '../../messages/messages.ts'
import { newId } from '../../model/newId.ts'
import { type Approvals, aboutOf, decisionOn } from '../Approvals.ts'
import { UsageError } from '../outcome.ts'
import { openRunsIn, shownStore } from '../runs/openStore.ts'
import { followRun } from '../runs/stream.ts'
import { oneLine } from '../terminalText.ts'
import type { ChatBackend, MakeAgent, Piece } from './MemoryBackend.ts'

/** The name of the agent in the store. */
const agentName = 'chat'

type StoredBackendOptions = {
  /** The file or the address of the database. */
  db: string
  /** The chat to continue, or to start. */
  chat?: string
  /** Continues the chat that had the last turn. */
  isContinued: boolean
  makeAgent: MakeAgent
  approvals: Approvals
  note: (line: string) => void
}

/** A conversation that is stored: each answer is a run, and the next process continues an unfinished one. */
export class StoredBackend implements ChatBackend {
  readonly isKept = true
  readonly #options: StoredBackendOptions
  #runs: StoredRuns
  #chat: DurableChat

  static async open(options: StoredBackendOptions): Promise<StoredBackend> {
    const runs = await openRunsOf(options)
    try {
      const chat = await runs.chat(await chatId(options, runs), { agent: agentName })
      const backend = new StoredBackend(options, runs, chat)
      await backend.#greet()
      return backend
    } catch (thrown) {
      await runs.close()
      throw thrown
    }
  }

  private constructor(options: StoredBackendOptions, runs: StoredRuns, chat: DurableChat) {
    this.#options = options
    this.#runs = runs
    this.#chat = chat
  }

  async *answer(prompt: string | Part[], signal: AbortSignal): AsyncGenerator<Piece, void> {
    yield* this.#follow(await this.#chat.send(prompt), signal)
  }

  async unfinished(signal: AbortSignal): Promise<AsyncIterable<Piece> | undefined> {
    const id = await viewOf(this.#runs)?.lastRun(this.#chat.id)
    const run = id === undefined ? undefined : await this.#runs.get(id)
    const info = await run?.info()
    if (!run || (info?.status !== 'running' && info?.status !== 'waiting')) return undefined
    this.#options.note(`Continues: ${oneLine(info.prompt)}`)
    return this.#follow(run, signal)
  }

  async clear(): Promise<string> {
    const before = this.#chat.id
    this.#chat = await this.#runs.chat(newId(), { agent: agentName })
    return `A new conversation begins; the other one is kept as ${oneLine(before)}.`
  }

  async change(): Promise<void> {
    await this.#runs.close()
    this.#runs = await openRunsOf(this.#options)
    this.#chat = await this.#runs.chat(this.#chat.id)
  }

  async close(): Promise<void> {
    await this.#runs.close()
  }

  async #greet(): Promise<void> {
    const { note, db } = this.#options
    const count = (await this.#chat.history()).length
    const name = oneLine(this.#chat.id)
    note(count === 0 ? `Chat ${name}` : `Chat ${name}, ${count} messages so far`)
    if (!viewOf(this.#runs)?.isOwner())
      note(`Another program runs ${shownStore(db)}: it answers, if it has the agent "${agentName}".`)
  }

  /** Shows a run to its end, and asks the person at the terminal about what it waits for. */
  async *#follow(run: DurableRun, signal: AbortSignal): AsyncGenerator<Piece, void> {
    const abort = () => void this.#runs.send(run.id, { type: 'abort', reason: 'interrupted' }).catch(() => {})
    let after: string | undefined
    for (;;) {
      if (signal.aborted) abort()
      signal.addEventListener('abort', abort)
      const chunks = followRun(run, { ...(after !== undefined && { after }) })
      let next = await chunks.next()
      for (; !next.done; next = await chunks.next()) {
        after = next.value.cursor
        yield next.value.chunk
      }
      // A person who leaves instead of deciding is asked again next time.
      signal.removeEventListener('abort', abort)
      if (next.value.status !== 'waiting') break
      await this.#ask(run, after, signal)
      if (signal.aborted) return
    }
    // Throws the error of a run that failed or was aborted.
    await run.result
  }

  /** Asks about each call. A question is withdrawn if it is answered elsewhere. */
  async #ask(run: DurableRun, after: string | undefined, signal: AbortSignal): Promise<void> {
    const { approvals } = this.#options
    const asked = new AbortController()
    const news = run.stream({ signal: asked.signal, ...(after !== undefined && { after }) })
    news.next().then(
      () => approvals.withdraw(),
      () => {},
    )
    try {
      for (const call of (await run.info()).pending) {
        const decision =
          call.kind === 'answer'
            ? ({ type: 'tool.answer', ...aboutOf(call), ...(await approvals.answer(call)) } as const)
            : decisionOn(call, await approvals.decideOn(call))
        if (signal.aborted) return
        const { pending } = await run.info()
        if (pending.some(({ id, question }) => id === call.id && question === call.question))
          await this.#runs.send(run.id, decision)
      }
    } finally {
      asked.abort()
    }
  }
}

const openRunsOf = ({ db, makeAgent }: StoredBackendOptions): Promise<StoredRuns> =>
  openRunsIn(db, { [agentName]: makeAgent() })

const chatId = async ({ db, chat, isContinued }: StoredBackendOptions, runs: StoredRuns): Promise<string> => {
  if (chat !== undefined) return chat
  if (!isContinued) return newId()
  const newest = await viewOf(runs)?.newestChat(agentName)
  if (newest === undefined)
    throw new UsageError(`There is no chat in ${shownStore(db)} yet: leave --continue out.`)
  return newest
}
