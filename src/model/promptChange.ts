import { isJsonObject, type JsonObject, ownValue } from '../messages/json.ts'
import { type ChatMessage, systemMessage, textOf, textPart } from '../messages/messages.ts'
import type { ModelRequest, ToolSpec } from './chatModel.ts'

// A system prompt or a list of tools that changes in the middle of a conversation, as a message at the place where it
// changes. Only models whose profile has `appendsChanges` get such messages; nothing before them is sent differently.

/** The tools that are offered from a place of a conversation on, and those that no longer are. */
type ToolChange = { added: ToolSpec[]; removed: string[] }

const opening = 'The system prompt has changed. From here on, this one applies instead of the one before:\n\n'

/** The message of a change; `system` is the new system prompt, if it is another one. */
export const changeMessage = (system: string | undefined, { added, removed }: ToolChange): ChatMessage => ({
  role: 'system',
  parts: system === undefined ? [] : [textPart(`${opening}${system}`)],
  metadata: { promptChange: { added: added.map((spec): JsonObject => ({ ...spec })), removed } },
})

/**
 * The tools that a message changes; undefined for any other message. Only the engine makes these: a history from outside
 * must not add tools.
 */
export const toolChangeOf = ({ role, metadata }: ChatMessage): ToolChange | undefined => {
  const change = role === 'system' && metadata ? ownValue(metadata, 'promptChange') : undefined
  return isJsonObject(change) && Array.isArray(change.added) && Array.isArray(change.removed)
    ? (change as ToolChange)
    : undefined
}

/** True for a request that has changes in the middle of its conversation. */
export const hasChanges = ({ messages }: ModelRequest): boolean => messages.some((each) => toolChangeOf(each))

/** Writes a request for a server that does not take changes: its beginning has the newest prompt and tools. */
export const withoutChanges = (request: ModelRequest): ModelRequest => {
  const changes = request.messages.filter((each) => toolChangeOf(each))
  if (changes.length === 0) return request
  const tools = new Map(request.tools?.map((spec) => [spec.name, spec]))
  for (const { added, removed } of changes.flatMap((each) => toolChangeOf(each) ?? [])) {
    for (const spec of added) tools.set(spec.name, spec)
    for (const name of removed) tools.delete(name)
  }
  const system = changes.map(textOf).findLast((text) => text !== '')
  const said = request.messages.filter((each) => !toolChangeOf(each))
  return {
    ...request,
    messages:
      system === undefined
        ? said
        : [systemMessage(system.slice(opening.length)), ...said.filter(({ role }) => role !== 'system')],
    tools: [...tools.values()],
  }
}
