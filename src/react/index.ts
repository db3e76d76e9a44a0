/**
 * A conversation with an agent as a React hook.
 *
 * @module statewire/react
 */

export type { AgentState, AgentStatus } from './AgentStore.ts'
export { type UseAgentOptions, type UsedAgent, useAgent } from './useAgent.ts'
