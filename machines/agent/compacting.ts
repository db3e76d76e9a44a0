import type { Usage } from '../../src/messages/result.ts'
import * as room from '../compaction/contextWindow.ts'
import { deepFreeze } from '../logic/deepFreeze.ts'
import type { ResolvedConfig } from './agentConfig.ts'
import { usageOfSummary } from './answer.ts'
import { assign, enqueueActions } from './chartActions.ts'
import type { AgentEvent } from './events.ts'
import { uselessSummary } from './failures.ts'
import { type StreamingState, withUsage } from './streamingState.ts'

/** The state of the chart in which a conversation becomes shorter: results are cleared first, the rest is summarised. */
export const compacting = (config: () => ResolvedConfig) => {
  const askSummariser = {
    id: 'summariser' as const,
    src: 'summariser' as const,
    input: ({ context }: { context: StreamingState }) => room.summariserInput(config(), context),
  }

  return {
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
  } as const
}

type Summary = Extract<AgentEvent, { type: 'summary.done' }>
type NoSummary = Extract<AgentEvent, { type: 'summary.failed' }>

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
      { target: '#agent.Failed', actions: [countSummary, 'noteUselessSummary'] },
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

const countSummary = deepFreeze({
  type: 'countSummary',
  params: ({ event }: { event: Summary | NoSummary }) => ({ usage: event.usage }),
})

const noteNoSummary = deepFreeze({
  type: 'noteFailure',
  params: ({ event }: { event: NoSummary }) => ({ error: event.error }),
})

/** The actions of the chart that make a conversation shorter for the model. */
export const compactionActions = (config: () => ResolvedConfig) => ({
  wantCompaction: assign(({ context: { window } }) => ({
    window: { ...window, due: 'command' as const },
  })),
  beginCompaction: assign(({ context }) => room.beginCompaction(context)),
  // The request that was refused does not count as a step.
  learnWindow: assign(({ context }) => ({
    window: room.learned(config(), context),
    step: context.step - 1,
  })),
  /** Clears old tool results if there is no summary. */
  compact: enqueueActions(({ context, enqueue }, { text }: { text?: string }) => {
    const { change, compaction } = room.compact(config(), context, text)
    enqueue.assign(change)
    enqueue.emit({ type: 'compaction', ...compaction })
  }),
  countSummary: assign(({ context }, { usage }: { usage: Usage | null }) => ({
    totals: withUsage(context.totals, usageOfSummary(config(), context, usage)),
  })),
  noteUselessSummary: assign({ failure: uselessSummary }),
  halve: assign(({ context: { window } }) => ({ window: { ...window, halvings: window.halvings + 1 } })),
})
