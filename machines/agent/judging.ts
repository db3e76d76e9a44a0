import { deepFreeze } from '../logic/deepFreeze.ts'
import type { Gate } from '../policy/questions.ts'
import { holdEnd } from '../policy/verdicts.ts'
import type { ResolvedConfig } from './agentConfig.ts'
import type { AgentEvent } from './events.ts'
import type { StreamingState } from './streamingState.ts'

/** The actions at the end of a run that reached a limit. */
export const atTheEnd = deepFreeze(['noteLimitEnd', 'storePaused', 'closeTurn', 'keepSteering', 'closeTurn'])

/**
 * The state of the chart in which the policy is asked: a gate before the first request, before the calls of a turn,
 * after them, after a background agent, and before the answer. From two of the gates, the run continues in `Decided`
 * and `Accepted`.
 */
export const judging = (config: () => ResolvedConfig) =>
  ({
    description: 'The policy of the agent is asked. An agent without one is never here.',
    initial: 'Prompt',
    states: {
      Prompt: gate(config, 'Prompt', {
        description: 'Before the first request: may this prompt be answered?',
        onVerdict: [
          {
            guard: { type: 'isRefused', params: verdictAt('Prompt') },
            target: '#agent.Failed',
            actions: [
              { type: 'takeVerdicts', params: verdictAt('Prompt') },
              { type: 'noteRefusal', params: verdictAt('Prompt') },
            ],
          },
          {
            guard: { type: 'isVerdict', params: verdictAt('Prompt') },
            target: '#agent.MessageReset',
            actions: [{ type: 'takeVerdicts', params: verdictAt('Prompt') }, 'forgetOldPolicy'],
          },
        ],
      }),
      Calls: gate(config, 'Calls', {
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
              { type: 'takeVerdicts', params: verdictAt('Calls') },
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
      Results: gate(config, 'Results', {
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
              { type: 'takeVerdicts', params: verdictAt('Results') },
              { type: 'withholdResults', params: verdictAt('Results') },
            ],
          },
        ],
      }),
      Tasks: gate(config, 'Tasks', {
        description: 'A background agent has ended: may the model see its result?',
        onVerdict: [
          {
            guard: { type: 'isRefused', params: verdictAt('Tasks') },
            target: '#agent.Failed',
            actions: { type: 'noteRefusal', params: verdictAt('Tasks') },
          },
          {
            guard: { type: 'isVerdict', params: verdictAt('Tasks') },
            target: '#agent.MessageReset',
            actions: [
              { type: 'takeVerdicts', params: verdictAt('Tasks') },
              { type: 'deliverJudged', params: verdictAt('Tasks') },
              'announceMessage',
            ],
          },
        ],
      }),
      Answer: gate(config, 'Answer', {
        description: 'Before the run is complete: may this be its answer?',
        meta: { isAnswered: true },
        onVerdict: [
          {
            guard: { type: 'isRefusedForGood', params: verdictAt('Answer') },
            target: '#agent.Failed',
            actions: [
              { type: 'takeVerdicts', params: verdictAt('Answer') },
              { type: 'noteRefusal', params: verdictAt('Answer') },
            ],
          },
          {
            guard: { type: 'isRefused', params: verdictAt('Answer') },
            target: '#agent.MessageReset',
            actions: [
              { type: 'takeVerdicts', params: verdictAt('Answer') },
              { type: 'refuseAnswer', params: verdictAt('Answer') },
              'announceMessage',
            ],
          },
          {
            guard: { type: 'isVerdict', params: verdictAt('Answer') },
            target: 'Accepted',
            actions: { type: 'takeVerdicts', params: verdictAt('Answer') },
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
            actions: ['noteAccepted', 'storeSteering', 'announceMessage'],
          },
          { target: '#agent.Complete' },
        ],
      },
    },
  }) as const

/** A gate of the policy: its verdict decides where the run goes. A restored policy continues with the same question. */
const gate = <const Name extends Gate, const Exits>(
  config: () => ResolvedConfig,
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
          input: ({ context }: { context: StreamingState }) => ({ at: holdEnd(config(), context) }),
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

/** The parameter of a guard or an action on a verdict of the policy. */
const verdictAt =
  <const Name extends Gate>(gate: Name) =>
  ({ event }: { event: Extract<AgentEvent, { type: 'policy.verdict' }> }) => ({ gate, answer: event })
