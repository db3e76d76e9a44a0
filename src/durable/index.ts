/**
 * Runs that outlive their process: every step is stored before it takes effect, and the next process that opens the
 * store continues them.
 *
 * @module statewire/durable
 */

export type { HostedFrom } from '../agent/options.ts'
export type {
  NumberedCommand,
  ReplayEngine,
  SegmentEnd,
  SegmentOptions,
  SegmentStart,
} from './replay/engine.ts'
export { replaySegment } from './replay/replaySegment.ts'
export type {
  Delivery,
  DurableChat,
  DurableChunk,
  DurableResult,
  DurableRun,
  RunInfo,
  RunStatus,
  Runs,
  RunsHealth,
  StartOptions,
  StoredRuns,
  TurnOptions,
  WaitsFor,
  WakeOptions,
} from './runs.ts'
export type { OpenDriver, SqliteDriver, SqliteStatement, SqlValue } from './sqlite/driver.ts'
export { type OpenOptions, openRuns } from './sqlite/openRuns.ts'
export { type RunStore, type SqliteOptions, sqlite } from './sqlite/sqlite.ts'
