import { ConfigurationError, OrchestrationError } from '../../messages/errors.ts'
import type { JsonObject } from '../../messages/json.ts'
import type { ChatMessage, Part } from '../../messages/messages.ts'
import { checkValue, wholeFrom } from '../../messages/optionRules.ts'
import type { PendingCall } from '../../messages/result.ts'
import { newId } from '../../model/newId.ts'
import { conversationAfter, conversationOf, isPrompt, policyAfter } from '../conversation.ts'
import { checkId, checkSameStart, contextJson, digestOf, promptText } from '../runOptions.ts'
import type { DurableChat, DurableRun, TurnOptions } from '../runs.ts'
import type { ChatRow } from './ChatRows.ts'
import { Items } from './Items.ts'
import type { RunRequest } from './ownerOptions.ts'
import { extentOf, hostedFrom, pack } from './pack.ts'
import type { RunOwner } from './RunOwner.ts'
import type { RunRow } from './runRow.ts'
import { SqliteRun } from './SqliteRun.ts'

type Begin = (run: RunRequest) => Promise<DurableRun>

/** The current end of a chat: its last run, and the conversation without an answer that is still running. */
type ChatEnd = {
  chat: ChatRow
  run: RunRow | undefined
  items: Items
  history: ChatMessage[]
  /** The agent's policy, as the last answer left it, also if that answer is replaced: what it has seen, it has seen. */
  policy?: JsonObject
}

/** The question of a turn; without a prompt, the conversation ends with one. */
type Question = { before: ChatMessage[]; prompt?: string | Part[] }

/** The handle of a stored chat. Each of its turns is a run that builds on the messages of the one before. */
export class SqliteChat implements DurableChat {
  readonly id: string
  readonly agent: string
  readonly #owner: RunOwner
  readonly #begin: Begin
  /** True until the first turn: a client that only looks at chats must not fill the store. */
  #isNew: boolean

  private constructor(owner: RunOwner, { id, agent }: ChatRow, begin: Begin, isNew = false) {
    this.id = id
    this.agent = agent
    this.#owner = owner
    this.#begin = begin
    this.#isNew = isNew
  }

  /** Opens the chat with this id; a new one needs an agent that answers. It is stored with its first turn. */
  static open(owner: RunOwner, id: string, agent: string | undefined, begin: Begin): SqliteChat {
    const { chats } = owner.store
    const known = chats.get(id)
    if (known && agent !== undefined && agent !== known.agent)
      throw new ConfigurationError(`The chat "${id}" is answered by "${known.agent}", not by "${agent}".`)
    if (known) return new SqliteChat(owner, known, begin)
    const chat = { id, agent: owner.agents.choose(agent), run: undefined, length: undefined }
    return new SqliteChat(owner, chat, begin, true)
  }

  async history(): Promise<ChatMessage[]> {
    return this.#end().history
  }

