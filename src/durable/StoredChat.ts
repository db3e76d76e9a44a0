import type { AgentInput } from '../../machines/agent/events.ts'
import type { RequestPrefix } from '../../machines/model/requestPrefix.ts'
import { ConfigurationError, OrchestrationError } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import type { ChatMessage, Part } from '../messages/messages.ts'
import { checkOptions, checkValue, wholeFrom } from '../messages/optionRules.ts'
import type { PendingCall } from '../messages/result.ts'
import { newId } from '../model/newId.ts'
import { isPrompt } from './conversation.ts'
import {
  type Agents,
  checkId,
  checkSameStart,
  checkTurn,
  contextJson,
  digestOf,
  promptText,
} from './runOptions.ts'
import type { DurableChat, DurableRun, RunStatus, TurnOptions } from './runs.ts'

/** The current end of a chat: its last run, and the conversation without an answer that is still running. */
export type ChatEnd<Place, Run> = {
  agent: string
  run: Run | undefined
  history: ChatMessage[]
  /** The messages so far of an answer that is still being given. */
  partial: ChatMessage[]
  /** The agent's policy, as the last answer left it, even if that answer is replaced: the policy does not forget. */
  policy?: JsonObject
  /** The hashes of the last request. */
  prefix?: RequestPrefix
  /** The place that the next turn continues from, as the store knows it; undefined for a chat that is not stored yet. */
  place: Place | undefined
}

/** The public data of a run, and a digest of its start. */
type ChatRun = {
  id: string
  agent: string
  status: RunStatus
  pending: readonly PendingCall[]
  request: string | undefined
}

/** A turn that begins. */
type ChatTurn = {
  id: string
  agent: string
  /** The beginning of the prompt. */
  prompt: string
  input: AgentInput & { id: string }
  /** The `context` of the tools, as JSON. */
  context: string | undefined
  /** The id of the chat. */
  conversation: string
  request: string
  /** The messages of the chat that it builds on. */
  before: readonly ChatMessage[]
}

/** The chats of a store, which knows its runs as a type of its own. */
export type ChatStore<Place, Run> = {
  readonly agents: Agents
  /** Reads a chat; undefined if there is none with this id. */
  end(id: string): Promise<ChatEnd<Place, Run> | undefined>
  /** Finds a run by its id. */
  known(id: string): Promise<Run | undefined>
  handle(run: Run): DurableRun
  /** Starts a turn, and ends the chat with it; undefined if the chat has another end by now. */
  begin(turn: ChatTurn, place: Place | undefined): Promise<DurableRun | undefined>
  /** Stores another chat with the first messages of this one; false if a chat already has its id. */
  fork(id: string, agent: string, place: Place | undefined, length: number): Promise<boolean>
}

/** The question of a turn; without a prompt, the conversation ends with one. */
type Question = { before: ChatMessage[]; prompt?: string | Part[] }

/** The handle of a stored chat. Each of its turns is a run that builds on the messages of the one before. */
export class StoredChat<Place, Run extends ChatRun> implements DurableChat {
  readonly id: string
  readonly agent: string
  readonly #store: ChatStore<Place, Run>
  /** True until the first turn: a client that only looks at chats must not fill the store. */
  #isNew: boolean

  private constructor(store: ChatStore<Place, Run>, id: string, agent: string, isNew: boolean) {
    this.id = id
    this.agent = agent
    this.#store = store
    this.#isNew = isNew
  }

  /** Opens the chat with this id; a new one needs an agent that answers. It is stored with its first turn. */
  static async open<Place, Run extends ChatRun>(
    store: ChatStore<Place, Run>,
    id: string,
    agent: string | undefined,
  ): Promise<StoredChat<Place, Run>> {
    const known = await store.end(id)
    if (known && agent !== undefined && agent !== known.agent)
      throw new ConfigurationError(`The chat "${id}" is answered by "${known.agent}", not by "${agent}".`)
    return new StoredChat(store, id, known?.agent ?? store.agents.choose(agent), !known)
  }

  async history({ partial: isPartial = false }: { partial?: boolean } = {}): Promise<ChatMessage[]> {
    const { history, partial } = await this.#end()
    return isPartial ? [...history, ...partial] : history
  }

  async run(): Promise<DurableRun | undefined> {
    const { run } = await this.#end()
    return run && this.#store.handle(run)
  }

  async pending(): Promise<PendingCall[]> {
    return [...((await this.#end()).run?.pending ?? [])]
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

  async fork(options: { at?: number; id?: string } = {}): Promise<DurableChat> {
    checkOptions<typeof options>('The options of fork', options, { at: () => undefined, id: () => undefined })
    const { at, id = newId() } = options
    checkId(id)
    const { place, history } = await this.#end()
    if (at !== undefined) checkValue('at', at, wholeFrom(0))
    const length = at ?? history.length
    const isEnd = length === 0 || history[length - 1]?.role === 'model'
    if (!isEnd || (length < history.length && !isPrompt(history[length])))
      throw new ConfigurationError(
        `The chat "${this.id}" cannot be forked at ${length}: give the index of a prompt, or leave it out.`,
      )
    if (!(await this.#store.fork(id, this.agent, place, length)))
      throw new ConfigurationError(`There is a chat "${id}" already.`)
    return new StoredChat(this.#store, id, this.agent, false)
  }

  /**
   * Starts a turn. `asked` is the client's request without the conversation, which may have grown when it repeats the
   * request.
   */
  async #turn(
    options: TurnOptions,
    asked: readonly unknown[],
    ask: (end: ChatEnd<Place, Run>) => Question,
  ): Promise<DurableRun> {
    checkTurn(options)
    const { id = newId(), context: given, metadata } = options
    checkId(id)
    const context = contextJson(given)
    const request = digestOf([this.id, ...asked, context ?? null])
    const known = await this.#store.known(id)
    // As for `start`: a client that is not sure whether the prompt arrived may send it again.
    if (known) {
      checkSameStart(known, { agent: this.agent, request })
      return this.#store.handle(known)
    }
    const end = await this.#idleEnd()
    const { policy, prefix, place } = end
    const { before, prompt } = ask(end)
    const input = {
      id,
      ...(prompt !== undefined && { prompt }),
      ...(metadata && { metadata }),
      ...(before.length > 0 && { history: before }),
      ...(policy && { policy }),
      ...(prefix && { prefix }),
    }
    const shown = promptText(prompt ?? before.at(-1)?.parts)
    const { agent, id: conversation } = this
    const turn = { id, agent, prompt: shown, input, context, conversation, request, before }
    const started = await this.#store.begin(turn, place)
    if (!started) throw this.#busy()
    this.#isNew = false
    return started
  }

  /** Reads the end of the chat for another turn. Refused while a turn is under way. */
  async #idleEnd(): Promise<ChatEnd<Place, Run>> {
    const end = await this.#end()
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

  async #end(): Promise<ChatEnd<Place, Run>> {
    const end = await this.#store.end(this.id)
    if (!end && !this.#isNew) throw new ConfigurationError(`There is no chat "${this.id}".`)
    return end ?? { agent: this.agent, run: undefined, history: [], partial: [], place: undefined }
  }
}
