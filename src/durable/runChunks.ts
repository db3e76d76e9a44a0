import type { AgentOutput } from '../../machines/agent/events.ts'
import { restartChunks } from '../../machines/model/receiveDeltas.ts'
import { isRun } from '../../machines/tools/pendingCalls.ts'
import { isJsonObject } from '../messages/json.ts'
import { isMessage } from '../messages/messageFlaw.ts'
import { type FinishReason, type PendingCall, waitReason } from '../messages/result.ts'
import type { DurableChunk, RunStatus } from './runs.ts'
import type { StreamTail } from './sqlite/StreamRows.ts'
import { contextsIn, messagesOf } from './standing.ts'

/** A chunk that says only this. */
export const chunkWith = (some: Partial<DurableChunk>): DurableChunk => ({
  id: '',
  output: '',
  messages: [],
  finishReason: 'unspecified',
  metadata: {},
  ...some,
})

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
export const restart = (): DurableChunk => chunkWith({ metadata: { restart: true } })

/** The state of a run, by its stored snapshot. */
export type Stand = {
  snapshot: unknown
  status: RunStatus
  pending: readonly PendingCall[]
  /** Messages that its chart did not show. */
  hidden: number
}

/**
 * What the readers of a run must still get before it continues: its process died after a step was stored, and before
 * what the step shows was. Readers discard the text of an answer that is requested again.
 */
export const missingChunks = (
  { snapshot, status, pending, hidden }: Stand,
  { told, isOpen }: StreamTail,
): DurableChunk[] => {
  const contexts = contextsIn(snapshot)
  const id = contexts.map(responseIdOf).find((each) => each !== '') ?? ''
  const messages = messagesOf(snapshot)
    .slice(told + hidden)
    .filter(isMessage)
  const shown = messages.map((message) => chunkWith({ id, messages: [message] }))
  if (status === 'waiting') return [...shown, waitChunk(pending)]
  if (status !== 'running') return [...shown, lastChunk(snapshot)]
  if (messages.length > 0 || !isOpen) return shown
  const run = contexts.find(isRun)
  return run
    ? restartChunks(run).map(({ output, metadata }) => chunkWith({ id, output, metadata }))
    : [restart()]
}

const lastChunk = (snapshot: unknown): DurableChunk => {
  const output = isJsonObject(snapshot) && isJsonObject(snapshot.output) ? snapshot.output : undefined
  // A run that broke has no output.
  if (!output) return endChunk('error')
  const { id, finishReason, rawFinishReason, usage } = output as Partial<AgentOutput>
  return chunkWith({
    ...(id !== undefined && { id }),
    finishReason: finishReason ?? 'error',
    ...(rawFinishReason !== undefined && { rawFinishReason }),
    ...(usage && { usage }),
  })
}

const responseIdOf = ({ totals }: Readonly<Record<string, unknown>>): string =>
  isJsonObject(totals) && typeof totals.responseId === 'string' ? totals.responseId : ''
