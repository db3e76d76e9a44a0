import { join } from 'node:path'
import type { Agent } from '../../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../../src/durable/index.ts'
import { findDriver } from '../../../src/durable/sqlite/driver.ts'
import { type AgentName, promptOf } from './plan.ts'
import { watchedDriver } from './watchedDriver.ts'
import { outcomeOf, type WorkerRuns } from './workerRuns.ts'
import { contextOf } from './worldAgents.ts'

/** Runs in a file of `statewire/durable`. */
export const storedRuns = async (
  folder: string,
  agents: Readonly<Partial<Record<AgentName, Agent>>>,
): Promise<WorkerRuns> => {
  const driver = watchedDriver(await findDriver())
  const runs = await openRuns({ store: sqlite(join(folder, 'runs.db'), { driver }), agents })
  const known = async (id: string) => {
    const run = await runs.get(id)
    if (!run) throw new Error(`There is no run ${id}.`)
    return run
  }
  return {
    start: async (plan) => {
      const { id, agent } = plan
      await runs.start(agent, promptOf(plan), { id, context: contextOf(id) })
    },
    send: (id, command) => runs.send(id, command),
    info: async (id) => {
      const run = await runs.get(id)
      if (!run) return undefined
      const { status, state, pending, recoveries } = await run.info()
      return { status, state, pending, recoveries }
    },
    outcome: async (id) => {
      const run = await known(id)
      return outcomeOf(run.result, async () => (await run.info()).status)
    },
    async *stream(id, after, signal) {
      const run = await known(id)
      yield* run.stream({ signal, ...(after !== undefined && { after }) })
    },
    close: () => runs.close(),
  }
}
