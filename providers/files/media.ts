import { fromBase64 } from '../../src/messages/base64.ts'
import { ConfigurationError, errorFrom, ModelError } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { DataPart, LinkPart } from '../../src/messages/messages.ts'
import type { Usage } from '../../src/messages/result.ts'
import { modelPath } from '../google/request.ts'
import type { ProviderRequest } from '../http/connection.ts'
import type { MediaOptions, MediaPiece } from '../provider.ts'
import { attachedFile, endingOf, type InlineFile, urlOf } from '../wire/attachedFile.ts'
import { openaiUsage } from '../wire/decoder.ts'
import { arrayAt, BadWireJson, numberAt, objectAt, parseWireObject, stringAt } from '../wire/json.ts'
import type { WireEvent } from '../wire/protocol.ts'
import { formData } from './multipart.ts'

/** The wire format of a provider's images. Pure, like the chat protocols. */
export type MediaProtocol = {
  request(prompt: string, options: MediaOptions, model: string): ProviderRequest
  read(answer: JsonValue, options: MediaOptions): { media: (DataPart | LinkPart)[]; usage?: Usage }
  /** A request and a reader for the same as a stream of events, where the provider has one. */
  stream?: {
    request(prompt: string, options: MediaOptions, model: string): ProviderRequest
    reader(options: MediaOptions): MediaReader
  }
}

/** Reads the events of one answer. Pure but for its own state. */
type MediaReader = {
  push(event: WireEvent): readonly MediaPiece[]
  /** Throws where no whole image came. */
  end(): void
}

/** A reader of a stream. `reason`: why it brought no whole image. */
const mediaReader = (
  read: (event: JsonObject) => readonly MediaPiece[],
  reason?: () => string | undefined,
): MediaReader => {
  let hasImage = false
  return {
    push({ data }) {
      const content = data.startsWith('[DONE]') ? undefined : parseWireObject(data)
      if (content instanceof BadWireJson) throw errorFrom(content.error)
      if (!content) return []
      const pieces = read(content)
      hasImage ||= pieces.some(({ isPartial }) => !isPartial)
      return pieces
    },
    end: () => void atLeastOne(hasImage ? [true] : [], reason?.()),
  }
}

const formatOf = ({ mimeTypes }: MediaOptions): string => {
  const [mimeType = 'image/png'] = mimeTypes ?? []
  if (!mimeType.startsWith('image/')) {
    throw new ConfigurationError(`generateMedia makes images here: "${mimeType}" is not the type of one.`)
  }
  return mimeType === 'image/*' ? 'png' : mimeType.slice('image/'.length)
}

/** The bytes of the images that an edit begins with. */
const inlineImages = ({ attachments = [] }: MediaOptions): InlineFile[] =>
  attachments.map((part) => {
    const file = attachedFile(part)
    if ('data' in file && file.kind === 'image') return file
    throw new ConfigurationError('An edit takes images with their bytes: attach them with dataPart.')
  })

/** `POST /images/generations`, and a form for edits: OpenAI. */
export const openaiMedia: MediaProtocol = {
  request: (prompt, options, model) => {
    const images = inlineImages(options)
    const settings = { model, prompt, output_format: formatOf(options), ...options.providerOptions }
    if (images.length === 0) return { path: '/images/generations', body: settings }
    return {
      path: '/images/edits',
      ...formData([
        ...Object.entries(settings).map(([name, value]) => ({ name, value: String(value) })),
        ...images.map(({ data, mimeType, name }) => ({
          name: 'image[]',
          file: { data: fromBase64(data), mimeType, name: name ?? `image${endingOf(mimeType)}` },
        })),
      ]),
    }
  },
  read: (answer, options) => imagesIn(answer, `image/${formatOf(options)}`),
  stream: {
    request: (prompt, options, model) => {
      const { partialImages = 2, providerOptions } = options
      const streamed = { stream: true, partial_images: partialImages, ...providerOptions }
      return openaiMedia.request(prompt, { ...options, providerOptions: streamed }, model)
    },
    reader: (options) => {
      const usualType = `image/${formatOf(options)}`
      return mediaReader((event) => openaiPieces(event, usualType))
    },
  },
}

/** `image_generation.partial_image` and `image_generation.completed`, and the same with `image_edit`. */
const openaiPieces = (event: JsonObject, usualType: string): MediaPiece[] => {
  // A server that does not stream sends its answer in one piece.
  if (arrayAt(event, 'data')) return imagesIn(event, usualType).media
  const data = stringAt(event, 'b64_json')
  if (!data) return []
  const format = stringAt(event, 'output_format')
  const part: DataPart = { type: 'data', mimeType: format ? `image/${format}` : usualType, data }
  return [stringAt(event, 'type')?.endsWith('.partial_image') ? { ...part, isPartial: true } : part]
}

