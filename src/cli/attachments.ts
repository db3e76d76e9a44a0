import { basename, extname } from 'node:path'
import { dataPart, linkPart, type Part, textPart } from '../messages/messages.ts'
import { type Invocation, listOption } from './command.ts'
import { UsageError } from './exit.ts'
import { fileOfOption } from './fileOfOption.ts'

const mimeTypes: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.pdf': 'application/pdf',
  '.mp3': 'audio/mpeg',
  '.wav': 'audio/wav',
  '.mp4': 'video/mp4',
}

/** What goes with the prompt: each `--attach` is a file or a URL. */
export const attachmentsOf = (invocation: Invocation): Promise<Part[]> =>
  Promise.all(listOption(invocation, 'attach').map(attachment))

const attachment = async (wanted: string): Promise<Part> => {
  if (/^https?:\/\//i.test(wanted)) return linkPart(wanted, mimeTypeOf(new URL(wanted).pathname))
  const bytes = await fileOfOption('attach', wanted)
  const name = basename(wanted)
  const mimeType = mimeTypeOf(wanted)
  if (mimeType !== undefined) return dataPart(mimeType, bytes, name)
  // Every model reads other text files as part of the prompt.
  return textPart(`${name}:\n\n${textIn(bytes, wanted)}`)
}

const mimeTypeOf = (path: string): string | undefined => mimeTypes[extname(path).toLowerCase()]

const textIn = (bytes: Buffer, path: string): string => {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (!text.includes('\0')) return text
  } catch {}
  const known = Object.keys(mimeTypes).join(' ')
  throw new UsageError(`--attach: ${path} is not a text file, and not one of ${known}`)
}
