import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { ChatMessage, DataPart, LinkPart, Part, ToolResultPart } from '../../src/messages/messages.ts'
import { attachedFile } from '../wire/attachedFile.ts'
import { googleForms, googleResultForms } from '../wire/attachmentForms.ts'
import {
  attachmentBlocks,
  mentioned,
  readableBlock,
  resultAndFollowUp,
  resultContent,
} from '../wire/attachments.ts'
import type { Target } from '../wire/protocol.ts'
import { idsIn, opaqueOf, wireIdsOf } from '../wire/request.ts'
import { writtenOnce } from '../wire/written.ts'
import type { GoogleProfile } from './profile.ts'
import { callsWithoutId, replay } from './replay.ts'

type Content = { role: 'user' | 'model'; parts: JsonObject[] }

/** Google's documented placeholder for a call that another model made, or that the client wrote itself. */
const signaturePlaceholder = 'skip_thought_signature_validator'

/** The turns as Gemini wants them: neighbours merged, nothing empty, all results of a round together and alone. */
export const googleContents = (turns: readonly ChatMessage[], target: Target<GoogleProfile>): Content[] => {
  const wireId = wireIdsOf(turns)
  const unknownIds = new Set<string>()
  const callNumbers = new Map<string, number>()
  const contents: Content[] = []
  let waiting: Part[] = []

  const idOf = (id: string): JsonObject => {
    return target.profile.echoesCallIds && !unknownIds.has(id) ? { id: wireId(id) } : {}
  }
  const idKey = (id: string): string => JSON.stringify(idOf(id))
  const modelPart = (part: Part): JsonObject | undefined => {
    switch (part.type) {
      case 'text':
        return part.text === '' ? undefined : { text: part.text }
      case 'toolCall': {
        const args = part.argumentsError === undefined ? part.arguments : {}
        return { functionCall: { name: part.name, args, ...idOf(part.id) } }
      }
      case 'toolResult':
        return undefined
      default:
        return shownMedia(part, target)
    }
  }
  const userParts = (part: Part): JsonObject[] => {
    if (part.type === 'text') return part.text === '' ? [] : [{ text: part.text }]
    if (part.type !== 'data' && part.type !== 'link') return []
    return writtenOnce(part, target, '', () => attachmentBlocks(part, target, googleForms))
  }
  const add = (role: Content['role'], parts: JsonObject[]): void => {
    if (parts.length > 0) contents.push({ role, parts })
  }
  const addUser = (): void => {
    const place = (part: ToolResultPart) => callNumbers.get(part.id) ?? Number.MAX_SAFE_INTEGER
    const results = waiting
      .filter((part) => part.type === 'toolResult')
      .sort((one, other) => place(one) - place(other))
      .map((part) => {
        const [response, ...followUp] = writtenOnce(part, target, idKey(part.id), () =>
          functionResult(part, target, idOf(part.id)),
        )
        return { part: response ?? {}, followUp }
      })
    // Function responses are alone in their content: anything beside them makes Gemini miscount the turns.
    add(
      'user',
      results.map(({ part }) => part),
    )
    add('user', [...results.flatMap(({ followUp }) => followUp), ...waiting.flatMap(userParts)])
    waiting = []
  }

  for (const turn of turns) {
    if (turn.role !== 'model') {
      for (const part of turn.parts) waiting.push(part)
      continue
    }
    const opaque = opaqueOf(turn, 'google', target.provider)
    for (const id of opaque ? callsWithoutId(opaque, turn) : []) unknownIds.add(id)
    const parts = writtenOnce(turn, target, idsIn(turn, idKey), () => {
      const exact = opaque && replay(opaque, turn, modelPart)
      return exact ?? turn.parts.map(modelPart).filter((part) => part !== undefined)
    })
    // Signed but empty text says nothing on its own, and a content of nothing else is rejected.
    if (parts.every((part) => part.text === '')) continue
    for (const part of turn.parts) if (part.type === 'toolCall') callNumbers.set(part.id, callNumbers.size)
    addUser()
    const last = contents.at(-1)
    if (last?.role === 'model') for (const part of parts) last.parts.push(part)
    else add('model', [...parts])
  }
  addUser()
  return target.profile.demandsSignatures ? signSteps(contents) : contents
}

/** A medium that a model made: what this one cannot read is named, because the user did not attach it. */
const shownMedia = (part: DataPart | LinkPart, target: Target<GoogleProfile>): JsonObject =>
  readableBlock(part, target, googleForms) ?? { text: mentioned(part) }

/**
 * Gives the first call of each step a signature, where it has none. Gemini checks only those since the last user input; a
 * placeholder that went with the end of its turn would change what the next request begins with.
 */
const signSteps = (contents: Content[]): Content[] =>
  contents.map((content) => {
    const first = content.parts.findIndex((part) => 'functionCall' in part)
    const call = content.parts[first]
    if (!call || 'thoughtSignature' in call) return content
    const [signed = call] = writtenOnce(call, signSteps, '', () => [
      { ...call, thoughtSignature: signaturePlaceholder },
    ])
    return { ...content, parts: content.parts.with(first, signed) }
  })

/** A tool's result as a function response, and the files that must follow in their own content. */
const functionResult = (
  result: ToolResultPart,
  target: Target<GoogleProfile>,
  id: JsonObject,
): JsonObject[] => {
  const { parts = [] } = result
  const inside = target.profile.mediaInResults ? parts.filter(fitsInside) : []
  const beside = parts.filter((part) => !inside.includes(part))
  const within = resultContent({ ...result, result: '', parts: inside }, target, googleResultForms)
  const { text, followUp } = resultAndFollowUp({ ...result, parts: beside }, target, googleForms)
  const words = [text, within.text].filter((piece) => piece !== '').join('\n\n')
  const response = responseOf(words, result.isError === true)
  const media = within.media.length > 0 && { parts: within.media }
  return [{ functionResponse: { name: result.name, response, ...media, ...id } }, ...followUp]
}

const fitsInside = (part: DataPart | LinkPart): boolean => {
  const file = attachedFile(part)
  return 'data' in file && (file.kind === 'image' || file.kind === 'pdf')
}

/** A result as the object Gemini demands: JSON objects as they are, the rest under `result` or `error`. */
const responseOf = (text: string, isError: boolean): JsonObject => {
  const value = structured(text)
  if (isJsonObject(value) && (!isError || Object.hasOwn(value, 'error'))) return value
  return isError ? { error: value } : { result: value }
}

const structured = (text: string): JsonValue => {
  if (!/^\s*[{[]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
