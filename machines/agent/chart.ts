import { type AnyStateMachine, and, not } from 'xstate'
import { timeOf } from '../logic/systemTime.ts'
import { policyChild } from '../policy/policyActions.ts'
import { policyOf } from '../policy/policyConfig.ts'
import { taskChild, taskEvents } from '../tasks/taskActions.ts'
import { askedCalls } from '../tools/approvals.ts'
import { executorInput } from '../tools/round.ts'
import { expiryEvents } from '../tools/roundActions.ts'
import { accumulating } from './accumulating.ts'
import { type AgentMachineConfig, resolveConfig } from './agentConfig.ts'
import { abortedOutput, completeOutput, failedOutput } from './agentOutput.ts'
import { agentSetup } from './agentSetup.ts'
import { type ChartShape, type ConfigSource, shapeOf, sourceOf } from './chartConfig.ts'
import { compacting } from './compacting.ts'
import type { AgentOutput } from './events.ts'
import { atTheEnd, judging } from './judging.ts'
import { initialState } from './runInput.ts'
import type { StreamingState } from './streamingState.ts'

/**
 * The chart alone, as XState's own machine: drawings, graphs and path tests are made from it.
 *
 * @example createChart({ model }).root.states // Initialized, MessageReset, Accumulating …
 */
export const createChart = (options: AgentMachineConfig): AnyStateMachine => {
  const config = resolveConfig(options)
  return chartOf(shapeOf(config), sourceOf(config))
}

/** The message that wakes a run. */
const wakeText = ({ event }: { event: { message?: string } }) => ({ text: event.message })

/**
 * The lifecycle chart, state by state. Three states have so much inside that they are in files of their own:
 * `accumulating.ts`, `compacting.ts` and `judging.ts`. Guards and actions, by name, are in `agentSetup.ts`; the data
 * they work on is in `streamingState.ts`. Children: `model` streams one answer and watches its time, `timer` is any
 * other wait of a state, `approver` asks `onApproval`, `toolExecutor` runs the calls of one turn, `summariser` shortens
 * a conversation, `policy` is the user's own chart of rules, which Judging asks, and `tasks` runs background agents.
 *
 * `meta` holds facts that the structure cannot show: what a state waits for, if a round of tool calls is open in it,
 * the child of an outer state that was stopped on the way to it, and the child that an action spawns if it is needed.
 */
