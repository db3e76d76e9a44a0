import { ConfigurationError } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { DataPart, LinkPart, ToolResultPart } from '../../src/messages/messages.ts'
import type { Medium } from '../models/modelFacts.ts'
import {
  type AttachedFile,
  attachedFile,
  type FileKind,
  type FileScheme,
  fileIdIn,
  type InlineFile,
  type LinkedFile,
  textIn,
} from './attachedFile.ts'
import type { Target } from './protocol.ts'

/** The forms of one kind of file on a wire. A form that is missing is one that the API does not have. */
type AttachmentForm = {
  /** The formats that the API reads, such as `png`; all of them where this is left out. */
  formats?: readonly string[]
  inline?: (file: InlineFile) => JsonObject
  link?: (file: LinkedFile) => JsonObject
}

/** A protocol's table: how each kind of file is written. Text that came inline is read by every model. */
export type AttachmentForms = {
  text: (text: string) => JsonObject
  /** A text with a name; where this is left out, a text with its name above it. */
  textFile?: (text: string, name: string | undefined) => JsonObject
  textLink?: Omit<AttachmentForm, 'inline'>
  /** A file that the provider keeps, by its id. */
  stored?: { scheme: FileScheme; write: (id: string, kind: FileKind) => JsonObject | undefined }
} & Partial<Record<Exclude<FileKind, 'text'>, AttachmentForm>>

/** The texts that APIs fetch by their address, where they fetch texts at all. SVG is not among them. */
export const linkedTexts: readonly string[] = ['plain', 'markdown', 'csv', 'html', 'css', 'xml', 'json']

/** The image formats that nearly every API reads. */
export const webImages: readonly string[] = ['jpeg', 'png', 'gif', 'webp']

/** A user's attachment as a block of the protocol; a `ConfigurationError` where the model cannot read it. */
export const attachmentBlocks = (
  part: DataPart | LinkPart,
  target: Target,
  forms: AttachmentForms,
): JsonObject[] => {
  const file = attachedFile(part)
  if (isInlineText(file)) {
    const text = textIn(file)
    // Some providers refuse a blank text, and it means nothing to the others.
    return text.trim() === '' ? [] : [textBlock(text, file.name, forms)]
  }
  const { block, advice } = placed(file, target, forms)
  if (block) return [block]
  throw new ConfigurationError(`${target.provider}:${target.model} cannot read ${described(file)}. ${advice}`)
}

/** A file as a block of the protocol; undefined where the model cannot read it. */
export const readableBlock = (
  part: DataPart | LinkPart,
  target: Target,
  forms: AttachmentForms,
): JsonObject | undefined => {
  const file = attachedFile(part)
  if (!isInlineText(file)) return placed(file, target, forms).block
  return textBlock(textIn(file), file.name, forms)
}

/** A file that a model made, for models that can only see its name. */
export const mentioned = (part: DataPart | LinkPart): string =>
  `[attachment: ${part.name ?? (part.type === 'data' ? part.mimeType : part.url)}]`

/** The text of a tool's result, and its files that the model can read. */
type ResultContent = { text: string; media: JsonObject[] }

/**
 * A tool's result for the model. Nothing about it is an error, since a tool must never end a run: a file that the model
 * cannot read is named instead, and a link that it cannot follow is its address.
 */
export const resultContent = (
  { result, parts = [] }: ToolResultPart,
  target: Target,
  forms: AttachmentForms,
): ResultContent => {
  const texts = [result]
  const media: JsonObject[] = []
  for (const file of parts.map(attachedFile)) {
    const { block } = isInlineText(file) ? {} : placed(file, target, forms)
    if (block) media.push(block)
    else if (isInlineText(file)) texts.push(named(textIn(file), file.name))
    else texts.push('url' in file ? file.url : `[left out: ${described(file)}, which this model cannot read]`)
  }
  return { text: texts.filter((text) => text !== '').join('\n\n'), media }
}

/**
 * A tool's result for protocols whose results are text only: the text points at the files, and a user message right after
 * the results shows them.
 */
