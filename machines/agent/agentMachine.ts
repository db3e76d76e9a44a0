import type { AnyStateMachine } from 'xstate'
import { deepFreeze } from '../logic/deepFreeze.ts'
import { reportBetween } from '../logic/reports.ts'
import { runMachine } from '../logic/runMachine.ts'
import { readDeltas } from '../model/receiveDeltas.ts'
import { storedPolicyFlaw } from '../policy/policyConfig.ts'
import { agentMigrations } from '../stored/migrations.ts'
import { renewRun } from '../stored/renewRun.ts'
import { storedFlaw } from '../stored/storedRun.ts'
import { type AgentMachineConfig, type ResolvedConfig, resolveConfig } from './agentConfig.ts'
import type { AgentMachine } from './agentSnapshot.ts'
import { chartOf } from './chart.ts'
import { type ChartShape, shapeOf, sharedSource, stepsWith } from './chartConfig.ts'

/**
 * The agent's lifecycle as a statechart: one run is one actor of this machine. The chart is in `chart.ts`, and the
 * layers around it are in `runMachine`.
 *
 * @example
 * const actor = createActor(createAgentMachine({ model, tools }), { input: { prompt: 'Weather in Oslo?' } })
 * actor.on('chunk', (chunk) => process.stdout.write(chunk.output))
 * actor.start()
 */
export const createAgentMachine = (options: AgentMachineConfig): AgentMachine =>
  agentMachineOf(resolveConfig(options))

/** The machine of a configuration; a run that belongs to a chart of runs reports to that chart. */
export const agentMachineOf = (config: ResolvedConfig, reportsToParent = false): AgentMachine =>
  runMachine(chartWith(shapeOf(config)), {
    inStep: stepsWith(config),
    fastPath: readDeltas(config.accumulator, config.policy?.holdsChunks),
    stored: {
      flawIn: (stored) => storedFlaw(stored) ?? storedPolicyFlaw(config.policy, stored),
      migrations: agentMigrations,
      renew: renewRun(config),
    },
    hasJsonContext: true,
    reportsToParent,
    report: reportBetween,
  })

const charts = new Map<string, AnyStateMachine>()

/**
 * The chart of a shape, frozen, since all agents of that shape share it. A chart with a policy is not shared, because
 * the policy is a part of it.
 */
const chartWith = (shape: ChartShape): AnyStateMachine => {
  if (shape.policy) return chartOf(shape, sharedSource)
  const key = JSON.stringify(shape)
  const known = charts.get(key)
  if (known) return known
  const chart = chartOf(shape, sharedSource)
  deepFreeze(chart.config)
  for (const parts of [...Object.values(chart.implementations), chart.implementations]) Object.freeze(parts)
  charts.set(key, chart)
  return chart
}
