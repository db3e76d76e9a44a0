import { type RemoteEnd, remoteBackground } from '../../machines/tasks/remoteTask.ts'
import { checkTasks } from '../../machines/tasks/taskTools.ts'
import { ToolExecutionError } from '../messages/errors.ts'
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import type { Part } from '../messages/messages.ts'
import type { Clock } from '../model/clock.ts'
import type { Tool } from '../tools/tool.ts'
import { toolResultOf } from '../tools/toolResult.ts'
import { onAbort } from '../transport/onAbort.ts'
import { resultContent, type TimeLimits } from './call.ts'
import type { ToolServer } from './ToolList.ts'

type SendRequest = NonNullable<ToolServer['request']>

/** The number of tasks of a tool that work at the same time, as for background agents. */
const usualMaxTasks = 8

/** A tool whose calls are tasks of the server, which works on them, and tasks of the run, which waits for them. */
export const asServerTask = (made: Tool, name: string, limits: TimeLimits, request: SendRequest): Tool => {
  const tasks = new ServerTasks(request, limits)
  return {
    ...made,
    // The server is called by the task.
    onInterrupted: 'rerun',
    execute: (_, call) => checkTasks(call),
    background: remoteBackground(
      {
        ask: async (args, signal) => {
          const checked = await made.validate(args)
          if (!checked.ok) throw new ToolExecutionError(checked.problem)
          return await tasks.ask(name, copyJson(checked.value), signal)
        },
        follow: (...task) => tasks.follow(...task),
        cancel: (taskId) => tasks.cancel(taskId),
        onInterrupted: made.onInterrupted,
      },
      usualMaxTasks,
    ),
  }
}

/** A server that does not say how often it may be asked is asked each second. */
const usualPollMs = 1000
const [shortestPollMs, longestPollMs] = [100, 60_000]

/** The time that a server is asked to keep a task beyond its limit: the process that waits for it may be down. */
const keptMs = 86_400_000

/** The most requests for a status in a row that may fail: a server may be restarted, or not have the task any more. */
const mostFailures = 5

/** The longest wait for the answer to a request about a task, which the server need not work for. */
const longestWaitMs = 60_000

const longestTaskId = 1000
const longestShown = 1000

/** The status of a task, checked. */
type Status = { status: string; message: string; pollMs: number }

/** The requests about the tasks of one tool. */
class ServerTasks {
  readonly #request: SendRequest
  readonly #limits: TimeLimits

  constructor(request: SendRequest, limits: TimeLimits) {
    this.#request = request
    this.#limits = limits
  }

  async ask(name: string, args: JsonValue, signal: AbortSignal): Promise<string> {
    const { idleMs, totalMs } = this.#limits
    const call = { name, arguments: args, task: { ttl: totalMs + keptMs } }
    const answer = await this.#request('tools/call', call, idleMs)
    const { taskId }: { taskId?: unknown } = Object(Object(answer).task)
    if (typeof taskId !== 'string' || taskId === '' || taskId.length > longestTaskId)
      throw new ToolExecutionError(
        'The MCP server did not answer with the id of a task; whether the call took effect is unknown.',
      )
    if (signal.aborted) this.cancel(taskId)
    return taskId
  }

  async follow(taskId: string, startedAt: number, clock: Clock, signal: AbortSignal): Promise<RemoteEnd> {
    const end = startedAt + this.#limits.totalMs
    for (let failures = 0; !signal.aborted; ) {
      const { status, message, pollMs } = await this.#status(taskId).then(
        (read) => {
          failures = 0
          return read
        },
        (thrown): Status => {
          failures += 1
          if (failures >= mostFailures) throw thrown
          return { status: 'working', message: '', pollMs: failures * usualPollMs }
        },
      )
      if (status === 'completed' || status === 'failed') return await this.#end(taskId, status, message)
      if (status === 'cancelled') return { status: 'aborted', text: message || 'The server cancelled it.' }
      const problem = problemOf(status) ?? (clock.now() < end ? undefined : this.#late)
      if (problem !== undefined) {
        this.cancel(taskId)
        return { status: 'failed', text: problem }
      }
      await pauseBy(clock, Math.min(pollMs, end - clock.now()), signal)
    }
    return { status: 'aborted', text: '' }
  }

  cancel(taskId: string): void {
    // The server may be gone, or the task over.
    this.#ask('tasks/cancel', taskId).catch(() => {})
  }

  get #late(): string {
    return `The task did not end within ${this.#limits.totalMs} ms; whether it took effect is unknown.`
  }

  async #status(taskId: string): Promise<Status> {
    const answer = await this.#ask('tasks/get', taskId)
    const { status, statusMessage, pollInterval }: JsonObject = isJsonObject(answer) ? answer : {}
    const pollMs = typeof pollInterval === 'number' ? pollInterval : usualPollMs
    return {
      status: String(status).slice(0, longestShown),
      message: typeof statusMessage === 'string' ? statusMessage.slice(0, longestShown) : '',
      pollMs: Math.min(Math.max(pollMs, shortestPollMs), longestPollMs),
    }
  }

  /** Reads the result of a task that has ended. A failed task may have only a status. */
  async #end(taskId: string, status: 'completed' | 'failed', message: string): Promise<RemoteEnd> {
    const answer = await this.#ask('tasks/result', taskId).catch((thrown) => {
      if (status === 'completed' || message === '') throw thrown
      throw new ToolExecutionError(message)
    })
    const text = textIn(resultContent(answer))
    return { status: status === 'completed' ? 'complete' : 'failed', text }
  }

  async #ask(method: string, taskId: string): Promise<unknown> {
    return await this.#request(method, { taskId }, Math.min(this.#limits.idleMs, longestWaitMs))
  }
}

/** The reason why a task in this status cannot end well; undefined for one that works. */
const problemOf = (status: string): string | undefined => {
  if (status === 'working') return undefined
  return status === 'input_required'
    ? 'The server needs an answer to continue the task, and tasks cannot be asked questions. It was cancelled.'
    : `The server sent the status "${status}" for the task, which is not known. It was cancelled.`
}

/** The result of a task as a text for a message, which names the files that it leaves out. */
const textIn = (content: unknown): string => {
  const { result, parts = [] } = toolResultOf({ id: '', name: '' }, content, Number.POSITIVE_INFINITY)
  const files = parts.map((part: Part) => {
    if (part.type === 'link') return part.url
    return part.type === 'data' ? `[${part.name ?? part.mimeType}: a file, which is not shown.]` : ''
  })
  return [...(result === '' ? [] : [result]), ...files].join('\n')
}

/** Waits by the clock of a run, or until the signal is aborted. */
const pauseBy = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clock.clearTimeout(timer)
      forget()
      resolve()
    }
    const timer = clock.setTimeout(end, Math.max(0, ms))
    const forget = onAbort(signal, end)
  })
