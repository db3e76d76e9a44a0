import { commandFor } from '../agent/commands.ts'
import type { DurableChat, DurableRun, StoredRuns, TurnOptions } from '../durable/runs.ts'
import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject, type JsonValue } from '../messages/json.ts'
import { type ChatMessage, textOf, toolResultsOf } from '../messages/messages.ts'
import type { PendingCall, Usage } from '../messages/result.ts'
import { within } from '../transport/onAbort.ts'
import { HttpError } from './request.ts'
import {
  type Chats,
  type Decisions,
  eventsOf,
  nothingDecided,
  promptIdOf,
  type Question,
  questionIdOf,
  type Turn,
  type TurnContext,
  type TurnEvent,
  type TurnListener,
  type TurnOutcome,
  withUsage,
} from './turn.ts'

/** The place to continue in the stream of a run: after the wait for these calls, of which some questions are decided. */
type After = { waited: readonly PendingCall[]; decided: readonly string[] }

/** The longest time that an aborted answer may take to end. */
const longestEndMs = 10_000

/**
 * Chats that are stored. The server stores the conversation: it takes only the last prompt and its place from the client.
 * A run continues when its reader leaves, and can be read again.
 */
export class StoredChats implements Chats {
  readonly #runs: StoredRuns
  readonly #agent: string | undefined

  constructor(runs: StoredRuns, agent: string | undefined) {
    this.#runs = runs
    this.#agent = agent
  }

  async ask(chatId: string, question: Question, context: TurnContext): Promise<Turn> {
    if (context.tools && context.tools.length > 0)
      throw new HttpError(
        400,
        'Stored chats do not take tools from a page: give them to the agent, without execute.',
      )
    const chat = await this.#chat(chatId)
    // A client that asks something else no longer needs this answer.
    await this.#end(chat, 'the user has asked something else')
    const { run, promptId } = await askIn(chat, question, context)
    return turnOf(chat, run, promptId)
  }

  async resume(
    chatId: string,
    decide: (calls: readonly PendingCall[]) => Decisions,
    _: TurnContext,
  ): Promise<Turn> {
    const chat = await this.#chat(chatId)
    const [run, waited] = [await chat.run(), await chat.pending()]
    const decisions = Object.entries(decide(waited))
    if (!run || decisions.length === 0) throw nothingDecided()
    const decided = new Set(decisions.map(([callId]) => callId))
    for (const [callId, decision] of decisions) {
      try {
        await this.#runs.send(run.id, commandFor(callId, decision))
      } catch (error) {
        // Another request was faster.
        throw error instanceof ConfigurationError ? nothingDecided() : error
      }
    }
    return turnOf(chat, run, undefined, {
      waited,
      decided: waited.filter(({ id }) => decided.has(id)).map(questionIdOf),
    })
  }

  async current(chatId: string): Promise<Turn | undefined> {
    const chat = await this.#chat(chatId)
    const run = await chat.run()
    if (!run) return undefined
    const isOver = !(await isUnderWay(run))
    if (isOver && !(await hasJustEnded(run))) return undefined
    const asked = await promptOf(chat, run)
    return { ...turnOf(chat, run, asked && promptIdOf(asked)), isOver }
  }

  async stop(chatId: string): Promise<void> {
    await this.#end(await this.#chat(chatId), 'the user has stopped it')
  }

  async history(chatId: string): Promise<ChatMessage[]> {
    const chat = await this.#chat(chatId)
    const run = await chat.run()
    if (!run || !(await isUnderWay(run))) return wholeHistory(chat)
    const history = await chat.history()
    // A regenerated answer follows a prompt that is already there.
    const asked = history.at(-1)?.role === 'user' ? undefined : await promptOf(chat, run)
    return withUsages([...history, ...(asked ? [asked] : [])])
  }

  #chat(chatId: string): Promise<DurableChat> {
    return this.#runs.chat(chatId, this.#agent === undefined ? {} : { agent: this.#agent })
  }

  async #end(chat: DurableChat, reason: string): Promise<void> {
    const run = await chat.run()
    if (!run || !(await isUnderWay(run))) return
    try {
      await this.#runs.send(run.id, { type: 'abort', reason })
    } catch (error) {
      // It has ended meanwhile.
      if (!(error instanceof ConfigurationError)) throw error
    }
    if (await isWithin(longestEndMs, run.result)) return
    // No process runs it at the moment: the next process aborts it.
    throw new HttpError(409, 'The chat is still answering: try again later.')
  }
}

