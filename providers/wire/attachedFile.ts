import { textFromBase64, toBase64 } from '../../src/messages/base64.ts'
import type { DataPart, LinkPart } from '../../src/messages/messages.ts'

/** The kind of a file: all models read text, some images, some audio. */
export type FileKind = 'text' | 'image' | 'pdf' | 'audio' | 'video' | 'other'

/** The bytes of an attachment. */
export type InlineFile = { kind: FileKind; mimeType: string; name?: string; data: string }
/** An attachment that is elsewhere; the type is undefined where neither the user nor the address gives it. */
export type LinkedFile = { kind: FileKind; mimeType: string | undefined; name?: string; url: string }
/** An attachment as every protocol sees it, bytes or link. */
export type AttachedFile = InlineFile | LinkedFile

/** Reads an attachment: its true type, and the bytes of a `data:` link. */
export const attachedFile = (part: DataPart | LinkPart): AttachedFile => {
  if (part.type === 'data') return inlineFile(part, part.name)
  const inline = inlineOf(part)
  return inline ? inlineFile(inline, part.name) : linkedFile(part)
}

const inlineFile = ({ mimeType, data }: Content, name: string | undefined): InlineFile => {
  const type = typeOf(mimeType) ?? typeByName(name) ?? 'application/octet-stream'
  return { kind: kindOf(type), mimeType: type, ...(name !== undefined && { name }), data }
}

const linkedFile = ({ url, mimeType, name }: LinkPart): LinkedFile => {
  const type = typeOf(mimeType) ?? typeByName(name) ?? typeByName(pathOf(url))
  // A link that gives no hint at all is most often an image.
  const kind = type === undefined ? 'image' : kindOf(type)
  return { kind, mimeType: type, ...(name !== undefined && { name }), url }
}

/** The schemes of files that a provider keeps: only its own protocol can read them. */
export type FileScheme = 'openai-file' | 'anthropic-file'

/** The link to a file that a provider keeps. */
export const fileLink = (scheme: FileScheme, id: string): string => `${scheme}:${id}`

/** The id of a file that the provider of this protocol keeps; undefined for other links. */
export const fileIdIn = (url: string, scheme: FileScheme): string | undefined =>
  url.startsWith(`${scheme}:`) ? url.slice(scheme.length + 1) : undefined

/** The text of a file that is text by nature. */
export const textIn = ({ data }: InlineFile): string => textFromBase64(data)

/** The bytes as a URL, for the protocols that take them as one. */
export const urlOf = (file: AttachedFile): string =>
  'url' in file ? file.url : `data:${file.mimeType};base64,${file.data}`

/** The usual ending of a type's file names, with its dot; empty for a type without one here. */
export const endingOf = (mimeType: string): string => {
  for (const [ending, type] of types) if (type === mimeType) return `.${ending}`
  return ''
}

type Content = { mimeType: string; data: string }

/** The content of a `data:` link. */
const inlineOf = ({ url, mimeType }: LinkPart): Content | undefined => {
  const comma = url.indexOf(',')
  if (comma < 0 || !/^data:/i.test(url)) return undefined
  const [type = '', ...parameters] = url.slice('data:'.length, comma).split(';')
  const content = url.slice(comma + 1)
  const isBase64 = parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64')
  const data = isBase64 ? content : toBase64(new TextEncoder().encode(unescaped(content)))
  return { mimeType: type || (mimeType ?? 'text/plain'), data }
}

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The bare type in its usual spelling; undefined for one that says nothing. */
const typeOf = (mimeType: string | undefined): string | undefined => {
  const bare = mimeType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (bare === '' || bare === 'application/octet-stream' || bare === 'binary/octet-stream') return undefined
  return spellings.get(bare) ?? bare
}

const spellings: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ['application/x-pdf', 'application/pdf'],
  ['audio/mp3', 'audio/mpeg'],
  ['audio/x-mp3', 'audio/mpeg'],
  ['audio/wave', 'audio/wav'],
  ['audio/x-wav', 'audio/wav'],
  ['audio/vnd.wave', 'audio/wav'],
  ['audio/x-m4a', 'audio/mp4'],
  ['audio/m4a', 'audio/mp4'],
  ['audio/x-flac', 'audio/flac'],
  ['audio/x-aiff', 'audio/aiff'],
])

/** Types that are text by nature. SVG is one: no API reads it as an image, and every model reads its markup. */
const textual =
  /^text\/|[+](json|xml|yaml)$|^application\/(json|jsonl|x-ndjson|xml|yaml|x-yaml|toml|sql|graphql|javascript|typescript|x-sh)$/

const kindOf = (mimeType: string): FileKind => {
  if (textual.test(mimeType)) return 'text'
  if (mimeType === 'application/pdf') return 'pdf'
  const family = mimeType.split('/', 1)[0]
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'other'
}

/** The path of an address, without its query: only that ends in the name of a file. */
const pathOf = (url: string): string =>
  url.split(/[?#]/, 1)[0]?.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '') ?? ''

const typeByName = (name: string | undefined): string | undefined => {
  const dot = name?.lastIndexOf('.') ?? -1
  return dot < 0 ? undefined : types.get(name?.slice(dot + 1).toLowerCase() ?? '')
}

/** Types by the ending of a name. The first ending of a type is the one that files of it are given. */
const types: ReadonlyMap<string, string> = new Map([
  ['pdf', 'application/pdf'],
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
  ['avif', 'image/avif'],
  ['bmp', 'image/bmp'],
  ['tif', 'image/tiff'],
  ['tiff', 'image/tiff'],
  ['svg', 'image/svg+xml'],
  ['txt', 'text/plain'],
  ['md', 'text/markdown'],
  ['csv', 'text/csv'],
  ['html', 'text/html'],
  ['htm', 'text/html'],
  ['json', 'application/json'],
  ['xml', 'application/xml'],
  ['yaml', 'application/yaml'],
  ['yml', 'application/yaml'],
  ['mp3', 'audio/mpeg'],
  ['wav', 'audio/wav'],
  ['m4a', 'audio/mp4'],
  ['ogg', 'audio/ogg'],
  ['flac', 'audio/flac'],
  ['aac', 'audio/aac'],
  ['mp4', 'video/mp4'],
  ['mov', 'video/quicktime'],
  ['webm', 'video/webm'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
  ['zip', 'application/zip'],
])
