import type { Bytes } from '../../src/transport/carriers.ts'

/** A part of a form: a field, or a file with its bytes. */
type FormField = { name: string; value: string } | { name: string; file: UploadedFile }

/** A file on its way to a provider. */
export type UploadedFile = { data: Uint8Array; mimeType: string; name: string }

/** The body of a request that is not JSON, and its type. */
export type Form = { bytes: Bytes; headers: Record<string, string> }

// No server looks for anything but the boundary itself, and 32 random digits are in no file.
const newBoundary = (): string => `----${crypto.randomUUID().replaceAll('-', '')}`

/** A form as browsers send it. */
export const formData = (fields: readonly FormField[]): Form => {
  const parts = fields.map((field): [string, Uint8Array] => {
    if ('value' in field) return [disposition(field.name), new TextEncoder().encode(field.value)]
    const { data, mimeType, name } = field.file
    return [
      `${disposition(field.name)}; filename="${quoted(name)}"\r\ncontent-type: ${oneLine(mimeType)}`,
      data,
    ]
  })
  return multipart('multipart/form-data', parts)
}

/** A description and a file, in Google's form. */
export const relatedParts = (description: object, { data, mimeType }: UploadedFile): Form =>
  multipart('multipart/related', [
    ['content-type: application/json', new TextEncoder().encode(JSON.stringify(description))],
    [`content-type: ${oneLine(mimeType)}`, data],
  ])

const multipart = (type: string, parts: readonly [string, Uint8Array][]): Form => {
  const boundary = newBoundary()
  const text = (words: string) => new TextEncoder().encode(words)
  const pieces = parts.flatMap(([head, content]) => [
    text(`--${boundary}\r\n${head}\r\n\r\n`),
    content,
    text('\r\n'),
  ])
  pieces.push(text(`--${boundary}--\r\n`))
  const bytes = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return { bytes, headers: { 'content-type': `${type}; boundary=${boundary}` } }
}

const disposition = (name: string): string => `content-disposition: form-data; name="${quoted(name)}"`

/** The name of a file comes from outside: it must not end its header. */
const quoted = (text: string): string =>
  text.replace(/["\r\n]/g, (character) => encodeURIComponent(character))

const oneLine = (text: string): string => text.replace(/[^\x20-\x7e]/g, '')
