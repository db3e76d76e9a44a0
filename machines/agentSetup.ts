import { assign, emit, enqueueActions, setup, stopChild } from 'xstate'
import { describeThrown, type ErrorData } from '../src/messages/errors.ts'
import { copyJson, type JsonObject } from '../src/messages/json.ts'
import type { ToolResultPart } from '../src/messages/messages.ts'
import { addUsage } from '../src/messages/result.ts'
import { nothingAccumulated } from '../src/model/accumulator.ts'
import { retryDelayMs } from '../src/model/retryPolicy.ts'
import { isThenable } from '../src/tools/isThenable.ts'
import type { Tool } from '../src/tools/tool.ts'
import { modelActor, timerActor, toolExecutorActor } from './agentActors.ts'
import type { ResolvedConfig } from './agentConfig.ts'
import { broken, outOfTime, totalTimeout, truncation, uselessAnswer } from './agentFailures.ts'
import { abortedBy, finalChunk } from './agentOutput.ts'
import { isPastDeadline } from './deadline.ts'
import type { AgentEmitted, AgentEvent, AgentInput, AgentOutput } from './events.ts'
import { settle } from './interruption.ts'
import { chunkOf, receiveDeltas, restartChunks } from './receiveDeltas.ts'
import type { StreamingState } from './streamingState.ts'
import * as run from './streamingState.ts'
import * as round from './toolRound.ts'

