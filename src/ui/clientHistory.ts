import {
  type ChatMessage,
  type Part,
  type ToolCallPart,
  type ToolResultPart,
  textOf,
  toolCallsOf,
} from '../messages/messages.ts'

/** A message as a client sends it, and the results of its calls that the client has. */
export type ToldMessage = {
  role: 'user' | 'model'
  parts: Part[]
  results?: ReadonlyMap<string, ToolResultPart>
}

/**
 * The conversation of a client, in the form that models need: user and model alternate, each id is used once, and every
 * call has its result. A call without one did not run, even if the client says so: it never runs from here.
 */
export const historyOf = (told: readonly ToldMessage[]): ChatMessage[] => {
  const history: ChatMessage[] = []
  const seen = new Set<string>()
  for (const { role, parts, results } of told) {
    const fresh = parts.filter((part) => part.type !== 'toolCall' || isFresh(part, seen))
    if (fresh.length === 0) continue
    add(history, role, fresh)
    const calls = toolCallsOf({ role, parts: fresh })
    if (calls.length > 0)
      add(
        history,
        'user',
        calls.map((call) => resultOf(call, results)),
      )
  }
  return history
}

/** The texts of the client's prompts. */
export const promptsIn = (told: readonly ToldMessage[]): string[] =>
  told.flatMap((message) => (message.role === 'user' ? [textOf(message)] : []))

const isFresh = ({ id }: ToolCallPart, seen: Set<string>): boolean => {
  if (id === '' || seen.has(id)) return false
  seen.add(id)
  return true
}

const add = (history: ChatMessage[], role: ChatMessage['role'], parts: Part[]): void => {
  const last = history.at(-1)
  if (last?.role === role) last.parts.push(...parts)
  else history.push({ role, parts: [...parts] })
}

const resultOf = ({ id, name }: ToolCallPart, results: ToldMessage['results']): ToolResultPart =>
  results?.get(id) ?? {
    type: 'toolResult',
    id,
    name,
    result: JSON.stringify({ error: 'This call did not run: there was no decision on it.' }),
    isError: true,
  }
