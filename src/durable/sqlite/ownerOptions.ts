import type { AgentInput } from '../../../machines/agent/events.ts'
import type { Agents } from '../runOptions.ts'
import type { RunInfo } from '../runs.ts'
import type { Checkpoint, NewRun } from './runRow.ts'

/** Options of the process that runs the agents. */
export type OwnerOptions = {
  agents: Agents
  maxRecoveries: number
  /** Runs that may be under way at the same time. */
  concurrency: number
  /** Makes the `context` of the tools from what was stored. */
  context: (stored: unknown, info: RunInfo) => unknown
}

/** A run that is to be started. */
export type RunRequest = Omit<NewRun, keyof Checkpoint> & {
  input: AgentInput
  /** The id of the chat that it is a turn of. */
  conversation?: string
  /** Called inside the transaction that stores the run, with the run's number. */
  inSameWrite?: (n: number) => void
}
