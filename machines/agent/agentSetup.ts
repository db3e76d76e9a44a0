import {
  type AnyActorRef,
  assign,
  createMachine,
  emit,
  enqueueActions,
  forwardTo,
  setup,
  stopChild,
} from 'xstate'
import { describeThrown, type ErrorData } from '../../src/messages/errors.ts'
import { appended } from '../../src/messages/growing.ts'
import { toolCallsOf } from '../../src/messages/messages.ts'
import type { Usage } from '../../src/messages/result.ts'
import { retryDelayMs } from '../../src/model/retryPolicy.ts'
import * as room from '../compaction/contextWindow.ts'
import { summariser } from '../compaction/summariser.ts'
import { hostOf, valuesOf } from '../logic/runEnvironment.ts'
import { timeOf } from '../logic/systemTime.ts'
import { modelActor, timer } from '../model/modelActor.ts'
import { receiveDeltas, unreadable } from '../model/receiveDeltas.ts'
import { prefixChange } from '../model/requestPrefix.ts'
import { policyOf } from '../policy/policyConfig.ts'
import { policyLogic } from '../policy/policyLogic.ts'
import { type Gate, questionAt } from '../policy/questions.ts'
import * as verdicts from '../policy/verdicts.ts'
import * as approvals from '../tools/approvals.ts'
import { isAbout } from '../tools/question.ts'
import * as results from '../tools/results.ts'
import * as round from '../tools/round.ts'
import { noteStep, runEvent, takeStep } from '../tools/roundEvents.ts'
import { toolsOf } from '../tools/runTools.ts'
import { type ToolServiceOutput, toolService } from '../tools/toolService.ts'
import type { ResolvedConfig, ToolExecution } from './agentConfig.ts'
import { abortedBy } from './agentOutput.ts'
import {
  announcementOf,
  askEvent,
  askedIn,
  finalChunk,
  heldAnswer,
  restartChunk,
  restartChunks,
  resultEvent,
  stepOf,
} from './announcements.ts'
import * as answers from './answer.ts'
import { priced, settle, usageOfSummary, withUsage, withUsageOf } from './answer.ts'
import type {
  AgentEmitted,
  AgentEvent,
  AgentInput,
  AgentOutput,
  CallCommand,
  PreparedRequest,
} from './events.ts'
import {
  brokenPart,
  emptyPauses,
  outOfTime,
  totalTimeout,
  truncation,
  uselessAnswer,
  uselessSummary,
} from './failures.ts'
import { limitQuestion, raised, reachedLimit, repeatNote, repeatsIn } from './limits.ts'
import * as run from './streamingState.ts'
import { copyOf, type StreamingState } from './streamingState.ts'

/** The part of a decision that says what it is about. */
type Decided = Pick<CallCommand, 'callId' | 'question'>

