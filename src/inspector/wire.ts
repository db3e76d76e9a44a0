import type { Compaction } from '../messages/compaction.ts'
import type { JsonObject, JsonValue } from '../messages/json.ts'
import type { Usage } from '../messages/result.ts'

/** What the server sends to the page: plain JSON, every text in it without secrets. Times are those of the run's clock. */
export type FeedMessage = {
  /** The first message of a connection: the page forgets everything it knew. */
  isFirst?: true
  /** The rest follows at once: what is told here is not yet how things stand. */
  isBehind?: true
  limits?: Limits
  /** Actors that are new or have changed. */
  actors?: ActorRow[]
  /** Actors that are no longer kept. */
  gone?: number[]
  /** Finished runs that are no longer kept, in all. */
  droppedRuns?: number
  /** There are more stored runs than are told of. */
  hasMoreStored?: boolean
  /** More of the actor that this page watches. */
  watched?: Watched
}

export type Limits = { moments: number; runs: number }

/**
 * How an actor or a stored run is doing. `waiting`: for a person; `paused`: stopped while it waited; `abandoned`:
 * a stored run that was given up.
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

/** One line of the tree. */
export type ActorRow = {
  id: number
  parent: number | null
  name: string
  /** What a run was asked. */
  title: string
  /** The id of a stored run; empty for an actor. */
  run: string
  kind: 'agent' | 'machine' | 'other'
  status: ActorStatus
  /** The active states, as a person reads them: `Accumulating.Streaming`. */
  state: string
  createdAt: number
  endedAt: number | null
  reads: number
  canAbort: boolean
  /** A stored run that can be stopped as if its process had died, and continued. */
  canRestart: boolean
  /** Its agent is known: it can be asked the next question, or run again. */
  canAsk: boolean
  /** The run that this one was tried again from. */
  from: number | null
  /** What went wrong, if something did. */
  failure: string
}

/** What is new of the watched actor since the last message. */
export type Watched = {
  id: number
  /** Everything follows from here: the page forgets what it knew of the actor. */
  isFirst?: true
  /** The conversation before the run. */
  history?: MessageRow[]
  /** New moments, and the last one again when it has grown. */
  moments?: MomentRow[]
  /** How many moments are no longer kept, and how often they took which transition. */
  dropped?: { moments: number; taken: [name: string, count: number][] }
  attempts?: AttemptRow[]
  tools?: ToolRow[]
  /** Those that are open now. */
  questions?: QuestionRow[]
  /** Of the whole run, tools included. */
  usage?: Usage | null
}

/** One step of an actor: an event was worked off, or a number of reads of a stream. */
export type MomentRow = {
  /** Counts the moments of all actors: "as of then" means the same for every actor. */
  seq: number
  at: number
  event: string
  /** Who sent it, if that is known. */
  from: string
  /** Reads of a stream; 0 for any other event. */
  reads: number
  /** Ids of the active states afterwards. */
  states: string[]
  /** The states on the way, as a person reads them. */
  path: string[]
  taken: [name: string, count: number][]
  changes: Change[]
  /** How far the text had come: the attempt, counted from 0, and the lengths of its text and its thinking. */
  progress: [attempt: number, text: number, thinking: number]
}

/** What became different in a context, in a few words. */
export type Change = { path: string; before?: string; after?: string }

/** One request to a model. `text` and `thinking` are only what is new; the rest is as it stands. */
export type AttemptRow = {
  index: number
  owner: number
  step: number
  attempt: number
  modelIndex: number
  /** Not known of a stored run. */
  startedAt: number | null
  firstChunkAt: number | null
  endedAt: number | null
  chunks: number
  usage: Usage | null
  finish: string
  failure: string
  /** What was done to the conversation right before it. */
  compaction: CompactionRow | null
  /** The model was asked again: what is here does not count. */
  isVoid: boolean
  text: string
  thinking: string
  /** Calls that are still being written. */
  drafts: { name: string; arguments: string }[]
  /** What a person said right before it: the prompt, or what was added while the run went on. Only with its first row. */
  asked?: MessageRow[]
  /** The ids of the calls that the answer ended with. */
  calls: string[]
}

/** A message as it is read. */
export type MessageRow = {
  role: 'system' | 'user' | 'model'
  text: string
  images: ImageRow[]
  /** What else is in it, a line each: calls, results, files, links. */
  notes: string[]
}

/** A picture; `data` is base64. */
export type ImageRow = { mimeType: string; data: string }

/** The model sees less of the conversation from here on. */
export type CompactionRow = Pick<Compaction, 'kind' | 'tokensBefore' | 'tokensAfter' | 'reason'> & {
  /** Empty where old tool results were cleared. */
  summary: string
}

/**
 * What a run waits for. `approval`: a person must decide on a call; `answer`: the result of the call comes from outside; `limit`:
 * approving lets the run go on, rejecting ends it.
 */
export type QuestionRow = {
  owner: number
  callId: string
  kind: 'approval' | 'answer' | 'limit'
  /** The tool; empty at a limit. */
  name: string
  arguments: JsonValue
  /** The call was running when its process ended: it may have taken effect. */
  isInDoubt: boolean
  /** The sentence about a limit; empty for a call. */
  text: string
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
  images: ImageRow[]
  /** A person said no. */
  isRejected: boolean
  /** What its tool reported so far, the last of it. */
  progress: JsonValue[]
  /** It was running when its process ended: it may have taken effect, or not. */
  isInDoubt: boolean
  /** The actors that the call runs, such as a sub-agent. */
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

/** What the page may ask for. */
export type Command =
  | { actor: number; type: 'abort' }
  /** Of a stored run: as if its process had died, and the next one had continued it. */
  | { actor: number; type: 'restart' }
  /** With `arguments`, the call runs with these. */
  | { actor: number; type: 'tool.approve'; callId: string; arguments?: JsonObject }
  | { actor: number; type: 'tool.reject'; callId: string; reason: string }
  /** The result of an external tool. */
  | { actor: number; type: 'tool.answer'; callId: string; result: string }
  | Again

/**
 * Runs the agent of an actor again, as a new run. The conversation before it is that of the actor: as it is, as it was at the moment
 * `seq`, or up to the message that its attempt `before` answers. With `callId`, the run goes on from that call instead, with other
 * arguments; with `step`, a stored run goes on from before that step.
 */
export type Again = {
  actor: number
  type: 'again'
  /** In place of the agent's model; empty for that one. */
  model?: string
} & (
  | { prompt: string; seq?: number; before?: number }
  | { callId: string; arguments: JsonObject }
  | { step: number }
)