export const chartOf = (shape: ChartShape, source: ConfigSource) => {
  const { current } = source
  const deadlineTimer = {
    id: 'timer',
    src: 'timer' as const,
    input: ({ context }: { context: StreamingState }) => ({ at: context.deadlineAt }),
  }

  const askApprover = {
    id: 'approver',
    src: 'approver' as const,
    input: ({ context }: { context: StreamingState }) => ({ calls: askedCalls(context) }),
  }

  const dismissed = shape.policy ? (['dismissPolicy'] as const) : []
  const unaccepted = shape.policy ? (['refuseTexts'] as const) : []
  const ended = shape.hasBackground ? (['dismissTasks'] as const) : []

  return agentSetup(shape, source).createMachine({
    id: 'agent',
    context: ({ input, self }) => initialState(input, timeOf(self), current()),
    initial: 'Initialized',
    output: ({ event }) => event.output as AgentOutput,

    invoke: [...(shape.policy ? [policyChild] : []), ...(shape.hasBackground ? [taskChild] : [])],

    on: {
      abort: {
        target: '.Aborted',
        actions: { type: 'noteAbort', params: ({ event }) => ({ reason: event.reason }) },
      },
      steer: { actions: { type: 'queueSteering', params: ({ event }) => ({ text: event.text }) } },
      compact: { actions: 'wantCompaction' },
      wake: { actions: { type: 'queueSteering', params: wakeText } },
      message: { actions: { type: 'queueMessage', params: ({ event }) => event } },
      ...(shape.hasBackground && taskEvents),
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

      Judging: judging(current),

      MessageReset: {
        description:
          'Before each model call: delivers results of tasks, checks the limits and the room, and clears the last answer.',
        entry: 'clearRound',
        always: [
          { guard: and(['hasTaskResult', 'hasPolicy']), target: '#agent.Judging.Tasks' },
          {
            guard: 'hasTaskResult',
            target: 'MessageReset',
            reenter: true,
            actions: ['deliverResult', 'announceMessage'],
          },
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
          { guard: 'isToStop', target: 'Complete', actions: [...atTheEnd, ...unaccepted] },
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
            actions: [...atTheEnd, ...unaccepted],
          },
        },
      },

      Compacting: compacting(current),

      Accumulating: accumulating,

      Consolidating: {
        description: 'The answer is complete: it is counted, and becomes a message.',
        entry: ['comparePrefix', 'countAnswer', 'announceStep', 'consolidate'],
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
          { guard: 'hasTaskResult', target: 'MessageReset' },
          { guard: 'hasTasks', target: 'AwaitingTasks' },
          { guard: 'hasPolicy', target: '#agent.Judging.Answer' },
          { target: 'Complete' },
        ],
      },

      AwaitingApproval: {
        description: 'Waits for people. Nothing is running, so it can be stored for days.',
        tags: 'waiting',
        meta: { waitsFor: 'approval', isInRound: true, spawned: ['timer'] },
        entry: ['beginWaiting', 'startExpiry', 'askForApprovals'],
        exit: ['stopExpiry', 'endWaiting'],
        invoke: [...(shape.hasApprover ? [askApprover] : [])],
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
          ...expiryEvents,
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
            invoke: [...(shape.hasDeadline ? [deadlineTimer] : [])],
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
        meta: { waitsFor: 'answer', isInRound: true, spawned: ['timer'] },
        entry: ['beginWaiting', 'startExpiry', 'askForAnswers'],
        exit: ['stopExpiry', 'endWaiting'],
        on: {
          'tool.answer': {
            guard: { type: 'isAwaited', params: ({ event }) => event },
            actions: { type: 'takeAnswer', params: ({ event }) => event },
          },
          'tool.reject': {
            guard: { type: 'isAwaited', params: ({ event }) => event },
            actions: { type: 'reject', params: ({ event }) => event },
          },
          wake: { actions: [{ type: 'queueSteering', params: wakeText }, 'wakeUp'] },
          message: {
            guard: { type: 'isUrgent', params: ({ event }) => event },
            actions: [{ type: 'queueMessage', params: ({ event }) => event }, 'wakeUp'],
          },
          ...expiryEvents,
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
          {
            guard: and(['isRunEnded', not('hasTasks')]),
            target: 'Complete',
            actions: [...unaccepted, 'noteStop', 'closeTurn', 'keepSteering', 'closeTurn'],
          },
          { target: 'MessageReset' },
        ],
      },

      AwaitingTasks: {
        description: 'Waits for the results of background agents. Nothing else of the run is at work.',
        tags: 'waiting',
        meta: { waitsFor: 'tasks', isAnswered: true },
        entry: ['beginWaiting', 'askForTasks'],
        exit: 'endWaiting',
        on: {
          'task.finished': {
            actions: { type: 'noteTaskEnd', params: ({ event }) => ({ ...event, isAwaited: true }) },
          },
          'task.report': {
            actions: { type: 'noteTaskReport', params: ({ event }) => ({ ...event, isAwaited: true }) },
          },
        },
        always: [
          { guard: 'isSteered', target: 'MessageReset', actions: ['storeSteering', 'announceMessage'] },
          { guard: 'hasTaskResult', target: 'MessageReset' },
          { guard: 'isLimitReached', target: 'MessageReset' },
          { guard: not('hasTasks'), target: 'ToolCheck' },
        ],
      },

      Complete: {
        description: 'The run has its answer.',
        type: 'final',
        entry: [...ended, 'announceEnd', ...dismissed],
        output: ({ context, self }) => completeOutput({ ...context, ...policyOf(self, context) }),
      },
      Failed: {
        description: 'The run ends with an error, and with everything that was reached.',
        type: 'final',
        entry: [...ended, 'noteError', 'settle', 'announceEnd', ...dismissed],
        output: ({ context, self }) => failedOutput({ ...context, ...policyOf(self, context) }),
      },
      Aborted: {
        description: 'The run was aborted; what was reached is kept.',
        type: 'final',
        entry: [...ended, 'settle', 'announceEnd', ...dismissed],
        output: ({ context, self }) => abortedOutput({ ...context, ...policyOf(self, context) }),
      },
    },
  })
}