/** The parts that the agent's chart names: its children, guards and actions, each as small as its name. */
export const agentSetup = (config: ResolvedConfig) => {
  const { retry, accumulator, policy } = config
  const allowed = config.executeBatch ? Number.POSITIVE_INFINITY : concurrencyOf(config.toolExecution)
  /** Calls that may run at the same time. A run that is about to be stopped starts no other one: it would be in doubt. */
  const concurrencyIn = (self: AnyActorRef) => (hostOf(self).isStopping?.() ? 0 : allowed)
  const newIdFor = (self: AnyActorRef, { options }: StreamingState) => {
    const { newId } = hostOf(self)
    return newId ? () => newId(options.id) : config.newId
  }

  return setup({
    types: {
      context: {} as StreamingState,
      input: {} as AgentInput,
      output: {} as AgentOutput,
      events: {} as AgentEvent,
      emitted: {} as AgentEmitted,
      tags: {} as 'streaming' | 'waiting',
    },
    actors: {
      // An agent without a policy never starts it. Made for each chart: charts that share one could spoil it for each other.
      policy: policyLogic(policy?.machine ?? createMachine({})),
      model: modelActor(config),
      timer,
      approver: approvals.approver(config.onApproval),
      toolExecutor: toolService(config),
      summariser: summariser(config),
    },
    guards: {
      hasPolicy: (_) => policy !== undefined,
      isVerdict: ({ context }, judged: verdicts.JudgedGate) => verdicts.isCurrent(context, judged),
      isRefused: ({ context }, judged: verdicts.JudgedGate) =>
        policy !== undefined && verdicts.isRefused(policy, context, judged),
      /** The refusal of a last answer, or of everything: the model is not asked again. */
      isRefusedForGood: ({ context }, judged: verdicts.JudgedGate) =>
        policy !== undefined &&
        verdicts.isRefused(policy, context, judged) &&
        (context.bounds.reached !== null || judged.answer.ended !== undefined),
      hasFailed: ({ context }) => context.failure !== null,
      isLimitReached: ({ context }) => reachedLimit(context) !== undefined,
      // XState's types take a guard without parameters for one with any.
      isToStop: (_) => config.atLimit === 'stop',
      isToAnswer: (_) => config.atLimit === 'answer',
      isAboutLimit: ({ context }, command: Decided) =>
        limitQuestion(context).some((asked) => asked.id === command.callId && isAbout(command, asked)),
      isLastAnswer: ({ context }) => context.bounds.reached !== null,
      isTooFull: ({ context }) => room.isTooFull(config, context),
      isTooLong: ({ context }) =>
        (context.answer.chunks === 0 || retry.midStream) && room.mayCompact(config, context),
      isClearingEnough: ({ context }) => room.isClearingEnough(config, context),
      isSummaryShort: ({ context }) => room.isSummaryShort(config, context) || !room.hasHalf(config, context),
      isShorter: ({ context }, { text }: { text: string }) => room.isShorter(config, context, text),
      isHalfBetter: ({ context }, { error }: { error: ErrorData }) =>
        room.isOverflow(error) && room.hasHalf(config, context),
      isSummaryWorthRetrying: ({ context: { request } }, { error }: { error: ErrorData }) =>
        error.retryable === true && request.attempt < retry.maxRetries,
      isStreamComplete: ({ context }) => context.answer.accumulated.finish !== null,
      /** The provider ended the answer with its own error before it said anything: another try may help. */
      isWorthAnotherTry: ({ context: { answer, paused } }) =>
        answer.accumulated.finish?.reason === 'error' &&
        answer.accumulated.calls.length === 0 &&
        answer.accumulated.text === '' &&
        answer.accumulated.media.length === 0 &&
        paused === null,
      /** A stream that begins again while one is running: the snapshot was restored in the middle of it. */
      isNewStream: (_, { seq }: { seq: number }) => seq === 0,
      isPastDeadline: ({ context: { deadlineAt } }, { at }: { at: number }) =>
        deadlineAt !== null && at >= deadlineAt,
      isWorthRetrying: ({ context: { failure, request, answer } }) =>
        failure?.retryable === true &&
        request.attempt < retry.maxRetries &&
        (answer.chunks === 0 || retry.midStream),
      hasFallback: ({ context: { request, answer, failure } }) =>
        request.modelIndex + 1 < config.models.length &&
        (answer.chunks === 0 || retry.midStream) &&
        failure?.code !== outOfTime,
      // Nothing follows a last answer.
      isPausedByProvider: ({ context }) =>
        context.answer.accumulated.finish?.pause === true && context.bounds.reached === null,
      isEmptyAfterTools: ({ context }) =>
        context.bounds.emptyAnswers < 1 &&
        context.bounds.reached === null &&
        answers.isEmptyAnswer(context) &&
        results.isAfterTools(context),
      hasCalls: ({ context }) => round.currentCalls(context).length > 0,
      isApprovalNeeded: ({ context }) => context.round.pendingApprovals.length > 0,
      isPending: ({ context }, command: Decided) => approvals.isPending(context, command),
      isInDoubt: ({ context }, command: Decided) =>
        context.round.inDoubt.includes(command.callId) && approvals.isPending(context, command),
      isAtWork: ({ context }) => round.isAtWork(context),
      isWaiting: ({ context }) => round.isWaiting(context),
      isAnswerNeeded: ({ context }) => round.externalCalls(context).length > 0,
      isAwaited: ({ context }, command: Decided) =>
        approvals
          .awaitedCalls(context)
          .some((asked) => asked.id === command.callId && isAbout(command, asked)),
      isRunEnded: ({ context }) => results.isRunEnded(context),
      isSteered: ({ context }) => context.steering.length > 0,
    },
    actions: {
      askPolicy: enqueueActions(({ context, self, enqueue }, { gate }: { gate: Gate }) => {
        if (policy) enqueue.sendTo('policy', questionAt(gate, policy, context, toolsOf(config, self)))
      }),
      announceVerdicts: enqueueActions(({ enqueue }, judged: verdicts.JudgedGate) => {
        for (const each of verdicts.verdictEvents(judged)) enqueue.emit(each)
      }),
      /** The policy has started from it. */
      forgetOldPolicy: assign(({ context: { options } }) => {
        const { policy: _, ...rest } = options
        return { options: rest }
      }),
      decideCalls: enqueueActions(({ context, self, enqueue }, { answer }: verdicts.JudgedGate) => {
        if (!policy) return
        const decided = verdicts.decidedRound(policy, context, toolsOf(config, self), answer)
        enqueue.assign({ round: decided.round })
        for (const result of decided.results) enqueue.emit(resultEvent(result))
      }),
      withholdResults: assign(({ context }, { answer }: verdicts.JudgedGate) => ({
        round: verdicts.shownRound(context, answer),
      })),
      refuseAnswer: enqueueActions(({ context, enqueue }, { answer }: verdicts.JudgedGate) => {
        enqueue.assign(verdicts.refusedAnswer(context, answer))
        enqueue.emit({ type: 'retry', attempt: 0, delayMs: 0, restart: true, error: null })
        enqueue.emit(restartChunk())
      }),
      releaseAnswer: enqueueActions(({ context, enqueue }) => {
        if (!policy?.holdsChunks) return
        for (const each of heldAnswer(context)) enqueue.emit(each)
      }),
      /** An answer that the policy may refuse is not shown before, if its text is held. */
      announceAnswer: enqueueActions(({ context: { messages, totals }, enqueue }) => {
        const message = messages.at(-1)
        const isHeld = policy?.holdsChunks && message && toolCallsOf(message).length === 0
        if (!message || isHeld) return
        for (const each of announcementOf(totals.responseId, message)) enqueue.emit(each)
      }),
      noteRefusal: assign((_, judged: verdicts.JudgedGate) => ({
        failure: verdicts.policyRefusal(judged),
      })),
      dismissPolicy: stopChild('policy'),
      notePolicyFailure: assign((_, { error }: { error: unknown }) => ({
        failure: brokenPart(error, 'Judging'),
      })),
      noteHoldTimeout: assign(({ context: { deadlineAt } }, { at }: { at: number }) => ({
        failure:
          deadlineAt !== null && at >= deadlineAt
            ? totalTimeout(config.totalMs)
            : verdicts.policyTimeout(policy?.holdMs ?? 0),
      })),
      announceMessage: enqueueActions(({ context: { messages, totals }, enqueue }) => {
        const message = messages.at(-1)
        if (message) for (const each of announcementOf(totals.responseId, message)) enqueue.emit(each)
      }),
      clearRound: assign({ round: run.noRound }),
      noteLimit: assign(({ context, self }) => ({
        bounds: {
          ...context.bounds,
          reached: reachedLimit(context) ?? null,
          ...(config.atLimit === 'ask' && { question: newIdFor(self, context)() }),
        },
      })),
      announceLimit: enqueueActions(({ context, enqueue }) => {
        for (const call of limitQuestion(context)) enqueue.emit(askEvent(call))
      }),
      raiseLimits: assign(({ context }, { limits }: { limits?: unknown }) => raised(context, limits)),
      noteLimitEnd: assign(({ context: { totals, bounds } }) => ({
        totals: { ...totals, finishReason: bounds.reached?.limit === 'steps' ? 'maxSteps' : 'limit' },
      })),
      /** A model that calls tools although it must not. */
      refuseCalls: enqueueActions(({ context, enqueue }) => {
        if (round.currentCalls(context).length === 0) return
        const refused = results.resultMessage(context)
        enqueue.assign({ ...run.append(context, refused), steering: [] })
        for (const each of announcementOf(context.totals.responseId, refused)) enqueue.emit(each)
      }),
      keepSteering: enqueueActions(({ context, enqueue }) => {
        if (context.steering.length === 0) return
        const steering = results.steeringMessage(context)
        enqueue.assign({ ...run.append(context, steering), steering: [] })
        for (const each of announcementOf(context.totals.responseId, steering)) enqueue.emit(each)
      }),
      wantCompaction: assign(({ context: { window } }) => ({
        window: { ...window, due: 'command' as const },
      })),
      beginCompaction: assign(({ context }) => room.beginCompaction(context)),
      // The request that was refused does not count as a step.
      learnWindow: assign(({ context }) => ({
        window: room.learned(config, context),
        step: context.step - 1,
      })),
      announceVoid: enqueueActions(({ context, enqueue }) => {
        if (!hasShown(context)) return
        const { attempt } = context.request
        enqueue.emit({ type: 'retry', attempt, delayMs: 0, restart: true, error: copyOf(context.failure) })
        if (context.answer.chunks > 0) for (const chunk of restartChunks(context)) enqueue.emit(chunk)
      }),
      /** Clears old tool results if there is no summary. */
      compact: enqueueActions(({ context, enqueue }, { text }: { text?: string }) => {
        const { change, compaction } = room.compact(config, context, text)
        enqueue.assign(change)
        enqueue.emit({ type: 'compaction', ...compaction })
      }),
      countSummary: assign(({ context }, { usage }: { usage: Usage | null }) => ({
        totals: withUsage(context.totals, usageOfSummary(config, context, usage)),
      })),
      noteUselessSummary: assign({ failure: uselessSummary }),
      halve: assign(({ context: { window } }) => ({ window: { ...window, halvings: window.halvings + 1 } })),
      countAttempt: assign(({ context }) => ({
        totals: withUsage(context.totals, priced(config, context)),
        answer: withUsageOf(context.answer, null),
      })),
      countAnswer: assign(({ context }) => ({
        window: room.measured(config, context),
        answer: withUsageOf(context.answer, priced(config, context)),
      })),
      storePaused: enqueueActions(({ context, enqueue }) => {
        const { paused, totals } = context
        if (!paused) return
        enqueue.assign({ ...run.append(context, paused), paused: null })
        for (const each of announcementOf(totals.responseId, paused)) enqueue.emit(each)
      }),
      closeTurn: enqueueActions(({ context, enqueue }) => {
        const closing = answers.closingMessage(context)
        if (!closing) return
        enqueue.assign(run.append(context, closing))
        for (const each of announcementOf(context.totals.responseId, closing)) enqueue.emit(each)
      }),
      noteStop: assign(({ context: { totals } }) => ({ totals: { ...totals, finishReason: 'stop' } })),
      beginStep: assign(({ context, self }) => answers.beginStep(context, timeOf(self))),
      beginAttempt: assign(({ context, self }) => answers.beginAttempt(context, timeOf(self))),
      receive: enqueueActions(({ context, event, enqueue }) => {
        if (event.type !== 'model.deltas') return
        try {
          const received = receiveDeltas(context, event, accumulator, policy?.holdsChunks)
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
      notePrepared: assign(({ context: { request } }, { prepared }: { prepared: PreparedRequest }) => ({
        request: { ...request, prepared },
      })),
      noteFailure: assign((_, { error }: { error: ErrorData }) => ({ failure: error })),
      noteUselessAnswer: assign(({ context: { answer } }) => ({
        failure: uselessAnswer(answer.accumulated.finish?.raw),
      })),
      noteTruncation: assign({ failure: truncation }),
      noteTotalTimeout: assign({ failure: () => totalTimeout(config.totalMs) }),
      closeModel: stopChild('model'),
      scheduleRetry: assign(({ context: { request, failure }, self }) => {
        const attempt = request.attempt + 1
        const retryAt = timeOf(self) + retryDelayMs(retry, attempt, failure ?? {}, config.random)
        return { request: { ...request, attempt, retryAt } }
      }),
      announceRetry: enqueueActions(({ context, self, enqueue }) => {
        const { attempt, retryAt } = context.request
        const delayMs = Math.max(0, retryAt - timeOf(self))
        const error = copyOf(context.failure)
        enqueue.emit({ type: 'retry', attempt, delayMs, restart: hasShown(context), error })
        if (context.answer.chunks > 0) for (const chunk of restartChunks(context)) enqueue.emit(chunk)
      }),
      forgetAttempt: assign(({ context }) => answers.forgetAttempt(context)),
      useFallback: assign(({ context: { request, window } }) => ({
        request: { ...request, modelIndex: request.modelIndex + 1, attempt: 0 },
        // Another model has another window, and counts in its own way.
        window: { ...window, tokens: null, input: null, ratio: null },
      })),
      announceFallback: enqueueActions(({ context, enqueue }) => {
        const { provider, model } = askedIn(config, context)
        const error = copyOf(context.failure)
        enqueue.emit({ type: 'fallback', provider, model, restart: hasShown(context), error })
        if (context.answer.chunks > 0) for (const chunk of restartChunks(context)) enqueue.emit(chunk)
      }),
      consolidate: assign(({ context, self }) => {
        if (answers.isPausedInVain(context))
          return { failure: emptyPauses(context.answer.accumulated.finish?.raw) }
        try {
          return answers.consolidate(context, accumulator, toolsOf(config, self), newIdFor(self, context))
        } catch (thrown) {
          return { failure: brokenPart(thrown, 'Consolidating') }
        }
      }),
      /** The request counts for the next one once it was answered: a cache has it from then on. */
      comparePrefix: enqueueActions(({ context: { step, answer, totals }, enqueue }) => {
        const { sent, accumulated } = answer
        if (!sent) return
        const change = prefixChange(step, sent, totals.prefix, accumulated.usage)
        const { inputTokens: tokens } = accumulated.usage ?? {}
        const prefix = { ...sent.prefix, ...(tokens !== undefined && { tokens }) }
        enqueue.assign({ totals: { ...totals, prefix } })
        if (change) enqueue.emit({ type: 'prefix', ...copyOf(change) })
      }),
      announceStep: emit(({ context, self }) => stepOf(context, self, askedIn(config, context))),
      keepPausedMessage: assign(({ context }) => answers.keepPaused(context)),
      countEmptyAnswer: assign(({ context }) => ({
        ...answers.answerTaken(context),
        bounds: { ...context.bounds, emptyAnswers: context.bounds.emptyAnswers + 1 },
      })),
      storeMessage: assign(({ context }) => answers.storeDraft(context)),
      beginRound: enqueueActions(({ context, self, enqueue }) => {
        if (round.currentCalls(context).length === 0) return
        const begun = approvals.beginRound(
          context,
          toolsOf(config, self),
          config.callsTools,
          valuesOf(self).context,
          newIdFor(self, context)(),
        )
        enqueue.assign({ round: begun })
        for (const result of begun.results.flat()) enqueue.emit(resultEvent(result))
      }),
      beginWaiting: assign(({ context, self }) => ({
        round: { ...context.round, waitingSince: timeOf(self) },
      })),
      askForApprovals: enqueueActions(({ context, enqueue }) => {
        for (const call of approvals.askedCalls(context)) enqueue.emit(askEvent(call))
      }),
      passOn: forwardTo('toolExecutor'),
      askForAnswers: enqueueActions(({ context, enqueue }) => {
        for (const call of approvals.awaitedCalls(context)) enqueue.emit(askEvent(call))
      }),
      endWaiting: assign(({ context, self }) => ({
        deadlineAt:
          context.deadlineAt === null ? null : context.deadlineAt + timeOf(self) - context.round.waitingSince,
      })),
      approve: assign(({ context }, approval: Extract<AgentEvent, { type: 'tool.approve' }>) =>
        approvals.approve(context, approval),
      ),
      reject: enqueueActions(
        ({ context, enqueue }, { callId, reason }: { callId: string; reason?: string | undefined }) => {
          const result = results.rejectedResult(context, callId, reason)
          enqueue.assign({ round: round.withResults(context.round, [result]) })
          enqueue.emit(resultEvent(result))
        },
      ),
      takeAnswer: enqueueActions(
        ({ context, enqueue }, answer: Extract<AgentEvent, { type: 'tool.answer' }>) => {
          const result = results.answeredResult(context, answer)
          enqueue.assign({ round: round.withResults(context.round, [result]) })
          enqueue.emit(resultEvent(result))
        },
      ),
      startCalls: enqueueActions(({ context, self, enqueue }) =>
        noteStep(enqueue, context, round.beginCalls(context, concurrencyIn(self))),
      ),
      /** The executor, which is there by now, has taken the runs of sub-agents over. */
      runCalls: enqueueActions(({ context, enqueue }) => {
        const calls = round.runningCalls(context)
        if (calls.length > 0) enqueue.sendTo('toolExecutor', runEvent(context, calls))
        enqueue.assign({ round: { ...context.round, runs: {} } })
      }),
      announceProgress: emit((_, progress: Extract<AgentEvent, { type: 'tool.progress' }>) => progress),
      noteResults: enqueueActions(
        ({ context, self, enqueue }, { results, usage }: Extract<AgentEvent, { type: 'tool.finished' }>) =>
          takeStep(enqueue, context, round.finishCalls(context, results, concurrencyIn(self)), usage),
      ),
      takeResults: enqueueActions(({ context, enqueue }, output: ToolServiceOutput) => {
        const all = results.allResults(context, output.results)
        noteStep(enqueue, context, round.finishCalls(context, all, 0), output.usage)
      }),
      resumeCalls: enqueueActions(
        ({ context, self, enqueue }, { runs }: Extract<AgentEvent, { type: 'tool.restored' }>) =>
          takeStep(
            enqueue,
            context,
            round.resumeCalls(context, toolsOf(config, self), runs, concurrencyIn(self)),
          ),
      ),
      noteWait: enqueueActions(
        ({ context, enqueue }, wait: Extract<AgentEvent, { type: 'tool.waiting' }>) => {
          const step = round.noteWait(context, wait)
          if (step.round !== context.round) noteStep(enqueue, context, step)
        },
      ),
      keepCommand: assign(
        ({ context }, { callId, command }: Extract<AgentEvent, { type: 'tool.postponed' }>) => ({
          round: round.withCommand(context.round, callId, command),
        }),
      ),
      deliverCommands: enqueueActions(({ context, enqueue }, { callId }: { callId: string }) => {
        const { due, step } = round.takeCommands(context, callId)
        if (due.length === 0) return
        noteStep(enqueue, context, step)
        for (const command of due) enqueue.sendTo('toolExecutor', command)
      }),
      noteExecutorFailure: assign((_, { error }: { error: unknown }) => ({
        failure: brokenPart(error, 'ToolExecution'),
      })),
      storeResults: assign(({ context, self }) => {
        const plain = run.append(context, results.resultMessage(context))
        const repeats = repeatsIn({ ...context, ...plain }, toolsOf(config, self))
        return {
          ...run.append(context, results.resultMessage(context, repeatNote(context, repeats))),
          steering: [],
          bounds: { ...context.bounds, repeats, emptyAnswers: 0 },
        }
      }),
      storeSteering: assign(({ context }) => ({
        ...run.append(context, results.steeringMessage(context)),
        steering: [],
      })),
      // Commands may come from anywhere: the context keeps plain texts only.
      queueSteering: assign(({ context }, { text }: { text: string }) => ({
        steering: appended(context.steering, [describeThrown(text)]),
      })),
      noteAbort: assign(({ context }, command: { reason?: string | undefined }) =>
        abortedBy(context, command),
      ),
      noteError: assign(({ context }) => ({
        totals: { ...context.totals, finishReason: 'error' },
        failure: context.failure && { ...sourceOf(config, context), ...context.failure },
      })),
      settle: enqueueActions(({ context, self, enqueue }) => {
        const { change, messages } = settle(
          {
            ...context,
            answer: withUsageOf(context.answer, priced(config, context)),
            ...(policy && verdicts.unjudged(policy, context)),
          },
          newIdFor(self, context),
        )
        enqueue.assign(change)
        for (const message of messages) {
          for (const each of announcementOf(change.totals.responseId, message)) enqueue.emit(each)
        }
      }),
      announceEnd: emit(({ context, self }) => finalChunk({ ...context, ...policyOf(self) })),
    },
  })
}

/** Says whether an answer that starts over makes anything obsolete: text, or pieces of a call that will not run. */
const hasShown = ({ answer }: StreamingState): boolean => answer.chunks > 0 || answer.toolCallPieces > 0

const concurrencyOf = (execution: ToolExecution): number => {
  if (typeof execution === 'object') return execution.concurrency
  return execution === 'parallel' ? Number.POSITIVE_INFINITY : 1
}

/** The fields of an error that say where it came from. */
const sourceOf = (config: ResolvedConfig, state: StreamingState): Partial<ErrorData> => {
  const { provider, model, agent } = askedIn(config, state)
  const named = agent === undefined ? {} : { agent }
  return state.failure?.name === 'ModelError' ? { provider, model, ...named } : named
}