/** What the agent's chart speaks of: its children, guards and actions, each as small as its name. */
export const agentSetup = (config: ResolvedConfig) => {
  const { clock, retry, accumulator, newId, tools } = config

  return setup({
    types: {
      context: {} as StreamingState,
      input: {} as AgentInput,
      output: {} as AgentOutput,
      events: {} as AgentEvent,
      emitted: {} as AgentEmitted,
      tags: {} as 'streaming',
    },
    actors: {
      model: modelActor(config),
      timer: timerActor(config),
      toolExecutor: toolExecutorActor(config),
    },
    guards: {
      hasFailed: ({ context }) => context.failure !== null,
      isStepLimitReached: ({ context }) => context.step >= config.maxSteps,
      isStreamComplete: ({ context }) => context.accumulated.finish !== null,
      /** The provider ended the answer with an error of its own, and nothing of it was shown: another try may help. */
      isWorthAnotherTry: ({ context: { accumulated, chunks, attempt } }) =>
        accumulated.finish?.reason === 'error' &&
        accumulated.calls.length === 0 &&
        chunks === 0 &&
        attempt < retry.maxRetries,
      /** A stream that begins again while one is running: the snapshot was restored in the middle of it. */
      isNewStream: (_, { seq }: { seq: number }) => seq === 0,
      isPastDeadline: ({ context }, { at }: { at: number }) => isPastDeadline(context, at),
      isWorthRetrying: ({ context: { failure, attempt, chunks } }) =>
        failure?.retryable === true && attempt < retry.maxRetries && (chunks === 0 || retry.midStream),
      hasFallback: ({ context: { modelIndex, chunks, failure } }) =>
        modelIndex + 1 < config.models.length &&
        (chunks === 0 || retry.midStream) &&
        failure?.code !== outOfTime,
      isPausedByProvider: ({ context }) => context.accumulated.finish?.pause === true,
      isEmptyAfterTools: ({ context }) =>
        context.emptyAnswers === 0 && run.isEmptyAnswer(context) && round.isAfterTools(context),
      hasCalls: ({ context }) => round.currentCalls(context).length > 0,
      isApprovalNeeded: ({ context }) => context.pendingApprovals.length > 0,
      isPending: ({ context }, { callId }: { callId: string }) => context.pendingApprovals.includes(callId),
      isRunEnded: ({ context }) =>
        context.results.some(({ name, isError }) => !isError && tools.get(name)?.endsRun === true),
      isSteered: ({ context }) => context.steering.length > 0,
    },
    actions: {
      announceMessage: enqueueActions(({ context, enqueue }) => {
        const message = context.messages.at(-1)
        if (!message) return
        enqueue.emit(chunkOf(context.responseId, '', [message], {}))
        enqueue.emit({ type: 'message', message })
      }),
      noteStepLimit: assign({ finishReason: 'maxSteps' }),
      storePaused: enqueueActions(({ context, enqueue }) => {
        if (!context.paused) return
        enqueue.assign({ ...run.append(context, context.paused), paused: null })
        enqueue.emit(chunkOf(context.responseId, '', [context.paused], {}))
        enqueue.emit({ type: 'message', message: context.paused })
      }),
      noteStop: assign({ finishReason: 'stop' }),
      beginStep: assign(({ context }) => run.beginStep(context, clock.now())),
      beginAttempt: assign(({ context }) => run.beginAttempt(context, clock.now())),
      receive: enqueueActions(({ context, event, enqueue }) => {
        if (event.type !== 'model.deltas') return
        try {
          const { state, emitted } = receiveDeltas(context, event, accumulator)
          enqueue.assign(state)
          for (const each of emitted) enqueue.emit(each)
        } catch (thrown) {
          // A part of the engine that the user replaced.
          enqueue.raise({ type: 'model.failed', error: broken(thrown, 'Accumulating'), at: event.at })
        }
      }),
      announceRestart: enqueueActions(({ context, enqueue }) => {
        const { attempt } = context
        enqueue.emit({ type: 'retry', attempt, delayMs: 0, restart: true, error: null })
        for (const chunk of restartChunks(context)) enqueue.emit(chunk)
      }),
      noteFailure: assign((_, { error }: { error: ErrorData }) => ({ failure: error })),
      noteUselessAnswer: assign(({ context: { accumulated } }) => ({
        failure: uselessAnswer(accumulated.finish?.raw),
      })),
      noteTruncation: assign({ failure: truncation }),
      noteTotalTimeout: assign({ failure: () => totalTimeout(config.totalMs) }),
      closeModel: stopChild('model'),
      scheduleRetry: assign(({ context: { attempt, failure } }) => ({
        attempt: attempt + 1,
        retryAt: clock.now() + retryDelayMs(retry, attempt + 1, failure ?? {}, config.random),
      })),
      announceRetry: enqueueActions(({ context, enqueue }) => {
        const { attempt, retryAt, chunks, failure } = context
        const delayMs = Math.max(0, retryAt - clock.now())
        enqueue.emit({ type: 'retry', attempt, delayMs, restart: hasShown(context), error: failure })
        if (chunks > 0) for (const chunk of restartChunks(context)) enqueue.emit(chunk)
      }),
      /** Listeners know that it is void: who ends the run during the wait does not get it back. */
      forgetAttempt: assign({ accumulated: nothingAccumulated, chunks: 0, pieces: 0, shown: {} }),
      useFallback: assign(({ context }) => ({ modelIndex: context.modelIndex + 1, attempt: 0 })),
      announceFallback: enqueueActions(({ context, enqueue }) => {
        const { modelIndex, chunks, failure } = context
        const { provider = '', model = '' } = config.models[modelIndex] ?? {}
        enqueue.emit({ type: 'fallback', provider, model, restart: hasShown(context), error: failure })
        if (chunks > 0) for (const chunk of restartChunks(context)) enqueue.emit(chunk)
      }),
      countResponse: assign(({ context }) => ({
        ...run.countResponse(context),
        finishReason: run.finishReasonOf(context),
      })),
      announceStep: emit(({ context }) => ({
        type: 'step',
        step: context.step,
        usage: context.accumulated.usage,
        metrics: {
          timeToFirstChunkMs:
            context.firstChunkAt === null ? null : context.firstChunkAt - context.attemptStartedAt,
          durationMs: clock.now() - context.attemptStartedAt,
          chunks: context.chunks,
        },
      })),
      consolidate: assign(({ context }) => {
        try {
          return { draft: run.consolidated(context, accumulator, newId) }
        } catch (thrown) {
          return { failure: broken(thrown, 'Consolidating') }
        }
      }),
      keepPausedMessage: assign(({ context }) => ({
        paused: context.draft,
        accumulated: nothingAccumulated,
      })),
      countEmptyAnswer: assign(({ context }) => ({
        emptyAnswers: context.emptyAnswers + 1,
        accumulated: nothingAccumulated,
      })),
      storeMessage: assign(({ context }) => ({
        ...(context.draft && run.append(context, context.draft)),
        paused: null,
        draft: null,
        accumulated: nothingAccumulated,
      })),
      beginRound: assign(({ context }) => ({
        started: [],
        results: [],
        pendingApprovals: round
          .currentCalls(context)
          .filter(
            (call) =>
              call.argumentsError === undefined && needsApproval(tools.get(call.name), call.arguments),
          )
          .map((call) => call.id),
      })),
      beginWaiting: assign({ waitingSince: () => clock.now() }),
      announceApprovals: enqueueActions(({ context, enqueue }) => {
        for (const call of round.currentCalls(context)) {
          if (context.pendingApprovals.includes(call.id)) {
            enqueue.emit({ type: 'tool.approval', callId: call.id, call })
          }
        }
      }),
      endWaiting: assign(({ context: { deadlineAt, waitingSince } }) => ({
        deadlineAt: deadlineAt === null ? null : deadlineAt + clock.now() - waitingSince,
      })),
      approve: assign(({ context }, { callId }: { callId: string }) => ({
        pendingApprovals: context.pendingApprovals.filter((id) => id !== callId),
      })),
      reject: enqueueActions(
        ({ context, enqueue }, { callId, reason }: { callId: string; reason?: string | undefined }) => {
          const result = round.rejectedResult(context, callId, reason)
          enqueue.assign({
            pendingApprovals: context.pendingApprovals.filter((id) => id !== callId),
            results: [...context.results, result],
          })
          enqueue.emit({ type: 'tool.result', callId, result })
        },
      ),
      noteStarted: enqueueActions(({ context, event, enqueue }) => {
        if (event.type !== 'tool.started') return
        enqueue.assign({ started: [...context.started, ...event.calls.map(({ id }) => id)] })
        for (const call of event.calls) enqueue.emit({ type: 'tool.call', callId: call.id, call })
      }),
      noteResult: enqueueActions(({ context, event, enqueue }) => {
        if (event.type !== 'tool.finished') return
        enqueue.assign({
          results: [...context.results, event.result],
          usage: addUsage(context.usage ?? undefined, event.usage) ?? null,
        })
        enqueue.emit({ type: 'tool.result', callId: event.result.id, result: event.result })
      }),
      takeResults: enqueueActions(({ context, enqueue }, { results }: { results: ToolResultPart[] }) => {
        const fresh = results.filter(({ id }) => !context.results.some((known) => known.id === id))
        enqueue.assign({ results: [...context.results, ...fresh] })
        for (const result of fresh) enqueue.emit({ type: 'tool.result', callId: result.id, result })
      }),
      noteExecutorFailure: assign((_, { error }: { error: unknown }) => ({
        failure: broken(error, 'ToolExecution'),
      })),
      storeResults: assign(({ context }) => ({
        ...run.append(context, round.resultMessage(context)),
        steering: [],
        emptyAnswers: 0,
      })),
      storeSteering: assign(({ context }) => ({
        ...run.append(context, round.steeringMessage(context)),
        steering: [],
      })),
      // Commands may come from anywhere: whatever they hold, the context stays plain texts.
      queueSteering: assign(({ context }, { text }: { text: string }) => ({
        steering: [...context.steering, describeThrown(text)],
      })),
      noteAbort: assign((_, command: { reason?: string | undefined }) => abortedBy(command)),
      noteError: assign({ finishReason: 'error' }),
      settle: enqueueActions(({ context, enqueue }) => {
        const { change, messages } = settle(context)
        enqueue.assign(change)
        for (const message of messages) {
          enqueue.emit(chunkOf(change.responseId ?? '', '', [message], {}))
          enqueue.emit({ type: 'message', message })
        }
      }),
      announceEnd: emit(({ context }) => finalChunk(context)),
    },
  })
}

/** Whether an answer that begins anew makes anything void: text, or the pieces of a call nobody will run. */
const hasShown = ({ chunks, pieces }: StreamingState): boolean => chunks > 0 || pieces > 0

/**
 * Decided on the arguments the tool would get: those that do not fit need no approval, because the call is refused.
 * Where that cannot be told at once, or the check throws, a person is asked: that is the safe side.
 */
const needsApproval = (tool: Tool | undefined, args: JsonObject): boolean => {
  const rule = tool?.needsApproval ?? false
  if (!tool || rule === false) return false
  try {
    const validation = tool.validate(copyJson(args))
    if (isThenable(validation)) return isAsked(validation)
    return validation.ok && (rule === true || isAsked(rule(validation.value)))
  } catch {
    return true
  }
}

/** A person is asked for anything but a clear no, and a promise is none. */
const isAsked = (answer: unknown): boolean => {
  if (isThenable(answer)) Promise.resolve(answer).catch(() => {})
  return Boolean(answer)
}
