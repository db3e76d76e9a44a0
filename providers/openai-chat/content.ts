import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { arrayAt, stringAt } from '../wire/wireJson.ts'

/** Where the parts of a message's content go. */
export type ContentSink = {
  text(text: string): void
  thinking(text: string): void
  refusal(text: string): void
  image(part: JsonObject): void
  reference(part: JsonObject): void
}

/** Reads `content`, which is a text, or a list of parts, or nothing. */
export const readContent = (content: JsonValue | undefined, sink: ContentSink): void => {
  if (typeof content === 'string') sink.text(content)
  else if (Array.isArray(content)) for (const part of content) readPart(part, sink)
}

const readPart = (part: JsonValue, sink: ContentSink): void => {
  if (typeof part === 'string') sink.text(part)
  else if (isJsonObject(part)) partReaders.get(part.type)?.(part, sink)
}

const readText = (part: JsonObject, sink: ContentSink): void => sink.text(stringAt(part, 'text') ?? '')
const readThinking = (part: JsonObject, sink: ContentSink): void => sink.thinking(thinkingText(part))

const partReaders = new Map<JsonValue | undefined, (part: JsonObject, sink: ContentSink) => void>([
  ['text', readText],
  ['output_text', readText],
  // Mistral: a list of texts and references. Databricks calls it reasoning and lists summaries.
  ['thinking', readThinking],
  ['reasoning', readThinking],
  ['refusal', (part, sink) => sink.refusal(stringAt(part, 'refusal') ?? '')],
  ['image_url', (part, sink) => sink.image(part)],
  ['reference', (part, sink) => sink.reference(part)],
])

const thinkingText = (part: JsonObject): string => {
  const plain = stringAt(part, 'thinking') ?? stringAt(part, 'text')
  if (plain !== undefined) return plain
  let text = ''
  for (const item of arrayAt(part, 'thinking') ?? arrayAt(part, 'summary') ?? []) {
    if (isJsonObject(item)) text += stringAt(item, 'text') ?? ''
  }
  return text
}
