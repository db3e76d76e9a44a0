import type { ActorLogic, AnyActorRef, Snapshot } from 'xstate'
import { describeThrown, type ToolExecutionError } from '../../src/messages/errors.ts'
import { copyJson, type JsonValue } from '../../src/messages/json.ts'
import type { ToolCallPart, ToolResultPart } from '../../src/messages/messages.ts'
import { addUsage, type Usage } from '../../src/messages/result.ts'
import { LazySignal } from '../../src/tools/lazySignal.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { errorOf, reportToolError, withError } from '../../src/tools/toolError.ts'
import type { Attempt, ExecutionOptions } from '../../src/tools/toolExecutor.ts'
import { asToolResult, errorResult } from '../../src/tools/toolResult.ts'
import type { ConfigSource } from '../agent/chartConfig.ts'
import { hostOf, tracerOf, valuesOf } from '../logic/runEnvironment.ts'
import { clockOf } from '../logic/systemTime.ts'
import type { ResolvedPolicy } from '../policy/questions.ts'
import { originIn, toolsOf } from './runTools.ts'

/** The outcome of one call; `usage`: what its tool used of models. */
export type CallOutput = { result: ToolResultPart; usage?: Usage }

/** A call that has started. */
export type CallInput = {
  call: ToolCallPart
  /** The id of the run that made the call. */
  run: string
  /** The id of its round. */
  round: string
  /** 1, or more for a call that was cut off by the end of its process. */
  attempt: number
  /** The origin of the tool that a person has approved. */
  origin?: string
  /** The run of a sub-agent that the call continues. */
  stored?: Snapshot<unknown>
}

type CallSnapshot = Snapshot<CallOutput> & CallInput
type CallEvent = { type: 'call.settled'; output: CallOutput }

/** The logic of one call, which the inspector shows as an actor. Its output is the call's result. */
export const callLogic = (configOf: ConfigSource['of']) => {
  const logic: ActorLogic<CallSnapshot, CallEvent, CallInput> = {
    getInitialSnapshot: (_, input) => ({ ...input, status: 'active', output: undefined, error: undefined }),

    start: (input, { self }) => {
      const config = configOf(self)
      const { call } = input
      const attempt = attemptOf(input, call.id)
      inputs.set(self, self.getSnapshot())
      if (config.policy) policies.set(self, config.policy)
      const end = new LazySignal()
      let isStopped = false
      onStop(self, () => {
        isStopped = true
        end.abort()
      })
      const used = new UsageCount()
      const options: ExecutionOptions = {
        get signal() {
          return end.signal
        },
        own: end,
        clock: clockOf(self),
        self,
        context: valuesOf(self).context,
        attemptAt: () => attempt,
        report: (callId, value) => {
          const isOver = isStopped || self.getSnapshot().status === 'done'
          if (!isOver) self._parent?.send(progressReport(callId, value))
        },
        addUsage: used.add,
      }
      const tools = toolsOf(config, self)
      const tool = tools.get(call.name)
      const traced = { calls: [call], tools, attemptAt: () => attempt, hide: config.hide }
      /** The exception of the tool. A host may store the result, and return a copy of it. */
      let error: ToolExecutionError | undefined
      const execute = async () => {
        if (isReplaced(input, tools)) return replacedResult(call)
        const result = await tracerOf(self).calls(self, traced, () =>
          config.executeSingle(call, tools, options),
        )
        error = errorOf(result)
        reportToolError(config.onToolError, error, call)
        return result
      }
      // The steps of a sub-agent's run are kept one by one.
      const { call: hosted } = tool?.isAgent ? {} : hostOf(self)
      const finish = (result: ToolResultPart) => {
        if (!isStopped) self.send({ type: 'call.settled', output: { result, ...used.take() } })
      }
      settled(
        () => (hosted ? hosted(attempt.idempotencyKey, execute, tool) : execute()),
        // A custom executor may forget whose result it is.
        (result) => finish(withError(asToolResult(call, result), error)),
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

/** Says whether another tool has the name of the one that a person has approved. */
export const isReplaced = ({ call, origin }: CallInput, tools: ReadonlyMap<string, Tool>): boolean =>
  origin !== undefined && tools.has(call.name) && originIn(tools, call.name) !== origin

export const replacedResult = (call: ToolCallPart): ToolResultPart =>
  errorResult(
    call,
    `The call was not made: "${call.name}" is another tool now than the one that was approved. Call it again to ask for its approval.`,
  )

/** The attempt at a call, with the key that all attempts at it have, and no other call. */
export const attemptOf = (
  { run, round, attempt }: Pick<CallInput, 'run' | 'round' | 'attempt'>,
  callId: string,
): Attempt => ({ attempt, idempotencyKey: `${run}/${callId}/${round}` })

/** Listeners get JSON, even if a tool reports something else. */
export const progressReport = (callId: string, value: unknown) => {
  const report = (plain: JsonValue) => ({ type: 'call.progress', callId, value: plain }) as const
  try {
    return report(copyJson(value ?? null))
  } catch {
    return report(describeThrown(value))
  }
}

const inputs = new WeakMap<AnyActorRef, CallInput>()

/** The input of the actor of a call; undefined for any other actor. */
export const callOf = (actor: AnyActorRef | undefined): CallInput | undefined => actor && inputs.get(actor)

const policies = new WeakMap<AnyActorRef, ResolvedPolicy>()

/** The policy of the run that makes a call, by the actor of the call. */
export const policyOfCall = (actor: AnyActorRef | undefined): ResolvedPolicy | undefined =>
  actor && policies.get(actor)

/** Calls back when an actor is stopped before its end: an abort is not cheap, and most calls do not need one. */
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

/** Counts what tools use of models, until it is taken. */
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
