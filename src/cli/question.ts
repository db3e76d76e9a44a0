import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { describeThrown } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import { type ChatMessage, dataPart, linkPart, type Part, textPart } from '../messages/messages.ts'
import { compileSchema } from '../tools/schema.ts'
import { type Invocation, listOption, textOption } from './command.ts'
import { lastConversation } from './history.ts'
import { splitFile } from './moduleFile.ts'
import { UsageError } from './outcome.ts'

/** A prompt, everything that goes with it, and the agent that gets it. */
export type Question = {
  /** The file whose agent is asked. */
  file: string | undefined
  prompt: string
  attachments: Part[]
  /** The conversation that `--continue` continues. */
  history: ChatMessage[]
  /** The shape of the answer. */
  schema: { jsonSchema: JsonObject } | undefined
}

/** Reads and checks what was typed and piped in, before a model is asked. */
export const questionOf = async (invocation: Invocation, otherwise = ''): Promise<Question> => {
  const { file, words } = splitFile(invocation.words)
  const [attachments, schema] = await Promise.all([attachmentsOf(invocation), answerSchema(invocation)])
  const prompt = await promptOf({ ...invocation, words }, file === undefined ? otherwise : '')
  const history = invocation.values.continue === true ? lastConversation(invocation.env) : []
  return { file, prompt, attachments, history, schema }
}

/** The words on the command line, and below them what is piped in. A dash at the end waits for the pipe without a limit. */
export const promptOf = async (invocation: Invocation, otherwise = ''): Promise<string> => {
  const { words, stdin } = invocation
  const hasDash = words.at(-1) === '-'
  const typed = (hasDash ? words.slice(0, -1) : words).join(' ').trim()
  if (typed === '' && !hasDash) {
    if (otherwise !== '') return otherwise
    if (stdin.isTTY) throw new UsageError('A prompt is needed: write it after the command, or pipe it in.')
  }
  const piped = hasDash || typed === '' ? await pipedText(stdin) : await pipedBeside(invocation)
  const prompt = [typed, piped].filter((text) => text !== '').join('\n\n')
  if (prompt === '') throw new UsageError('The prompt is empty. Write it last, in quotes.')
  return prompt
}

/** Programs that start this one often leave an empty pipe open. */
const patienceMs = 3000

const pipedBeside = async ({ stdin, screen }: Invocation): Promise<string> => {
  if (stdin.isTTY) return ''
  if (await hasText(stdin)) return pipedText(stdin)
  stdin.destroy()
  screen.note(
    screen.notePaint.dim(
      'Nothing came from stdin within 3 s: continuing without it. A - at the end waits for it.',
    ),
  )
  return ''
}

const mostPipedBytes = 16 * 1024 * 1024

/** Everything that comes from a pipe, up to its end. */
const pipedText = async (input: NodeJS.ReadableStream): Promise<string> => {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of input) {
    const bytes = Buffer.from(part)
    size += bytes.length
    if (size > mostPipedBytes)
      throw new UsageError(
        `More than ${mostPipedBytes / 1024 / 1024} MB came from stdin. No model reads that much.`,
      )
    parts.push(bytes)
  }
  return Buffer.concat(parts).toString('utf8').trim()
}

/** Resolves with true if something can be read in time, even if it is only the end. */
const hasText = async (input: NodeJS.ReadableStream): Promise<boolean> => {
  try {
    await once(input, 'readable', { signal: AbortSignal.timeout(patienceMs) })
    return true
  } catch {
    return false
  }
}

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

/** The attachments of the prompt: each `--attach` is a file or a URL. */
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

/** The shape of the answer: `--schema` is a file with a JSON Schema, or the JSON itself. */
const answerSchema = async (invocation: Invocation): Promise<{ jsonSchema: JsonObject } | undefined> => {
  const wanted = textOption(invocation, 'schema')
  if (wanted === undefined) return undefined
  const isJson = wanted.trimStart().startsWith('{')
  // A decoder leaves out the mark that editors on Windows put at the beginning.
  const text = isJson ? wanted : new TextDecoder().decode(await fileOfOption('schema', wanted))
  try {
    const jsonSchema: unknown = JSON.parse(text)
    if (!isJsonObject(jsonSchema)) throw new Error('a JSON Schema is an object.')
    compileSchema({ jsonSchema }, 'The schema')
    return { jsonSchema }
  } catch (error) {
    throw new UsageError(`--schema${isJson ? '' : ` ${wanted}`} cannot be used: ${describeThrown(error)}`)
  }
}

const mostFileBytes = 20 * 1024 * 1024

/** A file that an option names. */
const fileOfOption = async (option: string, path: string): Promise<Buffer> => {
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile()) throw new UsageError(`--${option}: there is no file ${path}.`)
  if (found.size > mostFileBytes)
    throw new UsageError(`--${option}: ${path} is larger than ${mostFileBytes / 1024 / 1024} MB.`)
  return readFile(path).catch((error: unknown) => {
    throw new UsageError(`--${option}: ${path} cannot be read: ${describeThrown(error)}`)
  })
}
