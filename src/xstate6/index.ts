/**
 * Agents in an app that uses XState 6: everything of `statewire`, and agents as actor logic of XState 6. This entry has
 * its own copy of XState 5, which runs the charts.
 *
 * @module statewire/xstate6
 */

export * from '../index.ts'
export {
  type AgentLogic,
  type AgentLogicOptions,
  type AgentView,
  agentLogic,
} from './agentLogic.ts'
