import type { AgentCommand } from '../../../machines/agent/events.ts'
import type { DurableChunk, DurableResult, RunInfo, RunStatus } from '../../../src/durable/runs.ts'
import { StatewireError } from '../../../src/messages/errors.ts'
import type { ChatMessage } from '../../../src/messages/messages.ts'
import type { RunPlan } from './plan.ts'

/** What a worker does with runs, whichever way they are kept. */
export type KeptRuns = {
  /** Resolves when the run is acknowledged. */
  start(plan: RunPlan): Promise<void>
  /** Likewise. */
  send(id: string, command: AgentCommand): Promise<void>
  info(id: string): Promise<Standing | undefined>
  outcome(id: string): Promise<Outcome>
  stream(id: string, after: string | undefined, signal: AbortSignal): AsyncIterable<StreamItem>
  close(): Promise<void>
}

export type Standing = Pick<RunInfo, 'status' | 'pending'> & Partial<Pick<RunInfo, 'state' | 'recoveries'>>

/** How a run ended, or where it waits, with the messages that it brought. */
export type Outcome = { status: RunStatus; messages: ChatMessage[]; output: string; error?: string }

export type StreamItem = { cursor: string; chunk: DurableChunk }

/** The outcome that a result or its error stands for. */
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
