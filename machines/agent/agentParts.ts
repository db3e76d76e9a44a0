import type {
  ActionFunction,
  AnyActorLogic,
  AnyActorScope,
  ParameterizedObject,
  ProvidedActor,
  Snapshot,
} from 'xstate'
import type { ErrorData } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { PendingCall, Usage } from '../../src/messages/result.ts'
import type { SummariserInput } from '../compaction/summariser.ts'
import type { ModelInput, TimerInput } from '../model/modelActor.ts'
import type { PolicyActorInput } from '../policy/policyLogic.ts'
import type { Gate } from '../policy/questions.ts'
import type { JudgedGate } from '../policy/verdicts.ts'
import type { ToolServiceInput, ToolServiceOutput } from '../tools/toolService.ts'
import type { AgentEmitted, AgentEvent, CallCommand, MessageTiming, PreparedRequest } from './events.ts'
import type { StreamingState } from './streamingState.ts'

// Written out because the type of the chart cannot be part of a declaration file: `test/types` fails to compile when a
// name or a parameter differs from the chart's.

/**
 * Your own guards, actions and children of the agent's chart, by the names that it gives them.
 *
 * @example agent.machine.provide({ guards: { isWorthRetrying: ({ context }) => context.request.attempt < 5 } })
 */
export type AgentParts = {
  guards?: {
    [Name in keyof AgentGuards]?: (
      args: { context: StreamingState; event: AgentEvent },
      params: AgentGuards[Name],
    ) => boolean
  }
  actions?: {
    [Name in keyof AgentActions]?: ActionFunction<
      StreamingState,
      AgentEvent,
      AgentEvent,
      AgentActions[Name],
      ProvidedActor,
      ParameterizedObject,
      ParameterizedObject,
      string,
      AgentEmitted
    >
  }
  actors?: {
    [Name in keyof AgentChildren]?: ChildLogic<
      AgentChildren[Name],
      Name extends 'model' ? undefined : unknown
    >
  }
}

/** The parameters of parts that have none. */
type Plain<Name extends string> = { [Each in Name]: undefined }

type Event<Type extends AgentEvent['type']> = Extract<AgentEvent, { type: Type }>

/** The part of a decision that says what it is about. */
type Decided = Pick<CallCommand, 'callId' | 'question'>

/** The parameter of each guard. */
export type AgentGuards = Plain<
  | 'hasPolicy'
  | 'hasFailed'
  | 'isLimitReached'
  | 'isToStop'
  | 'isToAnswer'
  | 'isLastAnswer'
  | 'isTooFull'
  | 'isTooLong'
  | 'isClearingEnough'
  | 'isSummaryShort'
  | 'isStreamComplete'
  | 'isWorthAnotherTry'
  | 'isWorthRetrying'
  | 'hasFallback'
  | 'isPausedByProvider'
  | 'isEmptyAfterTools'
  | 'hasCalls'
  | 'isApprovalNeeded'
  | 'isAtWork'
  | 'isWaiting'
  | 'isAnswerNeeded'
  | 'isRunEnded'
  | 'isSteered'
  | 'hasTasks'
  | 'hasTaskResult'
  | 'isForTask'
> & {
  isVerdict: JudgedGate
  isRefused: JudgedGate
  isRefusedForGood: JudgedGate
  isTaskOpen: { task: string }
  isAboutLimit: Decided
  isShorter: { text: string }
  isHalfBetter: { error: ErrorData }
  isSummaryWorthRetrying: { error: ErrorData }
  isNewStream: { seq: number }
  isPastDeadline: { at: number }
  isPending: Decided
  isInDoubt: Decided
  isAwaited: Decided
  isExpiryFatal: { at: number }
  isUrgent: { when?: MessageTiming | undefined; cutsAnswer?: boolean }
}

