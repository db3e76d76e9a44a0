import { isJsonObject, type JsonObject } from '../messages/json.ts'
import {
  type ChatMessage,
  type DataPart,
  type LinkPart,
  toolCallsOf,
  toolResultsOf,
} from '../messages/messages.ts'

/** What a tool answered. */
export type RecordedResult = { text: string; isError: boolean; parts?: readonly (DataPart | LinkPart)[] }

/** A call of a tool, and what it answered. */
export type RecordedCall = { name: string; arguments: JsonObject; result: RecordedResult }

/** The calls of a conversation that have a result, in order. */
export const callsOfMessages = (messages: readonly ChatMessage[]): RecordedCall[] => {
  const results = new Map(messages.flatMap(toolResultsOf).map((result) => [result.id, result]))
  return messages.flatMap(toolCallsOf).flatMap((call) => {
    const found = results.get(call.id)
    if (!found || call.argumentsError !== undefined) return []
    const { result: text, isError = false, parts = [] } = found
    return [{ name: call.name, arguments: call.arguments, result: { text, isError, parts } }]
  })
}

/** The problem, if a text has the form of statewire's error results. */
export const errorIn = (text: string): string | undefined => {
  if (!text.startsWith('{"error":')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    const isOnly = isJsonObject(value) && Object.keys(value).length === 1
    return isOnly && typeof value.error === 'string' ? value.error : undefined
  } catch {
    return undefined
  }
}
