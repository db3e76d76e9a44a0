import type { ErrorData } from '../../src/messages/errors.ts'
import { toolCallsOf } from '../../src/messages/messages.ts'
import { retryDelayMs } from '../../src/model/retryPolicy.ts'
import type { ResolvedConfig } from '../agent/agentConfig.ts'
import { announcementOf, askedIn, asShown, restartChunks, stepOf } from '../agent/announcements.ts'
import * as answers from '../agent/answer.ts'
import { priced, withUsageOf } from '../agent/answer.ts'
import { assign, emit, enqueueActions, newIdFor, stopChild } from '../agent/chartActions.ts'
import type { PreparedRequest } from '../agent/events.ts'
import { brokenPart, emptyPauses, totalTimeout, truncation, uselessAnswer } from '../agent/failures.ts'
import * as run from '../agent/streamingState.ts'
import { copyOf, type StreamingState, type Totals, withUsage } from '../agent/streamingState.ts'
import * as room from '../compaction/contextWindow.ts'
import { timeOf } from '../logic/systemTime.ts'
import { toolsOf } from '../tools/runTools.ts'
import { receiveDeltas, unreadable } from './receiveDeltas.ts'
import { prefixChange } from './requestPrefix.ts'

/** The actions of the chart on an answer of the model: its request, its tries, its pieces and its message. */
export const answerActions = (config: () => ResolvedConfig, policy: ResolvedConfig['policy']) => {
  return {
    beginStep: assign(({ context, self }) => answers.beginStep(context, timeOf(self))),
    beginAttempt: assign(({ context, self }) => answers.beginAttempt(context, timeOf(self))),
    notePrepared: assign(({ context: { request } }, { prepared }: { prepared: PreparedRequest }) => ({
      request: { ...request, prepared },
    })),
    receive: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'model.deltas') return
      try {
        const received = receiveDeltas(context, event, config().accumulator, policy?.holdsChunks)
        enqueue.assign({ answer: received.context.answer, totals: received.context.totals })
        for (const each of received.emitted) enqueue.emit(each)
      } catch (thrown) {
        enqueue.raise(unreadable(thrown, event.at))
      }
    }),
    announceRestart: enqueueActions(({ context, enqueue }) => {
      const { attempt } = context.request
      enqueue.emit({ type: 'retry', attempt, delayMs: 0, restart: true, error: null })
      for (const chunk of restartChunks(context)) enqueue.emit(chunk)
    }),
    noteFailure: assign((_, { error }: { error: ErrorData }) => ({ failure: error })),
    noteUselessAnswer: assign(({ context: { answer } }) => ({
      failure: uselessAnswer(answer.accumulated.finish?.raw),
    })),
    noteTruncation: assign({ failure: truncation }),
    noteTotalTimeout: assign({ failure: () => totalTimeout(config().totalMs) }),
    closeModel: stopChild('model'),
    countAttempt: assign(({ context }) => ({
      totals: withUsage(context.totals, priced(config(), context)),
      answer: withUsageOf(context.answer, null),
    })),
    scheduleRetry: assign(({ context: { request, failure }, self }) => {
      const attempt = request.attempt + 1
      const retryAt = timeOf(self) + retryDelayMs(config().retry, attempt, failure ?? {}, config().random)
      return { request: { ...request, attempt, retryAt } }
    }),
    announceRetry: enqueueActions(({ context, self, enqueue }) => {
      const { attempt, retryAt } = context.request
      const delayMs = Math.max(0, retryAt - timeOf(self))
      const error = copyOf(context.failure)
      enqueue.emit({ type: 'retry', attempt, delayMs, restart: hasShown(context), error })
      if (context.answer.chunks > 0) for (const chunk of restartChunks(context)) enqueue.emit(chunk)
    }),
    announceVoid: enqueueActions(({ context, enqueue }) => {
      if (!hasShown(context)) return
      const { attempt } = context.request
      enqueue.emit({ type: 'retry', attempt, delayMs: 0, restart: true, error: copyOf(context.failure) })
      if (context.answer.chunks > 0) for (const chunk of restartChunks(context)) enqueue.emit(chunk)
    }),
    forgetAttempt: assign(({ context }) => answers.forgetAttempt(context)),
    useFallback: assign(({ context: { request, window } }) => ({
      request: { ...request, modelIndex: request.modelIndex + 1, attempt: 0 },
      // Another model has another window, and counts in its own way.
      window: { ...window, tokens: null, input: null, ratio: null },
    })),
    announceFallback: enqueueActions(({ context, enqueue }) => {
      const { provider, model } = askedIn(config(), context)
      const error = copyOf(context.failure)
      enqueue.emit({ type: 'fallback', provider, model, restart: hasShown(context), error })
      if (context.answer.chunks > 0) for (const chunk of restartChunks(context)) enqueue.emit(chunk)
    }),
    comparePrefix: enqueueActions(({ context: { step, answer, totals }, enqueue }) => {
      const { sent, accumulated } = answer
      const change = sent && prefixChange(step, sent, totals.prefix, accumulated.usage)
      if (change) enqueue.emit({ type: 'prefix', ...copyOf(change) })
    }),
    countAnswer: assign(({ context }) => ({
      window: room.measured(config(), context),
      answer: withUsageOf(context.answer, priced(config(), context)),
      totals: withPrefix(context),
    })),
    announceStep: emit(({ context, self }) => stepOf(context, self, askedIn(config(), context))),
    consolidate: assign(({ context, self }) => {
      if (answers.isPausedInVain(context))
        return { failure: emptyPauses(context.answer.accumulated.finish?.raw) }
      try {
        return answers.consolidate(
          context,
          config().accumulator,
          toolsOf(config(), self),
          newIdFor(config(), self, context),
        )
      } catch (thrown) {
        return { failure: brokenPart(thrown, 'Consolidating') }
      }
    }),
    keepPausedMessage: assign(({ context }) => answers.keepPaused(context)),
    storePaused: enqueueActions(({ context, self, enqueue }) => {
      const { paused, totals } = context
      if (!paused) return
      enqueue.assign({ ...run.append(context, paused), paused: null })
      for (const each of announcementOf(totals.responseId, asShown(config(), self, paused)))
        enqueue.emit(each)
    }),
    countEmptyAnswer: assign(({ context }) => ({
      ...answers.answerTaken(context),
      bounds: { ...context.bounds, emptyAnswers: context.bounds.emptyAnswers + 1 },
    })),
    storeMessage: assign(({ context }) => answers.storeDraft(context)),
    /** An answer that the policy may refuse is not shown before, if its text is held. */
    announceAnswer: enqueueActions(({ context: { messages, totals }, self, enqueue }) => {
      const message = messages.at(-1)
      const isHeld = policy?.holdsChunks && message && toolCallsOf(message).length === 0
      if (!message || isHeld) return
      for (const each of announcementOf(totals.responseId, asShown(config(), self, message)))
        enqueue.emit(each)
    }),
    /** Keeps what was shown of the answer in the conversation. Text that a policy has not judged yet was not shown. */
    cutAnswer: enqueueActions(({ context, self, enqueue }) => {
      const messages = answers.cutMessages(context, newIdFor(config(), self, context), !policy?.holdsChunks)
      enqueue.assign({ ...run.append(context, ...messages), ...answers.answerTaken(context), paused: null })
      for (const message of messages)
        for (const each of announcementOf(context.totals.responseId, message)) enqueue.emit(each)
    }),
  }
}

/** Says whether an answer that starts over makes anything obsolete: text, or pieces of a call that will not run. */
const hasShown = ({ answer }: StreamingState): boolean => answer.chunks > 0 || answer.toolCallPieces > 0

/** The totals with the request that was answered. It counts for the next one from then on: a cache has it. */
const withPrefix = ({ totals, answer: { sent, accumulated } }: StreamingState): Totals => {
  if (!sent) return totals
  const { inputTokens: tokens } = accumulated.usage ?? {}
  return { ...totals, prefix: { ...sent.prefix, ...(tokens !== undefined && { tokens }) } }
}
