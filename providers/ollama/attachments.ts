import type { AttachmentForms } from '../wire/attachments.ts'

/** How Ollama takes files: images as bare base64 beside the message's one text, and nothing by its address. */
export const ollamaForms: AttachmentForms = {
  text: (text) => ({ text }),
  image: { formats: ['jpeg', 'png', 'webp'], inline: ({ data }) => ({ image: data }) },
}
