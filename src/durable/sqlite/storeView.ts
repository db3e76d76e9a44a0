import type { AnyAgent, HostedFrom } from '../../agent/Agent.ts'
import type { Runs } from '../runs.ts'
import { hostedFrom } from './pack.ts'
import type { RunOwner } from './RunOwner.ts'

/** The view that the inspector and the command line have of a store, beside `Runs`. */
export type StoreView = {
  /** Says whether any process runs the agents. */
  hasOwner(): boolean
  /** Says whether this process does. */
  isOwner(): boolean
  /** Reads what a run continues from: its snapshot, or its input if it has not started. */
  from(id: string): HostedFrom | undefined
  /** Finds an agent by its name, if it is known here. */
  agent(name: string): AnyAgent | undefined
  /** Stops a run as if its process had died, and continues it. False if it does not run in this process. */
  restart(id: string): boolean
  /** Finds the chat of an agent that had the last turn. */
  newestChat(agent: string): string | undefined
  /** Finds the id of the run that a chat ends with. */
  lastRun(chat: string): string | undefined
}

const owners = new WeakMap<Runs, RunOwner>()

/** Makes a view of these runs possible. */
export const setOwner = (runs: Runs, owner: RunOwner): void => void owners.set(runs, owner)

/** The view of runs that are stored in a file. */
export const viewOf = (runs: Runs): StoreView | undefined => {
  const owner = owners.get(runs)
  if (!owner) return undefined
  return {
    hasOwner: () => owner.hasOwner,
    isOwner: () => owner.isOwner,
    from: (id) => {
      const { store } = owner
      const row = store.runs.get(id)
      return row && hostedFrom(row.packedSnapshot, store.items.load(row.n, row.base))
    },
    agent: (name) => owner.agents.find(name),
    restart: (id) => owner.restart(id),
    newestChat: (agent) => owner.store.chats.newest(agent),
    lastRun: (chat) => {
      const { chats, runs } = owner.store
      const n = chats.get(chat)?.run
      return n === undefined ? undefined : runs.byNumber(n)?.id
    },
  }
}
