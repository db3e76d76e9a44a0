export type {
  DurableChunk,
  DurableResult,
  DurableRun,
  RunInfo,
  RunStatus,
  Runs,
  StartOptions,
  WaitsFor,
} from '../durable/runs.ts'
export { type DbosOptions, dbosRuns } from './dbosRuns.ts'
