import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createParser } from 'eventsource-parser'
import { describe, expect, it } from 'vitest'
import { anthropic, anthropicProfile } from '../../../providers/anthropic/index.ts'
import { userMessage } from '../../../src/messages/messages.ts'
import type { Usage } from '../../../src/messages/result.ts'
import type { Delta } from '../../../src/model/delta.ts'
import { withOneMeaning } from '../../recordings/recordings.ts'
import { bodyOf, messageOf } from './wire.ts'

const folder = resolve(import.meta.dirname, '../../../../shared/recordings')
const isHere = existsSync(folder)
if (!isHere) console.info(`skipped: no recordings at ${folder}`)

const filesIn = (path: string): string[] => (isHere ? readdirSync(resolve(folder, path)) : [])
const read = (path: string) => JSON.parse(readFileSync(resolve(folder, path), 'utf8'))

const decode = (body: string): Delta[] => {
  const decoder = anthropic.decoder({
    provider: 'anthropic',
    model: 'claude',
    profile: anthropicProfile('claude'),
  })
  const deltas: Delta[] = []
  const parser = createParser({
    onEvent: (event) => deltas.push(...decoder.push({ event: event.event, data: event.data })),
  })
  parser.feed(`${body}\n\n`)
  return [...deltas, ...decoder.end()]
}

const fold = (deltas: Delta[]) => {
  const usage: Usage = {}
  const got = { text: '', thinking: '', toolCalls: [] as object[], usage: {} as object }
  const rest: { finishReason?: string; responseId?: string; error?: object } = {}
  for (const delta of deltas) {
    if (delta.type === 'text') got.text += delta.text
    else if (delta.type === 'thinking') got.thinking += delta.text
    else if (delta.type === 'toolCall') got.toolCalls.push(delta.call)
    else if (delta.type === 'usage') Object.assign(usage, delta.usage)
    else if (delta.type === 'response') rest.responseId = delta.id
    else if (delta.type === 'error') rest.error = delta.error
    else if (delta.type === 'finish' && delta.raw !== undefined) rest.finishReason = delta.raw
  }
  return { ...got, ...rest, usage: { input: usage.inputTokens, output: usage.outputTokens } }
}

describe.skipIf(!isHere)('recorded Messages streams', () => {
  for (const file of filesIn('streams/anthropic')) {
    it(`reads ${file} as the official SDK does`, async () => {
      const { compare } = await import(pathToFileURL(resolve(folder, 'serve.mjs')).href)
      const recording = read(`streams/anthropic/${file}`)
      const deltas = decode(recording.response.body)
      const expected = withOneMeaning(recording, read(`expected/anthropic/${file}`))
      expect(compare(expected, fold(deltas))).toEqual([])
      expect(['finish', 'error']).toContain(deltas.at(-1)?.type)
    })
  }

  for (const file of filesIn('errors/anthropic')) {
    it(`reads the error of ${file}`, () => {
      const body = JSON.parse(read(`errors/anthropic/${file}`).response.body)
      expect(anthropic.error(body)).toMatchObject({
        message: body.error.message,
        code: body.error.type,
        ...(body.request_id && { requestId: body.request_id }),
      })
    })
  }

  const conversations = filesIn('conversations').map((file) => read(`conversations/${file}`))
  for (const { id, exchanges } of conversations.filter(({ protocol }) => protocol === 'anthropic')) {
    it(`answers like the recorded client in ${id}`, () => {
      const [first, second] = exchanges
      const answer = messageOf(decode(first.response.body))
      const [, recorded, results] = second.request.body.messages
      const history = [
        userMessage('hi'),
        answer,
        userMessage(
          results.content.map((block: { tool_use_id: string; content: string }) => ({
            type: 'toolResult',
            id: block.tool_use_id,
            name: 'any',
            result: block.content,
          })),
        ),
      ]
      const [, assistant, user] = bodyOf({ messages: history }).messages as { content: object[] }[]
      const isSaid = ({ text }: { text?: string }) => text?.trim() !== ''
      expect(assistant?.content).toMatchObject(recorded.content.filter(isSaid))
      expect(user?.content).toHaveLength(results.content.length)
    })
  }
})
