import { describe, expect, it } from 'vitest'
import { openaiChat } from '../../../providers/openai-chat/index.ts'
import { plainProfile } from './plainProfile.ts'
import {
  decodeAll,
  folded,
  framed,
  loadCompare,
  missingRecordings,
  recordedErrors,
  recordedStreams,
} from './recordedStreams.ts'

if (missingRecordings) console.warn(`openai-chat recordings skipped: ${missingRecordings}`)

describe.skipIf(missingRecordings)('openai-chat recordings', async () => {
  const compare = await loadCompare()

  for (const { recording, expected } of recordedStreams('openai-chat')) {
    it(`reads ${recording.id} as the provider's own SDK does`, () => {
      const target = { provider: recording.provider, model: 'recorded', profile: plainProfile }
      const deltas = decodeAll(openaiChat.decoder(target), framed(recording.response.body))
      expect(compare(expected, folded(deltas))).toEqual([])
    })
  }

  for (const { id, body } of recordedErrors('openai-chat')) {
    it(`finds the message of ${id}`, () => {
      expect(openaiChat.error(body)?.message).toMatch(/\w{4}/)
    })
  }
})
