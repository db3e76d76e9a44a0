import { writeFile } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import type { MediaOptions } from '../../../providers/provider.ts'
import { Agent } from '../../agent/Agent.ts'
import { fromBase64 } from '../../messages/base64.ts'
import { describeThrown } from '../../messages/errors.ts'
import type { DataPart, LinkPart } from '../../messages/messages.ts'
import { chooseMaker } from '../chooseModel.ts'
import { type Command, type Invocation, modelOptions, textOption } from '../command.ts'
import { exit, onInterrupt, UsageError } from '../outcome.ts'
import { attachmentsOf, promptOf } from '../question.ts'

export const generate: Command = {
  name: 'generate',
  summary: 'Makes an image',
  operands: '[prompt]',
  options: {
    model: { ...modelOptions.model, about: 'provider, or provider:image-model' },
    'base-url': modelOptions['base-url'],
    attach: { ...modelOptions.attach, about: 'an image to change' },
    out: { type: 'string', short: 'o', value: 'path', about: 'the file: .png, .jpg or .webp' },
    quiet: { type: 'boolean', short: 'q', about: 'nothing on stderr but errors' },
  },
  details: [
    'OpenAI, Google and xAI make images. The ending of --out says which type you',
    'want; a model may make another one, and the note says so. More than one image',
    'is numbered: cat.png, cat-2.png. Without --out the bytes go to a pipe.',
  ],
  run: async (invocation) => {
    const { screen, values } = invocation
    const out = textOption(invocation, 'out')
    if (out === undefined && screen.isTerminal)
      throw new UsageError('A terminal cannot show an image: name a file with --out.')
    const prompt = await promptOf(invocation)
    const { model, options, said } = await chooseMaker(invocation, 'media')
    const note = (line: string) => {
      if (values.quiet !== true) screen.note(screen.notePaint.dim(line))
    }
    note(`Model: ${said}`)
    const stop = new AbortController()
    const restore = onInterrupt(() => stop.abort())
    try {
      const wish = await wishOf(invocation, out)
      const { media } = await new Agent(model, options).generateMedia(prompt, {
        ...wish,
        signal: stop.signal,
      })
      for (const [nth, part] of media.entries()) await keep(part, { nth, out, screen, note })
      return exit.complete
    } finally {
      restore()
    }
  },
}

const wishOf = async (invocation: Invocation, out: string | undefined): Promise<MediaOptions> => {
  const attached = await attachmentsOf(invocation)
  const images = attached.filter((part) => part.type === 'data' || part.type === 'link')
  if (images.length < attached.length) throw new UsageError('--attach takes images here.')
  const mimeType = out === undefined ? undefined : typeOf(out)
  return { ...(images.length > 0 && { attachments: images }), ...(mimeType && { mimeTypes: [mimeType] }) }
}

const endings: Record<string, string> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
}

const typeOf = (out: string): string => {
  const mimeType = endings[extname(out).toLowerCase()]
  if (mimeType) return mimeType
  throw new UsageError(`--out: ${out} should end in ${Object.keys(endings).join(', ')}.`)
}

type Place = Pick<Invocation, 'screen'> & {
  nth: number
  out: string | undefined
  note: (line: string) => void
}

/** Writes an image, or the address of one that the provider keeps. */
const keep = async (part: DataPart | LinkPart, { nth, out, screen, note }: Place): Promise<void> => {
  if (part.type === 'link') {
    screen.line(part.url)
    return
  }
  const bytes = fromBase64(part.data)
  if (out === undefined) {
    screen.bytes(bytes)
    return
  }
  const path = numbered(out, nth)
  await writeFile(path, bytes).catch((error: unknown) => {
    throw new UsageError(`${path} cannot be written: ${describeThrown(error)}`)
  })
  const isOther = part.mimeType !== typeOf(out)
  note(`${path} is written${isOther ? `; it is of the type ${part.mimeType}` : ''}.`)
}

const numbered = (out: string, nth: number): string => {
  if (nth === 0) return out
  const ending = extname(out)
  return join(dirname(out), `${basename(out, ending)}-${nth + 1}${ending}`)
}
