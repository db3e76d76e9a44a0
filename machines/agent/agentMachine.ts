import { renewSummariser } from '../compaction/contextWindow.ts'
import { withFastPath } from '../logic/fastPath.ts'
import { runMachine } from '../logic/runMachine.ts'
import { readDeltas } from '../model/receiveDeltas.ts'
import { agentMigrations } from '../stored/migrations.ts'
import { storedFlaw } from '../stored/storedRun.ts'
import { withStoredCheck } from '../stored/version.ts'
import { type AgentMachineConfig, resolveConfig } from './agentConfig.ts'
import type { AgentMachine } from './agentSnapshot.ts'
import { chartOf } from './chart.ts'

/**
 * The agent's lifecycle as a statechart: one run is one actor of this machine.
 *
 * The chart is in `chart.ts`. Here it is wrapped in what a chart cannot say of itself, in one place.
 *
 * @example
 * const actor = createActor(createAgentMachine({ model, tools }), { input: { prompt: 'Weather in Oslo?' } })
 * actor.on('chunk', (chunk) => process.stdout.write(chunk.output))
 * actor.start()
 */
export const createAgentMachine = (
  options: AgentMachineConfig,
  /** The tools of the agent, where this run has others: what a send gives instead of them counts here, too. */
  toolsOfAgent?: AgentMachineConfig['tools'],
): AgentMachine => {
  const config = resolveConfig(options, toolsOfAgent)
  // From the inside out: the chart, whose children never outlive it and report their end after a restore;
  const chart: AgentMachine = runMachine(chartOf(config), true)
  // a snapshot of another shape is refused before the chart sees it;
  const checked = withStoredCheck(chart, storedFlaw, agentMigrations, renewSummariser(config))
  // and the reads of a running answer, of which there are thousands, take the short way.
  return withFastPath(checked, readDeltas(config.accumulator))
}