/** True if a promise is settled in time. */
const isWithin = (ms: number, promise: Promise<unknown>): Promise<boolean> => {
  const settled = promise.then(
    () => true,
    () => true,
  )
  return within(settled, { ms, timeout: () => new Error('late') }).catch(() => false)
}

const isUnderWay = async (run: DurableRun): Promise<boolean> => {
  const { status } = await run.info()
  return status === 'running' || status === 'waiting'
}

/** The time after its end in which an answer can still be read: a page may have loaded the messages before. */
const justEndedMs = 30_000

const hasJustEnded = async (run: DurableRun): Promise<boolean> => {
  const { status, updatedAt } = await run.info()
  return status === 'complete' && Date.now() - updatedAt.getTime() < justEndedMs
}

/** The prompt of a run: the first message that it shows, or, if it answers again, the last one before it. */
const promptOf = async (chat: DurableChat, run: DurableRun): Promise<ChatMessage | undefined> => {
  for await (const { chunk } of run.stream()) {
    const [asked] = chunk.messages.filter(isPrompt)
    if (asked) return asked
    break
  }
  return (await chat.history()).findLast(isPrompt)
}

// A page shows the same ids and tokens after a reload. The prompt keeps its id, and what the answer before it used.

/** The conversation of a chat that is not answering, with what each answer used. */
const wholeHistory = async (chat: DurableChat): Promise<ChatMessage[]> => {
  const history = await chat.history()
  const run = await chat.run()
  if (!run) return history
  const asked = await promptOf(chat, run)
  const { status, usage } = await run.info()
  // An answer that broke off may have been dropped, with its prompt.
  const last = history.findLast(isPrompt)
  const isKept = status === 'complete' || (last && asked && promptIdOf(last) === promptIdOf(asked))
  return withUsage(withUsages(history), isKept ? usage : usageBefore(asked))
}

/** Adds what the earlier answers used: the prompt after each of them says so. */
const withUsages = (history: readonly ChatMessage[]): ChatMessage[] =>
  history.map((message, index) => {
    const usage = usageBefore(history[index + 1])
    return (usage && withUsage([message], usage)[0]) || message
  })

const usageBefore = (prompt: ChatMessage | undefined): Usage | undefined => {
  const usage = prompt?.metadata?.usageBefore
  return isJsonObject(usage) ? usage : undefined
}

/** The metadata of a prompt after these messages. */
const metadataOf = (id: string | undefined, usage: JsonValue | undefined): Pick<TurnOptions, 'metadata'> => {
  const metadata = { ...(id !== undefined && { id }), ...(usage !== undefined && { usageBefore: usage }) }
  return Object.keys(metadata).length > 0 ? { metadata } : {}
}

const askIn = async (
  chat: DurableChat,
  question: Question,
  { context }: TurnContext,
): Promise<{ run: DurableRun; promptId: string | undefined }> => {
  const { prompt, id, intent } = question
  const options = context === undefined ? {} : { context }
  const stored = await wholeHistory(chat)
  const at = intent === 'new' ? stored.length : placeOf(question, stored)
  const same = stored[at]
  if (!same) {
    const given = { ...options, ...metadataOf(id, stored.at(-1)?.metadata?.usage) }
    return { run: await chat.send(prompt, given), promptId: id }
  }
  if (intent === 'edit') {
    const given = { ...options, ...metadataOf(id, same.metadata?.usageBefore) }
    return { run: await chat.edit(at, prompt, given), promptId: id }
  }
  const promptId = promptIdOf(same)
  if (!stored.slice(at + 1).some(isPrompt)) return { run: await chat.regenerate(options), promptId }
  const given = { ...options, ...(same.metadata && { metadata: same.metadata }) }
  return { run: await chat.edit(at, same.parts, given), promptId }
}

/**
 * The position in the stored conversation of the client's prompt: by its id, or after the client's earlier prompts. A
 * client that sends only its last prompt, without an id that is known here, means the last one with that text.
 */
