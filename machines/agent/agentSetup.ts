import { createMachine, setup } from 'xstate'
import { describeThrown, type ErrorData } from '../../src/messages/errors.ts'
import { appended } from '../../src/messages/growing.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import * as room from '../compaction/contextWindow.ts'
import { summariser } from '../compaction/summariser.ts'
import { answerActions } from '../model/answerActions.ts'
import { modelActor, timer } from '../model/modelActor.ts'
import { inheritedPolicy } from '../policy/inheritedPolicy.ts'
import { policyActions } from '../policy/policyActions.ts'
import { policyOf } from '../policy/policyConfig.ts'
import { policyLogic } from '../policy/policyLogic.ts'
import * as verdicts from '../policy/verdicts.ts'
import { taskActions } from '../tasks/taskActions.ts'
import { taskService } from '../tasks/taskService.ts'
import * as tasks from '../tasks/tasks.ts'
import * as approvals from '../tools/approvals.ts'
import * as expiry from '../tools/expiry.ts'
import { isAbout } from '../tools/question.ts'
import * as results from '../tools/results.ts'
import * as round from '../tools/round.ts'
import { roundActions } from '../tools/roundActions.ts'
import { toolService } from '../tools/toolService.ts'
import type { ResolvedConfig } from './agentConfig.ts'
import { abortedBy } from './agentOutput.ts'
import { announcementOf, askEvent, askedIn, asShown, finalChunk } from './announcements.ts'
import * as answers from './answer.ts'
import { priced, settle, withUsageOf } from './answer.ts'
import { assign, emit, enqueueActions, newIdFor } from './chartActions.ts'
import type { ChartShape, ConfigSource } from './chartConfig.ts'
import { compactionActions } from './compacting.ts'
import type {
  AgentEmitted,
  AgentEvent,
  AgentInput,
  AgentOutput,
  CallCommand,
  MessageTiming,
} from './events.ts'
import { outOfTime } from './failures.ts'
import { limitQuestion, raised, reachedLimit } from './limits.ts'
import * as run from './streamingState.ts'
import { copyOf, type StreamingState } from './streamingState.ts'

/** The part of a decision that says what it is about. */
type Decided = Pick<CallCommand, 'callId' | 'question'>

/**
 * The parts that the agent's chart names: its children, its guards, and its actions. Parts for one subject (an answer,
 * a round of calls, background agents, the policy, a compaction) are in the files of that subject; the parts here are
 * for the run itself.
 */
