import { describeThrown } from './errors.ts'
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from './json.ts'
import type { ChatMessage, Part } from './messages.ts'

const roles: ReadonlySet<unknown> = new Set(['system', 'user', 'model'] satisfies ChatMessage['role'][])

/** The texts that each kind of part must have. */
const partTexts: ReadonlyMap<unknown, readonly string[]> = new Map(
  Object.entries({
    text: ['text'],
    data: ['mimeType', 'data'],
    link: ['url'],
    toolCall: ['id', 'name'],
    toolResult: ['id', 'name', 'result'],
  } satisfies Record<Part['type'], string[]>),
)

/** What keeps a value from being a message at all; undefined if it is one. Never throws, whatever it is given. */
export const messageFlaw = (value: unknown): string | undefined => {
  try {
    const message = copyJson(value)
    if (!isJsonObject(message)) return 'It is no message: messages are objects with a role and parts.'
    const { role, parts } = message
    if (!roles.has(role)) return `${shown(role)} is no role: use system, user or model.`
    if (!Array.isArray(parts)) return 'It has no list of parts.'
    return parts.map(partFlaw).find((flaw) => flaw !== undefined)
  } catch (thrown) {
    return `It is no plain JSON: it holds ${describeThrown(thrown)}.`
  }
}

const partFlaw = (part: JsonValue): string | undefined => {
  if (!isJsonObject(part)) return 'One of its parts is no object.'
  const texts = partTexts.get(part.type)
  if (!texts) return `${shown(part.type)} is no type of part.`
  const missing = texts.find((name) => typeof part[name] !== 'string')
  if (missing !== undefined) return `The ${missing} of one of its ${part.type} parts is no text.`
  if (part.type === 'toolCall' && !isJsonObject(part.arguments)) return noArguments(part)
  return undefined
}

const noArguments = ({ name }: JsonObject): string => `The arguments of its call of "${name}" are no object.`

const shown = (value: JsonValue | undefined): string => JSON.stringify(value) ?? 'undefined'
