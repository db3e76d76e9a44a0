import { type AnyStateMachine, and, not } from 'xstate'
import { errorDataOf } from '../../src/messages/errors.ts'
import { summariserInput } from '../compaction/contextWindow.ts'
import { deepFreeze } from '../logic/deepFreeze.ts'
import { timeIn } from '../logic/systemTime.ts'
import { policyOf } from '../policy/policyConfig.ts'
import type { Gate } from '../policy/questions.ts'
import { holdEnd } from '../policy/verdicts.ts'
import { askedCalls } from '../tools/approvals.ts'
import { executorInput } from '../tools/round.ts'
import { type AgentMachineConfig, type ResolvedConfig, resolveConfig } from './agentConfig.ts'
import { abortedOutput, completeOutput, failedOutput } from './agentOutput.ts'
import { agentSetup } from './agentSetup.ts'
import type { AgentEvent, AgentOutput } from './events.ts'
import { initialState } from './runInput.ts'
import * as run from './streamingState.ts'

/**
 * The chart alone, as XState's own machine: drawings, graphs and path tests are made from it.
 *
 * @example createChart({ model }).root.states // Initialized, MessageReset, Accumulating …
 */
export const createChart = (options: AgentMachineConfig): AnyStateMachine => chartOf(resolveConfig(options))

/** The actions at the end of a run that reached a limit. */
const atTheEnd = deepFreeze(['noteLimitEnd', 'storePaused', 'closeTurn', 'keepSteering', 'closeTurn'])

/** The transitions of a state that asks for a summary. */
const summaryEvents = <State extends 'Summarising' | 'Halving'>(state: State) =>
  ({
    'summary.done': [
      {
        guard: { type: 'isShorter', params: ({ event }: { event: Summary }) => event },
        target: '#agent.MessageReset',
        actions: [
          countSummary,
          { type: 'compact', params: ({ event }: { event: Summary }) => event },
          'announceMessage',
        ],
      },
      {
        target: '#agent.Failed',
        actions: [countSummary, 'noteUselessSummary'],
      },
    ],
    'summary.failed': [
      {
        guard: { type: 'isHalfBetter', params: ({ event }: { event: NoSummary }) => event },
        target: 'Halving',
        reenter: true,
        actions: [countSummary, 'halve'],
      },
      {
        guard: { type: 'isSummaryWorthRetrying', params: ({ event }: { event: NoSummary }) => event },
        target: state,
        reenter: true,
        actions: [countSummary, noteNoSummary, 'scheduleRetry', 'announceRetry'],
      },
      { target: '#agent.Failed', actions: [countSummary, noteNoSummary] },
    ],
  }) as const

/** The parameter of a guard or an action on a verdict of the policy. */
const verdictAt =
  <const Name extends Gate>(gate: Name) =>
  ({ event }: { event: Extract<AgentEvent, { type: 'policy.verdict' }> }) => ({ gate, answer: event })

type Summary = Extract<AgentEvent, { type: 'summary.done' }>
type NoSummary = Extract<AgentEvent, { type: 'summary.failed' }>

const countSummary = deepFreeze({
  type: 'countSummary',
  params: ({ event }: { event: Summary | NoSummary }) => ({ usage: event.usage }),
})

const noteNoSummary = deepFreeze({
  type: 'noteFailure',
  params: ({ event }: { event: NoSummary }) => ({ error: event.error }),
})

/**
 * The lifecycle chart, state by state. Its guards and actions, by name, are in `agentSetup.ts`; the data they work on
 * is in `streamingState.ts`. Children: `model` streams one answer and watches its time, `timer` is any other wait of a
 * state, `approver` asks `onApproval`, `toolExecutor` runs the calls of one turn, `summariser` shortens a conversation,
 * `policy` is the user's own chart of rules, which Judging asks.
 *
 * `meta` holds what the structure cannot show: what a state waits for, that a round of tool calls is open in it, and
 * which child of an outer state was stopped on the way to it.
 */
