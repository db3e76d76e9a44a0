import type { AnyActorRef } from 'xstate'
import { OrchestrationError } from '../../src/messages/errors.ts'
import type { StepAround } from '../logic/chartLogic.ts'
import type { ResolvedConfig } from './agentConfig.ts'

// A chart weighs more than all else of an agent, and few options shape it: agents of one shape share it. So its parts do
// not hold a configuration; they ask for that of the run at hand.

/** The options that shape a chart. */
export type ChartShape = Pick<ResolvedConfig, 'policy' | 'hasBackground'> & {
  hasApprover: boolean
  hasDeadline: boolean
}

export const shapeOf = ({ policy, hasBackground, onApproval, totalMs }: ResolvedConfig): ChartShape => ({
  policy,
  hasBackground,
  hasApprover: onApproval !== undefined,
  hasDeadline: totalMs !== undefined,
})

/** The place where the parts of a chart find the configuration. */
export type ConfigSource = {
  /** Returns it within a step of the chart. XState gives guards nothing that would lead to their actor. */
  current(): ResolvedConfig
  /** Returns it for a child of the chart, at any time. */
  of(child: AnyActorRef | undefined): ResolvedConfig
}

/** The source of a chart that one agent has to itself. */
export const sourceOf = (config: ResolvedConfig): ConfigSource => ({
  current: () => config,
  of: () => config,
})

let current: ResolvedConfig | undefined

const ofRuns = new WeakMap<AnyActorRef, ResolvedConfig>()

/** The source of a chart that agents share. */
export const sharedSource: ConfigSource = {
  current() {
    if (current) return current
    throw new OrchestrationError('A chart that agents share was asked outside of a run: ask agent.chart.')
  },
  of(child) {
    const known = child && (ofRuns.get(child) ?? sharedSource.of(child._parent))
    return known ?? sharedSource.current()
  },
}

/**
 * Runs the steps of one agent with its configuration. A step is synchronous, but an action of a user may run a step of
 * another agent inside it.
 */
export const stepsWith =
  (config: ResolvedConfig): StepAround =>
  (run, step) => {
    const outer = current
    current = config
    ofRuns.set(run, config)
    try {
      return step()
    } finally {
      current = outer
    }
  }
