import type { JsonObject } from '../../src/messages/json.ts'
import {
  type ChatMessage,
  type DataPart,
  type ToolResultPart,
  toolCallsOf,
  toolResultsOf,
} from '../../src/messages/messages.ts'
import { foundIn } from '../../src/model/deferredTools.ts'
import { responsesForms } from '../wire/attachmentForms.ts'
import { attachmentBlocks, readableBlock, resultContent } from '../wire/attachments.ts'
import type { Target } from '../wire/protocol.ts'
import { type IdRule, wireIdsOf } from '../wire/request.ts'
import { clientOutput, isClientCall } from './clientTools.ts'
import type { OpenAIResponsesProfile } from './profile.ts'
import { callersIn, callTypesIn, replayItems } from './replay.ts'

const callIdRule: IdRule = { pattern: /^.{1,64}$/s, length: 40 }

/**
 * The input items of the turns from `start` on; the turns before it are known to the server already. `deferred` are the
 * tools that are added where a search found them, by name.
 */
export const responsesInput = (
  turns: readonly ChatMessage[],
  start: number,
  target: Target<OpenAIResponsesProfile>,
  deferred: ReadonlyMap<string, JsonObject> = new Map(),
): JsonObject[] => {
  const wireId = wireIds(turns, start)
  const types = callTypes(turns, target.provider)
  const callers = new Map(turns.flatMap((turn) => callersIn(turn, target.provider)))
  const added = additions(turns, deferred)
  return turns
    .slice(start)
    .flatMap((turn) =>
      turn.role === 'model'
        ? modelItems(turn, target, wireId)
        : userItems(turn, target, wireId, { types, callers, added: added.get(turn) ?? [] }),
    )
}

/** The tools that each turn adds: each of them once, where it was found first. */
const additions = (
  turns: readonly ChatMessage[],
  deferred: ReadonlyMap<string, JsonObject>,
): Map<ChatMessage, JsonObject[]> => {
  const left = new Map(deferred)
  const added = new Map<ChatMessage, JsonObject[]>()
  for (const turn of left.size > 0 ? turns : []) {
    const tools = toolResultsOf(turn)
      .flatMap(foundIn)
      .flatMap((name) => {
        const found = left.get(name)
        left.delete(name)
        return found ? [found] : []
      })
    if (tools.length > 0) added.set(turn, tools)
  }
  return added
}

const userItems = (
  turn: ChatMessage,
  target: Target<OpenAIResponsesProfile>,
  wireId: (id: string) => string,
  {
    types,
    callers,
    added,
  }: {
    types: ReadonlyMap<string, string>
    callers: ReadonlyMap<string, JsonObject>
    added: JsonObject[]
  },
): JsonObject[] => {
  const results = toolResultsOf(turn).map((part): JsonObject => {
    const type = types.get(part.id) ?? 'function_call'
    const caller = callers.get(part.id)
    return (
      clientOutput(type, wireId(part.id), part, target) ?? {
        type: `${type}_output`,
        call_id: wireId(part.id),
        output: outputOf(part, target),
        ...(caller && { caller }),
      }
    )
  })
  const additional = added.length > 0 ? [{ type: 'additional_tools', role: 'developer', tools: added }] : []
  return [...results, ...additional, ...userMessage(userContent(turn.parts, target))]
}

const outputOf = (part: ToolResultPart, target: Target<OpenAIResponsesProfile>): string | JsonObject[] => {
  const { text, media } = resultContent(part, target, responsesForms(target.profile))
  if (media.length === 0) return text
  return text === '' ? media : [{ type: 'input_text', text }, ...media]
}

const modelItems = (
  turn: ChatMessage,
  target: Target<OpenAIResponsesProfile>,
  wireId: (id: string) => string,
): JsonObject[] => {
  // An assistant message cannot hold media; the model sees its own pictures again as the user's.
  const forms = responsesForms(target.profile)
  const pictures = turn.parts.filter((part) => part.type === 'data').filter(isPicture)
  const shown = pictures.map((part) => readableBlock(part, target, forms))
  return [
    ...replayItems(turn, target.provider, wireId),
    ...userMessage(shown.filter((picture) => picture !== undefined)),
  ]
}

const isPicture = ({ mimeType }: DataPart): boolean => mimeType.startsWith('image/')

const userContent = (parts: ChatMessage['parts'], target: Target<OpenAIResponsesProfile>): JsonObject[] => {
  const forms = responsesForms(target.profile)
  return parts.flatMap((part): JsonObject[] => {
    if (part.type === 'text') return part.text === '' ? [] : [{ type: 'input_text', text: part.text }]
    return part.type === 'data' || part.type === 'link' ? attachmentBlocks(part, target, forms) : []
  })
}

const userMessage = (content: JsonObject[]): JsonObject[] =>
  content.length === 0 ? [] : [{ type: 'message', role: 'user', content }]

/**
 * A result for a call the server holds must name it as the server did. Where call and result are both sent, the
 * history's own id serves: it is unique, while some servers start with `call_0` again in every response.
 */
const wireIds = (turns: readonly ChatMessage[], start: number): ((id: string) => string) => {
  const original = wireIdsOf(turns)
  const accepted = wireIdsOf([], callIdRule)
  const held = new Set(
    turns
      .slice(Math.max(start - 1, 0), start)
      .flatMap(toolCallsOf)
      .map(({ id }) => id),
  )
  return (id) => (held.has(id) ? original(id) : accepted(id))
}

/** The item types of calls by their ids. A history may come from anywhere: other types are taken for functions. */
const callTypes = (turns: readonly ChatMessage[], provider: string): Map<string, string> =>
  new Map(
    turns.flatMap((turn) =>
      [...callTypesIn(turn, provider)]
        .filter(([, type]) => type === 'custom_tool_call' || isClientCall(type))
        .map(([call, type]): [string, string] => [call.id, type]),
    ),
  )
