import type { Agent } from '../../../src/agent/Agent.ts'
import type { KeptRuns } from './keptRuns.ts'
import type { AgentName } from './plan.ts'

/** Runs in a file of `statewire/durable`. */
export const storedRuns = async (
  _folder: string,
  _agents: Readonly<Record<AgentName, Agent>>,
): Promise<KeptRuns> => {
  throw new Error('There is no store yet.')
}
