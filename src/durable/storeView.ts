import type { AnyAgent, HostedFrom } from '../agent/options.ts'
import type { Conversation } from './conversation.ts'
import type { RunInfo, Runs } from './runs.ts'

/** The view that the inspector and the command line have of a store, beside `Runs`: they do not know which store it is. */
export type StoreView = {
  /** A name that no other store has, without a password. The host of a run in this process has the same. */
  readonly store: string
  /** Says whether any process runs the agents. */
  hasOwner(): Promise<boolean>
  /** Says whether this process runs the agents. */
  isOwner(): boolean
  /**
   * Reads the snapshot that a run or a task continues from, or the input of a run that has not started. Some stores
   * keep less of a running run.
   */
  from(id: string): Promise<HostedFrom | undefined>
  /** Reads the conversation before a run, and what the run has added. */
  conversation(id: string): Promise<Conversation | undefined>
  /** Reads the tasks of a run or of a task, and those below them, each after the one that started it. */
  tasks(id: string): Promise<RunInfo[]>
  /** Finds an agent by its name, if it is known here. */
  agent(name: string): AnyAgent | undefined
  /** Stops a run as if its process had died, and continues it. False if it does not run in this process. Not every store can. */
  restart?(id: string): boolean
  /** Finds the chat of an agent that had the last turn. */
  newestChat(agent: string): Promise<string | undefined>
  /** Finds the id of the run that a chat ends with. */
  lastRun(chat: string): Promise<string | undefined>
}

const views = new WeakMap<Runs, StoreView>()

/** Sets the view of these runs. */
export const setView = (runs: Runs, view: StoreView): void => void views.set(runs, view)

/** The view of runs that are stored. */
export const viewOf = (runs: Runs): StoreView | undefined => views.get(runs)
