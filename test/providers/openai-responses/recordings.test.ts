import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { createParser } from 'eventsource-parser'
import { describe, expect, it } from 'vitest'
import type { OpenAIResponsesProfile } from '../../../providers/openai-responses/index.ts'
import { openaiResponses } from '../../../providers/openai-responses/index.ts'
import type { WireEvent } from '../../../providers/wire/protocol.ts'
import type { Delta } from '../../../src/model/delta.ts'

const recordings = path.resolve(import.meta.dirname, '../../../../shared/recordings')
const profile: OpenAIResponsesProfile = {
  tools: true,
  parallelTools: true,
  nativeSchema: true,
  schemaWithTools: true,
  thinking: true,
  attachments: { images: true, pdf: true, audio: false, links: true },
}

type Stream = { id: string; response: { body: string } }
type Expected = { error?: unknown; toolCalls: { id: string | null }[] }

const read = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8'))

const eventsOf = (body: string): WireEvent[] => {
  const events: WireEvent[] = []
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ event, data }) })
  parser.feed(body)
  parser.feed('\n\n')
  return events
}

const decode = (body: string): Delta[] => {
  const decoder = openaiResponses.decoder({ provider: 'test', model: 'test', profile })
  return [...eventsOf(body).flatMap((event) => decoder.push(event)), ...decoder.end()]
}

const fold = (deltas: readonly Delta[]) => {
  const of = <T extends Delta['type']>(type: T) =>
    deltas.filter((delta): delta is Extract<Delta, { type: T }> => delta.type === type)
  const usage = Object.assign({}, ...of('usage').map((delta) => delta.usage))
  return {
    text: withoutGaps(
      of('text')
        .map((delta) => delta.text)
        .join(''),
      of('metadata').flatMap(({ metadata }) => metadata.commentary ?? []),
    ),
    thinking: of('thinking')
      .map((delta) => delta.text)
      .join(''),
    toolCalls: of('toolCall').map((delta) => delta.call),
    finishReason: of('finish')[0]?.raw,
    usage: { input: usage.inputTokens, output: usage.outputTokens },
    responseId: of('response')[0]?.id,
    error: of('error')[0]?.error,
  }
}

/** The recordings have commentary and answer in one; a decoder puts a gap between them. */
const withoutGaps = (text: string, commentary: readonly unknown[]): string =>
  commentary.reduce((rest: string, remark) => rest.replace(`${remark}\n\n`, `${remark}`), text)

const fields = ['text', 'thinking', 'toolCalls', 'usage', 'responseId', 'error']

describe.skipIf(!existsSync(recordings))(
  'reads recorded streams (skipped without ../shared/recordings)',
  async () => {
    if (!existsSync(recordings)) {
      console.info(`No recordings at ${recordings}: nothing to compare with.`)
      return
    }
    const { compare } = await import(pathToFileURL(path.join(recordings, 'serve.mjs')).href)
    const folder = path.join(recordings, 'streams', openaiResponses.name)
    for (const file of readdirSync(folder)) {
      it(file.replace('.json', ''), () => {
        const stream = read<Stream>(path.join(folder, file))
        const reading = read<Expected>(path.join(recordings, 'expected', openaiResponses.name, file))
        // The search on X of xAI makes calls itself.
        const toolCalls = reading.toolCalls.filter(({ id }) => !id?.startsWith('xs_'))
        const expected = { ...reading, toolCalls }
        const deltas = decode(stream.response.body)
        // An error delta ends a stream without a finish, so there is no word to compare.
        const compared = expected.error ? fields : [...fields, 'finishReason']
        expect(compare(expected, fold(deltas), { fields: compared })).toEqual([])
        expect(deltas.at(-1)?.type).toBe(expected.error ? 'error' : 'finish')
      })
    }

    const errors = path.join(recordings, 'errors', openaiResponses.name)
    for (const file of readdirSync(errors)) {
      it(`error body: ${file.replace('.json', '')}`, () => {
        const body = JSON.parse(read<Stream>(path.join(errors, file)).response.body)
        expect(openaiResponses.error(body)).toEqual({ message: body.error.message, code: body.error.code })
      })
    }
  },
)
