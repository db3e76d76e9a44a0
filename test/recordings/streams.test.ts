import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Agent, type ChatResult, StatewireError, toolCallsOf } from '../../src/index.ts'
import { sampled } from '../proof/sample.ts'
import {
  type Chunking,
  type Got,
  hasRecordings,
  loadReplayer,
  loadStreams,
  missingRecordings,
  protocols,
  providerOf,
  withOneMeaning,
} from './recordings.ts'

// Every recorded answer, byte for byte over a socket, gives what the provider's own SDK makes of it, however the
// bytes are cut into reads.

if (!hasRecordings) console.log(missingRecordings)

const gotFrom = (result: ChatResult, error?: unknown): Got => ({
  text: result.output,
  thinking: typeof result.metadata.thinking === 'string' ? result.metadata.thinking : '',
  toolCalls: result.messages.flatMap(toolCallsOf),
  finishReason: result.rawFinishReason ?? null,
  usage: result.usage ? { input: result.usage.inputTokens, output: result.usage.outputTokens } : null,
  responseId: result.id,
  error,
})

const ask = async (protocol: string, baseUrl: string): Promise<Got> => {
  const agent = new Agent(providerOf(protocol), {
    baseUrl,
    apiKey: 'key',
    maxSteps: 1,
    retry: { maxRetries: 0 },
  })
  try {
    return gotFrom(await agent.send('hi'))
  } catch (error) {
    if (!(error instanceof StatewireError) || !error.partial) throw error
    return gotFrom(error.partial, error.message)
  }
}

const chunkings: Chunking[] = ['whole', 'recorded', 'lines', 'random', 'bytes']
/** The cuts of the recording are tried with each of them, other cuts with some. */
const shareOf = (chunking: Chunking): number => (chunking === 'recorded' ? 1 : 0.25)

describe.skipIf(!hasRecordings).each(chunkings)('read as %s', (chunking) => {
  let server: Awaited<ReturnType<Awaited<ReturnType<typeof loadReplayer>>['serve']>>
  let compare: Awaited<ReturnType<typeof loadReplayer>>['compare']

  beforeAll(async () => {
    const replayer = await loadReplayer()
    server = await replayer.serve({ chunking, seed: 7 })
    compare = replayer.compare
  })
  afterAll(() => server.close())

  test.each(protocols)(
    '%s gives the expected results',
    async (protocol) => {
      const differences: unknown[] = []
      let count = 0
      for (const { recording, expected } of sampled(loadStreams(protocol), shareOf(chunking))) {
        // Single bytes take a read each: the larger recordings would take minutes.
        if (chunking === 'bytes' && recording.response.body.length > 3_000) continue
        count += 1
        const got = await ask(protocol, server.add(recording))
        const found = compare(withOneMeaning(recording, expected), got)
        if (found.length > 0) differences.push({ id: recording.id, found })
      }
      console.log(`${protocol}, ${chunking}: ${count - differences.length}/${count} recordings equal`)
      expect(differences).toEqual([])
    },
    120_000,
  )
})
