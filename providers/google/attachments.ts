import type { JsonObject } from '../../src/messages/json.ts'
import type { InlineFile, LinkedFile } from '../wire/attachedFile.ts'
import { type AttachmentForms, isExact, linkedTexts } from '../wire/attachments.ts'

/** Google's own word for MP3. */
const spelled = (mimeType: string): string => (mimeType === 'audio/mpeg' ? 'audio/mp3' : mimeType)

const bytes = ({ mimeType, data }: InlineFile): JsonObject => ({
  inlineData: { mimeType: spelled(mimeType), data },
})

const address = ({ url, mimeType }: LinkedFile): JsonObject => ({
  fileData: { fileUri: url, ...(isExact(mimeType) && { mimeType: spelled(mimeType) }) },
})

const anyFormat = { inline: bytes, link: address }

/** How Gemini takes files of any kind: by their bytes or by their address. */
export const googleForms: AttachmentForms = {
  text: (text) => ({ text }),
  textLink: { formats: linkedTexts, link: address },
  image: { formats: ['png', 'jpeg', 'webp', 'heic', 'heif'], ...anyFormat },
  pdf: anyFormat,
  audio: anyFormat,
  video: anyFormat,
}

/** What a function response may contain; the other files of a result follow it in their own content. */
export const googleResultForms: AttachmentForms = {
  text: googleForms.text,
  image: { formats: ['png', 'jpeg', 'webp'], inline: bytes },
  pdf: { inline: bytes },
}
