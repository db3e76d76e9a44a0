import type { AgentCommand } from '../../machines/agent/events.ts'
import type { RunLimits } from '../../machines/agent/limits.ts'
import type { ErrorData } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import type { ChatMessage, Part } from '../messages/messages.ts'
import type { ChatResult, PendingCall, Settled, Usage } from '../messages/result.ts'
import type { Infer, Schema } from '../tools/schema.ts'

/** The status of a stored run. `abandoned`: it could not continue, and its `error` says why; `fork` continues from it. */
export type RunStatus = 'running' | 'waiting' | 'complete' | 'failed' | 'aborted' | 'abandoned'

/** Every status of a stored run that is over. */
export const endStatuses: readonly RunStatus[] = ['complete', 'failed', 'aborted', 'abandoned']

/** Every status of a stored run. */
export const runStatuses: readonly RunStatus[] = ['running', 'waiting', ...endStatuses]

/** Recognises a status. A column or an option may hold anything. */
export const isRunStatus = (value: unknown): value is RunStatus =>
  runStatuses.some((status) => status === value)

/** The public data of a stored run. Reading it does not continue the run. */
export type RunInfo = {
  id: string
  /** The name of its agent in `agents`; of a task, the name of its tool. */
  agent: string
  /** The run that started the task, with the call `callId`. */
  parent?: string
  callId?: string
  status: RunStatus
  /** The outermost state of its chart, such as `ToolExecution`, as `run.state` has it. */
  state: string
  /** The beginning of its prompt. */
  prompt: string
  /** Model calls so far. */
  step: number
  /** The calls that it waits for. */
  pending: PendingCall[]
  usage?: Usage
  /** The reason why it failed or was abandoned. */
  error?: ErrorData
  /**
   * The reason why it does not continue for now: no process has its agent, its agent refuses it, or the store cannot be
   * written. Nothing is lost, and it continues when the reason is gone.
   */
  blocked?: string
  createdAt: Date
  /** The time at which a task began to work; absent while it is queued. */
  startedAt?: Date
  /** The time of the last change; for a task that is over, its end. */
  updatedAt: Date
  /** Restarts since it last made progress. */
  recoveries: number
  /** The time at which a run that waits continues by itself: it sleeps, or a call expires. */
  dueAt?: Date
  /** The run that it was forked from. */
  forkedFrom?: string
  /** The tags that were given to `start`. */
  tags?: string[]
  /** The metadata that was given to `start`. */
  metadata?: JsonObject
}

/** The calls that a stored run waits for. Decisions go through `runs.send`, so there is no snapshot. */
export type WaitsFor = { calls: [PendingCall, ...PendingCall[]] }

/** A chunk of a stored stream; the last one before a wait has `pendingApproval`. */
export type DurableChunk = Omit<ChatResult, 'pendingApproval'> & { pendingApproval?: WaitsFor }

/** The result of a stored run: the whole answer, or the calls that it waits for. */
export type DurableResult<T = string> = Settled<T, WaitsFor>

/** A run that outlives its process. The handle holds no resources, and can be made again at any time. */
export type DurableRun<T = string> = {
  readonly id: string
  /** The name of its agent. */
  readonly agent: string
  /** Reads its current status. */
  info(): Promise<RunInfo>
  /**
   * The result as with `agent.send`, or the calls that the run waits for. Rejects with the typed error of a failed run.
   * Each read gives a promise for the next wait or the end.
   */
  readonly result: Promise<DurableResult<T>>
  /**
   * Reads the chunks after a cursor, or from the first one on, past and future, in this process or another. The stream
   * ends with the run, or with a chunk that says that the run waits: continue from its cursor. At a chunk with
   * `metadata.restart`, discard the text since the last message. Text that was discarded earlier is left out.
   */
  stream(options?: {
    after?: string
    signal?: AbortSignal
  }): AsyncIterableIterator<{ cursor: string; chunk: DurableChunk }>
}

/** Options of a new run. */
export type StartOptions = {
  /**
   * The id of the run. If a run with this id was started with the same content, you get that run; other content is
   * refused with a `ConflictError`. Default: a new UUID v7.
   */
  id?: string
  /** The conversation so far. */
  history?: ChatMessage[]
  /** The `context` of the tools, as JSON: it is stored with the run, and passed again when the run continues. */
  context?: unknown
  /** The system prompt, in place of the agent's. */
  system?: string
  /** Limits of this run, in place of the agent's limits of the same name. */
  limits?: RunLimits
  /** Words to find the run by: see `list({ tag })`. */
  tags?: readonly string[]
  /** JSON of your own, such as the id of a customer: `info` shows it. */
  metadata?: JsonObject
}

/**
 * The fate of a command. `delivered`: the run has it, and if it is a message, the model sees it next. `queued`: it is
 * stored, and waits for the process that runs the agents, or for the run to be idle. `refused`: the run is over, or
 * about to be.
 */
export type Delivery = 'delivered' | 'queued' | 'refused'

/** Options of `runs.wake`. */
export type WakeOptions = {
  /** The time; a time in the past means now. */
  at: Date
  /** A message for the model. */
  message?: string
  /** An id of this wake-up: it counts once, even if it is sent again. */
  commandId?: string
}

