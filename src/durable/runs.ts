import type { AgentCommand } from '../../machines/events.ts'
import type { ErrorData } from '../messages/errors.ts'
import type { ChatMessage, Part } from '../messages/messages.ts'
import type { ChatResult, PendingCall, SendResult, Usage } from '../messages/result.ts'

/** How a stored run stands. `abandoned`: it was given up, and its `error` says why; `fork` goes on from it. */
export type RunStatus = 'running' | 'waiting' | 'complete' | 'failed' | 'aborted' | 'abandoned'

/** What is known of a stored run without going on with it. */
export type RunInfo = {
  id: string
  /** The name of its agent in `agents`. */
  agent: string
  status: RunStatus
  /** The state of the chart that it is in. */
  state: string
  /** The beginning of what it was asked. */
  prompt: string
  /** Model calls so far. */
  step: number
  /** The calls that it waits for. */
  pending: PendingCall[]
  usage?: Usage
  /** Why it failed or was given up. */
  error?: ErrorData
  createdAt: Date
  updatedAt: Date
  /** How often it was taken up again since it last got anywhere. */
  recoveries: number
  /** The run that it was forked from. */
  forkedFrom?: string
}

/** The calls that a stored run waits for: decided on with `runs.send`, so no snapshot goes with them. */
export type WaitsFor = { calls: [PendingCall, ...PendingCall[]] }

/** A chunk of a stored stream; the one that a wait ends with has `pendingApproval`. */
export type DurableChunk = Omit<ChatResult, 'pendingApproval'> & { pendingApproval?: WaitsFor }

/** What a stored run gives: the whole answer, or what it waits for. */
export type DurableResult = Omit<SendResult, 'pendingApproval'> & { pendingApproval?: WaitsFor }

/** A run that outlives its process. The handle holds nothing alive, and may be made anew at any time. */
export type DurableRun = {
  readonly id: string
  /** The name of its agent. */
  readonly agent: string
  /** How it stands now. */
  info(): Promise<RunInfo>
  /**
   * As of `agent.send`: the result, its typed error, or, of a run that waits for somebody, what it waits for. Each time it
   * is read it is that of what follows.
   */
  readonly result: Promise<DurableResult>
  /**
   * The chunks after a cursor, or from the first one, whether they are there already or still to come, in this process or
   * in another one. It ends with the run, and with a chunk that says that the run waits; read on after that one. A chunk with
   * `metadata.restart` says that the text since the last message is void.
   */
  stream(options?: {
    after?: string
    signal?: AbortSignal
  }): AsyncIterableIterator<{ cursor: string; chunk: DurableChunk }>
}

/** What goes with a new run. */
export type StartOptions = {
  /** The id of the run. If there is a run of this id, you get that one, and nothing is started. Default: a new UUID v7. */
  id?: string
  /** The conversation so far. */
  history?: ChatMessage[]
  /** What the tools get as `context`, as JSON: it is stored with the run, and given again when the run is taken up. */
  context?: unknown
}

/** The runs of a store. */
export type Runs = {
  /** Starts a run of an agent; it is stored when this resolves. */
  start(agent: string, prompt: string | Part[], options?: StartOptions): Promise<DurableRun>
  /** A run by its id. */
  get(id: string): Promise<DurableRun | undefined>
  /** The newest runs first; `before` is the id of the last one seen. */
  list(options?: { status?: RunStatus; agent?: string; limit?: number; before?: string }): Promise<RunInfo[]>
  /** Tells a run something; it is stored when this resolves. */
  send(id: string, command: AgentCommand): Promise<void>
  /** A new run that goes on from where another one is, or from before its model call number `atStep`. */
  fork(id: string, options?: { atStep?: number; agent?: string; id?: string }): Promise<DurableRun>
  /** Deletes runs that have not changed since a moment, and says how many; without a status, those that are over. */
  prune(options: { olderThan: Date; status?: RunStatus }): Promise<number>
  /** Stops what runs here, and lets go of the store: whoever opens it next goes on. */
  close(): Promise<void>
}

/** What goes with a turn of a chat: as of a run. */
export type TurnOptions = Pick<StartOptions, 'id' | 'context'>

/**
 * A conversation that outlives its process. Each turn is a run; what was said before is shared, not copied. A turn that
 * failed or was aborted leaves the history valid: what was reached is kept, a prompt without any answer is dropped.
 */
export type DurableChat = {
  readonly id: string
  /** The name of the agent that answers. */
  readonly agent: string
  /** The conversation so far, without an answer that is still being given. */
  history(): Promise<ChatMessage[]>
  /** The run of the last turn, under way or over; undefined before the first. */
  run(): Promise<DurableRun | undefined>
  /** The calls that the last answer waits for: decide on them with `runs.send`, and the id of `run()`. */
  pending(): Promise<PendingCall[]>
  /** Asks; refused while an answer is being given, or waits. */
  send(prompt: string | Part[], options?: TurnOptions): Promise<DurableRun>
  /** Asks something else in place of the prompt at an index of the history; what came after it is left behind. */
  edit(index: number, prompt: string | Part[], options?: TurnOptions): Promise<DurableRun>
  /** Asks the last prompt again. */
  regenerate(options?: TurnOptions): Promise<DurableRun>
  /** Another chat that goes on from here, or from before the prompt at an index of the history. */
  fork(options?: { at?: number; id?: string }): Promise<DurableChat>
}

/** The runs of a store, and the chats that are made of them. */
export type StoredRuns = Runs & {
  /** The chat of this id, which is made if there is none. A new one needs an agent, unless there is only one. */
  chat(id: string, options?: { agent?: string }): Promise<DurableChat>
}
