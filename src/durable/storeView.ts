import type { AnyAgent, HostedFrom } from '../agent/Agent.ts'
import type { Keeper } from './Keeper.ts'
import type { Runs } from './runs.ts'
import { hostedFrom } from './sqlite/head.ts'

/** What viewers of stored runs get in addition to `Runs`. */
export type StoreView = {
  /** Whether any process runs things, and whether it is this one. */
  hasOwner(): boolean
  isOwner(): boolean
  /** What a run continues from: its snapshot, or its input if it has not started. */
  from(id: string): HostedFrom | undefined
  /** An agent by its name, if it is known here. */
  agent(name: string): AnyAgent | undefined
  /** Stops a run as if its process had died, and continues it. False if it does not run in this process. */
  restart(id: string): boolean
  /** The chat of an agent that had the last turn. */
  newestChat(agent: string): string | undefined
  /** The id of the run that a chat ends with. */
  lastRun(chat: string): string | undefined
}

const keepers = new WeakMap<Runs, Keeper>()

/** From now on, this keeps these runs. */
export const setKeeper = (runs: Runs, keeper: Keeper): void => void keepers.set(runs, keeper)

/** The view of runs that are kept in a file. */
export const viewOf = (runs: Runs): StoreView | undefined => {
  const keeper = keepers.get(runs)
  if (!keeper) return undefined
  return {
    hasOwner: () => keeper.hasOwner,
    isOwner: () => keeper.isOwner,
    from: (id) => {
      const { store } = keeper
      const row = store.runs.get(id)
      return row && hostedFrom(row.head, store.items.load(row.n, row.base))
    },
    agent: (name) => keeper.agents.find(name),
    restart: (id) => keeper.restart(id),
    newestChat: (agent) => keeper.store.chats.newest(agent),
    lastRun: (chat) => {
      const { chats, runs } = keeper.store
      const n = chats.get(chat)?.run
      return n === undefined ? undefined : runs.byNumber(n)?.id
    },
  }
}
