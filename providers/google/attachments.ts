import { textFromBase64 } from '../../src/messages/base64.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { DataPart, LinkPart } from '../../src/messages/messages.ts'
import type { Target } from '../protocol.ts'
import type { GoogleProfile } from './profile.ts'

/** An attachment as a Gemini part; a clear error when the model cannot read it. */
export const attachmentPart = (part: DataPart | LinkPart, target: Target<GoogleProfile>): JsonObject => {
  const { attachments } = target.profile
  if (part.type === 'link') {
    if (!attachments.links) throw unreadable('a link', 'Send the content itself as a data part.', target)
    return {
      fileData: { fileUri: part.url, ...(part.mimeType !== undefined && { mimeType: part.mimeType }) },
    }
  }
  if (part.mimeType.startsWith('text/')) return { text: textFromBase64(part.data) }
  const kind = kindOf(part.mimeType)
  if (!kind || !attachments[kind]) {
    throw unreadable(
      `an attachment of type ${part.mimeType}`,
      'Leave it out, send it as text, or choose a model that reads this type.',
      target,
    )
  }
  return { inlineData: { mimeType: part.mimeType, data: part.data } }
}

const kindOf = (mimeType: string): 'images' | 'pdf' | 'audio' | undefined => {
  // A Gemini model that sees images also sees video.
  if (/^(image|video)\//.test(mimeType)) return 'images'
  if (mimeType.startsWith('audio/')) return 'audio'
  return mimeType === 'application/pdf' ? 'pdf' : undefined
}

const unreadable = (what: string, advice: string, { provider, model }: Target<GoogleProfile>) =>
  new ConfigurationError(`${provider}:${model} cannot read ${what}. ${advice}`)
