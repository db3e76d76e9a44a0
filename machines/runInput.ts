import { describeThrown, type ErrorData } from '../src/messages/errors.ts'
import { copyJson } from '../src/messages/json.ts'
import { type ChatMessage, textPart } from '../src/messages/messages.ts'
import { isFatal, validateHistory } from '../src/messages/validateHistory.ts'
import type { AgentInput } from './events.ts'

export type RunInput = { history: ChatMessage[]; prompt: ChatMessage[]; failure: ErrorData | null }

/**
 * What a run begins with, or why it cannot begin. It is a copy: whoever changes a history that runs were given, a tool
 * or another run, changes none of them.
 */
export const readInput = (input: AgentInput | undefined): RunInput => {
  if (isText(input)) {
    const asked: ChatMessage = { role: 'user', parts: [textPart(input.prompt)] }
    return { history: [asked], prompt: [asked], failure: null }
  }
  try {
    const history = messagesOf(input?.history ?? [])
    const prompt = messagesOf(promptMessage(input ?? {}))
    const all = [...history, ...prompt]
    return { history: all, prompt, failure: inputProblem(all) }
  } catch (thrown) {
    const failure = refusal(`The input is not usable: it holds ${describeThrown(thrown)}.`)
    return { history: [], prompt: [], failure }
  }
}

/** A text and nothing else needs neither a copy nor a check. */
const isText = (input: AgentInput | undefined): input is { prompt: string } =>
  typeof input?.prompt === 'string' && input.history === undefined && input.attachments === undefined

const messagesOf = (messages: readonly ChatMessage[]): ChatMessage[] => {
  if (!Array.isArray(messages)) throw new TypeError('a history that is no list of messages')
  // What is wrong with its messages is told by validateHistory.
  return copyJson(messages) as ChatMessage[]
}

const promptMessage = ({ prompt = [], attachments = [] }: AgentInput): ChatMessage[] => {
  const parts = typeof prompt === 'string' ? [textPart(prompt)] : prompt
  if (!Array.isArray(parts)) throw new TypeError('a prompt that is neither a text nor a list of parts')
  if (!Array.isArray(attachments)) throw new TypeError('attachments that are no list of parts')
  const all = [...parts, ...attachments]
  return all.length > 0 ? [{ role: 'user', parts: all }] : []
}

const refusal = (message: string): ErrorData => ({ name: 'ConfigurationError', message })

const inputProblem = (history: readonly ChatMessage[]): ErrorData | null => {
  const fatal = validateHistory(history).filter(isFatal)
  if (fatal.length > 0) {
    const list = fatal.map(({ index, message }) => `message ${index}: ${message}`).join(' ')
    return refusal(`The history is not usable. ${list} validateHistory() tells all problems.`)
  }
  return history.at(-1)?.role === 'user'
    ? null
    : refusal('There is nothing to answer: give a prompt, or a history that ends with a user message.')
}
