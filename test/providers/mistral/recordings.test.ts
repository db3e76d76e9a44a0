import { describe, expect, it } from 'vitest'
import { mistral } from '../../../providers/mistral/index.ts'
import { plainProfile } from '../openai-chat/plainProfile.ts'
import {
  decodeAll,
  folded,
  framed,
  loadCompare,
  missingRecordings,
  recordedErrors,
  recordedStreams,
} from '../openai-chat/recordedStreams.ts'

if (missingRecordings) console.warn(`mistral recordings skipped: ${missingRecordings}`)

describe.skipIf(missingRecordings)('mistral recordings', async () => {
  const compare = await loadCompare()

  for (const { recording, expected } of recordedStreams('mistral')) {
    it(`reads ${recording.id} as the provider's own SDK does`, () => {
      const target = { provider: recording.provider, model: 'recorded', profile: plainProfile }
      const deltas = decodeAll(mistral.decoder(target), framed(recording.response.body))
      expect(compare(expected, folded(deltas))).toEqual([])
    })
  }

  for (const { id, body } of recordedErrors('mistral')) {
    it(`finds the message of ${id}`, () => {
      expect(mistral.error(body)?.message).toMatch(/\w{4}/)
    })
  }
})
