import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { createParser } from 'eventsource-parser'
import { describe, expect, it } from 'vitest'
import { geminiProfile, google } from '../../../providers/google/index.ts'
import { userMessage } from '../../../src/messages/messages.ts'
import type { Usage } from '../../../src/messages/result.ts'
import { messageAccumulator, nothingAccumulated } from '../../../src/model/accumulator.ts'
import type { Delta, WireToolCall } from '../../../src/model/delta.ts'
import { withOneMeaning } from '../../recordings/recordings.ts'

// The recordings are not part of the project: they lie beside it, or nowhere.
const recordings = path.resolve(import.meta.dirname, '../../../../shared/recordings')
const streams = path.join(recordings, 'streams/google')
const present = existsSync(streams)
if (!present) console.info(`Skipped: there are no recordings at ${streams}`)

const target = { provider: 'google', model: 'gemini-3-flash', profile: geminiProfile('gemini-3-flash') }

/** Adds no signature of its own: some streams were recorded with Gemini 2.5, which does not sign every call. */
const asRecorded = { ...target, profile: { ...target.profile, demandsSignatures: false } }

const decode = (body: string): Delta[] => {
  const decoder = google.decoder(target)
  const deltas: Delta[] = []
  const parser = createParser({ onEvent: (event) => deltas.push(...decoder.push(event)) })
  parser.feed(body)
  parser.feed('\n\n')
  return [...deltas, ...decoder.end()]
}

const fold = (deltas: Delta[]) => {
  const toolCalls: WireToolCall[] = []
  let usage: Usage = {}
  let [text, thinking, responseId, finishReason, error] = ['', '', '', '', '']
  for (const delta of deltas) {
    if (delta.type === 'text') text += delta.text
    if (delta.type === 'thinking') thinking += delta.text
    if (delta.type === 'toolCall') toolCalls.push(delta.call)
    if (delta.type === 'usage') usage = { ...usage, ...delta.usage }
    if (delta.type === 'response') responseId = delta.id
    if (delta.type === 'finish') finishReason = delta.raw ?? ''
    if (delta.type === 'error') error = delta.error.message
  }
  const counts = { input: usage.inputTokens, output: usage.outputTokens }
  return { text, thinking, toolCalls, usage: counts, responseId, finishReason, error }
}

/** Every signed part anywhere in a JSON value: its keys and the signature. */
const signedParts = (json: unknown): string[] => {
  const found: string[] = []
  JSON.stringify(json, (_, value) => {
    if (value?.thoughtSignature) found.push(`${Object.keys(value).sort()} ${value.thoughtSignature}`)
    return value
  })
  return found
}

const read = (...file: string[]) => JSON.parse(readFileSync(path.join(recordings, ...file), 'utf8'))

describe.skipIf(!present)('recorded Gemini streams', async () => {
  const { compare } = present ? await import(pathToFileURL(path.join(recordings, 'serve.mjs')).href) : {}

  it.each(present ? readdirSync(streams) : [])('decodes %s as the official SDK does', (file) => {
    const recording = read('streams/google', file)
    const expected = withOneMeaning(recording, read('expected/google', file))
    expect(compare(expected, fold(decode(recording.response.body)))).toEqual([])
  })

  it.each(present ? readdirSync(streams) : [])(
    'sends the signatures of %s back on the same kinds of parts',
    (file) => {
      const body: string = read('streams/google', file).response.body
      const deltas = decode(body)
      const accumulated = messageAccumulator.accumulate(nothingAccumulated, deltas)
      const { parts } = messageAccumulator.consolidate(accumulated)
      const calls = accumulated.calls.map((call) => ({ type: 'toolCall' as const, ...call }))
      const message = { role: 'model' as const, parts: [...parts, ...calls], metadata: accumulated.opaque }
      const messages = [userMessage('hi'), message, userMessage('more')]
      expect(signedParts(google.request({ messages }, asRecorded).body.contents)).toEqual(
        signedParts(
          body
            .split(/\r?\n/)
            .flatMap((line) => (line.startsWith('data:') ? [JSON.parse(line.slice(5))] : [])),
        ),
      )
    },
  )

  it.each(present ? readdirSync(path.join(recordings, 'errors/google')) : [])(
    'reads the error of %s',
    (file) => {
      const body = JSON.parse(read('errors/google', file).response.body)
      expect(google.error(body)).toMatchObject({ message: body.error.message, code: body.error.status })
    },
  )
})
