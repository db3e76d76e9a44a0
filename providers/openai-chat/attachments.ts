import { urlOf } from '../wire/attachedFile.ts'
import { type AttachmentForms, formatOf, webImages } from '../wire/attachments.ts'
import type { OpenAIChatProfile } from './profile.ts'

/** How chat completions take files; `video_url` is OpenRouter's and vLLM's. */
export const chatForms = ({
  pdfLinks = false,
  audioFormats = ['wav', 'mp3'],
}: OpenAIChatProfile): AttachmentForms => ({
  text: (text) => ({ type: 'text', text }),
  image: {
    formats: webImages,
    inline: (file) => ({ type: 'image_url', image_url: { url: urlOf(file) } }),
    link: ({ url }) => ({ type: 'image_url', image_url: { url } }),
  },
  pdf: {
    inline: (file) => pdf(urlOf(file), file.name),
    ...(pdfLinks && { link: ({ url, name }) => pdf(url, name) }),
  },
  audio: {
    formats: audioFormats,
    inline: ({ data, mimeType }) => ({
      type: 'input_audio',
      input_audio: { data, format: formatOf(mimeType) },
    }),
  },
  video: {
    inline: (file) => ({ type: 'video_url', video_url: { url: urlOf(file) } }),
    link: ({ url }) => ({ type: 'video_url', video_url: { url } }),
  },
})

const pdf = (url: string, name = 'document.pdf') => ({
  type: 'file',
  file: { filename: name, file_data: url },
})
