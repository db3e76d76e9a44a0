import type { JsonObject } from '../../src/messages/json.ts'
import type { InlineFile, LinkedFile } from '../wire/attachedFile.ts'
import { type AttachmentForms, webImages } from '../wire/attachments.ts'
import type { AnthropicProfile } from './profile.ts'
import { textBlock } from './replay.ts'

/** How the Messages API takes files. */
export const anthropicForms = ({ attachments }: AnthropicProfile): AttachmentForms => ({
  text: (text) => textBlock(text),
  // Documents came with PDFs: models that cannot read PDFs get only the text.
  ...(attachments.pdf && {
    textFile: (text, name) => document({ type: 'text', media_type: 'text/plain', data: text }, name),
  }),
  image: {
    formats: webImages,
    inline: (file) => ({ type: 'image', source: bytes(file) }),
    link: (file) => ({ type: 'image', source: address(file) }),
  },
  pdf: {
    inline: (file) => document(bytes(file), file.name),
    link: (file) => document(address(file), file.name),
  },
})

const bytes = ({ mimeType, data }: InlineFile): JsonObject => ({
  type: 'base64',
  media_type: mimeType,
  data,
})

const address = ({ url }: LinkedFile): JsonObject => ({ type: 'url', url })

const document = (source: JsonObject, name: string | undefined): JsonObject => ({
  type: 'document',
  source,
  ...(name !== undefined && { title: name }),
})