export const resultAndFollowUp = (
  part: ToolResultPart,
  target: Target,
  forms: AttachmentForms,
): { text: string; followUp: JsonObject[] } => {
  const { text, media } = resultContent(part, target, forms)
  if (media.length === 0) return { text, followUp: [] }
  const files = media.length === 1 ? '1 file' : `${media.length} files`
  const pointer = `[${files} of this result: see the next message]`
  return {
    text: text === '' ? pointer : `${text}\n\n${pointer}`,
    followUp: [forms.text(`[${files} of the result of ${part.name}]`), ...media],
  }
}

const textBlock = (
  text: string,
  name: string | undefined,
  { textFile, text: plain }: AttachmentForms,
): JsonObject => (textFile ? textFile(text, name) : plain(named(text, name)))

/** A text file with its name above it, so that two of them can be distinguished. */
const named = (text: string, name: string | undefined): string =>
  name === undefined ? text : `${name}:\n${text}`

const isInlineText = (file: AttachedFile): file is InlineFile => file.kind === 'text' && 'data' in file

/** A file as a block of the wire, or what the user could do instead. */
const placed = (
  file: AttachedFile,
  { profile: { attachments } }: Target,
  forms: AttachmentForms,
): { block: JsonObject; advice?: never } | { block?: never; advice: string } => {
  const { kind, mimeType } = file
  const stored = 'url' in file && forms.stored ? storedBlock(file, forms.stored) : undefined
  if (stored) return { block: stored }
  const form: AttachmentForm | undefined = kind === 'text' ? forms.textLink : forms[kind]
  if (kind !== 'text' && !form) return { advice: otherModel }
  const medium = mediumOf(kind)
  if (medium && !attachments[medium]) {
    return {
      advice: `${otherModel} If this one does, say so: profile: { attachments: { ${medium}: true } }.`,
    }
  }
  if (form?.formats && isExact(mimeType) && !form.formats.includes(formatOf(mimeType))) {
    return { advice: kind === 'text' ? fetchIt : `Convert it to ${choiceOf(form.formats)}.` }
  }
  if ('data' in file) {
    return form?.inline ? { block: form.inline(file) } : { advice: 'Send a link to it instead.' }
  }
  const isReachable = attachments.links && /^(https?|gs):/i.test(file.url)
  return form?.link && isReachable ? { block: form.link(file) } : { advice: fetchIt }
}

const storedBlock = (
  { url, kind }: LinkedFile,
  { scheme, write }: NonNullable<AttachmentForms['stored']>,
): JsonObject | undefined => {
  const id = fileIdIn(url, scheme)
  return id === undefined ? undefined : write(id, kind)
}

const fetchIt = 'Fetch it and attach its bytes with dataPart.'

const otherModel = 'Send its content as text, or choose a model that reads such files.'

/** The medium that a model must read to be shown a file; undefined where no model is known to differ. */
const mediumOf = (kind: FileKind): Medium | undefined => {
  if (kind === 'image') return 'images'
  return kind === 'text' || kind === 'other' ? undefined : kind
}

const choiceOf = (formats: readonly string[]): string =>
  formats
    .map((format) => format.toUpperCase())
    .join(', ')
    .replace(/, (?=[^,]*$)/, ' or ')

/** True for a type that names a format: `image/*` does not. */
export const isExact = (mimeType: string | undefined): mimeType is string =>
  mimeType !== undefined && !mimeType.endsWith('*')

/** `image/png` → `png`; the type of MP3 does not name it. */
export const formatOf = (mimeType: string): string =>
  mimeType === 'audio/mpeg' ? 'mp3' : mimeType.slice(mimeType.indexOf('/') + 1)

/** Names a file in an error: without the query of a link, which may hold a signature, and cut, since names may be long. */
const described = (file: AttachedFile): string => {
  const type = file.mimeType ?? 'unknown type'
  const text =
    'url' in file
      ? `the link ${file.url.split(/[?#]/, 1)[0]} (${type})`
      : `an attachment of type ${type}${file.name === undefined ? '' : ` (${file.name})`}`
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}
