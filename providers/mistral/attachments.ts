import type { JsonObject } from '../../src/messages/json.ts'
import { type AttachedFile, urlOf } from '../wire/attachedFile.ts'
import { type AttachmentForms, webImages } from '../wire/attachments.ts'

const image = (file: AttachedFile): JsonObject => ({ type: 'image_url', image_url: urlOf(file) })

const pdf = (file: AttachedFile): JsonObject => ({
  type: 'document_url',
  document_url: urlOf(file),
  ...(file.name !== undefined && { document_name: file.name }),
})

/** How Mistral takes files. */
export const mistralForms: AttachmentForms = {
  text: (text) => ({ type: 'text', text }),
  image: { formats: webImages, inline: image, link: image },
  pdf: { inline: pdf, link: pdf },
  audio: {
    inline: ({ data }) => ({ type: 'input_audio', input_audio: data }),
    link: ({ url }) => ({ type: 'input_audio', input_audio: url }),
  },
}
