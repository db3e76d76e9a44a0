import type { AnyActorLogic, AnyActorRef, AnyStateMachine, Snapshot } from 'xstate'
import type { AgentMachineConfig, CompactionOptions } from '../../machines/agent/agentConfig.ts'
import type { AgentMachine } from '../../machines/agent/agentSnapshot.ts'
import { settingRules, sharedRules } from '../../machines/agent/configRules.ts'
import type { AgentInput, ContextOption } from '../../machines/agent/events.ts'
import type { RunLimits } from '../../machines/agent/limits.ts'
import type { RunMachine } from '../../machines/logic/wrapLogic.ts'
import type { PrepareStep } from '../../machines/model/prepareStep.ts'
import type { RequestPrefix } from '../../machines/model/requestPrefix.ts'
import type { Orchestrator } from '../../machines/orchestrators/orchestrator.ts'
import type { PolicyOptions } from '../../machines/policy/policyEvents.ts'
import type { ConnectionOptions } from '../../providers/provider.ts'
import type { JsonObject } from '../messages/json.ts'
import type { ChatMessage, Part } from '../messages/messages.ts'
import type { ChatModel, GenerationSettings } from '../model/chatModel.ts'
import type { Clock } from '../model/clock.ts'
import type { CallDecision, OnApproval } from '../tools/approval.ts'
import type { Infer, Schema } from '../tools/schema.ts'
import type { Tool, ToolSource } from '../tools/tool.ts'
import type { DeepPartial } from './partialValues.ts'
import type { AnyRun } from './Run.ts'
import type { RunInternals } from './RunInternals.ts'
import type { Inspect } from './watching.ts'

/** Every option of an agent. None is required. */
export type AgentOptions<Deps = unknown, Machine extends AnyActorLogic = AnyActorLogic> = GenerationSettings &
  ConnectionOptions &
  Omit<
    AgentMachineConfig,
    | 'model'
    | 'settings'
    | 'fallback'
    | 'newId'
    | 'random'
    | 'onApproval'
    | 'tools'
    | 'prepareStep'
    | 'compaction'
    | 'policy'
    | 'callsTools'
    | 'skillList'
  > & {
    /** Tools that the model may call, and sources of tools that change. Default: none. */
    tools?: readonly (Tool<Deps> | ToolSource)[]
    /**
     * A folder of Agent Skills: folders with a `SKILL.md`. The model sees their names and descriptions, and loads the
     * skills that it needs. Default: none.
     */
    skills?: string
    /** Called before each model call: it may choose another model, fewer tools or other settings for this step. Default: none. */
    prepareStep?: PrepareStep<Deps, string | ChatModel>
    /**
     * The rules of its runs as a statechart: a prompt, call or answer that it cannot take does not pass. `'inherit'`,
     * for a sub-agent: the policy of the calling run judges its calls. Default: none.
     */
    policy?: AnyStateMachine | PolicyOptions<string | ChatModel> | 'inherit'
    /** Models to continue with, one after the other, when retries do not help. Default: none. */
    fallback?: readonly FallbackModel[]
    /** Shortens a conversation that is too long for the model. Default: after the provider refused a request as too long. */
    compaction?: false | CompactionOptions<string | ChatModel>
    /** The chart that answers, instead of one run of the lifecycle chart. Default: `defaultOrchestrator`. */
    orchestrator?: Orchestrator<Machine>
    /** Decides on calls of tools with `needsApproval`. Default: a run that needs a decision returns, to be resumed. */
    onApproval?: OnApproval
    /** The clock of its runs. Default: real time. */
    clock?: Clock
    /** Sees every actor, event and transition of every run: XState's own `inspect`, or a list of them. Default: none. */
    inspect?: Inspect | readonly Inspect[]
  }

/** A model to fall back on: its string, with its own connection if it needs one, or a chat model. */
export type FallbackModel = string | (ConnectionOptions & { model: string }) | ChatModel

/** An agent with any tools. */
export type AnyAgent = { readonly model: ChatModel; readonly name: string | undefined }

/**
 * The machine of an agent: that of its orchestrator, if the types know it, or else the lifecycle chart. Its input has
 * the `context` that the tools need.
 */
export type MachineOf<Machine extends AnyActorLogic, Deps = unknown> = AnyActorLogic extends Machine
  ? AgentMachine<Deps>
  : unknown extends Deps
    ? Machine
    : Machine extends RunMachine<infer Snapshot, infer Command, infer Input, infer Parts>
      ? RunMachine<Snapshot, Command, Input & ContextOption<Deps>, Parts>
      : Machine

/** The start of a run: a prompt, or a stored run with decisions on its pending calls, by id. */
export type StartFrom =
  | string
  | Part[]
  | { snapshot: Snapshot<unknown>; decisions?: Readonly<Record<string, CallDecision>> }

/** The start of a run that a host stores: an input, or a stored snapshot. */
export type HostedFrom = { input: AgentInput } | { snapshot: Snapshot<unknown> }

