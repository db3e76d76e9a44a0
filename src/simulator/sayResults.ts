import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'

export type ToolAnswer = { name: string; text: string; isError: boolean }

/** What tools answered, as sentences. */
export const sayResults = (answers: readonly ToolAnswer[]): string =>
  answers.map((answer) => sentence(answer)).join(' ')

/** The objects among the results: what a typed answer can be filled from. */
export const recordsOf = (answers: readonly ToolAnswer[]): JsonObject[] =>
  answers
    .filter(({ isError }) => !isError)
    .flatMap(({ text }) => {
      const value = parsed(text)
      return Array.isArray(value) ? value.filter(isJsonObject) : isJsonObject(value) ? [value] : []
    })

const sentence = ({ name, text, isError }: ToolAnswer): string => {
  const value = parsed(text)
  const error = isJsonObject(value) && typeof value.error === 'string' ? value.error : undefined
  if (isError || error !== undefined) return ended(`${name} did not work: ${error ?? text}`)
  const said = typeof value === 'string' ? value : `${titleOf(name)}: ${phrase(value)}`
  if (said.length <= longest) return ended(said)
  return `${name} gave ${text.length} characters, which begin: “${text.replace(/\s+/g, ' ').slice(0, shown).trim()}…”`
}

const longest = 600
const shown = 200

/** A value in words: "city Oslo, celsius 21". */
const phrase = (value: JsonValue): string => {
  if (Array.isArray(value)) return value.length > 0 ? value.map(phrase).join('; ') : 'nothing'
  if (!isJsonObject(value)) return String(value)
  return Object.entries(value)
    .map(([key, each]) => `${key.replace(/[_-]+/g, ' ')} ${phrase(each)}`)
    .join(', ')
}

/** `get_weather` is about the weather. */
const titleOf = (name: string): string => {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[_\s-]+/)
    .filter((word, at) => at > 0 || !/^(?:get|fetch|read|find|look|current)$/.test(word))
    .join(' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const ended = (text: string): string => (/[.!?]\s*$/.test(text) ? text.trim() : `${text.trim()}.`)

const parsed = (text: string): JsonValue => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
