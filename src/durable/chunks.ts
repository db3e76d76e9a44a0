import type { AgentEmitted } from '../../machines/agent/events.ts'
import { type FinishReason, type PendingCall, waitReason } from '../messages/result.ts'
import type { DurableChunk } from './runs.ts'

/** Fills in the missing fields of a chunk, as in a chunk that shows nothing. */
export const chunkWith = (some: Partial<DurableChunk>): DurableChunk => ({
  id: '',
  output: '',
  messages: [],
  finishReason: 'unspecified',
  metadata: {},
  ...some,
})

/** An emitted chunk as it is stored: decisions go through `runs.send`, so it has no snapshot. */
export const durableChunk = (emitted: Extract<AgentEmitted, { type: 'chunk' }>): DurableChunk => {
  const { type: _, pendingApproval: __, ...chunk } = emitted
  return chunkWith(chunk)
}

/** The chunk that shows readers what a run waits for. */
export const waitChunk = (calls: readonly PendingCall[]): DurableChunk => {
  const [first, ...rest] = calls
  return chunkWith({
    finishReason: waitReason(calls),
    ...(first && { pendingApproval: { calls: [first, ...rest] } }),
  })
}

/** The last chunk of a run that did not end by itself. */
export const endChunk = (finishReason: FinishReason): DurableChunk => chunkWith({ finishReason })

/** Asks a reader to discard the text since the last message. */
export const restartChunk = (): DurableChunk => chunkWith({ metadata: { restart: true } })
