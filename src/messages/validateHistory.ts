import { compactionOf } from './compaction.ts'
import { messageFlaw } from './messageFlaw.ts'
import { type ChatMessage, isTaskResult, type Part } from './messages.ts'

/** A problem in a history, which providers refuse or forgive. */
export type HistoryProblem = {
  code:
    | 'malformed'
    | 'misplacedSystem'
    | 'notAlternating'
    | 'emptyId'
    | 'duplicateCall'
    | 'missingResult'
    | 'orphanResult'
    | 'duplicateResult'
    | 'misplacedPart'
  /** Index of the message in the history. */
  index: number
  message: string
}

/** Problems that providers forgive or mappers mend: all others make a history unusable. */
const tolerated: ReadonlySet<HistoryProblem['code']> = new Set(['notAlternating', 'misplacedSystem'])

/**
 * Checks whether a history with this problem cannot be used.
 *
 * @example validateHistory(messages).some(isFatal)
 */
export const isFatal = (problem: HistoryProblem): boolean => !tolerated.has(problem.code)

/**
 * Checks a conversation: its messages are messages, user and model alternate, and every tool call has exactly one
 * result, in the user message right after it. The results of background agents, one message each, may follow another
 * user message. An empty list means all is well.
 *
 * @example validateHistory([userMessage('hi'), modelMessage('hello')]) // []
 */
export const validateHistory = (messages: readonly ChatMessage[]): HistoryProblem[] => {
  const problems: HistoryProblem[] = []
  const report = (code: HistoryProblem['code'], index: number, message: string) =>
    problems.push({ code, index, message })
  /** Calls of the last model message that still wait for their result, by id. */
  let open = new Map<string, string>()
  let openIndex = -1
  let answered = new Set<string>()
  let lastRole: 'user' | 'model' | undefined

  const reportOpen = () => {
    for (const [id, name] of open) {
      report('missingResult', openIndex, `The call "${id}" of the tool "${name}" has no result.`)
    }
    open = new Map()
  }

  if (!Array.isArray(messages)) {
    report('malformed', 0, 'A history is a list of messages.')
    return problems
  }
  messages.forEach((message: ChatMessage, index) => {
    const flaw = messageFlaw(message)
    if (flaw) {
      report('malformed', index, flaw)
      return
    }
    if (message.role === 'system') {
      if (lastRole && !compactionOf(message))
        report('misplacedSystem', index, 'A system message follows after the conversation began.')
      for (const part of message.parts) checkPart(part, message, index)
      return
    }
    if (message.role === lastRole && !isTaskResult(message)) {
      report('notAlternating', index, `Two ${message.role} messages follow each other.`)
    } else if (!lastRole && message.role === 'model') {
      report('notAlternating', index, 'The conversation begins with a model message.')
    }
    lastRole = message.role
    if (message.role === 'model') {
      reportOpen()
      answered = new Set()
      openIndex = index
    }
    for (const part of message.parts) checkPart(part, message, index)
    if (message.role === 'user') reportOpen()
  })
  reportOpen()
  return problems

  function checkPart(part: Part, message: ChatMessage, index: number): void {
    if (part.type === 'toolCall') {
      if (message.role !== 'model')
        report('misplacedPart', index, `A tool call is in a ${message.role} message.`)
      else if (part.id === '') report('emptyId', index, `A call of the tool "${part.name}" has an empty id.`)
      else if (open.has(part.id)) report('duplicateCall', index, `Two calls share the id "${part.id}".`)
      else open.set(part.id, part.name)
    } else if (part.type === 'toolResult') {
      if (message.role !== 'user')
        report('misplacedPart', index, `A tool result is in a ${message.role} message.`)
      else if (part.id === '')
        report('emptyId', index, `A result of the tool "${part.name}" has an empty id.`)
      else if (open.delete(part.id)) answered.add(part.id)
      else if (answered.has(part.id)) {
        report('duplicateResult', index, `The call "${part.id}" has more than one result.`)
      } else
        report(
          'orphanResult',
          index,
          `The result "${part.id}" does not answer a call of the message before it.`,
        )
    }
  }
}
