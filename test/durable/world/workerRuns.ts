import type { AgentCommand } from '../../../machines/agent/events.ts'
import type { DurableChunk, DurableResult, RunInfo, RunStatus } from '../../../src/durable/runs.ts'
import { StatewireError } from '../../../src/messages/errors.ts'
import type { ChatMessage } from '../../../src/messages/messages.ts'
import type { RunPlan } from './plan.ts'

/** The runs of a worker, in the store or stored by hand as the control does it. */
export type WorkerRuns = {
  /** Resolves when the run is acknowledged. */
  start(plan: RunPlan): Promise<void>
  /** Sends a command to a run. */
  send(id: string, command: AgentCommand): Promise<void>
  info(id: string): Promise<WorkerStatus | undefined>
  outcome(id: string): Promise<Outcome>
  stream(id: string, after: string | undefined, signal: AbortSignal): AsyncIterable<StreamItem>
  close(): Promise<void>
}

export type WorkerStatus = Pick<RunInfo, 'status' | 'pending'> &
  Partial<Pick<RunInfo, 'state' | 'recoveries'>>

/** The end of a run, or its wait, with the messages that it added. */
export type Outcome = { status: RunStatus; messages: ChatMessage[]; output: string; error?: string }

export type StreamItem = { cursor: string; chunk: DurableChunk }

/** Makes an outcome of a result or its error. */
export const outcomeOf = async (
  result: Promise<Pick<DurableResult, 'messages' | 'output' | 'pendingApproval'>>,
  status: () => Promise<RunStatus>,
): Promise<Outcome> => {
  try {
    const { messages, output } = await result
    return { status: await status(), messages, output }
  } catch (thrown) {
    const partial = thrown instanceof StatewireError ? thrown.partial : undefined
    const { messages = [], output = '' } = partial ?? {}
    return { status: await status(), messages, output, error: String(thrown) }
  }
}
