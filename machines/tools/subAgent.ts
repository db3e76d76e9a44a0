import { createActor, type Snapshot } from 'xstate'
import { ToolExecutionError } from '../../src/messages/errors.ts'
import { longestTimeoutMs, systemClock } from '../../src/model/clock.ts'
import { newId } from '../../src/model/newId.ts'
import type { ToolContext } from '../../src/tools/tool.ts'
import type { AgentMachine } from '../agent/agentSnapshot.ts'
import type { AgentOutput } from '../agent/events.ts'
import { withValues } from '../logic/runEnvironment.ts'
import { clockOf } from '../logic/systemTime.ts'
import { waitIn } from './pendingCalls.ts'
import { keysOf } from './round.ts'
import { callOf } from './toolCall.ts'
import type { CallReport } from './toolService.ts'

/** A sub-agent: the machine of its runs, its name, and its timeout. */
export type SubAgent = { machine: AgentMachine; name: string | undefined; timeoutMs: number }

/**
 * Runs an agent for a call of another run. Its actor is the child of the call: it is stored and restored with the run
 * that calls, and while it waits for something, so does the whole run. Its timeout is paused meanwhile.
 */
export const subRun = (
  { machine, name, timeoutMs }: SubAgent,
  prompt: string,
  { self, signal, context }: Pick<ToolContext, 'self' | 'signal' | 'context'>,
): Promise<AgentOutput | undefined> =>
  new Promise((resolve, reject) => {
    const of = callOf(self)
    // The other values of the run that calls are not for this one.
    const actor = createActor(withValues(machine, { context }), {
      input: { prompt, id: of ? `${of.run}/${of.call.id}` : newId() },
      ...(self && { parent: self }),
      ...(name !== undefined && { id: name }),
      ...(of?.stored && { snapshot: of.stored }),
    })
    const report = (event: CallReport) => self?._parent?.send(event)
    const clock = self ? clockOf(self) : systemClock
    let timer: unknown
    const stopTimer = () => {
      if (timer !== undefined) clock.clearTimeout(timer)
      timer = undefined
    }
    const startTimer = () => {
      stopTimer()
      if (!Number.isFinite(timeoutMs)) return
      timer = clock.setTimeout(
        () => end(`The tool did not finish within ${timeoutMs} ms; whether it took effect is unknown.`),
        Math.min(timeoutMs, longestTimeoutMs),
      )
    }
    const abort = () => actor.send({ type: 'abort' })
    const settle = () => {
      stopTimer()
      signal.removeEventListener('abort', abort)
    }
    const end = (problem: string) => {
      reject(new ToolExecutionError(problem))
      abort()
    }
    const wait = ({ calls, isAtWork }: ReturnType<typeof waitIn>) => {
      if (isAtWork) startTimer()
      else stopTimer()
      if (of) report({ type: 'call.waits', callId: of.call.id, calls, isAtWork })
      else if (calls.length > 0)
        end(
          `The agent needs a decision on ${calls.map((each) => each.name).join(', ')}, and has no onApproval.`,
        )
    }
    // A restored run reports what it waits for, if only that it waits no longer; another one has nothing to report yet.
    let waiting = of?.stored ? undefined : keyOf({ calls: [], isAtWork: true })
    if (waiting !== undefined) startTimer()
    actor.subscribe({
      next: (snapshot: Snapshot<unknown>) => {
        const found = waitIn(snapshot)
        const key = keyOf(found)
        if (key === waiting) return
        waiting = key
        wait(found)
      },
      complete: () => {
        settle()
        resolve(actor.getSnapshot().output)
      },
      error: (thrown) => {
        settle()
        reject(thrown)
      },
    })
    // An observer may have ended the run while the actor was made.
    if (signal.aborted) {
      reject(new ToolExecutionError('The run was aborted before the agent started.'))
      return
    }
    signal.addEventListener('abort', abort, { once: true })
    if (of) report({ type: 'call.run', callId: of.call.id, run: actor })
    actor.start()
  })

const keyOf = ({ calls, isAtWork }: ReturnType<typeof waitIn>): string => `${isAtWork} ${keysOf(calls)}`
