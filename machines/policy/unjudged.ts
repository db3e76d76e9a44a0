import { type ChatMessage, textOf } from '../../src/messages/messages.ts'
import { textOfRun } from '../agent/agentOutput.ts'
import type { StreamingState } from '../agent/streamingState.ts'
import type { ResolvedPolicy } from './questions.ts'

// The texts of a run that its policy has not accepted: the answer, and what the model wrote beside its calls before. None of
// them becomes part of the result.

type Conversation = Pick<StreamingState, 'history' | 'messages'>

/** Says whether the texts of the model count only once the policy has accepted them. */
export const judgesTexts = ({ mentions, holdsChunks }: ResolvedPolicy): boolean =>
  holdsChunks || mentions('answer')

const acceptedCount = ({ options, messages }: StreamingState): number =>
  Math.min(options.accepted ?? 0, messages.length)

/** The text that the run returns if its answer is accepted, without the part that was accepted before. */
export const unjudgedText = (state: StreamingState): string =>
  textOfRun(state.messages.slice(acceptedCount(state)))

/** Says whether the run has a text that was accepted. */
export const hasAcceptedText = (state: StreamingState): boolean =>
  textOfRun(state.messages.slice(0, acceptedCount(state))) !== ''

/** Marks every text that is not accepted. The messages of a run are the end of its history. */
export const refuseTexts = (state: StreamingState, why: string): Conversation => {
  const { history, messages } = state
  const first = acceptedCount(state)
  const last = messages.at(-1)
  const marked = messages.map((message, index) => {
    const { refused, interrupted } = message.metadata ?? {}
    if (index < first || message.role !== 'model' || refused !== undefined) return message
    const isAnswer = message === last && interrupted === undefined
    return isAnswer || textOf(message) !== '' ? withMark(message, why) : message
  })
  return { messages: marked, history: [...history.slice(0, -messages.length), ...marked] }
}

/** Marks the last message as an answer that is not accepted. */
export const refuseLast = ({ history, messages }: Conversation, why: string): Conversation => {
  const markLast = (list: readonly ChatMessage[]) =>
    list.map((message, index) => (index === list.length - 1 ? withMark(message, why) : message))
  return { history: markLast(history), messages: markLast(messages) }
}

const withMark = (message: ChatMessage, why: string): ChatMessage => ({
  ...message,
  metadata: { ...message.metadata, refused: why },
})

/** A message of the model as listeners get it before the policy has accepted its text. `isAnswer`: the call is the typed answer. */
export const withoutText = (message: ChatMessage, isAnswer: (tool: string) => boolean): ChatMessage => {
  if (message.role !== 'model') return message
  const parts = message.parts.flatMap((part) => {
    if (part.type !== 'toolCall') return []
    const { argumentsRaw: _, ...call } = part
    return isAnswer(part.name) ? { ...call, arguments: {} } : part
  })
  return { role: 'model', parts }
}
