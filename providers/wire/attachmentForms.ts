import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelProfile } from '../../src/model/chatModel.ts'
import { type AttachedFile, endingOf, type InlineFile, type LinkedFile, urlOf } from './attachedFile.ts'
import { type AttachmentForms, formatOf, isExact, linkedTexts, webImages } from './attachments.ts'

/** Files in Anthropic's Messages API. */
export const anthropicForms = ({ attachments }: ModelProfile): AttachmentForms => ({
  text,
  // Documents came with PDFs: models that cannot read PDFs get only the text.
  ...(attachments.pdf && {
    textFile: (data, name) => anthropicDocument({ type: 'text', media_type: 'text/plain', data }, name),
  }),
  stored: {
    scheme: 'anthropic-file',
    write: (file_id, kind) => {
      if (kind === 'image') return { type: 'image', source: { type: 'file', file_id } }
      // Only code in the container can read the others.
      if (kind !== 'pdf' && kind !== 'text') return { type: 'container_upload', file_id }
      return { type: 'document', source: { type: 'file', file_id } }
    },
  },
  image: {
    formats: webImages,
    inline: (file) => ({ type: 'image', source: anthropicBytes(file) }),
    link: ({ url }) => ({ type: 'image', source: { type: 'url', url } }),
  },
  pdf: {
    inline: (file) => anthropicDocument(anthropicBytes(file), file.name),
    link: ({ url, name }) => anthropicDocument({ type: 'url', url }, name),
  },
})

const text = (words: string): JsonObject => ({ type: 'text', text: words })

const anthropicBytes = ({ mimeType, data }: InlineFile): JsonObject => ({
  type: 'base64',
  media_type: mimeType,
  data,
})

const anthropicDocument = (source: JsonObject, name: string | undefined): JsonObject => ({
  type: 'document',
  source,
  ...(name !== undefined && { title: name }),
})

/** Google's own word for MP3. */
const spelled = (mimeType: string): string => (mimeType === 'audio/mpeg' ? 'audio/mp3' : mimeType)

const googleBytes = ({ mimeType, data }: InlineFile): JsonObject => ({
  inlineData: { mimeType: spelled(mimeType), data },
})

const googleLink = ({ url, mimeType }: LinkedFile): JsonObject => ({
  fileData: { fileUri: url, ...(isExact(mimeType) && { mimeType: spelled(mimeType) }) },
})

const googleFile = { inline: googleBytes, link: googleLink }

/** Files in Gemini's API, which takes every kind by its bytes or by its address. */
export const googleForms: AttachmentForms = {
  text: (text) => ({ text }),
  textLink: { formats: linkedTexts, link: googleLink },
  image: { formats: ['png', 'jpeg', 'webp', 'heic', 'heif'], ...googleFile },
  pdf: googleFile,
  audio: googleFile,
  video: googleFile,
}

/** The files that a function response of Gemini may contain; the others follow it in their own content. */
export const googleResultForms: AttachmentForms = {
  text: googleForms.text,
  image: { formats: ['png', 'jpeg', 'webp'], inline: googleBytes },
  pdf: { inline: googleBytes },
}

/** Files in OpenAI's Responses API; `anyFile`: it reads more than PDF. */
export const responsesForms = ({ anyFile = false }: { anyFile?: boolean }): AttachmentForms => ({
  text: (text) => ({ type: 'input_text', text }),
  textLink: { formats: linkedTexts, link: responsesLink },
  stored: {
    scheme: 'openai-file',
    write: (file_id, kind) =>
      kind === 'image' ? { type: 'input_image', file_id, detail: 'auto' } : { type: 'input_file', file_id },
  },
  image: { formats: webImages, inline: responsesImage, link: responsesImage },
  pdf: { inline: responsesFile, link: responsesLink },
  ...(anyFile && { other: { inline: responsesFile, link: responsesLink } }),
})

const responsesImage = (file: AttachedFile): JsonObject => ({
  type: 'input_image',
  image_url: urlOf(file),
  detail: 'auto',
})

/** The API demands a name with inline files, and reads the kind of the file off it. */
const responsesFile = (file: InlineFile): JsonObject => ({
  type: 'input_file',
  filename: file.name ?? `document${endingOf(file.mimeType)}`,
  file_data: urlOf(file),
})