/** The parameter of each action. */
export type AgentActions = Plain<
  | 'forgetOldPolicy'
  | 'releaseAnswer'
  | 'announceAnswer'
  | 'noteAccepted'
  | 'refuseTexts'
  | 'dismissPolicy'
  | 'announceMessage'
  | 'clearRound'
  | 'noteLimit'
  | 'announceLimit'
  | 'noteLimitEnd'
  | 'refuseCalls'
  | 'keepSteering'
  | 'wantCompaction'
  | 'beginCompaction'
  | 'learnWindow'
  | 'announceVoid'
  | 'noteUselessSummary'
  | 'halve'
  | 'countAttempt'
  | 'countAnswer'
  | 'storePaused'
  | 'closeTurn'
  | 'noteStop'
  | 'beginStep'
  | 'beginAttempt'
  | 'receive'
  | 'announceRestart'
  | 'noteUselessAnswer'
  | 'noteTruncation'
  | 'noteTotalTimeout'
  | 'closeModel'
  | 'scheduleRetry'
  | 'announceRetry'
  | 'forgetAttempt'
  | 'useFallback'
  | 'announceFallback'
  | 'consolidate'
  | 'announceStep'
  | 'comparePrefix'
  | 'keepPausedMessage'
  | 'countEmptyAnswer'
  | 'storeMessage'
  | 'beginRound'
  | 'beginWaiting'
  | 'cutAnswer'
  | 'startExpiry'
  | 'stopExpiry'
  | 'wakeUp'
  | 'askForApprovals'
  | 'passOn'
  | 'askForAnswers'
  | 'endWaiting'
  | 'startCalls'
  | 'runCalls'
  | 'storeResults'
  | 'storeSteering'
  | 'noteError'
  | 'settle'
  | 'announceEnd'
  | 'passToTask'
  | 'askForTasks'
  | 'deliverResult'
  | 'dismissTasks'
> & {
  askPolicy: { gate: Gate }
  takeVerdicts: JudgedGate
  decideCalls: JudgedGate
  withholdResults: JudgedGate
  refuseAnswer: JudgedGate
  noteRefusal: JudgedGate
  notePolicyFailure: { error: unknown }
  noteHoldTimeout: { at: number }
  raiseLimits: { limits?: unknown }
  compact: { text?: string }
  countSummary: { usage: Usage | null }
  notePrepared: { prepared: PreparedRequest }
  noteFailure: { error: ErrorData }
  approve: Event<'tool.approve'>
  reject: { callId: string; reason?: string | undefined }
  takeAnswer: Event<'tool.answer'>
  announceProgress: Event<'tool.progress'>
  noteResults: Event<'tool.finished'>
  takeResults: ToolServiceOutput
  resumeCalls: Event<'tool.restored'>
  noteWait: Event<'tool.waiting'>
  keepCommand: Event<'tool.postponed'>
  deliverCommands: { callId: string }
  noteExecutorFailure: { error: unknown }
  noteTaskEnd: Event<'task.finished'> & { isAwaited?: boolean }
  noteTaskReport: Event<'task.report'> & { isAwaited?: boolean }
  commandTask: Event<'task.command'>
  restartTasks: { ids: readonly string[] }
  deliverJudged: JudgedGate
  noteTaskFailure: { error: unknown }
  awaitNextExpiry: { at: number }
  expire: { at: number }
  noteExpiry: { at: number }
  queueSteering: { text: string | undefined }
  queueMessage: { text: string; when?: MessageTiming | undefined; metadata?: JsonObject | undefined }
  noteAbort: { reason?: string | undefined }
}

/** The input of each child. */
export type AgentChildren = {
  policy: PolicyActorInput
  model: ModelInput
  timer: TimerInput
  approver: { calls: PendingCall[] }
  toolExecutor: ToolServiceInput
  summariser: SummariserInput
  tasks: undefined
}

/** Actor logic that takes an input. A model has no output, as a promise would: it sends `model.deltas` and `model.done`. */
type ChildLogic<Input, Output> = Omit<AnyActorLogic, 'getInitialSnapshot'> & {
  getInitialSnapshot: (scope: AnyActorScope, input: Input) => Snapshot<Output>
}
