import { ConfigurationError } from '../src/messages/errors.ts'
import type { ChatMessage, Part } from '../src/messages/messages.ts'
import type { Medium } from './models/modelFacts.ts'
import type { Target } from './protocol.ts'

/** What each medium is called, and what to do where a model does not read it. */
const media: Record<Medium, { called: string; instead: string }> = {
  images: { called: 'images', instead: 'Leave them out, or choose a model that sees.' },
  pdf: { called: 'PDF documents', instead: 'Send their text, or choose a model that reads them.' },
  audio: { called: 'audio', instead: 'Send a transcript, or choose a model that listens.' },
}

/** Refuses what the model cannot read before anything is sent; the table of models says what that is. */
export const checkReadable = (messages: readonly ChatMessage[], target: Target): void => {
  const { attachments } = target.profile
  for (const { role, parts } of messages) {
    if (role === 'model') continue
    for (const part of parts) {
      const medium = mediumOf(part)
      if (medium && !attachments[medium]) throw unreadable(medium, target)
    }
  }
}

/** Undefined for text, and for what does not say what it is. */
const mediumOf = (part: Part): Medium | undefined => {
  if (part.type !== 'data' && part.type !== 'link') return undefined
  const type = part.mimeType?.toLowerCase() ?? ''
  if (type.startsWith('image/')) return 'images'
  if (type.startsWith('audio/')) return 'audio'
  return type.startsWith('application/pdf') ? 'pdf' : undefined
}

const unreadable = (medium: Medium, { provider, model }: Target): ConfigurationError => {
  const { called, instead } = media[medium]
  return new ConfigurationError(
    `${provider}:${model} does not read ${called}. ${instead} If it does read them, say so: profile: { attachments: { ${medium}: true } }.`,
  )
}
