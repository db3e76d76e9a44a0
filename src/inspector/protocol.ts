import type { Compaction } from '../messages/compaction.ts'
import type { JsonObject, JsonValue } from '../messages/json.ts'
import type { Usage } from '../messages/result.ts'
import type { ChartDescription } from '../visualize/describeMachine.ts'

export type {
  ExchangeContent,
  ExchangeRow,
  RawRow,
  WireCallRow,
  WireContent,
  WireView,
} from './wireProtocol.ts'

/** A message from the server to the page: plain JSON, without secrets in any text. Times are those of the run's clock. */
export type FeedMessage = {
  /** The first message of a connection: the page forgets everything it knew. */
  isFirst?: true
  /** The rest follows at once: the page is not up to date before it. */
  isBehind?: true
  limits?: Limits
  /** Actors that are new or have changed. */
  actors?: ActorRow[]
  /** Actors that are no longer kept. */
  gone?: number[]
  /** Finished runs that are no longer kept, in all. */
  droppedRuns?: number
  /** The store has more runs than are listed. */
  hasMoreStored?: boolean
  /** News of the actor that this page watches. */
  watched?: Watched
}

export type Limits = { moments: number; runs: number }

/**
 * The status of an actor or a stored run. `waiting`: for a person; `paused`: stopped while it waited; `abandoned`:
 * a stored run that no process continues any more.
 */
export type ActorStatus =
  | 'created'
  | 'active'
  | 'waiting'
  | 'paused'
  | 'done'
  | 'failed'
  | 'aborted'
  | 'stopped'
  | 'abandoned'

/** The status with which a run ends. */
export type RunEnd = 'complete' | 'failed' | 'aborted'

/** The work that is done in a state, where the chart shows it; empty for any other state. It colours the strip of states. */
export type Activity = 'asking' | 'streaming' | 'working' | 'compacting' | 'pausing' | 'waiting' | RunEnd | ''

/** A line of the tree. */
export type ActorRow = {
  id: number
  parent: number | null
  name: string
  /** The question that a run was asked, or the name of the tool for a call. */
  title: string
  /** The id of a stored run; empty for any other actor. */
  run: string
  kind: 'agent' | 'machine' | 'other'
  status: ActorStatus
  /** The active states, as a person reads them: `Accumulating.Streaming`. */
  state: string
  activity: Activity
  /** The model that was asked last; empty if it is not known. */
  model: string
  /** The usage of a whole run, tools included. */
  usage: Usage | null
  createdAt: number
  endedAt: number | null
  reads: number
  canAbort: boolean
  /** True for a stored run that can be stopped as if its process had died, and continued. */
  canRestart: boolean
  /** True if its agent is known: it can be asked the next question, or run again. */
  canAsk: boolean
  /** The run that this one was started again from. */
  from: number | null
  /** The error that it ended with, if any. */
  failure: string
}

/** The news of the watched actor since the last message. */
export type Watched = {
  id: number
  /** Everything follows from here: the page forgets what it knew of the actor. */
  isFirst?: true
  /** The conversation before the run. */
  history?: MessageRow[]
  /** New moments, and the last one again when it has grown. */
  moments?: MomentRow[]
  /** The number of moments that are no longer kept, and how often they took which transition. */
  dropped?: { moments: number; taken: [name: string, count: number][] }
  attempts?: AttemptRow[]
  tools?: ToolRow[]
  /** All questions that are open now. */
  questions?: QuestionRow[]
  /** The wait for its policy, if that holds it now. */
  hold?: HoldRow | null
  /** The usage of the whole run, tools included. */
  usage?: Usage | null
}

/** A step of an actor: one event that it handled, or a number of reads of a stream. */
export type MomentRow = {
  /** Counts the moments of all actors: "as of then" means the same for every actor. */
  seq: number
  at: number
  event: string
  /** The name of the sender, if it is known. */
  from: string
  /** Reads of a stream; 0 for any other event. */
  reads: number
  /** Ids of the active states afterwards, the outermost first. */
  states: string[]
  activity: Activity
  /** The states on the way, as a person reads them. */
  path: string[]
  taken: [name: string, count: number][]
  /** The active states of its policy, and the transitions that the policy has taken since the moment before. */
  policy: { states: string[]; taken: [name: string, count: number][] } | null
  changes: Change[]
  /** The text so far: the attempt, counted from 0, and the lengths of its text and its thinking. */
  progress: [attempt: number, text: number, thinking: number]
}

/** A difference between two contexts, in a few words. */
export type Change = { path: string; before?: string; after?: string }

