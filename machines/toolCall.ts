import type { ActorLogic, AnyActorRef, Snapshot } from 'xstate'
import { describeThrown } from '../src/messages/errors.ts'
import type { ToolCallPart, ToolResultPart } from '../src/messages/messages.ts'
import { addUsage, type Usage } from '../src/messages/result.ts'
import { LazySignal } from '../src/tools/lazySignal.ts'
import type { ExecutionOptions } from '../src/tools/toolExecutor.ts'
import { asToolResult, errorResult } from '../src/tools/toolResult.ts'
import type { ResolvedConfig } from './agentConfig.ts'
import { toolsOf } from './runTools.ts'
import { valuesOf } from './runValues.ts'
import { clockIn } from './systemTime.ts'

/** What came of one call; `usage`: what its tool used of models. */
export type CallOutput = { result: ToolResultPart; usage?: Usage }

type CallSnapshot = Snapshot<CallOutput> & { call: ToolCallPart }
type CallEvent = { type: 'call.settled'; output: CallOutput }

/** One call: what the inspector shows of it. Its output is its result. */
export const callLogic = (config: ResolvedConfig) => {
  const logic: ActorLogic<CallSnapshot, CallEvent, { call: ToolCallPart }> = {
    getInitialSnapshot: (_, { call }) => ({ status: 'active', output: undefined, error: undefined, call }),

    start: ({ call }, { self, system }) => {
      const end = new LazySignal()
      onStop(self, () => end.abort())
      const used = new UsageCount()
      const options: ExecutionOptions = {
        get signal() {
          return end.signal
        },
        own: end,
        clock: clockIn(system),
        self,
        context: valuesOf(self).context,
        addUsage: used.add,
      }
      const finish = (result: ToolResultPart) =>
        self.send({ type: 'call.settled', output: { result, ...used.take() } })
      settled(
        () => config.executeSingle(call, toolsOf(config, self), options),
        // A custom executor may forget whose result it is.
        (result) => finish(asToolResult(call, result)),
        (thrown) => finish(errorResult(call, describeThrown(thrown))),
      )
    },

    transition: (snapshot, event) => {
      if (event.type === 'call.settled')
        return { ...snapshot, status: 'done', output: event.output, error: undefined }
      return snapshot
    },

    getPersistedSnapshot: (snapshot) => snapshot,
    restoreSnapshot: (stored) => stored as CallSnapshot,
  }
  return logic
}

/** Does something when an actor is stopped before its end: an abort is not cheap, and most calls need none. */
export const onStop = (actor: AnyActorRef, stop: () => void): void => {
  const complete = () => {
    if (actor.getSnapshot().status !== 'done') stop()
  }
  actor.subscribe({ complete, error: () => {} })
}

/** Calls what the user replaced, which may throw at once, and may return anything. */
export const settled = <T>(
  execute: () => Promise<T>,
  onValue: (value: T) => void,
  onError: (thrown: unknown) => void,
): void => {
  try {
    Promise.resolve(execute()).then(onValue, onError)
  } catch (thrown) {
    onError(thrown)
  }
}

/** What tools used of models since it was last asked for. */
export class UsageCount {
  #used: Usage | undefined

  readonly add = (usage: Usage): void => {
    this.#used = addUsage(this.#used, usage)
  }

  take(): { usage?: Usage } {
    const usage = this.#used
    this.#used = undefined
    return usage ? { usage } : {}
  }
}