const responsesLink = ({ url }: LinkedFile): JsonObject => ({ type: 'input_file', file_url: url })

type ChatFiles = { pdfLinks?: boolean; audioFormats?: readonly string[] }

/** Files in chat completions; `video_url` is OpenRouter's and vLLM's. */
export const chatForms = ({
  pdfLinks = false,
  audioFormats = ['wav', 'mp3'],
}: ChatFiles): AttachmentForms => ({
  text,
  stored: {
    scheme: 'openai-file',
    write: (file_id, kind) => (kind === 'image' ? undefined : { type: 'file', file: { file_id } }),
  },
  image: { formats: webImages, inline: chatImage, link: chatImage },
  pdf: { inline: chatPdf, ...(pdfLinks && { link: chatPdf }) },
  audio: {
    formats: audioFormats,
    inline: ({ data, mimeType }) => ({
      type: 'input_audio',
      input_audio: { data, format: formatOf(mimeType) },
    }),
  },
  video: { inline: chatVideo, link: chatVideo },
})

const chatImage = (file: AttachedFile): JsonObject => ({ type: 'image_url', image_url: { url: urlOf(file) } })

const chatVideo = (file: AttachedFile): JsonObject => ({ type: 'video_url', video_url: { url: urlOf(file) } })

const chatPdf = (file: AttachedFile): JsonObject => ({
  type: 'file',
  file: { filename: file.name ?? 'document.pdf', file_data: urlOf(file) },
})

const mistralImage = (file: AttachedFile): JsonObject => ({ type: 'image_url', image_url: urlOf(file) })

const mistralPdf = (file: AttachedFile): JsonObject => ({
  type: 'document_url',
  document_url: urlOf(file),
  ...(file.name !== undefined && { document_name: file.name }),
})

/** Files in Mistral's API. */
export const mistralForms: AttachmentForms = {
  text,
  image: { formats: webImages, inline: mistralImage, link: mistralImage },
  pdf: { inline: mistralPdf, link: mistralPdf },
  audio: {
    inline: ({ data }) => ({ type: 'input_audio', input_audio: data }),
    link: ({ url }) => ({ type: 'input_audio', input_audio: url }),
  },
}

/** Files in Cohere's API: its models read nothing but images beside text. */
export const cohereForms: AttachmentForms = {
  text,
  image: { formats: webImages, inline: chatImage, link: chatImage },
}

const converseFile = (kind: 'image' | 'video' | 'audio') => ({
  inline: ({ mimeType, data }: InlineFile): JsonObject => ({
    [kind]: { format: converseFormat(mimeType), source: { bytes: data } },
  }),
})

const converseFormat = (mimeType: string): string =>
  mimeType === 'image/jpeg' ? 'jpeg' : endingOf(mimeType).slice(1) || formatOf(mimeType)

const converseDocument = ({ mimeType, data, name }: InlineFile): JsonObject => ({
  document: { format: converseFormat(mimeType), name: documentName(name), source: { bytes: data } },
})

/** The API takes few characters here, and the ending not at all. */
const documentName = (name = 'document'): string => {
  const plain = name.replace(/\.[a-z0-9]{1,5}$/i, '').replace(/[^a-zA-Z0-9()[\]-]+/g, ' ')
  return plain.trim().slice(0, 200) || 'document'
}

const officeTypes = [
  'vnd.openxmlformats-officedocument.wordprocessingml.document',
  'vnd.openxmlformats-officedocument.spreadsheetml.sheet',
]

/** Files in Bedrock's Converse API: by their bytes only. */
export const converseForms = ({ attachments }: ModelProfile): AttachmentForms => ({
  text: (text) => ({ text }),
  image: { formats: webImages, ...converseFile('image') },
  video: converseFile('video'),
  audio: converseFile('audio'),
  ...(attachments.pdf && {
    pdf: { inline: converseDocument },
    other: { formats: officeTypes, inline: converseDocument },
  }),
})

/** Files in Ollama's API: images as bare base64 beside the message's one text, and nothing by its address. */
export const ollamaForms: AttachmentForms = {
  text: (text) => ({ text }),
  image: { formats: ['jpeg', 'png', 'webp'], inline: ({ data }) => ({ image: data }) },
}
