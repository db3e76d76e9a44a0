import type { AgentCommand } from '../../../machines/agent/events.ts'
import type { MomentKind } from './moments.ts'
import type { RunPlan } from './plan.ts'
import type { Outcome, StreamItem, WorkerStatus } from './workerRuns.ts'

/** The way in which runs are stored: in the store, or by hand as the control does it. */
export type Way = 'stored' | 'subscribed'

/** The place of the runs. A worker with `agents` runs them; one without reads them, and passes commands on. */
export type Place = {
  way: Way
  folder: string
  agents: boolean
  /** The agents that it has: those of each number differ a little, as those of a deploy do. Default: 0. */
  variant?: number
  /** The longest time that a tool takes. */
  toolMs?: number
}

/** The number of moments, of this kind or of any, after which a worker dies, or is paused. */
export type Death = { moments: number; kind?: MomentKind; isPause?: boolean }

/** Requests to a worker, and its answers. */
export type Requests = {
  /** Before anything else. */
  open: { ask: Place & { dies?: Death }; answer: undefined }
  close: { ask: object; answer: undefined }
  start: { ask: { plan: RunPlan }; answer: undefined }
  send: { ask: { id: string; command: AgentCommand }; answer: undefined }
  info: { ask: { id: string }; answer: WorkerStatus | undefined }
  outcome: { ask: { id: string }; answer: Outcome }
  /** Answered when the stream is over; its chunks come meanwhile. */
  stream: { ask: { id: string; after: string | undefined }; answer: undefined }
  /** Ends the stream of that request. */
  leave: { ask: { stream: number }; answer: undefined }
  die: { ask: Death; answer: undefined }
  /** Loses all locks without a word: its process copies the files of the store. */
  dropLocks: { ask: { folder: string }; answer: undefined }
}

export type RequestName = keyof Requests

export type Request = {
  [Name in RequestName]: { number: number; do: Name } & Requests[Name]['ask']
}[RequestName]

/** A report of a worker: a chunk of a stream, the answer to a request. */
export type Report =
  | { says: 'chunk'; number: number; item: StreamItem }
  | { says: 'answer'; number: number; answer?: unknown }
  | { says: 'refused'; number: number; problem: string }
