import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Agent, type Tool, tool, toolCallsOf, toolResultsOf, validateHistory } from '../../src/index.ts'
import {
  type ExpectedCall,
  hasRecordings,
  loadReplayer,
  loadStreams,
  missingRecordings,
  protocols,
  providerOf,
  type Recording,
} from './recordings.ts'
import { plainTypes, readRequest, tailOf } from './replayConversation.ts'
import { wireTools } from './wireItems.ts'

// Whatever calls a recorded answer makes, the next request answers every one of them, under the provider's id and in
// order: by the tools that were declared, and with an error where there is no such tool or the arguments are bad.

if (!hasRecordings) console.log(missingRecordings)

type Case = { id: string; recording: Recording; calls: ExpectedCall[] }

const withCalls = (protocol: string): Case[] =>
  loadStreams(protocol)
    .filter(({ expected }) => expected.toolCalls.length > 0 && !expected.error)
    .map(({ recording, expected }) => ({ id: recording.id, recording, calls: expected.toolCalls }))

const toolsOf = ({ request, protocol }: Recording): Tool[] =>
  wireTools(readRequest(protocol, request.body).body).map(({ name, description, schema }) =>
    tool({ name, description, input: { jsonSchema: plainTypes(schema) }, execute: () => 'done' }),
  )

const finalAnswer = (protocol: string): Recording | undefined =>
  loadStreams(protocol).find(
    ({ expected }) => expected.toolCalls.length === 0 && expected.text !== '' && !expected.error,
  )?.recording

describe.skipIf(!hasRecordings).each(protocols)('%s', (protocol) => {
  let server: Awaited<ReturnType<Awaited<ReturnType<typeof loadReplayer>>['serve']>>
  beforeAll(async () => {
    server = await (await loadReplayer()).serve({ chunking: 'whole' })
  })
  afterAll(() => server.close())

  const last = hasRecordings ? finalAnswer(protocol) : undefined

  test.each(hasRecordings ? withCalls(protocol) : [])('$id', async ({ id, recording, calls }) => {
    if (!last) throw new Error('There is no answer to end with.')
    const conversation = { id, protocol, provider: recording.provider, exchanges: [recording, last] }
    const { base, requests } = server.conversation(conversation)
    const agent = new Agent(providerOf(protocol), { baseUrl: base, apiKey: 'key', tools: toolsOf(recording) })
    const { messages } = await agent.send('hi')

    expect(requests).toHaveLength(2)
    expect(validateHistory(messages)).toEqual([])
    expect(messages.flatMap(toolResultsOf)).toHaveLength(calls.length)
    expect(messages.flatMap(toolCallsOf).map(({ name }) => name)).toEqual(calls.map(({ name }) => name))
    const { items } = readRequest(protocol, JSON.parse(requests[1]?.body ?? '{}'))
    const answers = tailOf(items).filter((item) => item.kind === 'result')
    expect(answers).toHaveLength(calls.length)
    const ids = calls.map((call) => call.id)
    // An id that was given twice, or not at all, is one of ours.
    const isSound = ids.every(Boolean) && new Set(ids).size === ids.length
    if (isSound && protocol !== 'google') expect(answers.map((answer) => answer.id)).toEqual(ids)
  })
})
