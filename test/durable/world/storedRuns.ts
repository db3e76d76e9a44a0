import { lstatSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Agent } from '../../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../../src/durable/index.ts'
import { findDriver } from '../../../src/durable/sqlite/driver.ts'
import { type AgentName, promptOf } from './plan.ts'
import { watchedDriver } from './watchedDriver.ts'
import { outcomeOf, type WorkerRuns } from './workerRuns.ts'
import { contextOf } from './worldAgents.ts'

/** The path of the file: its own, or a link to it, as the folder of a release has one. */
const pathOf = (folder: string, isLinked: boolean): string => {
  const path = join(folder, 'runs.db')
  const link = join(folder, 'link.db')
  if (!isLinked) return path
  try {
    symlinkSync(path, link)
  } catch (thrown) {
    // Another process has made it.
    if (!lstatSync(link, { throwIfNoEntry: false })) throw thrown
  }
  return link
}

/** Runs in a file of `statewire/durable`. */
export const storedRuns = async (
  folder: string,
  agents: Readonly<Partial<Record<AgentName, Agent>>>,
  concurrency?: number,
  isLinked = false,
): Promise<WorkerRuns> => {
  const driver = watchedDriver(await findDriver(), folder)
  const store = sqlite(pathOf(folder, isLinked), { driver })
  const runs = await openRuns({ store, agents, ...(concurrency !== undefined && { concurrency }) })
  const known = async (id: string) => {
    const run = await runs.get(id)
    if (!run) throw new Error(`There is no run ${id}.`)
    return run
  }
  return {
    start: async (plan) => {
      const { id, agent, isTurn } = plan
      const options = { id, context: contextOf(id) }
      if (isTurn) await (await runs.chat(`chat ${id}`, { agent })).send(promptOf(plan), options)
      else await runs.start(agent, promptOf(plan), options)
    },
    send: async (id, command) => void (await runs.send(id, command)),
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
    close: () => runs.close({ drain: 60_000 }),
  }
}
