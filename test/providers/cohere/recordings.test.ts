import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createParser } from 'eventsource-parser'
import { describe, expect, it } from 'vitest'
import { cohere } from '../../../providers/cohere/index.ts'
import type { WireEvent } from '../../../providers/wire/protocol.ts'
import type { Usage } from '../../../src/messages/result.ts'
import type { Delta, WireToolCall } from '../../../src/model/delta.ts'
import { target } from './target.ts'

const recordings = resolve(import.meta.dirname, '../../../../shared/recordings')
const isThere = existsSync(recordings)
if (!isThere) console.info(`Skipped: there are no recordings at ${recordings}`)

const read = (path: string) => JSON.parse(readFileSync(resolve(recordings, path), 'utf8'))

const eventsOf = (body: string): WireEvent[] => {
  const events: WireEvent[] = []
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ event, data }) })
  parser.feed(body)
  parser.feed('\n\n')
  return events
}

/** The sum of a whole stream, in the words of the recordings. */
const foldedFrom = (events: WireEvent[]) => {
  const decoder = cohere.decoder(target)
  const deltas: Delta[] = [...events.flatMap((event) => decoder.push(event)), ...decoder.end()]
  const folded = { text: '', thinking: '', responseId: '', toolCalls: [] as WireToolCall[] }
  let usage: Usage = {}
  let finishReason: string | undefined
  let error: string | undefined
  for (const delta of deltas) {
    if (delta.type === 'text') folded.text += delta.text
    else if (delta.type === 'thinking') folded.thinking += delta.text
    else if (delta.type === 'response') folded.responseId = delta.id
    else if (delta.type === 'toolCall') folded.toolCalls.push(delta.call)
    else if (delta.type === 'usage') usage = { ...usage, ...delta.usage }
    else if (delta.type === 'finish') finishReason = delta.raw
    else if (delta.type === 'error') {
      error = delta.error.message
      finishReason = delta.raw
    }
  }
  const counts = { input: usage.inputTokens, output: usage.outputTokens }
  return { ...folded, usage: counts, finishReason, error }
}

describe.skipIf(!isThere)('recorded cohere streams', () => {
  const files = isThere ? readdirSync(resolve(recordings, 'streams/cohere')) : []
  it.each(files)('%s decodes to what the SDK made of it', async (file) => {
    const { compare } = await import(pathToFileURL(resolve(recordings, 'serve.mjs')).href)
    const folded = foldedFrom(eventsOf(read(`streams/cohere/${file}`).response.body))
    expect(compare(read(`expected/cohere/${file}`), folded)).toEqual([])
  })

  it('shows every plan and every citation of the recordings', () => {
    for (const file of files) {
      const decoder = cohere.decoder(target)
      const events = eventsOf(read(`streams/cohere/${file}`).response.body)
      const shown = events
        .flatMap((event) => decoder.push(event))
        .flatMap((delta) => (delta.type === 'metadata' ? [delta.metadata] : []))
      const { toolPlan = [], citations = 0 } = read(`expected/cohere/${file}`)
      expect(shown.flatMap((metadata) => metadata.toolPlan ?? [])).toEqual([toolPlan].flat())
      expect(shown.flatMap((metadata) => metadata.citations ?? [])).toHaveLength(citations)
    }
  })

  const errors = isThere ? readdirSync(resolve(recordings, 'errors/cohere')) : []
  it.each(errors)('%s is read as an error', (file) => {
    const { body } = read(`errors/cohere/${file}`).response
    expect(cohere.error(JSON.parse(body))?.message).toMatch(/not found/)
  })
})
