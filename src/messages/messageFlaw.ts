import { describeThrown } from './errors.ts'
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from './json.ts'
import type { ChatMessage, Part } from './messages.ts'
import type { Rule } from './optionRules.ts'

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

/** Checks whether a value is a message. Never throws, for any value. */
export const isMessage = (value: unknown): value is ChatMessage => messageFlaw(value) === undefined

/** The flaw that keeps a value from being a message; undefined if it is one. Never throws, for any value. */
export const messageFlaw = (value: unknown): string | undefined => {
  try {
    const message = copyJson(value)
    if (!isJsonObject(message))
      return `It is not a message: messages are objects with a role and parts. ${writeMessage}`
    const { role, parts } = message
    if (!roles.has(role))
      return `${shown(role)} is not a role: use system, user or model.${roleAdvice(message)}`
    if (!Array.isArray(parts))
      return `It has no list of parts.${'content' in message ? ` ${writeParts}` : ''}`
    return parts.map(partFlaw).find((flaw) => flaw !== undefined)
  } catch (thrown) {
    return `It is not plain JSON: it holds ${describeThrown(thrown)}.`
  }
}

/** Advice for a role of other libraries. */
const roleAdvice = ({ role, content }: JsonObject): string => {
  if (role === 'assistant') return " Write role: 'model'."
  if (role === 'tool') return ' The result of a tool is a toolResult part of a user message.'
  return content === undefined ? '' : ` ${writeMessage}`
}

const writeMessage = "Write userMessage('…') or modelMessage('…')."

const writeParts = "Write parts: [{ type: 'text', text: '…' }] instead of content, or userMessage('…')."

/** A rule for options that are messages. */
export const messageRule: Rule = (name, value) => {
  const flaw = messageFlaw(value)
  return flaw && `${name} is not a message. ${flaw}`
}

/** The flaw that keeps a value from being a part of a message; undefined if it is one. */
export const partFlaw = (part: JsonValue): string | undefined => {
  if (!isJsonObject(part)) return 'One of its parts is not an object.'
  const texts = partTexts.get(part.type)
  if (!texts && 'role' in part)
    return 'It is a message, not a part of one: pass earlier messages as history, and the last text as the prompt.'
  if (!texts) return `${shown(part.type)} is not a type of part.${typeAdvice(part)}`
  const missing = texts.find((name) => typeof part[name] !== 'string')
  if (missing !== undefined) return `The ${missing} of one of its ${part.type} parts is not a string.`
  if (part.type === 'toolCall' && !isJsonObject(part.arguments)) return noArguments(part)
  if (part.type === 'toolResult' && part.parts !== undefined) return resultPartsFlaw(part)
  return undefined
}

/** Advice for parts of other libraries. */
const typeAdvice = ({ type }: JsonObject): string => {
  if (type === 'tool-call' || type === 'tool_use' || type === 'function_call')
    return " Write { type: 'toolCall', id, name, arguments }."
  if (type === 'tool-result' || type === 'tool_result')
    return " Write { type: 'toolResult', id, name, result }."
  const isFile = typeof type === 'string' && /image|file|audio|document/.test(type)
  return isFile ? ' Write dataPart(mimeType, bytes) or linkPart(url).' : ''
}

const resultPartsFlaw = ({ name, parts }: JsonObject): string | undefined => {
  if (!Array.isArray(parts)) return `The parts of its result of "${name}" are not a list.`
  const isMedia = (part: JsonValue) => isJsonObject(part) && (part.type === 'data' || part.type === 'link')
  if (!parts.every(isMedia)) return `A part of its result of "${name}" is neither data nor a link.`
  return parts.map(partFlaw).find((flaw) => flaw !== undefined)
}

const noArguments = ({ name }: JsonObject): string =>
  `The arguments of its call of "${name}" are not an object.`

const shown = (value: JsonValue | undefined): string => JSON.stringify(value) ?? 'undefined'
