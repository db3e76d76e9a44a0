import { errorDataOf } from '../../src/messages/errors.ts'
import { deepFreeze } from '../logic/deepFreeze.ts'
import type { AgentEvent } from './events.ts'
import * as run from './streamingState.ts'

type On<Type> = { event: Extract<AgentEvent, { type: Type }> }

/**
 * The state of the chart in which the model answers: it asks, reads, and after an interruption asks the same or another
 * model.
 */
export const accumulating = deepFreeze({
  description: 'The model answers, as a child. Every interruption goes through Interrupted.',
  invoke: {
    id: 'model',
    src: 'model',
    input: ({ context }: { context: run.StreamingState }) => run.modelInput(context),
    onError: {
      target: '.Interrupted',
      actions: {
        type: 'noteFailure',
        params: ({ event }: { event: { error: unknown } }) => ({
          error: errorDataOf(event.error, 'ModelError'),
        }),
      },
    },
  },
  on: {
    'model.prepared': {
      actions: { type: 'notePrepared', params: ({ event }: On<'model.prepared'>) => event },
    },
    'model.done': [
      { guard: 'isWorthAnotherTry', target: '.Interrupted', actions: 'noteUselessAnswer' },
      { guard: 'isStreamComplete', target: 'Consolidating' },
      { target: '.Interrupted', actions: 'noteTruncation' },
    ],
    'model.failed': {
      target: '.Interrupted',
      actions: { type: 'noteFailure', params: ({ event }: On<'model.failed'>) => ({ error: event.error }) },
    },
    message: {
      guard: { type: 'isUrgent', params: ({ event }: On<'message'>) => ({ ...event, cutsAnswer: true }) },
      target: 'MessageReset',
      actions: [
        'countAttempt',
        'cutAnswer',
        { type: 'queueMessage', params: ({ event }: On<'message'>) => event },
        'storeSteering',
        'announceMessage',
      ],
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
            guard: { type: 'isNewStream', params: ({ event }: On<'model.deltas'>) => event },
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
        input: ({ context }: { context: run.StreamingState }) => ({ at: run.retryTime(context) }),
      },
      on: {
        'timer.fired': [
          {
            guard: { type: 'isPastDeadline', params: ({ event }: On<'timer.fired'>) => event },
            target: '#agent.Failed',
            actions: 'noteTotalTimeout',
          },
          { target: '#agent.Accumulating', reenter: true, actions: 'beginAttempt' },
        ],
      },
    },
  },
})
