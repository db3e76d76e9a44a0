import { textFromBase64 } from '../../src/messages/base64.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { DataPart, LinkPart, Part } from '../../src/messages/messages.ts'
import type { Target } from '../protocol.ts'
import type { OpenAIResponsesProfile } from './profile.ts'

type ResponsesTarget = Target<OpenAIResponsesProfile>

/** A part of a user message as input content; undefined for parts that say nothing here. */
export const inputContent = (part: Part, target: ResponsesTarget): JsonObject | undefined => {
  switch (part.type) {
    case 'text':
      return part.text === '' ? undefined : { type: 'input_text', text: part.text }
    case 'data':
      return dataContent(part, target)
    case 'link':
      return linkContent(part, target)
    default:
      return undefined
  }
}

const dataContent = (part: DataPart, target: ResponsesTarget): JsonObject => {
  const { mimeType, data, name } = part
  if (isText(mimeType)) return { type: 'input_text', text: textFromBase64(data) }
  check(mimeType, target)
  const url = `data:${mimeType};base64,${data}`
  if (mimeType.startsWith('image/')) return { type: 'input_image', image_url: url, detail: 'auto' }
  // The API demands a name with inline files, and reads the kind of the file off it.
  const filename = name ?? (mimeType === 'application/pdf' ? 'document.pdf' : 'document')
  return { type: 'input_file', filename, file_data: url }
}

const linkContent = (part: LinkPart, target: ResponsesTarget): JsonObject => {
  const mimeType = part.mimeType ?? (looksLikeDocument(part.url) ? 'application/pdf' : 'image/*')
  if (!target.profile.attachments.links) throw unreadable('links to files', target)
  if (mimeType.startsWith('image/')) {
    check(mimeType, target)
    return { type: 'input_image', image_url: part.url, detail: 'auto' }
  }
  if (!isText(mimeType)) check(mimeType, target)
  return { type: 'input_file', file_url: part.url }
}

const isText = (mimeType: string): boolean => mimeType.startsWith('text/') || mimeType === 'application/json'

const looksLikeDocument = (url: string): boolean => /\.pdf(?:$|[?#])/i.test(url)

const check = (mimeType: string, target: ResponsesTarget): void => {
  const { attachments, anyFile } = target.profile
  const readable = mimeType.startsWith('image/')
    ? attachments.images
    : mimeType === 'application/pdf'
      ? attachments.pdf
      : anyFile === true && !/^(?:audio|video)\//.test(mimeType)
  if (!readable) throw unreadable(`${mimeType} attachments`, target)
}

const unreadable = (what: string, { provider, model }: ResponsesTarget): ConfigurationError =>
  new ConfigurationError(
    `${provider}: the model ${model} does not read ${what}. Send the content as text, or choose a model that reads it.`,
  )