/** The state of a store, for a health check. */
export type RunsHealth = {
  /** The process that runs the agents: this one, another one, or none. */
  owner: 'this' | 'other' | 'none'
  /** Runs that are to continue, in any process. */
  running: number
  /** Runs that wait for a decision or an answer, or sleep. */
  waiting: number
  /** Runs that are under way in this process. Other running runs wait for a place, or for their agent. */
  hosted: number
  /** The last change of the running run that has not changed for the longest time. */
  oldest?: Date
  /** Commands that were acknowledged, but not yet read by the process that runs the agents. */
  unreadCommands: number
  /**
   * Milliseconds since the oldest open command, wake-up or expiry was due; 0 if none is open. It grows while no process
   * takes it: none runs, or none has the agent or a free place.
   */
  lag: number
  /** Size of the store on the disk. */
  bytes: number
}

/** The runs of a store. */
export type Runs = {
  /** Starts a run of an agent; it is stored when this resolves. With a schema, the output of its result is a value that fits. */
  start<S extends Schema>(
    agent: string,
    prompt: string | Part[],
    options: StartOptions & { schema: S },
  ): Promise<DurableRun<Infer<S>>>
  start(agent: string, prompt: string | Part[], options?: StartOptions): Promise<DurableRun>
  /** Finds a run by its id. */
  get(id: string): Promise<DurableRun | undefined>
  /**
   * Lists the newest runs first; `before` is the id of the last one seen. With a `parent`, it lists the tasks (background agents)
   * that a run or a task has started, and without one, no tasks.
   */
  list(options?: {
    parent?: string
    status?: RunStatus
    agent?: string
    tag?: string
    limit?: number
    before?: string
  }): Promise<RunInfo[]>
  /**
   * Sends a command or a message to a run, and returns its fate; it is stored when this resolves. With a `commandId` it
   * counts once, even if it is sent again. A message to a run that is over is `refused`; any other command is then an
   * error.
   */
  send(id: string, command: AgentCommand, options?: { commandId?: string }): Promise<Delivery>
  /**
   * Starts a run from the current state of another one, or from before its model call number `atStep`. A decision
   * belongs to one run: if tools are running or approved, the fork asks the model again.
   */
  fork(id: string, options?: { atStep?: number; agent?: string; id?: string }): Promise<DurableRun>
  /** Deletes runs that have not changed since a moment, and says how many; without a status, those that are over. */
  prune(options: { olderThan: Date; status?: RunStatus }): Promise<number>
  /** Deletes a run, even if it is under way, and says whether it existed. */
  delete(id: string): Promise<boolean>
  /** Reports the state of the store and of this process. */
  health(): Promise<RunsHealth>
  /**
   * Stops the runs of this process, and closes the store: the next process that opens it continues them. Nothing new
   * begins, and running tools get `drain` milliseconds to end. Default: 5000.
   */
  close(options?: { drain?: number }): Promise<void>
}

/** Options of a turn of a chat, as of a run. */
export type TurnOptions = Pick<StartOptions, 'id' | 'context'> & {
  /** Metadata of the prompt's message, such as its id in a page. No provider gets it. */
  metadata?: JsonObject
}

/**
 * A conversation that outlives its process. Each turn is a run; earlier messages are shared, not copied. After a
 * failure or an abort the history stays valid: the partial result is kept, and a prompt without any answer is dropped.
 */
export type DurableChat = {
  readonly id: string
  /** The name of the agent that answers. */
  readonly agent: string
  /** The conversation so far, without an unfinished answer. `partial`: with the messages of that answer so far. */
  history(options?: { partial?: boolean }): Promise<ChatMessage[]>
  /** The run of the last turn, under way or over; undefined before the first. */
  run(): Promise<DurableRun | undefined>
  /** The calls that the last answer waits for: decide on them with `runs.send`, and the id of `run()`. */
  pending(): Promise<PendingCall[]>
  /** Asks a question. Refused while an answer is running or waiting. */
  send(prompt: string | Part[], options?: TurnOptions): Promise<DurableRun>
  /** Replaces the prompt at an index of the history, and drops the messages after it. */
  edit(index: number, prompt: string | Part[], options?: TurnOptions): Promise<DurableRun>
  /** Asks the last prompt again. */
  regenerate(options?: TurnOptions): Promise<DurableRun>
  /** Makes another chat that continues from here, or from before the prompt at an index of the history. */
  fork(options?: { at?: number; id?: string }): Promise<DurableChat>
}

/** The runs of a store, and the chats that are made of them. */
export type StoredRuns = Runs & {
  /**
   * Copies the store into a new file, with everything that was acknowledged so far, while the runs continue. A process
   * that opens the copy continues its runs a second time: open it with agents only in place of the original.
   */
  backup(path: string): Promise<void>
  /**
   * Deletes runs that have not changed since a moment, and returns their number; without a status, those that are over.
   * The last run of a chat has its messages: it is deleted, with the chat, only if `chats` is true.
   */
  prune(options: { olderThan: Date; status?: RunStatus; chats?: boolean }): Promise<number>
  /**
   * Wakes a run at a time, in the process that runs the agents then: a sleep of its model (`sleepTool`) ends, and the
   * message, if any, is added at its next turn. The wake-up is stored when this resolves. It does nothing if the run is
   * over by then.
   */
  wake(id: string, options: WakeOptions): Promise<void>
  /** Opens the chat with this id, or makes it. A new chat needs an agent, unless there is only one. */
  chat(id: string, options?: { agent?: string }): Promise<DurableChat>
}