  async run(): Promise<DurableRun | undefined> {
    const { run } = this.#end()
    return run && SqliteRun.of(this.#owner, run)
  }

  async pending(): Promise<PendingCall[]> {
    return [...(this.#end().run?.pending ?? [])]
  }

  async send(prompt: string | Part[], options: TurnOptions = {}): Promise<DurableRun> {
    return this.#turn(options, ['send', prompt], ({ history }) => ({ before: history, prompt }))
  }

  async edit(index: number, prompt: string | Part[], options: TurnOptions = {}): Promise<DurableRun> {
    checkValue('index', index, wholeFrom(0))
    return this.#turn(options, ['edit', index, prompt], ({ history }) => {
      if (isPrompt(history[index])) return { before: history.slice(0, index), prompt }
      throw new ConfigurationError(
        `Message ${index} of the chat "${this.id}" is not a prompt, so it cannot be edited.`,
      )
    })
  }

  async regenerate(options: TurnOptions = {}): Promise<DurableRun> {
    return this.#turn(options, ['regenerate'], ({ history }) => {
      const last = history.findLastIndex(isPrompt)
      if (last >= 0) return { before: history.slice(0, last + 1) }
      throw new ConfigurationError(`The chat "${this.id}" has no answer yet.`)
    })
  }

  async fork({ at, id = newId() }: { at?: number; id?: string } = {}): Promise<DurableChat> {
    checkId(id)
    const { chat, history } = this.#end()
    if (at !== undefined) checkValue('at', at, wholeFrom(0))
    const length = at ?? history.length
    const isEnd = length === 0 || history[length - 1]?.role === 'model'
    if (!isEnd || (length < history.length && !isPrompt(history[length])))
      throw new ConfigurationError(
        `The chat "${this.id}" cannot be forked at ${length}: give the index of a prompt, or leave it out.`,
      )
    const { file, chats, synchronous } = this.#owner.store
    const fork = { ...chat, id, length }
    if (!file.write(synchronous, () => chats.insert(fork)))
      throw new ConfigurationError(`There is a chat "${id}" already.`)
    return new SqliteChat(this.#owner, fork, this.#begin)
  }

  /** Starts a turn. `asked` is what the client sent, without the conversation, which may be longer when it sends it again. */
  async #turn(
    options: TurnOptions,
    asked: readonly unknown[],
    ask: (end: ChatEnd) => Question,
  ): Promise<DurableRun> {
    const { id = newId(), context, metadata } = options
    const { chats, runs } = this.#owner.store
    const known = runs.summary(id)
    const stored = contextJson(context)
    const request = digestOf([this.id, ...asked, stored ?? null])
    // As for `start`: a client that is not sure whether the prompt arrived may send it again.
    if (known) {
      checkSameStart(known, { agent: this.agent, request })
      return SqliteRun.of(this.#owner, known)
    }
    const end = this.#idleEnd()
    const { chat, run, items, policy } = end
    const { before, prompt } = ask(end)
    const base = run && { run: run.n, counts: extentOf(pack({ before }, items)) }
    const started = await this.#begin({
      id,
      agent: this.agent,
      prompt: promptText(prompt ?? before.at(-1)?.parts),
      input: {
        id,
        ...(prompt !== undefined && { prompt }),
        ...(metadata && { metadata }),
        ...(before.length > 0 && { history: before }),
        ...(policy && { policy }),
      },
      context: stored,
      conversation: this.id,
      request,
      base: before.length > 0 ? base : undefined,
      forkedFrom: undefined,
      answer: undefined,
      metadata: undefined,
      tags: [],
      inSameWrite: (n) => {
        if (this.#isNew) chats.insert(chat)
        if (!chats.advance(chat, n)) throw this.#busy()
      },
    })
    // Not inside the transaction, which may fail.
    this.#isNew = false
    return started
  }

  /** Reads the end of the chat for another turn. None may be under way. */
  #idleEnd(): ChatEnd {
    const end = this.#end()
    if (end.run?.status === 'running') throw this.#busy()
    if (end.run?.status === 'waiting')
      throw new OrchestrationError(
        `An answer of the chat "${this.id}" waits for a decision: decide on it with runs.send("${end.run.id}", …) first.`,
      )
    return end
  }

  #busy(): OrchestrationError {
    return new OrchestrationError(
      `The chat "${this.id}" is still answering: wait for the result of its run, or abort it.`,
    )
  }

  #end(): ChatEnd {
    const { chats, runs, items: itemRows } = this.#owner.store
    const stored = chats.get(this.id)
    if (!stored && !this.#isNew) throw new ConfigurationError(`There is no chat "${this.id}".`)
    const chat = stored ?? { id: this.id, agent: this.agent, run: undefined, length: undefined }
    const run = chat.run === undefined ? undefined : runs.byNumber(chat.run)
    if (!run) return { chat, run, items: new Items(), history: [] }
    const items = itemRows.load(run.n, run.base)
    const from = hostedFrom(run.packedSnapshot, items)
    const conversation = conversationOf(from)
    const isOver = run.status !== 'running' && run.status !== 'waiting'
    const history = isOver ? conversationAfter(conversation) : conversation.before
    return { chat, run, items, history: history.slice(0, chat.length), ...policyAfter(from) }
  }
}