/** A request to a model. `text` and `thinking` hold only what is new; everything else is whole. */
export type AttemptRow = {
  index: number
  owner: number
  step: number
  attempt: number
  modelIndex: number
  /** Null for a stored run: the time is not stored. */
  startedAt: number | null
  firstChunkAt: number | null
  endedAt: number | null
  chunks: number
  usage: Usage | null
  finish: string
  failure: string
  /** The compaction of the conversation right before it. */
  compaction: CompactionRow | null
  /** True if the model was asked again: this answer does not count. */
  isVoid: boolean
  /** The settings that the model did not get as they were given, and what changed since the request before. Not stored. */
  warnings: string[]
  text: string
  thinking: string
  /** Calls that are still being written. */
  drafts: { name: string; arguments: string }[]
  /** Messages of a person right before it: the prompt, or text that was added while the run went on. Only with its first row. */
  asked?: MessageRow[]
  /** The verdicts of the policy on its prompt and on its answer. */
  verdicts: VerdictRow[]
  /** The request in the list of the wire, and the status of its answer. */
  call: { id: number; status: number | null } | null
  /** The ids of the calls that the answer ended with. */
  calls: string[]
}

/** A message as people read it. */
export type MessageRow = {
  role: 'system' | 'user' | 'model'
  text: string
  images: ImageRow[]
  /** Everything else in it, a line each: calls, results, files, links. */
  notes: string[]
}

/** A picture; `data` is base64. */
export type ImageRow = { mimeType: string; data: string }

/** A compaction: the model sees less of the conversation afterwards. */
export type CompactionRow = Pick<Compaction, 'kind' | 'tokensBefore' | 'tokensAfter' | 'reason'> & {
  /** Empty where old tool results were cleared. */
  summary: string
}

/**
 * A decision that a run waits for. `approval`: a person must decide on a call; `answer`: the result of the call comes from outside; `limit`:
 * approving lets the run continue, rejecting ends it.
 */
export type QuestionRow = {
  owner: number
  callId: string
  /** The identity of the question, which its decision has, too. */
  question: string | null
  kind: 'approval' | 'answer' | 'limit'
  /** The tool; empty at a limit. */
  name: string
  arguments: JsonValue
  /** The call was running when its process ended: it may have taken effect. */
  isInDoubt: boolean
  /** The sentence about a limit; empty for a call. */
  text: string
}

/** A verdict of the policy of a run: on a call before it runs (`Calls`), on its result, on the prompt or on an answer. */
export type VerdictRow = {
  gate: 'Prompt' | 'Calls' | 'Results' | 'Tasks' | 'Answer'
  verdict: 'pass' | 'ask' | 'refuse'
  /** The state of the policy. Empty if it is not stored. */
  state: string
  reason: string
}

/** The wait for a policy that holds its run. */
export type HoldRow = {
  /** The state of the policy. */
  state: string
  /** The checks that run in it. */
  checks: string[]
  since: number
}

export type ToolStatus = 'pending' | 'waiting' | 'running' | 'done' | 'failed'

export type ToolRow = {
  owner: number
  callId: string
  name: string
  arguments: JsonValue
  status: ToolStatus
  startedAt: number | null
  endedAt: number | null
  result: string | null
  /** The stack of what its tool threw. A stored run does not have it. */
  stack: string | null
  images: ImageRow[]
  /** True if a person rejected the call. */
  isRejected: boolean
  /** The last reports of its tool. */
  progress: JsonValue[]
  /** The call was running when its process ended: it may have taken effect. */
  isInDoubt: boolean
  /** The verdicts of the policy on it; those of an earlier turn are not stored. */
  verdicts: VerdictRow[]
  /** The actor that the call runs, such as a sub-agent. */
  child: number | null
}

/** An actor as it was at a moment. */
export type PastMoment = {
  seq: number
  status: string
  value: JsonValue
  event: JsonValue
  context: JsonValue
  output: JsonValue
  error: JsonValue
  tools: ToolRow[]
}

/** A command of the page. */
export type Command =
  | { actor: number; type: 'abort' }
  /** Stops a stored run as if its process had died, and continues it. */
  | { actor: number; type: 'restart' }
  /** Approves a call. With `arguments`, it runs with these. */
  | { actor: number; type: 'tool.approve'; callId: string; question?: string; arguments?: JsonObject }
  | { actor: number; type: 'tool.reject'; callId: string; question?: string; reason: string }
  /** Gives the result of an external tool. */
  | { actor: number; type: 'tool.answer'; callId: string; question?: string; result: string }
  | Again

/**
 * Runs the agent of an actor again, as a new run. The conversation before it is that of the actor: as it is, as it was at the moment
 * `seq`, or up to the message that its attempt `before` answers. With `callId`, the run continues from that call instead, with other
 * arguments; with `step`, a stored run continues from before that step.
 */
export type Again = {
  actor: number
  type: 'again'
  /** A model in place of the agent's; empty for the agent's own. */
  model?: string
} & (
  | { prompt: string; seq?: number; before?: number }
  | { callId: string; arguments: JsonObject }
  | { step: number }
)

/** A run as one file. */
export type Recording = {
  statewire: 'recording'
  version: 1
  /** The time of the export. */
  at: number
  limits: Limits
  actors: ActorRow[]
  /** The first message about each actor, by its id. */
  watched: Record<string, Watched>
  /** The answers to everything that a page may fetch, by address: texts as they are, everything else as JSON. */
  answers: Record<string, unknown>
}

/** A chart as the page draws it. */
export type ChartView = ChartDescription & {
  /** The status of a run that ends in a final state, by the id of the state. */
  ends: Record<string, RunEnd>
}
