import { type AttachmentForms, named } from '../attachments.ts'

/** How Ollama takes files: images as bare base64 beside the message's one text, and nothing by its address. */
export const ollamaForms: AttachmentForms = {
  text: (text, name) => ({ text: named(text, name) }),
  image: { formats: ['jpeg', 'png', 'webp'], inline: ({ data }) => ({ image: data }) },
}
