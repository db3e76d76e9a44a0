import { fromBase64, toBase64 } from '../../src/messages/base64.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { DataPart, LinkPart } from '../../src/messages/messages.ts'
import { objectAt, stringAt } from '../wire/wireJson.ts'

/** An image the model made: `{ image_url: { url } }`, inline or as a link. */
export const imagePart = (image: JsonObject): DataPart | LinkPart | undefined => {
  const url = stringAt(objectAt(image, 'image_url'), 'url') ?? stringAt(image, 'image_url')
  if (!url) return undefined
  const comma = url.indexOf(',')
  const [mimeType, ...parameters] = url.slice('data:'.length, comma).split(';')
  if (url.startsWith('data:') && comma > 0 && mimeType && parameters.at(-1) === 'base64') {
    return { type: 'data', mimeType, data: url.slice(comma + 1) }
  }
  return url.startsWith('data:') ? undefined : { type: 'link', url }
}

/** Spoken answers: base64 pieces of one recording, and the words beside it. */
export class SpokenAnswer {
  transcript = ''
  readonly #pieces: string[] = []

  add(audio: JsonObject): void {
    this.transcript += stringAt(audio, 'transcript') ?? ''
    const data = stringAt(audio, 'data')
    if (data) this.#pieces.push(data)
  }

  get part(): DataPart | undefined {
    if (this.#pieces.length === 0) return undefined
    // Each piece is base64 by itself, so the bytes are joined, not the texts. Streams carry PCM only.
    const pieces = this.#pieces.map(fromBase64)
    const bytes = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0))
    let size = 0
    for (const piece of pieces) {
      bytes.set(piece, size)
      size += piece.length
    }
    return { type: 'data', mimeType: 'audio/pcm', data: toBase64(bytes) }
  }
}
