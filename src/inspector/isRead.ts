import type { AnyEventObject } from 'xstate'

/** A piece of a streamed answer: of the model's to the agent, or of an agent's to the orchestrator it works for. */
export const isRead = (event: AnyEventObject): boolean =>
  event.type === 'model.deltas' ||
  (event.type === 'run.emitted' && Array.isArray(event.emitted) && event.emitted.every(isPiece))

const isPiece = (emitted: { type?: unknown; messages?: unknown } | undefined): boolean =>
  emitted?.type === 'tool.delta' ||
  (emitted?.type === 'chunk' && Array.isArray(emitted.messages) && emitted.messages.length === 0)
