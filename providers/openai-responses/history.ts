import type { JsonObject } from '../../src/messages/json.ts'
import {
  type ChatMessage,
  type DataPart,
  type ToolResultPart,
  textOf,
  toolCallsOf,
  toolResultsOf,
} from '../../src/messages/messages.ts'
import type { ToolSpec } from '../../src/model/chatModel.ts'
import { foundIn } from '../../src/model/deferredTools.ts'
import { toolChangeOf } from '../../src/model/promptChange.ts'
import { responsesForms } from '../wire/attachmentForms.ts'
import { attachmentBlocks, readableBlock, resultContent } from '../wire/attachments.ts'
import type { Target } from '../wire/protocol.ts'
import { type IdRule, idsIn, wireIdsOf } from '../wire/request.ts'
import { writtenOnce } from '../wire/written.ts'
import { clientOutput, isClientCall } from './clientTools.ts'
import type { OpenAIResponsesProfile } from './profile.ts'
import { callersIn, callTypesIn, replayItems } from './replay.ts'

const callIdRule: IdRule = { pattern: /^.{1,64}$/s, length: 40 }

/** The tools that join in the middle of a conversation, and how each of them is written. */
type JoiningTools = {
  /** The names that the request offers from its beginning. */
  known: readonly string[]
  /** The tools that are added where a search found them, by name. */
  deferred: ReadonlyMap<string, JsonObject>
  define: (spec: ToolSpec) => JsonObject
}

/** The input items of the turns from `start` on; the turns before it are known to the server already. */
export const responsesInput = (
  turns: readonly ChatMessage[],
  start: number,
  target: Target<OpenAIResponsesProfile>,
  joining: JoiningTools,
): JsonObject[] => {
  const wireId = wireIds(turns, start)
  const types = callTypes(turns, target.provider)
  const callers = new Map(turns.flatMap((turn) => callersIn(turn, target.provider)))
  const added = additions(turns, joining)
  const keyOf = (id: string): string => JSON.stringify([wireId(id), types.get(id), callers.get(id)])
  return turns.slice(start).flatMap((turn) => {
    if (turn.role === 'model')
      return writtenOnce(turn, target, idsIn(turn, keyOf), () => modelItems(turn, target, wireId))
    const tools = added.get(turn)
    const additional = additionalTools(tools ?? [])
    if (turn.role === 'system') return [...developerMessage(textOf(turn)), ...additional]
    const write = () => userItems(turn, target, wireId, { types, callers, additional })
    return tools ? write() : writtenOnce(turn, target, idsIn(turn, keyOf), write)
  })
}

/** The tools that each turn adds: each of them once, where it is found or added first. */
const additions = (
  turns: readonly ChatMessage[],
  { known, deferred, define }: JoiningTools,
): Map<ChatMessage, JsonObject[]> => {
  const names = new Set(known)
  const added = new Map<ChatMessage, JsonObject[]>()
  for (const turn of turns) {
    const specs = toolChangeOf(turn)?.added ?? []
    const found = deferred.size > 0 ? toolResultsOf(turn).flatMap(foundIn) : []
    const tools: JsonObject[] = []
    for (const name of [...found, ...specs.map((spec) => spec.name)]) {
      const spec = specs.find((each) => each.name === name)
      const definition = spec ? define(spec) : deferred.get(name)
      if (definition && !names.has(name)) tools.push(definition)
      names.add(name)
    }
    if (tools.length > 0) added.set(turn, tools)
  }
  return added
}

const additionalTools = (tools: JsonObject[]): JsonObject[] =>
  tools.length > 0 ? [{ type: 'additional_tools', role: 'developer', tools }] : []

/** A changed system prompt, where it changes. */
const developerMessage = (text: string): JsonObject[] =>
  text === '' ? [] : [{ type: 'message', role: 'developer', content: text }]

const userItems = (
  turn: ChatMessage,
  target: Target<OpenAIResponsesProfile>,
  wireId: (id: string) => string,
  {
    types,
    callers,
    additional,
  }: {
    types: ReadonlyMap<string, string>
    callers: ReadonlyMap<string, JsonObject>
    additional: JsonObject[]
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
