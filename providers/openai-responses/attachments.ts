import type { JsonObject } from '../../src/messages/json.ts'
import { type AttachedFile, endingOf, type InlineFile, type LinkedFile, urlOf } from '../wire/attachedFile.ts'
import { type AttachmentForms, linkedTexts, webImages } from '../wire/attachments.ts'
import type { OpenAIResponsesProfile } from './profile.ts'

/** How the Responses API takes files. */
export const responsesForms = ({ anyFile = false }: OpenAIResponsesProfile): AttachmentForms => ({
  text: (text) => ({ type: 'input_text', text }),
  textLink: { formats: linkedTexts, link: linkedFile },
  image: { formats: webImages, inline: image, link: image },
  pdf: { inline: inlineFile, link: linkedFile },
  ...(anyFile && { other: { inline: inlineFile, link: linkedFile } }),
})

const image = (file: AttachedFile): JsonObject => ({
  type: 'input_image',
  image_url: urlOf(file),
  detail: 'auto',
})

/** The API demands a name with inline files, and reads the kind of the file off it. */
const inlineFile = (file: InlineFile): JsonObject => ({
  type: 'input_file',
  filename: file.name ?? `document${endingOf(file.mimeType)}`,
  file_data: urlOf(file),
})

const linkedFile = ({ url }: LinkedFile): JsonObject => ({ type: 'input_file', file_url: url })
