import { commandFor } from '../agent/commands.ts'
import type { DurableChat, DurableRun, StoredRuns, TurnOptions } from '../durable/runs.ts'
import { ConfigurationError } from '../messages/errors.ts'
import type { JsonValue } from '../messages/json.ts'
import { type ChatMessage, type Part, textOf } from '../messages/messages.ts'
import type { PendingCall } from '../messages/result.ts'
import { newId } from '../model/newId.ts'
import { within } from '../transport/onAbort.ts'
import { HttpError } from './request.ts'
import { isPrompt, promptOf, turnOf, wholeHistory, withUsages } from './storedTurn.ts'
import {
  type Chats,
  type Decisions,
  nothingDecided,
  promptIdOf,
  type Question,
  questionIdOf,
  type Turn,
  type TurnContext,
} from './turn.ts'

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
    const askAgain = () => this.ask(chatId, question, context)
    const before = await chat.run()
    const queued = await this.#queue(before, chat, question, askAgain)
    if (queued) return queued
    // A client that asks something else no longer needs this answer.
    await this.#end(chat, 'the user has asked something else')
    try {
      const { run, promptId } = await askIn(chat, question, context)
      return turnOf(chat, run, { promptId })
    } catch (thrown) {
      // Another question came at the same moment: this one is queued behind it.
      const isLate = question.intent === 'new' && (await chat.run())?.id !== before?.id
      if (!isLate) throw thrown
      return askAgain()
    }
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
    // Sent together: a run is restored for a decision, and stopped when it has waited for the next one.
    const sent = decisions.map(([callId, decision]) => this.#runs.send(run.id, commandFor(callId, decision)))
    for (const each of await Promise.allSettled(sent)) {
      if (each.status === 'fulfilled') continue
      // Another request was faster.
      throw each.reason instanceof ConfigurationError ? nothingDecided() : each.reason
    }
    return turnOf(chat, run, {
      after: { waited, decided: waited.filter(({ id }) => decided.has(id)).map(questionIdOf) },
    })
  }

  async current(chatId: string, promptId?: string): Promise<Turn | undefined> {
    const chat = await this.#chat(chatId)
    const run = await chat.run()
    if (!run) return undefined
    const isOver = !(await isUnderWay(run))
    if (isOver && !(await hasJustEnded(run))) return undefined
    const asked = await promptOf(chat, run)
    const first = asked && promptIdOf(asked)
    if (promptId === undefined) return { ...turnOf(chat, run, { promptId: first, isWhole: true }), isOver }
    if (promptId === first) return { ...turnOf(chat, run, { promptId }), isOver }
    const all = await chat.history({ partial: true })
    const begin = all.findLastIndex((message) => promptIdOf(message) === first)
    const isOfRun = all.slice(begin).some((message) => promptIdOf(message) === promptId)
    return isOfRun ? { ...turnOf(chat, run, { promptId, from: 'prompt' }), isOver } : undefined
  }

  async stop(chatId: string): Promise<void> {
    await this.#end(await this.#chat(chatId), 'the user has stopped it')
  }

  async history(chatId: string, now = false): Promise<ChatMessage[]> {
    const chat = await this.#chat(chatId)
    const run = await chat.run()
    if (!run || !(await isUnderWay(run))) return wholeHistory(chat)
    if (now) {
      const partial = await chat.history({ partial: true })
      return withUsages(partial.slice(0, partial.findLastIndex(isAsked) + 1))
    }
    const history = await chat.history()
    // A regenerated answer follows a prompt that is already there.
    const asked = history.at(-1)?.role === 'user' ? undefined : await promptOf(chat, run)
    return withUsages([...history, ...(asked ? [asked] : [])])
  }

  /**
   * Queues a question behind the answer that is being given. Undefined if there is no such answer, or if it waits for a
   * person.
   */
  async #queue(
    run: DurableRun | undefined,
    chat: DurableChat,
    { prompt, id = newId(), intent }: Question,
    askAgain: () => Promise<Turn>,
  ): Promise<Turn | undefined> {
    const text = plainText(prompt)
    if (!run || intent !== 'new' || text === undefined) return undefined
    const { status, pending } = await run.info()
    if (status !== 'running' && (status !== 'waiting' || pending.length > 0)) return undefined
    const message = { type: 'message', text, when: 'idle', metadata: { id } } as const
    // A page that is not sure whether it arrived sends it again.
    const delivery = await this.#runs.send(run.id, message, { commandId: `prompt ${id}` })
    if (delivery === 'refused') return undefined
    // A sleep ends when the user writes.
    if (status === 'waiting')
      await unlessOver(this.#runs.wake(run.id, { at: new Date(), commandId: `wake ${id}` }))
    return turnOf(chat, run, { promptId: id, askAgain })
  }

  #chat(chatId: string): Promise<DurableChat> {
    return this.#runs.chat(chatId, this.#agent === undefined ? {} : { agent: this.#agent })
  }

  async #end(chat: DurableChat, reason: string): Promise<void> {
    const run = await chat.run()
    if (!run || !(await isUnderWay(run))) return
    await unlessOver(this.#runs.send(run.id, { type: 'abort', reason }))
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

/** The text of a prompt; undefined if it has other parts, too. */
const plainText = (prompt: readonly Part[]): string | undefined =>
  prompt.every(({ type }) => type === 'text') ? textOf({ role: 'user', parts: [...prompt] }) : undefined

/** Waits for a command to a run that may have ended meanwhile. */
const unlessOver = async (sent: Promise<unknown>): Promise<void> => {
  try {
    await sent
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
  }
}

const isUnderWay = async (run: DurableRun): Promise<boolean> => {
  const { status } = await run.info()
  return status === 'running' || status === 'waiting'
}

/** The time for which an answer can be read after its end: a page may have loaded the messages before. */
const justEndedMs = 30_000

const hasJustEnded = async (run: DurableRun): Promise<boolean> => {
  const { status, updatedAt } = await run.info()
  return status === 'complete' && Date.now() - updatedAt.getTime() < justEndedMs
}

/** Distinguishes a question of the page from other messages of its run, such as steering, or the result of a task. */
const isAsked = (message: ChatMessage): boolean => isPrompt(message) && promptIdOf(message) !== undefined

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