export const chartOf = (config: ResolvedConfig) => {
  const deadlineTimer = {
    id: 'timer',
    src: 'timer' as const,
    input: ({ context }: { context: run.StreamingState }) => ({ at: context.deadlineAt }),
  }

  const askApprover = {
    id: 'approver',
    src: 'approver' as const,
    input: ({ context }: { context: run.StreamingState }) => ({ calls: askedCalls(context) }),
  }

  const askSummariser = {
    id: 'summariser' as const,
    src: 'summariser' as const,
    input: ({ context }: { context: run.StreamingState }) => summariserInput(config, context),
  }

  /** A gate of the policy: its verdict decides where the run goes. A restored policy continues with the same question. */
  const gate = <const Name extends Gate, const Exits>(
    name: Name,
    { onVerdict, ...state }: { description: string; meta?: object; onVerdict: Exits },
  ) => {
    const ask = { type: 'askPolicy', params: { gate: name } } as const
    return {
      ...state,
      entry: ask,
      on: { 'policy.ready': { actions: ask }, 'policy.verdict': onVerdict },
      initial: 'Asking',
      states: {
        Asking: {
          description: 'The policy is asked. Most answer at once.',
          on: { 'policy.holds': 'Holding' },
        },
        Holding: {
          description: 'The policy is in a state tagged hold: nothing begins until it leaves that state.',
          meta: { isHeld: true },
          entry: 'beginWaiting',
          invoke: {
            id: 'timer',
            src: 'timer',
            input: ({ context }: { context: run.StreamingState }) => ({ at: holdEnd(config, context) }),
          },
          on: {
            'timer.fired': {
              target: '#agent.Failed',
              actions: {
                type: 'noteHoldTimeout',
                params: ({ event }: { event: { at: number } }) => ({ at: event.at }),
              },
            },
          },
        },
      },
    } as const
  }

  const policy = {
    id: 'policy',
    src: 'policy' as const,
    input: ({ context: { options } }: { context: run.StreamingState }) => ({
      id: options.id,
      policy: options.policy ?? null,
    }),
    onError: {
      target: '.Failed' as const,
      actions: {
        type: 'notePolicyFailure' as const,
        params: ({ event }: { event: { error: unknown } }) => ({ error: event.error }),
      },
    },
  }

  const dismissed = config.policy ? (['dismissPolicy'] as const) : []

  return agentSetup(config).createMachine({
    id: 'agent',
    context: ({ input, self }) => initialState(input, timeIn(self.system), config),
    initial: 'Initialized',
    output: ({ event }) => event.output as AgentOutput,

    // One that breaks ends the run in any state: it never allows anything by failing.
    invoke: [...(config.policy ? [policy] : [])],

    on: {
      abort: {
        target: '.Aborted',
        actions: { type: 'noteAbort', params: ({ event }) => ({ reason: event.reason }) },
      },
      steer: { actions: { type: 'queueSteering', params: ({ event }) => ({ text: event.text }) } },
      compact: { actions: 'wantCompaction' },
    },

    states: {
      Initialized: {
        description: 'The input is checked; the prompt has joined the history.',
        always: [
          { guard: 'hasFailed', target: 'Failed' },
          { guard: 'hasPolicy', target: '#agent.Judging.Prompt', actions: 'announceMessage' },
          { target: 'MessageReset', actions: 'announceMessage' },
        ],
      },

      Judging: {
        description: 'The policy of the agent is asked. An agent without one is never here.',
        initial: 'Prompt',
        states: {
          Prompt: gate('Prompt', {
            description: 'Before the first request: may this prompt be answered?',
            onVerdict: [
              {
                guard: { type: 'isRefused', params: verdictAt('Prompt') },
                target: '#agent.Failed',
                actions: [
                  { type: 'announceVerdicts', params: verdictAt('Prompt') },
                  { type: 'noteRefusal', params: verdictAt('Prompt') },
                ],
              },
              {
                guard: { type: 'isVerdict', params: verdictAt('Prompt') },
                target: '#agent.MessageReset',
                actions: [{ type: 'announceVerdicts', params: verdictAt('Prompt') }, 'forgetOldPolicy'],
              },
            ],
          }),
          Calls: gate('Calls', {
            description: 'Before any call of a turn runs: which of them may?',
            meta: { isInRound: true, isUndecided: true },
            onVerdict: [
              {
                guard: { type: 'isRefused', params: verdictAt('Calls') },
                target: '#agent.Failed',
                actions: { type: 'noteRefusal', params: verdictAt('Calls') },
              },
              {
                guard: { type: 'isVerdict', params: verdictAt('Calls') },
                target: 'Decided',
                actions: [
                  { type: 'announceVerdicts', params: verdictAt('Calls') },
                  { type: 'decideCalls', params: verdictAt('Calls') },
                ],
              },
            ],
          }),
          Decided: {
            description: 'Calls that were refused have their results.',
            always: [
              { guard: 'isApprovalNeeded', target: '#agent.AwaitingApproval' },
              { target: '#agent.ToolExecution' },
            ],
          },
          Results: gate('Results', {
            description: 'After the calls of a turn: which results may the model see?',
            meta: { isInRound: true },
            onVerdict: [
              {
                guard: { type: 'isRefused', params: verdictAt('Results') },
                target: '#agent.Failed',
                actions: [
                  { type: 'withholdResults', params: verdictAt('Results') },
                  { type: 'noteRefusal', params: verdictAt('Results') },
                ],
              },
              {
                guard: { type: 'isVerdict', params: verdictAt('Results') },
                target: '#agent.ToolResults',
                actions: [
                  { type: 'announceVerdicts', params: verdictAt('Results') },
                  { type: 'withholdResults', params: verdictAt('Results') },
                ],
              },
            ],
          }),
          Answer: gate('Answer', {
            description: 'Before the run is complete: may this be its answer?',
            meta: { isAnswered: true },
            onVerdict: [
              {
                guard: { type: 'isRefusedForGood', params: verdictAt('Answer') },
                target: '#agent.Failed',
                actions: [
                  { type: 'announceVerdicts', params: verdictAt('Answer') },
                  { type: 'noteRefusal', params: verdictAt('Answer') },
                ],
              },
              {
                guard: { type: 'isRefused', params: verdictAt('Answer') },
                target: '#agent.MessageReset',
                actions: [
                  { type: 'announceVerdicts', params: verdictAt('Answer') },
                  { type: 'refuseAnswer', params: verdictAt('Answer') },
                  'announceMessage',
                ],
              },
              {
                guard: { type: 'isVerdict', params: verdictAt('Answer') },
                target: 'Accepted',
                actions: { type: 'announceVerdicts', params: verdictAt('Answer') },
              },
            ],
          }),
          Accepted: {
            description: 'The answer is accepted. It is the last one, unless the user has steered meanwhile.',
            entry: 'releaseAnswer',
            always: [
              { guard: 'isLastAnswer', target: '#agent.Complete', actions: ['refuseCalls', ...atTheEnd] },
              {
                guard: 'isSteered',
                target: '#agent.MessageReset',
                actions: ['storeSteering', 'announceMessage'],
              },
              { target: '#agent.Complete' },
            ],
          },
        },
      },

      MessageReset: {
        description: 'Before each model call: checks the limits and the room, and clears the last answer.',
        entry: 'clearRound',
        always: [
          { guard: 'isLimitReached', target: 'AtLimit', actions: 'noteLimit' },
          { guard: 'isTooFull', target: 'Compacting' },
          { target: 'Accumulating', actions: 'beginStep' },
        ],
      },

      AtLimit: {
        description:
          'A limit is reached: the run ends, answers once more without tools, or waits for a person.',
        tags: 'waiting',
        meta: { waitsFor: 'limit' },
        entry: ['beginWaiting', 'announceLimit'],
        exit: 'endWaiting',
        always: [
          { guard: 'isToStop', target: 'Complete', actions: atTheEnd },
          { guard: 'isToAnswer', target: 'Accumulating', actions: 'beginStep' },
        ],
        on: {
          'tool.approve': {
            guard: { type: 'isAboutLimit', params: ({ event }) => event },
            target: 'MessageReset',
            actions: { type: 'raiseLimits', params: ({ event }) => ({ limits: event.arguments }) },
          },
          'tool.reject': {
            guard: { type: 'isAboutLimit', params: ({ event }) => event },
            target: 'Complete',
            actions: atTheEnd,
          },
        },
      },

      Compacting: {
        description: 'The conversation is too long: the model sees less of it from here on.',
        entry: 'beginCompaction',
        initial: 'Clearing',
        states: {
          Clearing: {
            description: 'Old tool results are cleared first.',
            always: [
              {
                guard: 'isClearingEnough',
                target: '#agent.MessageReset',
                actions: [{ type: 'compact', params: {} }, 'announceMessage'],
              },
              { guard: 'isSummaryShort', target: 'Summarising' },
              { target: 'Halving', actions: 'halve' },
            ],
          },
          Summarising: {
            description: 'A model summarises the older part, without tools.',
            invoke: askSummariser,
            on: summaryEvents('Summarising'),
          },
          Halving: {
            description:
              'The summary request was too long: only the newer half is summarised, then half of that.',
            invoke: askSummariser,
            on: summaryEvents('Halving'),
          },
        },
      },

      Accumulating: {
        description: 'The model answers, as a child. Every interruption goes through Interrupted.',
        invoke: {
          id: 'model',
          src: 'model',
          input: ({ context }) => run.modelInput(context),
          onError: {
            target: '.Interrupted',
            actions: {
              type: 'noteFailure',
              params: ({ event }) => ({ error: errorDataOf(event.error, 'ModelError') }),
            },
          },
        },
        on: {
          'model.prepared': { actions: { type: 'notePrepared', params: ({ event }) => event } },
          'model.done': [
            { guard: 'isWorthAnotherTry', target: '.Interrupted', actions: 'noteUselessAnswer' },
            { guard: 'isStreamComplete', target: 'Consolidating' },
            { target: '.Interrupted', actions: 'noteTruncation' },
          ],
          'model.failed': {
            target: '.Interrupted',
            actions: { type: 'noteFailure', params: ({ event }) => ({ error: event.error }) },
          },
        },
        initial: 'Requesting',
        states: {
          Requesting: {
            description: 'The request is sent; no byte of the answer has come yet.',
            on: { 'model.deltas': { target: 'Streaming', actions: 'receive' } },
          },
          Streaming: {
            description: 'The answer is streaming in. Reads after the first take the fast path.',
            tags: 'streaming',
            on: {
              'model.deltas': [
                {
                  guard: { type: 'isNewStream', params: ({ event }) => event },
                  actions: ['announceRestart', 'beginAttempt', 'receive'],
                },
                { actions: 'receive' },
              ],
            },
          },
          Interrupted: {
            description: 'The answer broke off: try again, ask another model, or give up.',
            entry: ['closeModel', 'countAttempt'],
            always: [
              {
                guard: 'isTooLong',
                target: '#agent.Compacting',
                actions: ['announceVoid', 'learnWindow', 'forgetAttempt'],
              },
              {
                guard: 'isWorthRetrying',
                target: 'BackingOff',
                actions: ['scheduleRetry', 'announceRetry', 'forgetAttempt'],
              },
              {
                guard: 'hasFallback',
                target: '#agent.Accumulating',
                reenter: true,
                actions: ['useFallback', 'announceFallback', 'beginAttempt'],
              },
              { target: '#agent.Failed' },
            ],
          },
          BackingOff: {
            description: 'Waits before the next try.',
            meta: { stopped: ['model'] },
            invoke: {
              id: 'timer',
              src: 'timer',
              input: ({ context }) => ({ at: run.retryTime(context) }),
            },
            on: {
              'timer.fired': [
                {
                  guard: { type: 'isPastDeadline', params: ({ event }) => event },
                  target: '#agent.Failed',
                  actions: 'noteTotalTimeout',
                },
                { target: '#agent.Accumulating', reenter: true, actions: 'beginAttempt' },
              ],
            },
          },
        },
      },

      Consolidating: {
        description: 'The answer is complete: it is counted, and becomes a message.',
        entry: ['countAnswer', 'comparePrefix', 'announceStep', 'consolidate'],
        always: [
          { guard: 'hasFailed', target: 'Failed' },
          { guard: 'isPausedByProvider', target: 'MessageReset', actions: 'keepPausedMessage' },
          { guard: 'isEmptyAfterTools', target: 'MessageReset', actions: 'countEmptyAnswer' },
          { target: 'ToolCheck', actions: ['storeMessage', 'announceAnswer'] },
        ],
      },

      ToolCheck: {
        description: 'Decides what happens to the tool calls that are present, never by the finish reason.',
        entry: 'beginRound',
        always: [
          { guard: and(['isLastAnswer', 'hasPolicy']), target: '#agent.Judging.Answer' },
          { guard: 'isLastAnswer', target: 'Complete', actions: ['refuseCalls', ...atTheEnd] },
          { guard: and(['hasCalls', 'hasPolicy']), target: '#agent.Judging.Calls' },
          { guard: 'isApprovalNeeded', target: 'AwaitingApproval' },
          { guard: 'hasCalls', target: 'ToolExecution' },
          { guard: 'isSteered', target: 'MessageReset', actions: ['storeSteering', 'announceMessage'] },
          { guard: 'hasPolicy', target: '#agent.Judging.Answer' },
          { target: 'Complete' },
        ],
      },

      AwaitingApproval: {
        description: 'Waits for people. Nothing is running, so it can be stored for days.',
        tags: 'waiting',
        meta: { waitsFor: 'approval', isInRound: true },
        entry: ['beginWaiting', 'askForApprovals'],
        exit: 'endWaiting',
        invoke: [...(config.onApproval ? [askApprover] : [])],
        on: {
          'tool.approve': {
            guard: { type: 'isPending', params: ({ event }) => event },
            actions: { type: 'approve', params: ({ event }) => event },
          },
          'tool.reject': {
            guard: { type: 'isPending', params: ({ event }) => event },
            actions: { type: 'reject', params: ({ event }) => event },
          },
          'tool.answer': {
            guard: { type: 'isInDoubt', params: ({ event }) => event },
            actions: { type: 'takeAnswer', params: ({ event }) => event },
          },
        },
        always: { guard: not('isApprovalNeeded'), target: 'ToolExecution' },
      },

      ToolExecution: {
        description: 'The tool executor runs the calls that the round starts, as a child.',
        meta: { isInRound: true },
        entry: 'startCalls',
        invoke: {
          id: 'toolExecutor',
          src: 'toolExecutor',
          input: ({ context }) => executorInput(context),
          // Only an executor that a user provides ends by itself.
          onDone: { actions: { type: 'takeResults', params: ({ event }) => event.output } },
          onError: {
            target: 'Failed',
            actions: { type: 'noteExecutorFailure', params: ({ event }) => event },
          },
        },
        on: {
          'tool.finished': { actions: { type: 'noteResults', params: ({ event }) => event } },
          'tool.progress': { actions: { type: 'announceProgress', params: ({ event }) => event } },
          'tool.waiting': { actions: { type: 'noteWait', params: ({ event }) => event } },
          'tool.restored': { actions: { type: 'resumeCalls', params: ({ event }) => event } },
          // Decisions on the calls of sub-agents: their runs are below the executor.
          'tool.approve': { actions: 'passOn' },
          'tool.reject': { actions: 'passOn' },
          'tool.answer': { actions: 'passOn' },
          'tool.postponed': { actions: { type: 'keepCommand', params: ({ event }) => event } },
          'tool.resumed': { actions: { type: 'deliverCommands', params: ({ event }) => event } },
        },
        always: [
          { guard: 'isApprovalNeeded', target: 'AwaitingApproval' },
          { guard: and([not('isAtWork'), 'isAnswerNeeded']), target: 'AwaitingTools' },
          { guard: and([not('isAtWork'), 'hasPolicy']), target: '#agent.Judging.Results' },
          { guard: not('isAtWork'), target: 'ToolResults' },
        ],
        initial: { target: 'Working', actions: 'runCalls' },
        states: {
          Working: {
            description: 'At least one call is running.',
            // Only the time of the whole run is watched here: each tool has its own timeout.
            invoke: [...(config.totalMs === undefined ? [] : [deadlineTimer])],
            on: { 'timer.fired': { target: '#agent.Failed', actions: 'noteTotalTimeout' } },
            always: { guard: 'isWaiting', target: 'Waiting' },
          },
          Waiting: {
            description: 'Only sub-agents that wait for people are left.',
            tags: 'waiting',
            entry: 'beginWaiting',
            exit: 'endWaiting',
            always: { guard: not('isWaiting'), target: 'Working' },
          },
        },
      },

      AwaitingTools: {
        description: 'Waits for the answers of external tools. Nothing is running.',
        tags: 'waiting',
        meta: { waitsFor: 'answer', isInRound: true },
        entry: ['beginWaiting', 'askForAnswers'],
        exit: 'endWaiting',
        on: {
          'tool.answer': {
            guard: { type: 'isAwaited', params: ({ event }) => event },
            actions: { type: 'takeAnswer', params: ({ event }) => event },
          },
          'tool.reject': {
            guard: { type: 'isAwaited', params: ({ event }) => event },
            actions: { type: 'reject', params: ({ event }) => event },
          },
        },
        always: [
          { guard: and([not('isAnswerNeeded'), 'hasPolicy']), target: '#agent.Judging.Results' },
          { guard: not('isAnswerNeeded'), target: 'ToolResults' },
        ],
      },

      ToolResults: {
        description: 'All results of the round become one user message.',
        entry: ['storeResults', 'announceMessage'],
        always: [
          { guard: 'isRunEnded', target: 'Complete', actions: ['noteStop', 'closeTurn'] },
          { target: 'MessageReset' },
        ],
      },

      Complete: {
        description: 'The run has its answer.',
        type: 'final',
        entry: ['announceEnd', ...dismissed],
        output: ({ context, self }) => completeOutput({ ...context, ...policyOf(self) }),
      },
      Failed: {
        description: 'The run ends with an error, and with everything that was reached.',
        type: 'final',
        entry: ['noteError', 'settle', 'announceEnd', ...dismissed],
        output: ({ context, self }) => failedOutput({ ...context, ...policyOf(self) }),
      },
      Aborted: {
        description: 'The run was aborted; what was reached is kept.',
        type: 'final',
        entry: ['settle', 'announceEnd', ...dismissed],
        output: ({ context, self }) => abortedOutput({ ...context, ...policyOf(self) }),
      },
    },
  })
}
