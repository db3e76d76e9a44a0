import type { AnyActorLogic } from 'xstate'
import { withDefaults } from '../../src/messages/optionRules.ts'
import { type AgentMachineConfig, resolveConfig } from '../agent/agentConfig.ts'
import { agentMachineOf, createAgentMachine } from '../agent/agentMachine.ts'
import type { AgentMachine } from '../agent/agentSnapshot.ts'

/** The parts that an orchestrator is built from. */
export type OrchestratorParts = {
  config: AgentMachineConfig
  /**
   * The lifecycle machine to invoke for one run, with parts of the agent's configuration replaced. What the run emits
   * arrives as `run.emitted` events; its output is an `AgentOutput`.
   */
  lifecycle(overrides?: Partial<AgentMachineConfig>): AgentMachine
}

/**
 * A way of answering: an actor logic (a chart, mostly) that takes an `AgentInput`, understands `AgentCommand`s, emits
 * `AgentEmitted`s and ends with an `AgentOutput`. It is made once per agent.
 */
export type Orchestrator<Logic extends AnyActorLogic = AnyActorLogic> = {
  /** The name in errors and in the inspector. */
  providerHint: string
  /** Makes the logic that answers; called once per agent. */
  create(parts: OrchestratorParts): Logic
}

/** The parts that an orchestrator gets for an agent of this configuration. */
export const orchestratorParts = (config: AgentMachineConfig): OrchestratorParts => ({
  config,
  lifecycle: (overrides = {}) =>
    agentMachineOf(resolveConfig(withDefaults(config, overrides), config.tools), true),
})

/** The default of an agent: one run of the lifecycle machine. */
export const defaultOrchestrator: Orchestrator<AgentMachine> = {
  providerHint: 'default',
  create: ({ config }) => createAgentMachine(config),
}
