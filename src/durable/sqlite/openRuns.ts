import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { synchronous } from '../../../machines/agent/agentConfig.ts'
import { environmentInspector } from '../../agent/environmentInspector.ts'
import type { AnyAgent, HostedFrom } from '../../agent/options.ts'
import {
  callable,
  checkOptions,
  checkValue,
  having,
  object,
  orWrite,
  type Rule,
  wholeFrom,
} from '../../messages/optionRules.ts'
import { conversationOf } from '../conversation.ts'
import { Agents } from '../runOptions.ts'
import type { RunInfo, StoredRuns } from '../runs.ts'
import { type StoreView, setView } from '../storeView.ts'
import { hostedFrom } from './pack.ts'
import { RunOwner } from './RunOwner.ts'
import { SqliteRuns } from './SqliteRuns.ts'
import { findTask, tasksOf } from './SqliteTask.ts'
import { openStore, type RunStore } from './sqlite.ts'
import { whenFree } from './whenFree.ts'

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
  /** Makes the `context` of the tools from what was stored with the run: connections, for example. It answers at once. */
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
  checkValue('store', options.store, storeRule)
  const { store, agents = {}, maxRecoveries = 50, context = (stored) => stored } = options
  const { concurrency = Number.POSITIVE_INFINITY } = options
  const isBuild = process.env.NEXT_PHASE === 'phase-production-build'
  const isReloaded = process.env.NODE_ENV === 'development' && !isBuild && Object.keys(agents).length > 0
  if (isReloaded) await closeEarlier(store.path)
  const opened = await (isBuild ? openStore(store, emptyFile()) : openStore(store))
  const known = new Agents(isBuild ? {} : agents)
  const made = synchronous('The context of openRuns', context)
  const owner = new RunOwner(opened, { agents: known, maxRecoveries, concurrency, context: made })
  try {
    await whenFree(() => owner.open())
  } catch (thrown) {
    // Otherwise it would take over later, without a handle that could close it.
    await owner.close(0)
    throw thrown
  }
  const runs = new SqliteRuns(owner)
  setView(runs, sqliteView(owner))
  if (isReloaded) earlierRuns().set(resolve(store.path), runs)
  environmentInspector()?.show(runs)
  return runs
}

/** The view of runs that are stored in a file. */
const sqliteView = (owner: RunOwner): StoreView => {
  const from = async (id: string): Promise<HostedFrom | undefined> => {
    const { store } = owner
    const row = store.runs.get(id)
    if (row) return hostedFrom(row.packedSnapshot, store.items.load(row.n, row.base))
    const snapshot = findTask(store, id)?.task.snapshot
    return snapshot && { snapshot }
  }
  return {
    store: owner.store.file.path,
    hasOwner: async () => owner.hasOwner,
    isOwner: () => owner.isOwner,
    from,
    conversation: async (id) => {
      const found = await from(id)
      return found && conversationOf(found)
    },
    tasks: async (id) => {
      const { store } = owner
      const run = store.runs.summary(id) ?? findTask(store, id)?.run
      const [info] = run ? owner.infosOf([run]) : []
      const all = run && info ? tasksOf(store, run, info).map((task) => task.info) : []
      return run?.id === id ? all : all.filter((task) => task.id.startsWith(`${id}/`))
    },
    agent: (name) => owner.agents.find(name),
    restart: (id) => owner.restart(id),
    newestChat: async (agent) => owner.store.chats.newest(agent),
    lastRun: async (chat) => {
      const { chats, runs } = owner.store
      const n = chats.get(chat)?.run
      return n === undefined ? undefined : runs.byNumber(n)?.id
    },
  }
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
    : orWrite(object, () => "store: sqlite('runs.db')")(name, value)

/** An agent without a name: it would count as no agents at all. */
const alone: Rule = (name, value) =>
  typeof Object(value).sendStream === 'function'
    ? `${name} have names, which are stored: write ${name}: { agent }.`
    : undefined

const agentRule = orWrite(having('send', 'sendStream'), (value) =>
  typeof value === 'string' ? `new Agent('${value.slice(0, 100)}')` : 'new Agent(model, options)',
)

const agentsRule: Rule = (name, value) =>
  orWrite(object, () => `${name}: { agent }`)(name, value) ??
  alone(name, value) ??
  Object.entries(Object(value))
    .map(([key, agent]) => agentRule(`${name}.${key}`, agent))
    .find((problem) => problem !== undefined)