/** Values of a run that cannot be stored: pass them again when you resume the run. */
export type ActorValues<Deps = unknown> = ContextOption<Deps> & {
  /** Tools in place of the agent's. */
  tools?: readonly (Tool<Deps> | ToolSource)[]
  /** Called before each model call, in place of the agent's own. */
  prepareStep?: PrepareStep<Deps, string | ChatModel>
}

/**
 * Options of a run that is made as an actor.
 *
 * @example const actor = agent.actor({ prompt: 'Oslo?' }, { inspect: inspector.inspect })
 */
export type ActorOptions<Deps = unknown> = ActorValues<Deps> & {
  /** Asks for an answer of this shape: the output is JSON that fits. */
  schema?: Schema
  /** Sees every actor, event and transition of this run, beside the agent's own `inspect`. */
  inspect?: Inspect
}

/** Options of a run that is started or resumed. */
export type ResumeOptions<Deps = unknown> = ActorValues<Deps> & {
  /** Aborts the run. */
  signal?: AbortSignal
  /**
   * Called with the handle of the run before it starts. In a chat, an answer that still waits when the send is over
   * continues with `resume` only.
   */
  onStart?: (run: AnyRun) => void
  /** The parent actor: the inspector shows the run below it. */
  parent?: AnyActorRef
}

/** Options of one prompt; settings and `system` replace the agent's. */
export type SendOptions<Deps = unknown> = ResumeOptions<Deps> &
  GenerationSettings & {
    /** The id of the run. Default: a new UUID v7. */
    id?: string
    /** The conversation so far: the `messages` of earlier results. */
    history?: ChatMessage[]
    /** Images, documents and other parts that go with the prompt. */
    attachments?: Part[]
    /** The system prompt, in place of the agent's. */
    system?: string
    /** Short for `limits.steps`. */
    maxSteps?: number
    /** Limits of this run, in place of the agent's limits of the same name. */
    limits?: RunLimits
    /** The policy as the last send of the conversation left it: the `policy` of its result. A chat passes it on by itself. */
    policy?: JsonObject
  }

/** The part of a run's internals that `Chat` uses. */
export type WaitingInternals = Pick<
  RunInternals<unknown, unknown>,
  'waitsFor' | 'release' | 'prefix' | 'policy'
>

/** Asks for a value of this schema: `output` is validated. */
export type TypedOptions<S extends Schema> = {
  /** The schema that the answer must fit: the output is the validated value. Default: the answer is text. */
  schema?: S
}

/** The output of a run: with a schema its value, without one text. */
export type Output<S extends Schema> = [S] extends [never] ? string : Infer<S>

/** The output of a chunk: with a schema the value so far, without one text. */
export type PartialOutput<S extends Schema> = [S] extends [never] ? string : DeepPartial<Infer<S>>

/** The options of one prompt, for any tools. */
export type AnyOptions = Omit<SendOptions<never>, 'context'> & {
  context?: unknown
  schema?: Schema
  /** The last request of the conversation, as `Chat` keeps it. */
  prefix?: RequestPrefix | undefined
  /** Called like `onStart`, but the caller does not hold the run: for `Chat`, which only steers it. */
  onRun?: (run: AnyRun, internals: WaitingInternals) => void
  /** The id of the chat that the run is a turn of, for tracers. */
  conversation?: string
  /** Metadata of the prompt's message: for pages, which give it an id. */
  metadata?: JsonObject
}

/** The last argument: it may be left out if nothing in it is required. */
export type Last<Options> = object extends Options ? [options?: Options] : [options: Options]

const settingNames = Object.keys(settingRules) as (keyof GenerationSettings)[]

/** The settings among some options. */
export const settingsOf = (options: GenerationSettings): GenerationSettings | undefined => {
  const given = settingNames.filter((name) => options[name] !== undefined)
  return given.length > 0 ? Object.fromEntries(given.map((name) => [name, options[name]])) : undefined
}

/**
 * The options that an agent passes on to its machine unchanged. An orchestrator does not get the others: it might store
 * or show a key.
 */
export const machineOptions = (options: AgentOptions<never>): Partial<AgentMachineConfig> => {
  const given = Object.keys(sharedRules).map((name) => [name, Reflect.get(options, name)])
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}

/** The part of the options that a run stores. */
export const inputOf = (
  prompt: string | Part[],
  options: AnyOptions,
  id: string,
  outputSchema: JsonObject | undefined,
): AgentInput => {
  const { history, attachments, metadata, system, maxSteps, limits, prefix, policy } = options
  const settings = settingsOf(options)
  return {
    prompt,
    id,
    ...(history && { history }),
    ...(attachments && { attachments }),
    ...(metadata && { metadata }),
    ...(system !== undefined && { system }),
    ...(maxSteps !== undefined && { maxSteps }),
    ...(limits !== undefined && { limits }),
    ...(policy !== undefined && { policy }),
    ...(settings && { settings }),
    ...(outputSchema && { outputSchema }),
    ...(prefix && { prefix }),
  }
}
