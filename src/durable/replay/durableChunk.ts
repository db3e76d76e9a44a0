import type { AgentEmitted } from '../../../machines/agent/events.ts'
import type { DurableChunk } from '../runs.ts'

/** A chunk as it is stored: what a run waits for is decided on with `runs.send`, so no snapshot goes with it. */
export const durableChunk = (emitted: Extract<AgentEmitted, { type: 'chunk' }>): DurableChunk => {
  const { type: _, pendingApproval: __, ...chunk } = emitted
  return chunk
}
