import type { ChatMessage, Part } from '../../src/messages/messages.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import type { Delta } from '../../src/model/delta.ts'

// Names of tools that a server refuses. Every server takes letters, digits, `_` and `-`, at most 64, a letter first.

const plain = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/
const longestName = 64

export const hasOddNames = (request: ModelRequest): boolean =>
  namesIn(request).some((name) => !plain.test(name))

/** The names of the tools, and of those that only the history has. */
const namesIn = ({ tools = [], messages }: ModelRequest): string[] => [
  ...new Set([
    ...tools.map(({ name }) => name),
    ...messages.flatMap(({ parts }) =>
      parts.flatMap((part) => ('name' in part && isOfTool(part) ? [part.name] : [])),
    ),
  ]),
]

const isOfTool = (part: Part): part is Extract<Part, { type: 'toolCall' | 'toolResult' }> =>
  part.type === 'toolCall' || part.type === 'toolResult'

/** The plain name of each tool whose own is refused. Two tools never get the same. */
export const plainNames = (request: ModelRequest): ReadonlyMap<string, string> => {
  const names = namesIn(request)
  const taken = new Set(names.filter((name) => plain.test(name)))
  const made = new Map<string, string>()
  for (const name of names) {
    if (plain.test(name)) continue
    const letters = name.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^(?![a-zA-Z_])/, '_')
    let unique = letters.slice(0, longestName)
    for (let count = 2; taken.has(unique); count++) {
      unique = `${letters.slice(0, longestName - 1 - String(count).length)}_${count}`
    }
    taken.add(unique)
    made.set(name, unique)
  }
  return made
}

/** A request in which every tool has a plain name: in the list, in the choice and in the history. */
export const withPlainNames = (request: ModelRequest): ModelRequest => {
  const names = plainNames(request)
  if (names.size === 0) return request
  const renamed = (name: string): string => names.get(name) ?? name
  const { tools, toolChoice, messages } = request
  return {
    ...request,
    ...(tools && { tools: tools.map((tool) => ({ ...tool, name: renamed(tool.name) })) }),
    ...(typeof toolChoice === 'object' && { toolChoice: { tool: renamed(toolChoice.tool) } }),
    messages: messages.map(
      (message): ChatMessage => ({
        ...message,
        parts: message.parts.map((part) => (isOfTool(part) ? { ...part, name: renamed(part.name) } : part)),
      }),
    ),
  }
}

/** The deltas of an answer with the names that the tools have in the agent. */
export const withOwnNames = (
  deltas: readonly Delta[],
  names: ReadonlyMap<string, string>,
): readonly Delta[] => {
  if (names.size === 0) return deltas
  const own = (name: string): string => names.get(name) ?? name
  return deltas.map((delta): Delta => {
    if (delta.type === 'toolCall') return { ...delta, call: { ...delta.call, name: own(delta.call.name) } }
    return delta.type === 'toolDelta' && delta.name !== undefined
      ? { ...delta, name: own(delta.name) }
      : delta
  })
}