/** Grok Imagine: the same paths, with edits as JSON. It chooses the format itself. */
export const xaiMedia: MediaProtocol = {
  request: (prompt, options, model) => {
    const images = inlineImages(options).map((file) => ({ type: 'image_url', url: urlOf(file) }))
    formatOf(options)
    const [image] = images
    const body = {
      model,
      prompt,
      response_format: 'b64_json',
      ...(images.length > 1 ? { images } : image && { image }),
      ...options.providerOptions,
    }
    return { path: images.length > 0 ? '/images/edits' : '/images/generations', body }
  },
  read: (answer) => imagesIn(answer, 'image/jpeg'),
}

const imagesIn = (answer: JsonValue, usualType: string): ReturnType<MediaProtocol['read']> => {
  const body = isJsonObject(answer) ? answer : {}
  const media = (arrayAt(body, 'data') ?? [])
    .filter(isJsonObject)
    .flatMap((image): (DataPart | LinkPart)[] => {
      const mimeType = stringAt(image, 'mime_type') ?? usualType
      const data = stringAt(image, 'b64_json')
      const url = stringAt(image, 'url')
      if (data) return [{ type: 'data', mimeType, data }]
      return url ? [{ type: 'link', url, mimeType }] : []
    })
  const usage = openaiUsage(objectAt(body, 'usage'))
  return { media: atLeastOne(media), ...(usage && { usage }) }
}

/** Gemini's image models, which answer like any other, with images among their parts. */
export const googleMedia: MediaProtocol = {
  request: (prompt, options, model) => {
    formatOf(options)
    const images = inlineImages(options).map(({ mimeType, data }) => ({ inlineData: { mimeType, data } }))
    return {
      path: `/models/${modelPath(model.replace(/^models\//, ''))}:generateContent`,
      body: {
        contents: [{ role: 'user', parts: [{ text: prompt }, ...images] }],
        generationConfig: { responseModalities: ['TEXT', 'IMAGE'] },
        ...options.providerOptions,
      },
    }
  },
  read: (answer) => {
    const body = isJsonObject(answer) ? answer : {}
    const { pieces, reason } = googlePieces(body)
    const counts = objectAt(body, 'usageMetadata')
    const [inputTokens, outputTokens] = ['promptTokenCount', 'candidatesTokenCount'].map((name) =>
      numberAt(counts, name),
    )
    const media = pieces.filter(({ isPartial }) => !isPartial)
    return {
      media: atLeastOne(media, reason),
      ...(inputTokens !== undefined &&
        outputTokens !== undefined && {
          usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
        }),
    }
  },
  stream: {
    request: (prompt, options, model) => {
      const { path, ...rest } = googleMedia.request(prompt, options, model)
      return { ...rest, path: path.replace(/generateContent$/, 'streamGenerateContent?alt=sse') }
    },
    reader: () => {
      let ended: string | undefined
      const read = (event: JsonObject): MediaPiece[] => {
        const { pieces, reason = ended } = googlePieces(event)
        ended = reason
        return pieces
      }
      return mediaReader(read, () => ended)
    },
  },
}

const googlePieces = (body: JsonObject): { pieces: MediaPiece[]; reason?: string } => {
  const [candidate] = (arrayAt(body, 'candidates') ?? []).filter(isJsonObject)
  const parts = (arrayAt(objectAt(candidate, 'content'), 'parts') ?? []).filter(isJsonObject)
  const blocked = stringAt(objectAt(body, 'promptFeedback'), 'blockReason')
  const reason = blocked ?? stringAt(candidate, 'finishReason')
  return { pieces: parts.flatMap(imageOf), ...(reason !== undefined && { reason }) }
}

/** The image in a part. Drafts of a thinking model are marked as thoughts. */
const imageOf = (part: JsonObject): MediaPiece[] => {
  const inline = objectAt(part, 'inlineData')
  const data = stringAt(inline, 'data')
  if (!data) return []
  const image: DataPart = { type: 'data', mimeType: stringAt(inline, 'mimeType') ?? 'image/png', data }
  return [part.thought === true ? { ...image, isPartial: true } : image]
}

const atLeastOne = <T>(media: T[], reason?: string): T[] => {
  if (media.length > 0) return media
  throw new ModelError(`The model made no image${reason ? ` (${reason})` : ''}.`, { code: 'no_media' })
}
