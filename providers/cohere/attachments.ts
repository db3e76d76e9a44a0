import { type AttachedFile, urlOf } from '../wire/attachedFile.ts'
import { type AttachmentForms, webImages } from '../wire/attachments.ts'

const image = (file: AttachedFile) => ({ type: 'image_url', image_url: { url: urlOf(file) } })

/** How Cohere takes files: images are all that its models read beside text. */
export const cohereForms: AttachmentForms = {
  text: (text) => ({ type: 'text', text }),
  image: { formats: webImages, inline: image, link: image },
}
