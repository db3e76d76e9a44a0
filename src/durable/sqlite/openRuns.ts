import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
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
import { whenFree } from './SqliteFile.ts'
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
  /**
   * Restarts of a run without progress before it is abandoned, because it may be what ends the process. Restarts after
   * `close` do not count. Default: 50.
   */
  maxRecoveries?: number
  /** Runs that may be under way in this process at the same time; the others wait for a place. Default: no limit. */
  concurrency?: number
  /** Makes the `context` of the tools from what was stored with the run: connections, for example. */
  context?: (stored: unknown, info: RunInfo) => unknown
}

/**
 * Opens a store of runs, and continues those that a process left behind. While `next build` imports the module, the
 * store is left alone; in development, it closes what an earlier version of the module has opened.
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
    concurrency: wholeFrom(1),
    context: callable,
  })
  checkValue('The options of openRuns', options, member('store', storeRule))
  const { store, agents = {}, maxRecoveries = 50, context = (stored) => stored } = options
  const { concurrency = Number.POSITIVE_INFINITY } = options
  const isBuild = process.env.NEXT_PHASE === 'phase-production-build'
  const isReloaded = process.env.NODE_ENV === 'development' && !isBuild && Object.keys(agents).length > 0
  if (isReloaded) await closeEarlier(store.path)
  const opened = await (isBuild ? openStore(store, emptyFile()) : openStore(store))
  const known = new Agents(isBuild ? {} : agents)
  const owner = new RunOwner(opened, { agents: known, maxRecoveries, concurrency, context })
  try {
    await whenFree(() => owner.open())
  } catch (thrown) {
    // Otherwise it would take over later, without a handle that could close it.
    await owner.close(0)
    throw thrown
  }
  const runs = new SqliteRuns(owner)
  setOwner(runs, owner)
  if (isReloaded) earlierRuns().set(resolve(store.path), runs)
  environmentInspector()?.show(runs)
  return runs
}

/** A file for a process that only imports the module, and needs none. */
const emptyFile = (): string => join(mkdtempSync(join(tmpdir(), 'statewire-build-')), 'runs.db')

/** The key of what this process has opened, for all copies of this module: a reload makes another copy. */
const registry = Symbol.for('statewire.runs.1')

const earlierRuns = (): Map<string, StoredRuns> => {
  const shared = globalThis as { [registry]?: Map<string, StoredRuns> }
  shared[registry] ??= new Map()
  return shared[registry]
}

/** Closes what an earlier version of a module has opened: it would go on to run the agents of before a reload. */
const closeEarlier = async (path: string): Promise<void> => {
  const earlier = earlierRuns().get(resolve(path))
  // Closed by hand, or with its folder: either way it runs nothing any more.
  await earlier?.close({ drain: 0 }).catch(() => {})
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