const placeOf = ({ id, asked, intent, prompt }: Question, stored: readonly ChatMessage[]): number => {
  const known = stored.findLastIndex((message) => id !== undefined && promptIdOf(message) === id)
  if (known >= 0) return known
  if (intent === 'edit' || asked.length > 0) return placeAfter(asked, stored)
  const text = textOf({ role: 'user', parts: prompt })
  const equal = stored.findLastIndex((message) => isPrompt(message) && textOf(message) === text)
  return equal >= 0 ? equal : stored.findLastIndex(isPrompt)
}

/** The position after these prompts. Those without an answer are not stored, but a client may still show them: they are skipped. */
const placeAfter = (asked: readonly string[], stored: readonly ChatMessage[]): number => {
  const prompts = stored.flatMap((message, index) => (isPrompt(message) ? [index] : []))
  let matched = 0
  for (const text of asked) {
    const next = stored[prompts[matched] ?? stored.length]
    if (next && textOf(next) === text) matched += 1
  }
  return prompts[matched] ?? stored.length
}

const isPrompt = (message: ChatMessage): boolean =>
  message.role === 'user' && toolResultsOf(message).length === 0

const turnOf = (chat: DurableChat, run: DurableRun, promptId: string | undefined, after?: After): Turn => ({
  ...(promptId !== undefined && { promptId }),
  follow: async (listener) => {
    const { onEvent, signal } = listener
    onEvent({ type: 'begin', runId: run.id })
    const showState = stateShower(run, onEvent)
    const waits = await followTo(run, listener, showState, after)
    if (signal.aborted) return undefined
    await showState()
    if (waits) onEvent({ type: 'waits', calls: waits })
    else {
      const { finishReason, usage } = await run.result
      onEvent({ type: 'end', finishReason, ...(usage && { usage }) })
    }
    return outcomeOf(chat, run)
  },
  outcome: () => outcomeOf(chat, run),
})

/** Waits for the end of a run, or for its next wait. The run continues without its reader. */
const outcomeOf = async (chat: DurableChat, run: DurableRun): Promise<TurnOutcome> => {
  const { messages, finishReason, usage, pendingApproval } = await run.result
  // The conversation of a chat is without an answer that waits.
  const asked = pendingApproval && withUsages([...(await chat.history()), ...messages])
  return {
    messages: asked ?? (await wholeHistory(chat)),
    finishReason,
    ...(usage && { usage }),
    pending: pendingApproval?.calls ?? [],
  }
}

/** Passes on the chunks of a run, up to its end or to a wait that is still open. */
const followTo = async (
  run: DurableRun,
  { onEvent, ready, signal }: TurnListener,
  showState: () => Promise<void>,
  after: After | undefined,
): Promise<readonly PendingCall[] | undefined> => {
  let isShown = after === undefined
  let cursor: string | undefined
  let last: TurnEvent['type'] | undefined
  for (;;) {
    let waited: readonly PendingCall[] | undefined
    for await (const { cursor: at, chunk } of run.stream({ signal, ...(cursor && { after: cursor }) })) {
      cursor = at
      waited = chunk.pendingApproval?.calls
      if (!isShown) continue
      const events = [...eventsOf(chunk)]
      if (events.some(({ type }) => type !== last)) await showState()
      for (const event of events) onEvent(event)
      last = events.at(-1)?.type ?? last
      await ready()
    }
    if (!waited || signal.aborted) return undefined
    const isDecided = waited.every((call) => after?.decided.includes(questionIdOf(call)))
    // A part of what it waited for may have been decided on meanwhile.
    if (!isShown) isShown = isPartOf(after?.waited ?? [], waited)
    else if (!isDecided && (await isOpen(run, waited))) return waited
  }
}

/** Shows the state that a run is in, whenever it has changed. */
const stateShower = (run: DurableRun, onEvent: TurnListener['onEvent']): (() => Promise<void>) => {
  let shown = ''
  return async () => {
    const { state } = await run.info()
    if (state === shown) return
    shown = state
    onEvent({ type: 'state', state })
  }
}

/** True if a run still waits for these calls. */
const isOpen = async (run: DurableRun, calls: readonly PendingCall[]): Promise<boolean> => {
  const { status, pending } = await run.info()
  return status === 'waiting' && isSame(calls, pending)
}

const isSame = (some: readonly PendingCall[], others: readonly PendingCall[]): boolean =>
  some.length === others.length && isPartOf(some, others)

const isPartOf = (some: readonly PendingCall[], others: readonly PendingCall[]): boolean =>
  some.every((call) => others.some((other) => questionIdOf(other) === questionIdOf(call)))
