import type { DurableChat, DurableRun } from '../durable/runs.ts'
import { isJsonObject } from '../messages/json.ts'
import { type ChatMessage, toolResultsOf } from '../messages/messages.ts'
import type { PendingCall, Usage } from '../messages/result.ts'
import {
  eventsOf,
  promptIdOf,
  questionIdOf,
  type Turn,
  type TurnEvent,
  type TurnListener,
  type TurnOutcome,
  withUsage,
} from './turn.ts'

/** The part of a run that a turn shows: its answer to one prompt, unless it is to show all of them. */
type Section = {
  /** The page's id of the prompt. */
  promptId?: string | undefined
  /** Asks a queued prompt again, if the run has ended without an answer to it. */
  askAgain?: () => Promise<Turn>
  /** The answer begins after the prompt, which is not the first one of the run. */
  from?: 'prompt'
  after?: After
  isWhole?: boolean
}

/** The place to continue in the stream of a run: after the wait for these calls, of which some questions are decided. */
type After = { waited: readonly PendingCall[]; decided: readonly string[] }

/** The answer to a prompt of a stored chat, as its readers see it. */
export const turnOf = (chat: DurableChat, run: DurableRun, section: Section): Turn => ({
  ...(section.promptId !== undefined && { promptId: section.promptId }),
  follow: async (listener) => {
    const { onEvent, signal } = listener
    onEvent({ type: 'begin', runId: run.id })
    if (section.askAgain) onEvent({ type: 'state', state: 'Queued' })
    const showState = stateShower(run, onEvent)
    const { ended, calls, messages } = await followTo(run, listener, showState, section)
    if (signal.aborted) return undefined
    if (ended === 'unseen') return followAgain(run, listener, section)
    if (ended === 'next') {
      onEvent({ type: 'end', finishReason: 'stop' })
      return {
        messages: withUsages([...(await chat.history()), ...messages]),
        finishReason: 'stop',
        pending: [],
      }
    }
    await showState()
    if (calls) onEvent({ type: 'waits', calls })
    else {
      const { finishReason, usage } = await run.result
      onEvent({ type: 'end', finishReason, ...(usage && { usage }) })
    }
    return outcomeOf(chat, run)
  },
  outcome: () => outcomeOf(chat, run),
})

/**
 * Asks a prompt again if its run failed before it came to the prompt. If the user stopped the run, the prompt is over.
 */
const followAgain = async (
  run: DurableRun,
  listener: TurnListener,
  { askAgain }: Section,
): Promise<TurnOutcome | undefined> => {
  const { status } = await run.info()
  if (status !== 'aborted' && askAgain) {
    const { onEvent } = listener
    const again = await askAgain()
    // The page has seen the begin of its answer.
    return again.follow({ ...listener, onEvent: (event) => event.type === 'begin' || onEvent(event) })
  }
  listener.onEvent({ type: 'end', finishReason: 'aborted' })
  return undefined
}

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

/** The end of a section: its run is over or waits for calls, the next prompt begins, or its own prompt never came. */
type SectionEnd = {
  ended: 'run' | 'waits' | 'next' | 'unseen'
  calls?: readonly PendingCall[]
  /** The messages of the run so far. */
  messages: ChatMessage[]
}

/** Passes on the chunks of a run, up to the end of the section or to a wait that is still open. */
const followTo = async (
  run: DurableRun,
  { onEvent, ready, signal }: TurnListener,
  showState: () => Promise<void>,
  { promptId, askAgain, from, after, isWhole }: Section,
): Promise<SectionEnd> => {
  const messages: ChatMessage[] = []
  const isBehind = askAgain !== undefined || from === 'prompt'
  let isShown = after === undefined && !isBehind
  let cursor: string | undefined
  let last: TurnEvent['type'] | undefined
  for (;;) {
    let waited: readonly PendingCall[] | undefined
    for await (const { cursor: at, chunk } of run.stream({ signal, ...(cursor && { after: cursor }) })) {
      cursor = at
      waited = chunk.pendingApproval?.calls
      const asked = chunk.messages.filter(isPrompt).flatMap((message) => promptIdOf(message) ?? [])
      if (isShown && !isWhole && asked.some((id) => id !== promptId) && messages.length > 0)
        return { ended: 'next', messages }
      messages.push(...chunk.messages)
      isShown ||= isBehind && asked.some((id) => id === promptId)
      if (!isShown) continue
      const events = [...eventsOf(chunk)]
      if (events.some(({ type }) => type !== last)) await showState()
      for (const event of events) onEvent(event)
      last = events.at(-1)?.type ?? last
      await ready()
    }
    if (!waited || signal.aborted) return { ended: isShown || after ? 'run' : 'unseen', messages }
    const isDecided = waited.every((call) => after?.decided.includes(questionIdOf(call)))
    // A part of what it waited for may have been decided on meanwhile.
    if (!isShown) isShown = after !== undefined && isPartOf(after.waited, waited)
    else if (!isDecided && (await isOpen(run, waited))) return { ended: 'waits', calls: waited, messages }
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

/** The prompt of a run: the first message that it shows, or, if it answers again, the last one before it. */
export const promptOf = async (chat: DurableChat, run: DurableRun): Promise<ChatMessage | undefined> => {
  for await (const { chunk } of run.stream()) {
    const [asked] = chunk.messages.filter(isPrompt)
    if (asked) return asked
    break
  }
  return (await chat.history()).findLast(isPrompt)
}

// A page shows the same ids and tokens after a reload. The prompt keeps its id, and what the answer before it used.

/** The conversation of a chat without a running answer, with the usage of each answer. */
export const wholeHistory = async (chat: DurableChat): Promise<ChatMessage[]> => {
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

/** Adds the usage of the earlier answers, which the prompt after each of them has. */
export const withUsages = (history: readonly ChatMessage[]): ChatMessage[] =>
  history.map((message, index) => {
    const usage = usageBefore(history[index + 1])
    return (usage && withUsage([message], usage)[0]) || message
  })

const usageBefore = (prompt: ChatMessage | undefined): Usage | undefined => {
  const usage = prompt?.metadata?.usageBefore
  return isJsonObject(usage) ? usage : undefined
}

/** Distinguishes a prompt from the results of tools. */
export const isPrompt = (message: ChatMessage): boolean =>
  message.role === 'user' && toolResultsOf(message).length === 0
