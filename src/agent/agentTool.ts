import type { AnyActorRef } from 'xstate'
import { type AgentMachineConfig, resolveConfig } from '../../machines/agent/agentConfig.ts'
import { agentMachineOf } from '../../machines/agent/agentMachine.ts'
import type { AgentMachine } from '../../machines/agent/agentSnapshot.ts'
import { inheritedFrom, policyAbove } from '../../machines/policy/inheritedPolicy.ts'
import type { ResolvedPolicy } from '../../machines/policy/questions.ts'
import { taskRun } from '../../machines/tasks/taskRun.ts'
import { checkTasks } from '../../machines/tasks/taskTools.ts'
import { type SubAgent, subRun } from '../../machines/tools/subAgent.ts'
import { ConfigurationError } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import { amount, checkOptions, flag, type Rules, text, wholeFrom } from '../messages/optionRules.ts'
import { defaultToolTimeoutMs, type Tool, type ToolContext, tool } from '../tools/tool.ts'
import type { AgentOptions } from './options.ts'
import { outcomeOf } from './runOutcome.ts'

/** Options of an agent that is offered as a tool; see `Agent.asTool`. */
export type AgentToolOptions = {
  /** The name that the calling model uses. */
  name: string
  /** The purpose of the agent: the calling model chooses by it. */
  description: string
  /**
   * The time that the agent may take, without waits for a person. A background agent has its own `timeouts.totalMs`.
   * Default: 5 minutes.
   */
  timeoutMs?: number
  /**
   * A call returns at once with the id of a task, and the agent works in the background. The result comes as a message,
   * and the calling run is not complete before it. Default: false.
   */
  background?: boolean
  /** The run that started a task does not wait for it, and does not abort it. Default: false. */
  detached?: boolean
  /** The number of tasks of a run that work at the same time; the others are queued. Default: 8. */
  maxTasks?: number
}

const promptSchema: JsonObject = {
  type: 'object',
  properties: { prompt: { type: 'string', description: 'The whole task, with everything needed to do it.' } },
  required: ['prompt'],
  additionalProperties: false,
}

const rules: Rules<AgentToolOptions> = {
  // tool() checks the name.
  name: () => undefined,
  description: text,
  timeoutMs: amount,
  background: flag,
  detached: flag,
  maxTasks: wholeFrom(1),
}

const usualMaxTasks = 8

/** The agent behind a tool. */
type ToolAgent = Omit<SubAgent, 'timeoutMs'>

/** Returns the agent for a call: an agent that inherits gets the policy of the calling run. */
type AgentOf = (call?: AnyActorRef) => ToolAgent

/** An agent as a tool: it gets a prompt and answers with its text. */
export const agentTool = <Deps>(
  agent: AgentOf,
  options: AgentToolOptions,
  inherits: Tool['inherits'],
): Tool<Deps> => {
  checkOptions('The options of asTool', options, rules)
  if (!options.background) return foregroundTool(agent, options, inherits)
  if (!inherits) return backgroundTool(agent, options)
  throw new ConfigurationError(
    "A background agent cannot have policy: 'inherit', because it may outlive the call: give it a policy of its own.",
  )
}

const foregroundTool = <Deps>(
  agent: AgentOf,
  { name, description, timeoutMs = defaultToolTimeoutMs, detached, maxTasks }: AgentToolOptions,
  inherits: Tool['inherits'],
): Tool<Deps> => {
  if (detached || maxTasks !== undefined)
    throw new ConfigurationError('detached and maxTasks are for background agents: write background: true.')
  return {
    ...tool({
      name,
      description,
      input: { jsonSchema: promptSchema },
      // The run keeps its own time.
      timeoutMs: Number.POSITIVE_INFINITY,
      // It continues from where it was: only the calls that it made itself are in doubt.
      onInterrupted: 'rerun',
      execute: async ({ prompt }, call: ToolContext<Deps>) => {
        const output = await subRun({ ...agent(call.self), timeoutMs }, String(prompt), call)
        // What the run used counts for the run that called it, whether it succeeded or not.
        if (output?.usage) call.addUsage(output.usage)
        const outcome = outcomeOf(output)
        if (!outcome) throw new TypeError('The agent ended without an AgentOutput.')
        if ('error' in outcome) throw outcome.error()
        return outcome.result.output
      },
    }),
    repeatable: false,
    isAgent: true,
    ...(inherits && { inherits }),
  }
}

/** The chart of the run that calls it starts the task, and writes the result of the call. */
const backgroundTool = <Deps>(
  agent: AgentOf,
  { name, description, timeoutMs, detached = false, maxTasks = usualMaxTasks }: AgentToolOptions,
): Tool<Deps> => {
  if (timeoutMs !== undefined)
    throw new ConfigurationError(
      'timeoutMs is not for background agents: give the agent itself timeouts: { totalMs }.',
    )
  return {
    ...tool({
      name,
      description,
      input: { jsonSchema: promptSchema },
      onInterrupted: 'rerun',
      execute: (_, call: ToolContext<Deps>) => checkTasks(call),
    }),
    background: {
      promptOf: ({ prompt }) => String(prompt),
      run: (task, self) => taskRun(agent().machine, detached, task, self),
      detached,
      maxTasks,
    },
  }
}

/** Refuses to run an agent that inherits a policy without a run above it: nothing would judge its calls. */
export const refuseAlone = ({ policy }: Pick<AgentOptions, 'policy'>): void => {
  if (policy !== 'inherit') return
  throw new ConfigurationError(
    "An agent with policy: 'inherit' runs only as the tool of another agent (asTool), whose policy judges it.",
  )
}

/** The machines of an agent that inherits a policy: one for each policy of the runs that call it. */
export class InheritingMachines {
  readonly #made = new WeakMap<ResolvedPolicy, AgentMachine>()

  /** The machine for a call. Throws if the run that makes it has no policy. */
  of(
    call: AnyActorRef | undefined,
    config: AgentMachineConfig,
    around: (machine: AgentMachine) => AgentMachine,
  ): AgentMachine {
    const policy = policyAbove(call)
    const known = this.#made.get(policy)
    if (known) return known
    const resolved = resolveConfig(config)
    const machine = around(agentMachineOf({ ...resolved, policy: inheritedFrom(policy, resolved.tools) }))
    this.#made.set(policy, machine)
    return machine
  }
}
