import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { ChatMessage, Part, ToolResultPart } from '../../src/messages/messages.ts'
import { opaqueOf, wireIdsOf } from '../conversation.ts'
import type { Target } from '../protocol.ts'
import { attachmentPart } from './attachments.ts'
import type { GoogleProfile } from './profile.ts'
import { callsWithoutId, replay } from './skeleton.ts'

export type Content = { role: 'user' | 'model'; parts: JsonObject[] }

/** Google's documented stand-in for a call that another model made, or that the client wrote itself. */
const signatureStandIn = 'skip_thought_signature_validator'

/** The turns as Gemini wants them: neighbours merged, nothing empty, all results of a round together and alone. */
export const contentsOf = (turns: readonly ChatMessage[], target: Target<GoogleProfile>): Content[] => {
  const wireId = wireIdsOf(turns)
  const unknownIds = new Set<string>()
  const callNumbers = new Map<string, number>()
  const contents: Content[] = []
  let waiting: Part[] = []

  const idOf = (id: string): JsonObject => {
    return target.profile.echoesCallIds && !unknownIds.has(id) ? { id: wireId(id) } : {}
  }
  const partOf = (part: Part): JsonObject | undefined => {
    switch (part.type) {
      case 'text':
        return part.text === '' ? undefined : { text: part.text }
      case 'toolCall': {
        const args = part.argumentsError === undefined ? part.arguments : {}
        return { functionCall: { name: part.name, args, ...idOf(part.id) } }
      }
      case 'toolResult':
        return { functionResponse: { name: part.name, response: responseOf(part), ...idOf(part.id) } }
      default:
        return attachmentPart(part, target)
    }
  }
  const add = (role: Content['role'], parts: (JsonObject | undefined)[]): void => {
    const present = parts.filter((part) => part !== undefined)
    if (present.length > 0) contents.push({ role, parts: present })
  }
  const addUser = (): void => {
    const results = waiting.filter((part) => part.type === 'toolResult')
    const place = (part: ToolResultPart) => callNumbers.get(part.id) ?? Number.MAX_SAFE_INTEGER
    // Function responses stand alone in their content: anything beside them makes Gemini miscount the turns.
    add('user', results.sort((one, other) => place(one) - place(other)).map(partOf))
    add('user', waiting.filter((part) => part.type !== 'toolResult').map(partOf))
    waiting = []
  }

  for (const turn of turns) {
    if (turn.role !== 'model') {
      waiting.push(...turn.parts)
      continue
    }
    const opaque = opaqueOf(turn, 'google', target.provider)
    for (const id of opaque ? callsWithoutId(opaque, turn) : []) unknownIds.add(id)
    const exact = opaque && replay(opaque, turn, partOf)
    const parts = exact ?? turn.parts.map(partOf).filter((part) => part !== undefined)
    // Signed but empty text says nothing on its own, and a content of nothing else is rejected.
    if (parts.every((part) => part.text === '')) continue
    for (const part of turn.parts) if (part.type === 'toolCall') callNumbers.set(part.id, callNumbers.size)
    addUser()
    const last = contents.at(-1)
    if (last?.role === 'model') last.parts.push(...parts)
    else add('model', parts)
  }
  addUser()
  return target.profile.demandsSignatures ? signCurrentTurn(contents) : contents
}

/** A result as the object Gemini demands: JSON objects as they are, the rest under `result` or `error`. */
const responseOf = (part: ToolResultPart): JsonObject => {
  const value = structured(part.result)
  if (isJsonObject(value) && (!part.isError || Object.hasOwn(value, 'error'))) return value
  return part.isError ? { error: value } : { result: value }
}

const structured = (text: string): JsonValue => {
  if (!/^\s*[{[]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Gives the first call of each step since the last user input a signature, where it has none. */
const signCurrentTurn = (contents: Content[]): Content[] => {
  const start = contents.findLastIndex(
    ({ role, parts }) => role === 'user' && !parts.some((part) => 'functionResponse' in part),
  )
  return contents.map((content, index) => {
    const first = content.parts.findIndex((part) => 'functionCall' in part)
    const call = content.parts[first]
    if (index < start || !call || 'thoughtSignature' in call) return content
    return { ...content, parts: content.parts.with(first, { ...call, thoughtSignature: signatureStandIn }) }
  })
}