export const agentSetup = ({ policy }: ChartShape, { current: config, of }: ConfigSource) => {
  const judgesSteering = policy?.mentions('steer') === true
  /** A message of the user waits for the model, or before that for the policy. */
  const queued = ({ steering, options }: StreamingState, text: run.Steer): Partial<StreamingState> =>
    judgesSteering
      ? { options: { ...options, steering: [...(options.steering ?? []), text] } }
      : { steering: appended(steering, [text]) }

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
      policy:
        policy && !policy.machine ? inheritedPolicy() : policyLogic(policy?.machine ?? createMachine({})),
      model: modelActor(of),
      timer,
      approver: approvals.approver(of),
      toolExecutor: toolService(of),
      summariser: summariser(of),
      tasks: taskService(of),
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
      isToStop: (_) => config().atLimit === 'stop',
      isToAnswer: (_) => config().atLimit === 'answer',
      isAboutLimit: ({ context }, command: Decided) =>
        limitQuestion(context).some((asked) => asked.id === command.callId && isAbout(command, asked)),
      isLastAnswer: ({ context }) => context.bounds.reached !== null,
      isTooFull: ({ context }) => room.isTooFull(config(), context),
      isTooLong: ({ context }) =>
        (context.answer.chunks === 0 || config().retry.midStream) && room.mayCompact(config(), context),
      isClearingEnough: ({ context }) => room.isClearingEnough(config(), context),
      isSummaryShort: ({ context }) =>
        room.isSummaryShort(config(), context) || !room.hasHalf(config(), context),
      isShorter: ({ context }, { text }: { text: string }) => room.isShorter(config(), context, text),
      isHalfBetter: ({ context }, { error }: { error: ErrorData }) =>
        room.isOverflow(error) && room.hasHalf(config(), context),
      isSummaryWorthRetrying: ({ context: { request } }, { error }: { error: ErrorData }) =>
        error.retryable === true && request.attempt < config().retry.maxRetries,
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
        request.attempt < config().retry.maxRetries &&
        (answer.chunks === 0 || config().retry.midStream),
      hasFallback: ({ context: { request, answer, failure } }) =>
        request.modelIndex + 1 < config().models.length &&
        (answer.chunks === 0 || config().retry.midStream) &&
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
        approvals.awaitedCalls(context, command.callId).some((asked) => isAbout(command, asked)),
      isExpiryFatal: ({ context }, { at }: { at: number }) =>
        expiry.expiredAt(context, at).some(({ outcome }) => outcome === 'fail'),
      /** True for a message that cuts the answer off. A last answer is not: nothing follows it. */
      isUrgent: (
        { context },
        { when, cutsAnswer }: { when?: MessageTiming | undefined; cutsAnswer?: boolean },
      ) =>
        when === 'now' &&
        context.bounds.reached === null &&
        !judgesSteering &&
        !(cutsAnswer && reachedLimit(context)),
      isRunEnded: ({ context }) => results.isRunEnded(context),
      isSteered: ({ context }) => context.steering.length > 0,
      hasTasks: ({ context }) => tasks.hasTasks(context),
      hasTaskResult: ({ context }) => tasks.nextResult(context) !== undefined,
      isTaskOpen: ({ context }, { task }: { task: string }) => tasks.isTaskOpen(context, task),
      isForTask: ({ context, event }) => 'callId' in event && tasks.isForTask(context, event),
    },
    actions: {
      ...answerActions(config, policy),
      ...roundActions(config),
      ...taskActions(config),
      ...policyActions(config, policy),
      ...compactionActions(config),
      announceMessage: enqueueActions(({ context: { messages, totals }, enqueue }) => {
        const message = messages.at(-1)
        if (message) for (const each of announcementOf(totals.responseId, message)) enqueue.emit(each)
      }),
      noteLimit: assign(({ context, self }) => ({
        bounds: {
          ...context.bounds,
          reached: reachedLimit(context) ?? null,
          ...(config().atLimit === 'ask' && { question: newIdFor(config(), self, context)() }),
        },
      })),
      announceLimit: enqueueActions(({ context, enqueue }) => {
        for (const call of limitQuestion(context)) enqueue.emit(askEvent(call))
      }),
      raiseLimits: assign(({ context }, { limits }: { limits?: unknown }) => raised(context, limits)),
      noteLimitEnd: assign(({ context: { totals, bounds } }) => ({
        totals: { ...totals, finishReason: bounds.reached?.limit === 'steps' ? 'maxSteps' : 'limit' },
      })),
      keepSteering: enqueueActions(({ context, enqueue }) => {
        if (context.steering.length === 0) return
        const steering = results.unseenTexts(context)
        enqueue.assign({ ...run.append(context, steering), steering: [] })
        for (const each of announcementOf(context.totals.responseId, steering)) enqueue.emit(each)
      }),
      closeTurn: enqueueActions(({ context, enqueue }) => {
        const closing = answers.closingMessage(context)
        if (!closing) return
        enqueue.assign(run.append(context, closing))
        for (const each of announcementOf(context.totals.responseId, closing)) enqueue.emit(each)
      }),
      noteStop: assign(({ context: { totals } }) => ({ totals: { ...totals, finishReason: 'stop' } })),
      storeSteering: assign(({ context }) => ({
        ...run.append(context, results.steeringMessage(context)),
        steering: results.laterSteering(context, true),
      })),
      // Commands may come from anywhere: the context keeps plain texts only.
      queueSteering: assign(({ context }, { text }: { text: string | undefined }) =>
        text === undefined ? {} : queued(context, describeThrown(text)),
      ),
      queueMessage: assign(
        (
          { context },
          {
            text,
            when,
            metadata,
          }: { text: string; when?: MessageTiming | undefined; metadata?: JsonObject | undefined },
        ) =>
          queued(
            context,
            when === 'idle'
              ? { idle: describeThrown(text), ...(metadata && { metadata: copyOf(metadata) }) }
              : describeThrown(text),
          ),
      ),
      noteAbort: assign(({ context }, command: { reason?: string | undefined }) =>
        abortedBy(context, command),
      ),
      noteError: assign(({ context }) => ({
        totals: { ...context.totals, finishReason: 'error' },
        failure: context.failure && { ...sourceOf(config(), context), ...context.failure },
      })),
      settle: enqueueActions(({ context, self, enqueue }) => {
        const { change, messages } = settle(
          {
            ...context,
            answer: withUsageOf(context.answer, priced(config(), context)),
            ...(policy && verdicts.unjudged(policy, context)),
          },
          newIdFor(config(), self, context),
        )
        const texts = policy && verdicts.withoutUnaccepted(policy, { ...context, ...change })
        enqueue.assign({ ...change, ...texts })
        for (const message of messages) {
          for (const each of announcementOf(change.totals.responseId, asShown(config(), self, message)))
            enqueue.emit(each)
        }
      }),
      announceEnd: emit(({ context, self }) => finalChunk({ ...context, ...policyOf(self, context) })),
    },
  })
}

/** The fields of an error that say where it came from. */
const sourceOf = (config: ResolvedConfig, state: StreamingState): Partial<ErrorData> => {
  const { provider, model, agent } = askedIn(config, state)
  const named = agent === undefined ? {} : { agent }
  return state.failure?.name === 'ModelError' ? { provider, model, ...named } : named
}
