import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { DataPart, LinkPart, ToolResultPart } from '../../src/messages/messages.ts'
import { attachedFile } from '../wire/attachedFile.ts'
import { resultAndFollowUp, resultContent } from '../wire/attachments.ts'
import type { Target } from '../wire/protocol.ts'
import { googleForms, googleResultForms } from './attachments.ts'
import type { GoogleProfile } from './profile.ts'

/** A tool's result as a function response, and the files that must follow in their own content. */
export const functionResult = (
  result: ToolResultPart,
  target: Target<GoogleProfile>,
  id: JsonObject,
): { part: JsonObject; followUp: JsonObject[] } => {
  const { parts = [] } = result
  const inside = target.profile.mediaInResults ? parts.filter(fitsInside) : []
  const beside = parts.filter((part) => !inside.includes(part))
  const within = resultContent({ ...result, result: '', parts: inside }, target, googleResultForms)
  const { text, followUp } = resultAndFollowUp({ ...result, parts: beside }, target, googleForms)
  const words = [text, within.text].filter((piece) => piece !== '').join('\n\n')
  const response = responseOf(words, result.isError === true)
  const media = within.media.length > 0 && { parts: within.media }
  return { part: { functionResponse: { name: result.name, response, ...media, ...id } }, followUp }
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
