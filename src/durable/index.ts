/**
 * Runs that outlive their process: every step is stored before it takes effect, and the next process that opens the
 * store continues them.
 *
 * @module statewire/durable
 */

export { type OpenOptions, openRuns } from './openRuns.ts'
export type { LegEnd, LegStart, NumberedCommand, ReplayEngine } from './replay/replay.ts'
export { type LegOptions, replayLeg } from './replay/replayLeg.ts'
export type {
  DurableChat,
  DurableChunk,
  DurableResult,
  DurableRun,
  RunInfo,
  RunStatus,
  Runs,
  StartOptions,
  StoredRuns,
  TurnOptions,
  WaitsFor,
} from './runs.ts'
export type { OpenDriver, SqliteDriver, SqliteStatement, SqlValue } from './sqlite/driver.ts'
export { type RunStore, type SqliteOptions, sqlite } from './sqlite/sqlite.ts'
