import { type ChatMessage, textOf, toolCallsOf } from '../../../src/messages/messages.ts'
import { validateHistory } from '../../../src/messages/validateHistory.ts'
import { saidInHistory } from './conversation.ts'
import type { Evidence } from './Episode.ts'
import { textOfTurn, turnFor } from './script.ts'

/** Everything that can go wrong with a stored run. All lists must stay empty. */
export type Faults = {
  /** Acknowledged, and not there. */
  lost: string[]
  /** Runs that are abandoned, or not over although no worker is killed any more. */
  stuck: string[]
  /** A call that ran twice although its tool does not say `rerun`; a command that counted twice. */
  doubled: string[]
  /** Calls in doubt for which the model saw something else. */
  undeclared: string[]
  /** The text, or the calls, are not what the model said. */
  wrongText: string[]
  /** A reader saw something else than what is stored. */
  wrongStream: string[]
  invalidHistory: string[]
  /** A key, an attempt or a context that is not what the tool was promised. */
  wrongKey: string[]
  /** Written by a process that had lost its runs to another one. */
  unfenced: string[]
  /** Refused or ended though it should not; a worker that broke by itself. */
  surprise: string[]
}

export const noFaults = (): Faults => ({
  lost: [],
  stuck: [],
  doubled: [],
  undeclared: [],
  wrongText: [],
  wrongStream: [],
  invalidHistory: [],
  wrongKey: [],
  unfenced: [],
  surprise: [],
})

/**
 * Says whether an abort ended a run. A process of an older release cannot continue what a newer one wrote: there the run is
 * abandoned, with that as its reason.
 */
export const wasAborted = ({ outcome, sent }: Evidence): boolean => {
  const isAsked = sent.some(({ command, came }) => command.type === 'abort' && came !== 'never')
  const isUnreadable = outcome?.status === 'abandoned' && /newer release wrote it/.test(outcome.error ?? '')
  return outcome?.status === 'aborted' || (isAsked && isUnreadable)
}

/** Adds what is wrong with one run, as far as its messages and its readers know. */
export const judge = (evidence: Evidence, faults: Faults): void => {
  const { plan, outcome, readers, surprises, isStarted } = evidence
  const { id } = plan
  faults.surprise.push(...surprises.map((each) => `${id}: ${each}`))
  if (!outcome) {
    if (isStarted) faults.stuck.push(`${id}: ${lastSeen(evidence)}`)
    return
  }
  const { messages, status } = outcome
  const isAborted = wasAborted(evidence)
  if (status !== 'complete' && !isAborted) faults.stuck.push(`${id}: ${status}, ${outcome.error}`)
  for (const reader of readers)
    faults.wrongStream.push(...reader.faultsAgainst(messages).map((each) => `${id}: ${each}`))
  faults.invalidHistory.push(...validateHistory(messages).map(({ message }) => `${id}: ${message}`))
  for (const [index, message] of messages.entries())
    if (message.role === 'model' && !(isAborted && index === messages.length - 1)) {
      const flaw = flawOf(message, messages.slice(0, index))
      if (flaw) faults.wrongText.push(`${id}: ${flaw}`)
    }
}

/** The last that its readers saw of a run. */
const lastSeen = ({ plan: { agent, rounds, inner }, readers, sent, status }: Evidence): string =>
  [
    JSON.stringify({ agent, rounds, inner }),
    JSON.stringify(status),
    ...readers.map(
      ({ cursor, waitsFor }) =>
        `read to ${cursor}, waits for "${waitsFor.map(({ id: call }) => call).join(' ')}"`,
    ),
    ...sent.map(({ command, came }) => `${came} ${JSON.stringify(command)}`),
  ].join('; ')

/** Finds what a model message has that the script would not have said to the conversation before it. */
const flawOf = (message: ChatMessage, before: readonly ChatMessage[]): string | undefined => {
  const turn = turnFor(saidInHistory(before))
  const [text, expected] = [textOf(message), textOfTurn(turn)]
  if (text !== expected) return `said ${JSON.stringify(text)}, not ${JSON.stringify(expected)}`
  const [calls, planned] = [toolCallsOf(message), turn.calls].map((each) =>
    each.map((call) => call.id).join(),
  )
  return calls === planned ? undefined : `called ${calls}, not ${planned}`
}

/** Adds what is wrong with the commands that a run got. `results`: what is known of its calls, those of its sub-agents as well. */
export const judgeCommands = (
  evidence: Evidence,
  results: ReadonlyMap<string, ReadonlySet<string>>,
  faults: Faults,
): void => {
  const { plan, sent, outcome } = evidence
  if (!outcome) return
  const { id } = plan
  const isAborted = wasAborted(evidence)
  const texts = outcome.messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
  )
  const isRejected = (callId: string) =>
    [...(results.get(ownId(callId)) ?? [])].some((result) => result.includes('A person rejected'))
  for (const { command, came, inDoubt } of sent) {
    const isSure = came === 'surely'
    if (command.type === 'abort' && isSure && !isAborted) faults.lost.push(`${id}: the abort`)
    if (command.type === 'steer') {
      const times = texts.filter((text) => text.includes(command.text)).length
      if (isSure && times === 0 && !isAborted) faults.lost.push(`${id}: the steering`)
      if (times > 1) faults.doubled.push(`${id}: steered ${times} times`)
    }
    if (isAborted || !isSure || inDoubt) continue
    if (command.type === 'tool.approve' && isRejected(command.callId))
      faults.lost.push(`${id}: the approval of ${command.callId}`)
    if (command.type === 'tool.reject' && !isRejected(command.callId))
      faults.lost.push(`${id}: the rejection of ${command.callId}`)
  }
}

/** The id under which the agent that made a call knows it: that of a sub-agent has the calls around it before its own id. */
export const ownId = (callId: string): string => callId.split('/').at(-1) ?? ''
