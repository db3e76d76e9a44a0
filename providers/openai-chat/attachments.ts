import { textFromBase64 } from '../../src/messages/base64.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { DataPart, LinkPart, TextPart } from '../../src/messages/messages.ts'
import type { Target } from '../protocol.ts'
import type { OpenAIChatProfile } from './profile.ts'

/** The text of a part that is text by nature, whatever it came as. */
export const textIn = (part: TextPart | DataPart | LinkPart): string | undefined => {
  if (part.type === 'text') return part.text
  const isText = part.type === 'data' && /^(text\/|application\/json\b)/i.test(part.mimeType)
  return isText ? textFromBase64(part.data) : undefined
}

export const dataUrl = ({ mimeType, data }: DataPart): string => `data:${mimeType};base64,${data}`

/** A user's attachment as a content part of this API. */
export const attachment = (part: DataPart | LinkPart, target: Target<OpenAIChatProfile>): JsonObject => {
  const { attachments, pdfLinks = false, audioFormats = ['wav', 'mp3'] } = target.profile
  const isLink = part.type === 'link'
  // A link says nothing about itself unless the user did, and images are what links are for.
  const mimeType = (part.mimeType ?? 'image/*').toLowerCase()
  if (isLink && !attachments.links) throw unsupported(part, target, 'send the content inline instead')
  if (mimeType.startsWith('image/') && attachments.images) {
    return { type: 'image_url', image_url: { url: isLink ? part.url : dataUrl(part) } }
  }
  if (mimeType === 'application/pdf' && attachments.pdf) {
    if (isLink && !pdfLinks) throw unsupported(part, target, 'send the file inline instead')
    const filename = part.name ?? 'document.pdf'
    return { type: 'file', file: { filename, file_data: isLink ? part.url : dataUrl(part) } }
  }
  if (mimeType.startsWith('audio/') && attachments.audio && !isLink) {
    const format = audioFormat(mimeType)
    if (!audioFormats.includes(format)) {
      throw unsupported(part, target, `convert the audio to ${audioFormats.join(' or ')}`)
    }
    return { type: 'input_audio', input_audio: { data: part.data, format } }
  }
  throw unsupported(part, target, 'use another model or send the content as text')
}

export const unsupported = (
  part: DataPart | LinkPart,
  target: Target,
  advice: string,
): ConfigurationError => {
  const kind = part.type === 'link' ? 'links' : 'attachments'
  const mimeType = part.mimeType ?? 'unknown type'
  return new ConfigurationError(
    `${target.provider}:${target.model} cannot read ${kind} of ${mimeType}; ${advice}.`,
  )
}

const audioFormat = (mimeType: string): string => {
  const format = mimeType.slice('audio/'.length).replace(/^x-|;.*$/g, '')
  if (format === 'mpeg') return 'mp3'
  return format === 'wave' ? 'wav' : format
}
