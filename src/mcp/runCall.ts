import { clockIn } from '../../machines/logic/systemTime.ts'
import { ToolExecutionError } from '../messages/errors.ts'
import { longestTimeoutMs, systemClock } from '../model/clock.ts'
import type { ToolContext } from '../tools/tool.ts'
import { onAbort } from '../transport/onAbort.ts'
import { CallTimer, type TimeLimits } from './CallTimer.ts'
import type { CallOptions } from './client.ts'
import { resultContent } from './resultContent.ts'

/** A call that is on its way. */
export type ActiveCall = { context: ToolContext; timer: CallTimer }

/** Sends a call to a server, once or again, and gives its raw answer. */
export type SendCall = (options: CallOptions, call: ActiveCall) => Promise<unknown>

/** Runs one call: keeps its time, passes on its progress, and takes it back when the run is aborted. */
export const runCall = (context: ToolContext, limits: TimeLimits, send: SendCall): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const controller = new AbortController()
    // A client that does not heed its signal is not waited for.
    const end = (problem: string) => {
      reject(new ToolExecutionError(`${problem}; whether it took effect is unknown.`))
      controller.abort(problem)
    }
    const clock = context.self ? clockIn(context.self.system) : systemClock
    const timer = new CallTimer(limits, clock, end)
    const stopListening = onAbort(context.signal, () =>
      end('The run was aborted while this tool was running'),
    )
    const onprogress = (progress: unknown) => {
      timer.renew()
      context.report(progressOf(progress))
    }
    send({ signal: controller.signal, timeout: longestTimeoutMs, onprogress }, { context, timer })
      .then(resultContent)
      .then(resolve, reject)
      .finally(() => {
        timer.stop()
        stopListening()
      })
  })

const longestMessage = 1000

/** What a server says of how far it has come. */
const progressOf = (given: unknown) => {
  const { progress, total, message } = Object(given)
  return {
    ...(typeof progress === 'number' && { progress }),
    ...(typeof total === 'number' && { total }),
    ...(typeof message === 'string' && { message: message.slice(0, longestMessage) }),
  }
}
