import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { createParser } from 'eventsource-parser'
import type { Decoder, WireEvent } from '../../../providers/protocol.ts'
import type { Delta, WireToolCall } from '../../../src/delta.ts'
import type { Usage } from '../../../src/result.ts'

const root = path.resolve(import.meta.dirname, '../../../../shared/recordings')

type Recording = { id: string; provider: string; response: { body: string } }
type Compare = (expected: unknown, got: unknown) => unknown[]

/** Why there is nothing to compare with, or undefined. */
export const missingRecordings = existsSync(root) ? undefined : `no recordings at ${root}`

export const recordedStreams = (protocol: string): { recording: Recording; expected: unknown }[] => {
  if (missingRecordings) return []
  const folder = path.join(root, 'streams', protocol)
  return readdirSync(folder).map((file) => ({
    recording: JSON.parse(readFileSync(path.join(folder, file), 'utf8')),
    expected: JSON.parse(readFileSync(path.join(root, 'expected', protocol, file), 'utf8')),
  }))
}

export const loadCompare = async (): Promise<Compare> => {
  if (missingRecordings) return () => [missingRecordings]
  const module: { compare: Compare } = await import(pathToFileURL(path.join(root, 'serve.mjs')).href)
  return module.compare
}

export const recordedErrors = (protocol: string): { id: string; body: unknown }[] => {
  if (missingRecordings) return []
  const folder = path.join(root, 'errors', protocol)
  return readdirSync(folder).map((file) => {
    const recording: Recording = JSON.parse(readFileSync(path.join(folder, file), 'utf8'))
    return { id: recording.id, body: JSON.parse(recording.response.body) }
  })
}

export const framed = (body: string): WireEvent[] => {
  const events: WireEvent[] = []
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ event, data }) })
  parser.feed(body)
  parser.feed('\n\n')
  return events
}

export const decodeAll = (decoder: Decoder, events: readonly WireEvent[]): Delta[] => [
  ...events.flatMap((event) => decoder.push(event)),
  ...decoder.end(),
]

/** What a stream came to, in the recordings' terms. */
export const folded = (deltas: readonly Delta[]) => {
  let text = ''
  let thinking = ''
  let responseId: string | undefined
  let finishReason: string | undefined
  let error: unknown
  let usage: Usage = {}
  const toolCalls: WireToolCall[] = []
  for (const delta of deltas) {
    if (delta.type === 'text') text += delta.text
    if (delta.type === 'thinking') thinking += delta.text
    if (delta.type === 'toolCall') toolCalls.push(delta.call)
    if (delta.type === 'response') responseId = delta.id
    if (delta.type === 'usage') usage = { ...usage, ...delta.usage }
    if (delta.type === 'finish') finishReason = delta.raw
    if (delta.type === 'error') {
      error = delta.error
      finishReason = delta.raw
    }
  }
  const counts = { input: usage.inputTokens, output: usage.outputTokens }
  const details = { cached: usage.cachedInputTokens, reasoning: usage.reasoningTokens }
  return { text, thinking, toolCalls, finishReason, responseId, error, usage: { ...counts, ...details } }
}
