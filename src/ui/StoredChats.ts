import { commandFor } from '../agent/commands.ts'
import type { DurableChat, DurableRun, StoredRuns } from '../durable/runs.ts'
import { ConfigurationError } from '../messages/errors.ts'
import { type ChatMessage, textOf, toolResultsOf } from '../messages/messages.ts'
import type { PendingCall } from '../messages/result.ts'
import { within } from '../transport/onAbort.ts'
import { HttpError } from './request.ts'
import {
  type Chats,
  type Decisions,
  eventsOf,
  nothingDecided,
  type Question,
  questionIdOf,
  type Turn,
  type TurnContext,
  type TurnEvent,
  type TurnListener,
  type TurnOutcome,
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
    return turnOf(chat, await askIn(chat, question, context))
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
    return turnOf(chat, run, {
      waited,
      decided: waited.filter(({ id }) => decided.has(id)).map(questionIdOf),
    })
  }

  async current(chatId: string): Promise<Turn | undefined> {
    const chat = await this.#chat(chatId)
    const run = await chat.run()
    return run && (await isUnderWay(run)) ? turnOf(chat, run) : undefined
  }

  async stop(chatId: string): Promise<void> {
    await this.#end(await this.#chat(chatId), 'the user has stopped it')
  }

  async history(chatId: string): Promise<ChatMessage[]> {
    const chat = await this.#chat(chatId)
    const history = await chat.history()
    const run = await chat.run()
    // A regenerated answer follows a prompt that is already there.
    if (!run || !(await isUnderWay(run)) || history.at(-1)?.role === 'user') return history
    for await (const { chunk } of run.stream()) return [...history, ...chunk.messages]
    return history
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

const askIn = async (
  chat: DurableChat,
  { prompt, asked, intent }: Question,
  { context }: TurnContext,
): Promise<DurableRun> => {
  const options = context === undefined ? {} : { context }
  if (intent === 'new') return chat.send(prompt, options)
  const stored = await chat.history()
  const at = placeOf(asked, stored)
  const same = stored[at]
  if (!same) return chat.send(prompt, options)
  if (intent === 'edit') return chat.edit(at, prompt, options)
  const isLast = !stored.slice(at + 1).some(isPrompt)
  return isLast ? chat.regenerate(options) : chat.edit(at, same.parts, options)
}

/**
 * The position in the stored conversation of the prompt that follows the client's. Prompts without an answer are not
 * stored, but a client may still show them: those are skipped.
 */
const placeOf = (asked: readonly string[], stored: readonly ChatMessage[]): number => {
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

const turnOf = (chat: DurableChat, run: DurableRun, after?: After): Turn => ({
  follow: async (listener) => {
    const { onEvent, signal } = listener
    onEvent({ type: 'begin', runId: run.id })
    const waits = await followTo(run, listener, after)
    if (signal.aborted) return undefined
    onEvent(await stateOf(run))
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
  const history = await chat.history()
  // The conversation of a chat is without an answer that waits.
  const asked = pendingApproval ? [...history, ...messages] : history
  return {
    messages: asked,
    finishReason,
    ...(usage && { usage }),
    pending: pendingApproval?.calls ?? [],
  }
}

/** Passes on the chunks of a run, up to its end or to a wait that is still open. */
const followTo = async (
  run: DurableRun,
  { onEvent, ready, signal }: TurnListener,
  after: After | undefined,
): Promise<readonly PendingCall[] | undefined> => {
  let isShown = after === undefined
  let cursor: string | undefined
  for (;;) {
    let waited: readonly PendingCall[] | undefined
    for await (const { cursor: at, chunk } of run.stream({ signal, ...(cursor && { after: cursor }) })) {
      cursor = at
      waited = chunk.pendingApproval?.calls
      if (!isShown) continue
      for (const event of eventsOf(chunk)) onEvent(event)
      if (chunk.messages.length > 0) onEvent(await stateOf(run))
      await ready()
    }
    if (!waited || signal.aborted) return undefined
    const isDecided = waited.every((call) => after?.decided.includes(questionIdOf(call)))
    // A part of what it waited for may have been decided on meanwhile.
    if (!isShown) isShown = isPartOf(after?.waited ?? [], waited)
    else if (!isDecided && (await isOpen(run, waited))) return waited
  }
}

const stateOf = async (run: DurableRun): Promise<TurnEvent> => {
  const { state } = await run.info()
  return { type: 'state', state }
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
