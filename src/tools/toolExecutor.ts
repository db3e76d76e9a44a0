import type { AnyActorRef } from 'xstate'
import { describeThrown } from '../messages/errors.ts'
import { copyJson } from '../messages/json.ts'
import type { ToolCallPart, ToolResultPart } from '../messages/messages.ts'
import type { Usage } from '../messages/result.ts'
import { type Clock, systemClock } from '../model/clock.ts'
import { newId } from '../model/newId.ts'
import { LazySignal } from './lazySignal.ts'
import type { Tool } from './tool.ts'
import { thrownResult } from './toolError.ts'
import { errorResult, misfit, toolResultOf, unknownTool } from './toolResult.ts'

/** The number of an attempt at a call, and the key that all attempts at it share with no other call. */
export type Attempt = { attempt: number; idempotencyKey: string }

/** The values that an executor gets beside the calls. */
export type ExecutionOptions = {
  /** Aborted when the run is. */
  signal: AbortSignal
  /** The signal of this call alone, made when it is first read. Without it the tool gets one that follows `signal`. */
  own?: LazySignal
  /** The source of time. Default: real time. */
  clock?: Clock
  /** Called with the tokens that tools used. */
  addUsage?: (usage: Usage) => void
  /** The actor of the call. */
  self?: AnyActorRef
  /** The values that the sender gave for the tools of this run: `SendOptions.context`. */
  context?: unknown
  /** The attempt at a call. Default: the first. */
  attemptAt?: (callId: string) => Attempt
  /** Called with the progress of a call. */
  report?: (callId: string, value: unknown) => void
  /** Called with each result as it arrives; a batch that was stopped half-way loses none of them. */
  onResult?: (result: ToolResultPart) => void
}

/**
 * Runs tool calls. Replaceable, in part or whole: `new Agent(model, { toolExecutor: { executeSingle } })`. Neither
 * function may reject: a failure is an error result.
 */
export type ToolExecutor = {
  /** Runs one call. */
  executeSingle(
    call: ToolCallPart,
    tools: ReadonlyMap<string, Tool>,
    options: ExecutionOptions,
  ): Promise<ToolResultPart>
  /** Runs all calls of a turn; the results are in call order. */
  executeBatch(
    calls: readonly ToolCallPart[],
    tools: ReadonlyMap<string, Tool>,
    options: ExecutionOptions,
  ): Promise<ToolResultPart[]>
}

/** The batches of {@link createToolExecutor}: an agent that is given one runs its calls as it would without. */
const plainBatches = new WeakSet<ToolExecutor['executeBatch']>()

/** Checks whether a batch is the user's own, and takes the calls of a turn as a whole. */
export const isOwnBatch = (executeBatch: ToolExecutor['executeBatch'] | undefined): boolean =>
  executeBatch !== undefined && !plainBatches.has(executeBatch)

/**
 * The default executor; called directly, `executeBatch` runs one call after the other. `hide` removes credentials from
 * what tools throw, since errors of HTTP clients may quote them.
 *
 * @example
 * const { executeSingle } = createToolExecutor()
 * new Agent(model, { toolExecutor: { executeSingle: (call, ...rest) => log(call) ?? executeSingle(call, ...rest) } })
 */
export const createToolExecutor = (hide: (text: string) => string = (text) => text): ToolExecutor => {
  const executor: ToolExecutor = {
    executeSingle(call, tools, options) {
      const tool = tools.get(call.name)
      if (!tool) return Promise.resolve(unknownTool(call, [...tools.keys()]))
      if (call.argumentsError !== undefined) return Promise.resolve(errorResult(call, call.argumentsError))
      const end = options.own ?? LazySignal.following(options.signal)
      if (end.isAborted) return Promise.resolve(neverStarted(call))
      return new Promise((resolve) => {
        const clock = options.clock ?? systemClock
        /** The tool is not waited for any longer, whether or not it heeds its signal. */
        const stop = (problem: string) =>
          settle(errorResult(call, `${problem}; whether it took effect is unknown.`))
        const forget = end.onAbort(() => stop('The run was aborted while this tool was running'))
        const timeout = Number.isFinite(tool.timeoutMs)
          ? clock.setTimeout(() => {
              stop(`The tool did not finish within ${tool.timeoutMs} ms`)
              end.abort()
            }, tool.timeoutMs)
          : undefined
        const settle = (result: ToolResultPart) => {
          forget()
          end.release()
          if (timeout !== undefined) clock.clearTimeout(timeout)
          resolve(result)
        }
        runTool(tool, call, end, options).then(settle, (thrown) => settle(thrownResult(call, thrown, hide)))
      })
    },

    async executeBatch(calls, tools, options) {
      const results: ToolResultPart[] = []
      for (const call of calls) {
        const result = await executor.executeSingle(call, tools, options)
        options.onResult?.(result)
        results.push(result)
      }
      return results
    },
  }
  plainBatches.add(executor.executeBatch)
  return executor
}

const neverStarted = (call: ToolCallPart): ToolResultPart =>
  errorResult(call, 'The run was aborted before this tool started.')

/** The attempt of a call that is not part of a run. */
const firstAttempt = (): Attempt => ({ attempt: 1, idempotencyKey: newId() })

const runTool = async (
  tool: Tool,
  call: ToolCallPart,
  end: LazySignal,
  { addUsage = () => {}, report = () => {}, attemptAt = firstAttempt, self, context }: ExecutionOptions,
): Promise<ToolResultPart> => {
  if (!tool.execute) return errorResult(call, `The tool "${call.name}" is external: it cannot be run here.`)
  // A copy: what a tool does to its arguments must not change the conversation.
  const validation = await tool.validate(copyJson(call.arguments))
  if (!validation.ok) return misfit(call, validation.problem)
  if (end.isAborted) return neverStarted(call)
  const value = await tool.execute(validation.value, {
    callId: call.id,
    get signal() {
      return end.signal
    },
    context,
    ...attemptAt(call.id),
    addUsage,
    report: (progress) => report(call.id, progress),
    self,
  })
  // Many tools return their errors: the model gets the words, and the developer the stack.
  if (value instanceof Error) throw value
  try {
    return toolResultOf(call, value, tool.maxResult)
  } catch (cause) {
    throw new TypeError(`The tool has run, but ${describeThrown(cause)}.`, { cause })
  }
}
