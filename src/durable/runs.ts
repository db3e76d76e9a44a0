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
  /** The run that started a task, with the call of this id. */
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
  /** The time of the last change; of a task that is over, that of its end. */
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

/** The calls that a stored run waits for: decided on with `runs.send`, so no snapshot goes with them. */
export type WaitsFor = { calls: [PendingCall, ...PendingCall[]] }

/** A chunk of a stored stream; the last one before a wait has `pendingApproval`. */
export type DurableChunk = Omit<ChatResult, 'pendingApproval'> & { pendingApproval?: WaitsFor }

/** The result of a stored run: the whole answer, or what the run waits for. */
export type DurableResult<T = string> = Settled<T, WaitsFor>

/** A run that outlives its process. The handle holds no resources, and can be made again at any time. */
export type DurableRun<T = string> = {
  readonly id: string
  /** The name of its agent. */
  readonly agent: string
  /** Reads its current status. */
  info(): Promise<RunInfo>
  /**
   * The result as with `agent.send`, or, for a run that waits, what it waits for. Rejects with the typed error of a run
   * that failed. Each read gives a promise for the next wait or the end.
   */
  readonly result: Promise<DurableResult<T>>
  /**
   * Reads the chunks after a cursor, or from the first one, past and future, in this process or another. It ends with
   * the run, or with a chunk that says that the run waits; read on after that one. At a chunk with `metadata.restart`,
   * discard the text since the last message; text that was discarded before you read it is left out.
   */
  stream(options?: {
    after?: string
    signal?: AbortSignal
  }): AsyncIterableIterator<{ cursor: string; chunk: DurableChunk }>
}

/** Options of a new run. */
export type StartOptions = {
  /**
   * The id of the run. If a run with this id was started with the same content, you get that one, and nothing is started;
   * other content is refused with a `ConflictError`. Default: a new UUID v7.
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
 * The fate of a command. `delivered`: the run has it; the model sees a message next. `queued`: it is stored, and waits for the process
 * that runs the agents, or for the run to be idle. `refused`: the run is over, or about to be.
 */
export type Delivery = 'delivered' | 'queued' | 'refused'

/** Options of `runs.wake`. */
export type WakeOptions = {
  /** The time; one that is over is now. */
  at: Date
  /** A message for the model. */
  message?: string
  /** An id of this wake-up, which counts once, however often it is sent. */
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
  /** Runs that are under way in this process. The others wait for a place, or for their agent. */
  hosted: number
  /** The last change of the running run that has been still for the longest time. */
  oldest?: Date
  /** Commands that were acknowledged and that the process which runs the agents has not read yet. */
  unreadCommands: number
  /**
   * Milliseconds for which the oldest command, wake-up or expiry that is due has been waiting to be taken; 0 if none waits. It
   * grows while no process, or none with the agent or a free place, takes what is due.
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
   * Sends a command or a message to a run, and says what happened to it; it is stored when this resolves. One with a `commandId`
   * counts once, however often it is sent. A message to a run that is over is `refused`; other commands are then an error.
   */
  send(id: string, command: AgentCommand, options?: { commandId?: string }): Promise<Delivery>
  /**
   * Starts a run from the current state of another one, or from before its model call number `atStep`. A decision belongs
   * to one run: where tools are running or approved, the fork asks the model again.
   */
  fork(id: string, options?: { atStep?: number; agent?: string; id?: string }): Promise<DurableRun>
  /** Deletes runs that have not changed since a moment, and says how many; without a status, those that are over. */
  prune(options: { olderThan: Date; status?: RunStatus }): Promise<number>
  /** Deletes a run, under way or not, and says whether it was there. */
  delete(id: string): Promise<boolean>
  /** Reports the state of the store and of this process. */
  health(): Promise<RunsHealth>
  /**
   * Stops the runs of this process, and closes the store: the next process that opens it continues them. Nothing more
   * begins, and tools that are running get `drain` milliseconds to end. Default: 5000.
   */
  close(options?: { drain?: number }): Promise<void>
}

/** Options of a turn of a chat, as of a run. */
export type TurnOptions = Pick<StartOptions, 'id' | 'context'> & {
  /** Metadata of the prompt's message, such as its id in a page. No provider gets it. */
  metadata?: JsonObject
}

/**
 * A conversation that outlives its process. Each turn is a run; earlier messages are shared, not copied. A turn that
 * failed or was aborted leaves the history valid: its partial result is kept, a prompt without any answer is dropped.
 */
export type DurableChat = {
  readonly id: string
  /** The name of the agent that answers. */
  readonly agent: string
  /** The conversation so far, without an answer that is still being given. `partial`: with its messages up to now. */
  history(options?: { partial?: boolean }): Promise<ChatMessage[]>
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
   * Deletes runs that have not changed since a moment, and says how many; without a status, those that are over. The last
   * run of a chat has its messages: it is deleted, and the chat with it, only with `chats: true`.
   */
  prune(options: { olderThan: Date; status?: RunStatus; chats?: boolean }): Promise<number>
  /**
   * Wakes a run at a time, in whatever process runs the agents then: a sleep of its model (`sleepTool`) ends, and the message,
   * if there is one, is added at its next turn. It is stored when this resolves. A run that is over by then stays so.
   */
  wake(id: string, options: WakeOptions): Promise<void>
  /** Opens the chat with this id, or makes it. A new one needs an agent, unless there is only one. */
  chat(id: string, options?: { agent?: string }): Promise<DurableChat>
}
