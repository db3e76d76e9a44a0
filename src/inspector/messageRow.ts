import type { ChatMessage, DataPart, Part } from '../messages/messages.ts'
import { textOf } from '../messages/messages.ts'
import { brief, readable } from './readable.ts'
import type { ImageRow, MessageRow } from './wire.ts'

/** Base64 characters of a picture that is still shown. */
const largestImage = 2_000_000
const shownImages = /^image\/(?:png|jpeg|gif|webp|avif|svg\+xml)$/

/** A message as it is read. */
export const messageRow = (message: ChatMessage, secrets: readonly string[]): MessageRow => ({
  role: message.role,
  text: String(readable(textOf(message), secrets)),
  images: imagesIn(message.parts),
  notes: message.parts.flatMap((part) => noteOf(part, secrets)),
})

/** The pictures among some parts, as far as a browser shows them. */
export const imagesIn = (parts: readonly Part[]): ImageRow[] =>
  parts.flatMap((part) =>
    part.type === 'data' && isShown(part) ? [{ mimeType: part.mimeType, data: part.data }] : [],
  )

/** Whether a person said it: results of tools are the user's messages, too. */
export const isSaid = ({ role, parts }: ChatMessage): boolean =>
  role === 'user' && parts.some(({ type }) => type !== 'toolResult')

const isShown = ({ mimeType, data }: DataPart): boolean =>
  shownImages.test(mimeType) && data.length <= largestImage

const noteOf = (part: Part, secrets: readonly string[]): string[] => {
  switch (part.type) {
    case 'toolCall':
      return [`Called ${part.name} ${brief(part.arguments, secrets)}`]
    case 'toolResult':
      return [`${part.name}: ${brief(part.result, secrets)}`]
    case 'link':
      return [`Link: ${brief(part.url, secrets)}`]
    case 'data':
      return isShown(part) ? [] : [`File: ${brief(part.name ?? part.mimeType, secrets)}`]
    case 'text':
      return []
  }
}
