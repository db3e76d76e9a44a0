/**
 * Runs that many machines share, on DBOS and Postgres. The same API as `statewire/durable`.
 *
 * @module statewire/dbos
 */

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
  WakeOptions,
} from '../durable/runs.ts'
export { type DbosOptions, dbosRuns } from './dbosRuns.ts'
