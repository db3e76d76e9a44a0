import { textFromBase64 } from '../../src/messages/base64.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { DataPart, LinkPart } from '../../src/messages/messages.ts'
import type { Target } from '../protocol.ts'
import type { AnthropicProfile } from './profile.ts'
import { textBlock } from './skeleton.ts'

const imageTypes = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])
const textTypes = /^(text\/|application\/(json|xml|yaml|x-yaml|javascript)\b)/

/** The content block of an attachment; undefined for a text without a word in it, which the API would reject. */
export const attachmentBlock = (
  part: DataPart | LinkPart,
  target: Target<AnthropicProfile>,
): JsonObject | undefined => (part.type === 'data' ? dataBlock(part, target) : linkBlock(part, target))

const dataBlock = (part: DataPart, target: Target<AnthropicProfile>): JsonObject | undefined => {
  const { images, pdf } = target.profile.attachments
  const mimeType = bareType(part.mimeType)
  if (textTypes.test(mimeType)) return textDocument(part, pdf)
  const source = { type: 'base64', media_type: mimeType, data: part.data }
  if (images && imageTypes.has(mimeType)) return { type: 'image', source }
  if (pdf && mimeType === 'application/pdf') return document(source, part.name)
  throw unsupported(mimeType, target, 'Send a JPEG, PNG, GIF or WebP image, a PDF or a text')
}

const linkBlock = (part: LinkPart, target: Target<AnthropicProfile>): JsonObject | undefined => {
  const inline = /^data:([^;,]+);base64,(.*)$/s.exec(part.url)
  if (inline) {
    const [, mimeType = '', data = ''] = inline
    return dataBlock({ ...part, type: 'data', mimeType, data }, target)
  }
  const { images, pdf, links } = target.profile.attachments
  const mimeType = bareType(part.mimeType ?? typeByExtension(part.url))
  const source = { type: 'url', url: part.url }
  if (links && images && mimeType.startsWith('image/')) return { type: 'image', source }
  if (links && pdf && mimeType === 'application/pdf') return document(source, part.name)
  throw unsupported(`a link to ${mimeType}`, target, 'Fetch it and attach its bytes as a data part')
}

const document = (source: JsonObject, name: string | undefined): JsonObject => ({
  type: 'document',
  source,
  ...(name !== undefined && { title: name }),
})

const textDocument = (part: DataPart, asDocument: boolean): JsonObject | undefined => {
  const data = textFromBase64(part.data)
  if (data.trim() === '') return undefined
  if (!asDocument) return textBlock(part.name === undefined ? data : `${part.name}:\n${data}`)
  return document({ type: 'text', media_type: 'text/plain', data }, part.name)
}

const bareType = (mimeType: string): string => {
  const type = mimeType.split(';')[0]?.trim().toLowerCase() ?? ''
  return type === 'image/jpg' ? 'image/jpeg' : type
}

/** A link that does not say what it is is most often an image. */
const typeByExtension = (url: string): string =>
  /\.pdf(?:$|[?#])/i.test(url) ? 'application/pdf' : 'image/*'

const unsupported = (what: string, target: Target<AnthropicProfile>, advice: string): ConfigurationError =>
  new ConfigurationError(
    `${target.provider}:${target.model} cannot read ${what}. ${advice}, or use a model that reads it.`,
  )
