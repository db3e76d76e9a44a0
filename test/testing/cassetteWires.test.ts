import { LLMock } from '@copilotkit/aimock'
import { describe, expect, test, vi } from 'vitest'
import { Agent, type AgentOptions, type ChatMessage } from '../../src/index.ts'
import { type Cassette, cassette } from '../../src/testing/index.ts'
import { agentAt, places, startMock, weatherTool } from '../aimock/mockServer.ts'
import { calling, eventStreamType, saying, streamOf } from '../clouds/eventStream.ts'
import { loopback } from '../loopback.ts'
import { exchangesOn, noNetwork, tapePath, textOfTape } from './tapePath.ts'

// Whatever a provider speaks: recorded over a socket, it is replayed with the server gone and without a key.

/** The ids that are made here differ from run to run; the providers' own do not. */
const withoutOwnIds = (messages: readonly ChatMessage[]): unknown =>
  JSON.parse(JSON.stringify(messages).replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/g, 'id'))

const partsOfStream = async (agent: Agent, prompt: string): Promise<unknown[]> => {
  const chunks: unknown[] = []
  for await (const { output, finishReason, usage, metadata } of agent.sendStream(prompt))
    chunks.push({ output, finishReason, usage, metadata })
  return chunks
}

describe.each(places)('$provider', (place) => {
  test('replays a tool round without its server', async () => {
    const mock = new LLMock({ port: 0, strict: true, auth: { apiKeys: ['test-key'] } })
    await mock.start()
    const baseUrl = `${mock.url}${place.path}`
    const path = tapePath()
    mock.on({ hasToolResult: true }, { content: 'Warm in both: 21 °C. 🌞' })
    const call = (city: string, id: string) => ({ name: 'get_weather', arguments: { city }, id })
    mock.on(
      { userMessage: 'Weather?', hasToolResult: false },
      { toolCalls: [call('Oslo', 'call_oslo'), call('Rome', 'call_rome')] },
    )
    const options = (fetch: Cassette): AgentOptions => ({
      tools: [weatherTool().weather],
      connection: { fetch },
    })

    const recording = cassette(path, { mode: 'record' })
    const recorded = await agentAt(mock, place, options(recording)).send('Weather?')
    await recording.done()
    await mock.stop()
    expect(textOfTape(path)).not.toMatch(/test-key|authorization|api-key/i)
    expect(exchangesOn(path).map(({ end }) => end.how)).toEqual(['complete', 'complete'])

    noNetwork()
    const replay = cassette(path)
    expect(replay.isReplay).toBe(true)
    const replayed = await new Agent(place.provider, { baseUrl, ...options(replay) }).send('Weather?')
    expect(withoutOwnIds(replayed.messages)).toEqual(withoutOwnIds(recorded.messages))
    expect(replayed.usage).toEqual(recorded.usage)
    await replay.done()
  })

  test('replays a text chunk by chunk', async () => {
    const mock = await startMock()
    const path = tapePath()
    const content = 'Oslo lies at the end of a fjord: 🇳🇴, “quotes”, \\ and \n lines.'
    mock.onMessage('Where?', { content }, { chunkSize: 3, latency: 2 })
    const recording = cassette(path, { mode: 'record' })
    const recorded = await partsOfStream(agentAt(mock, place, { connection: { fetch: recording } }), 'Where?')
    await recording.done()
    const [{ reads } = { reads: [] }] = exchangesOn(path)
    expect(reads.length).toBeGreaterThan(3)

    noNetwork()
    const replay = cassette(path)
    expect(await partsOfStream(agentAt(mock, place, { connection: { fetch: replay } }), 'Where?')).toEqual(
      recorded,
    )
  })
})

test('bedrock: frames are kept as bytes, and replayed without credentials', async () => {
  const server = await loopback((_, nth) => ({
    headers: eventStreamType,
    body: streamOf(nth === 0 ? calling('get_weather', { city: 'Oslo' }) : saying('Warm.')),
  }))
  vi.stubEnv('AWS_REGION', undefined)
  const path = tapePath()
  const credentials = {
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  }
  const ask = (options: AgentOptions) =>
    new Agent('bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0', {
      baseUrl: server.url.replace('127.0.0.1', 'localhost'),
      tools: [weatherTool().weather],
      ...options,
    }).send('Weather?')

  vi.stubEnv('AWS_REGION', 'eu-central-1')
  const recording = cassette(path, { mode: 'record' })
  const recorded = await ask({ apiKey: credentials, connection: { fetch: recording } })
  await recording.done()
  vi.unstubAllEnvs()
  expect(recorded.output).toBe('Warm.')
  expect(textOfTape(path)).not.toMatch(/AKID|wJalr|signature/i)
  expect(exchangesOn(path)[0]?.reads[0]).toHaveProperty('base64')

  noNetwork()
  const replayed = await ask({ connection: { fetch: cassette(path, { mode: 'replay' }) } })
  expect(replayed.messages).toEqual(recorded.messages)
})

test('embeddings are recorded as well', async () => {
  const server = await loopback(() => ({ body: { data: [{ index: 0, embedding: [1, 2, 3] }] } }))
  const path = tapePath()
  const recording = cassette(path, { mode: 'record' })
  const agent = (fetch: Cassette) =>
    new Agent('openai?embeddings=text-embedding-3-small', {
      baseUrl: server.url,
      connection: { fetch },
    })
  expect(await agent(recording).embedQuery('Oslo')).toMatchObject({ embeddings: [1, 2, 3] })
  await recording.done()
  noNetwork()
  expect(await agent(cassette(path)).embedQuery('Oslo')).toMatchObject({ embeddings: [1, 2, 3] })
  await expect(agent(cassette(path)).embedQuery('Rome')).rejects.toThrow('recorded "Oslo", now "Rome"')
})
