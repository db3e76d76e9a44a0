/**
 * A scripted model and recordings for tests of agents, and a kit that walks every transition of any XState machine.
 *
 * @module statewire/testing
 */

export { SimulatedClock } from 'xstate'
export { type BlockOptions, blockRequests } from '../transport/offline.ts'
export { type Cassette, type CassetteOptions, cassette } from './cassette.ts'
export type { ModelStep, Never } from './checkModel.ts'
export {
  checkModel,
  type Exit,
  type ModelOptions,
  type ModelProblem,
  type ModelReport,
} from './checkModel.ts'
export {
  type MachinePath,
  type PathOptions,
  planPaths,
  type ReplayOptions,
  replayPath,
  withPuppets,
} from './paths.ts'
export {
  type PolicyClaim,
  type PolicyProof,
  type PolicyStep,
  type ProvedClaim,
  type ProveOptions,
  provePolicy,
} from './provePolicy.ts'
export { replayTools } from './replayTools.ts'
export {
  type ScriptedModel,
  type ScriptOptions,
  type ScriptStep,
  type ScriptTurn,
  scriptedModel,
} from './scriptedModel.ts'
export { TransitionCoverage } from './TransitionCoverage.ts'
