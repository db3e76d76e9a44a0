import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ollama } from '../../../providers/ollama/index.ts'
import type { WireEvent } from '../../../providers/protocol.ts'
import type { Delta, WireToolCall } from '../../../src/delta.ts'
import type { Usage } from '../../../src/result.ts'
import { target } from './target.ts'

const recordings = resolve(import.meta.dirname, '../../../../shared/recordings')
const isThere = existsSync(recordings)
if (!isThere) console.info(`Skipped: there are no recordings at ${recordings}`)

const read = (path: string) => JSON.parse(readFileSync(resolve(recordings, path), 'utf8'))

const eventsOf = (body: string): WireEvent[] => body.split('\n').map((data) => ({ data }))

/** What a whole stream adds up to, in the words of the recordings. */
const foldedFrom = (events: WireEvent[]) => {
  const decoder = ollama.decoder(target)
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

describe.skipIf(!isThere)('recorded ollama streams', () => {
  const files = isThere ? readdirSync(resolve(recordings, 'streams/ollama')) : []
  it.each(files)('%s decodes to what the SDK made of it', async (file) => {
    const { compare } = await import(pathToFileURL(resolve(recordings, 'serve.mjs')).href)
    const folded = foldedFrom(eventsOf(read(`streams/ollama/${file}`).response.body))
    expect(compare(read(`expected/ollama/${file}`), folded)).toEqual([])
  })

  const errors = isThere ? readdirSync(resolve(recordings, 'errors/ollama')) : []
  it.each(errors)('%s is read as an error', (file) => {
    const { body } = read(`errors/ollama/${file}`).response
    expect(ollama.error(JSON.parse(body))?.message).toMatch(/not found/)
  })
})
