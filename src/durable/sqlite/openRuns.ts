import type { AnyAgent } from '../../agent/Agent.ts'
import { environmentInspector } from '../../agent/environmentInspector.ts'
import {
  callable,
  checkOptions,
  checkValue,
  having,
  member,
  object,
  type Rule,
  wholeFrom,
} from '../../messages/optionRules.ts'
import { Agents } from '../runOptions.ts'
import type { RunInfo, StoredRuns } from '../runs.ts'
import { RunOwner } from './RunOwner.ts'
import { SqliteRuns } from './SqliteRuns.ts'
import { openStore, type RunStore } from './sqlite.ts'
import { setOwner } from './storeView.ts'

/** Options of {@link openRuns}. */
export type OpenOptions = {
  /** The store of the runs: see {@link sqlite}. */
  store: RunStore
  /**
   * The agents, by name. The names are stored. Without agents, this process lists, reads and streams, enqueues commands
   * and forks for the process that has them, and never runs anything itself.
   */
  agents?: Readonly<Record<string, AnyAgent>>
  /** Restarts of a run without progress before it is abandoned. Default: 50. */
  maxRecoveries?: number
  /** Makes the `context` of the tools from what was stored with the run: connections, for example. */
  context?: (stored: unknown, info: RunInfo) => unknown
}

/**
 * Opens a store of runs, and continues those that a process left behind.
 *
 * @example
 * const runs = await openRuns({ store: sqlite('runs.db'), agents: { janitor } })
 * const run = await runs.start('janitor', 'Delete notes.txt', { id: 'job-7' })
 * for await (const { cursor, chunk } of run.stream()) console.log(cursor, chunk.output)
 */
export const openRuns = async (options: OpenOptions): Promise<StoredRuns> => {
  checkOptions<OpenOptions>('The options of openRuns', options, {
    store: storeRule,
    agents: agentsRule,
    maxRecoveries: wholeFrom(0),
    context: callable,
  })
  checkValue('The options of openRuns', options, member('store', storeRule))
  const { store, agents = {}, maxRecoveries = 50, context = (stored) => stored } = options
  const owner = new RunOwner(await openStore(store), { agents: new Agents(agents), maxRecoveries, context })
  const runs = new SqliteRuns(owner)
  setOwner(runs, owner)
  environmentInspector()?.show(runs)
  return runs
}

const storeRule: Rule = (name, value) =>
  typeof value === 'string'
    ? `${name} must be a store, not a path: write store: sqlite('runs.db').`
    : object(name, value)

const agentsRule: Rule = (name, value) =>
  object(name, value) ??
  Object.entries(Object(value))
    .map(([key, agent]) => having('send', 'sendStream')(`${name}.${key}`, agent))
    .find((problem) => problem !== undefined)
