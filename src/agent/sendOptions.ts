import type { AnyActorRef } from 'xstate'
import { settingRules } from '../../machines/agent/configRules.ts'
import type { AgentInput } from '../../machines/agent/events.ts'
import type { RunLimits } from '../../machines/agent/limits.ts'
import type { PrepareStep } from '../../machines/model/prepareStep.ts'
import type { JsonObject } from '../messages/json.ts'
import type { ChatMessage, Part } from '../messages/messages.ts'
import type { ChatModel, GenerationSettings } from '../model/chatModel.ts'
import type { Schema } from '../tools/schema.ts'
import type { Tool, ToolSource } from '../tools/tool.ts'
import type { AnyRun, RunGrip } from './Run.ts'
import type { Inspect } from './watching.ts'

/** Required where the tools need one. */
type ContextOption<Deps> = undefined extends Deps
  ? {
      /** What the tools of this run get as `context`. Never stored: a resumed run is given it again. */
      context?: Deps
    }
  : {
      /** What the tools of this run get as `context`. Never stored: a resumed run is given it again. */
      context: Deps
    }

/** What a run gets and cannot store: pass it again when you resume the run. */
export type ActorValues<Deps = unknown> = ContextOption<Deps> & {
  /** In place of the agent's tools. */
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
    /** What this run may use, in place of the agent's limits of the same name. */
    limits?: RunLimits
  }

/** Asks for a value of this schema: `output` is validated. */
export type TypedOptions<S extends Schema> = { schema?: S }

/** The same, for any tools. */
export type AnyOptions = Omit<SendOptions<never>, 'context'> & {
  context?: unknown
  schema?: Schema
  /** For `Chat`, which steers the run, does not decide for it, and lets go of it when it waits. */
  onRun?: (run: AnyRun, grip: RunGrip) => void
}

/** The last argument: it may be left out if nothing in it is required. */
export type Last<Options> = object extends Options ? [options?: Options] : [options: Options]

const settingNames = Object.keys(settingRules) as (keyof GenerationSettings)[]

/** The settings among some options. */
export const settingsOf = (options: GenerationSettings): GenerationSettings | undefined => {
  const given = settingNames.filter((name) => options[name] !== undefined)
  return given.length > 0 ? Object.fromEntries(given.map((name) => [name, options[name]])) : undefined
}

/** The part of the options that a run stores. */
export const inputOf = (
  prompt: string | Part[],
  options: AnyOptions,
  id: string,
  outputSchema: JsonObject | undefined,
): AgentInput => {
  const { history, attachments, system, maxSteps, limits } = options
  const settings = settingsOf(options)
  return {
    prompt,
    id,
    ...(history && { history }),
    ...(attachments && { attachments }),
    ...(system !== undefined && { system }),
    ...(maxSteps !== undefined && { maxSteps }),
    ...(limits !== undefined && { limits }),
    ...(settings && { settings }),
    ...(outputSchema && { outputSchema }),
  }
}
