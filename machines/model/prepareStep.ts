import type { AnyActorRef } from 'xstate'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { isJsonObject } from '../../src/messages/json.ts'
import type { ChatMessage } from '../../src/messages/messages.ts'
import type { Usage } from '../../src/messages/result.ts'
import type { ChatModel, GenerationSettings, ToolChoice } from '../../src/model/chatModel.ts'
import type { AnyTool } from '../../src/tools/tool.ts'

/** The status of a run when its next request is prepared. */
export type StepInfo<Deps = unknown> = {
  /** Counts the model calls of the run from 1. */
  step: number
  /** The conversation that the model is about to see: a copy. */
  messages: ChatMessage[]
  /** The usage of the steps before. */
  usage: Usage | undefined
  context: Deps
}

/** The changes for one step; what is left out stays as it is. */
export type PreparedStep<Model = ChatModel> = {
  model?: Model
  /** The tools that are offered, all of them tools of the run: by name, or the tools themselves. */
  tools?: readonly (string | AnyTool)[]
  toolChoice?: ToolChoice
  system?: string
  settings?: GenerationSettings
}

/** Decides before each model call what it is asked with. */
export type PrepareStep<Deps = never, Model = ChatModel> = (
  info: StepInfo<Deps>,
) => PreparedStep<Model> | undefined | Promise<PreparedStep<Model> | undefined>

type Kept = { step: number; prepared: Promise<PreparedStep> }

const kept = new WeakMap<AnyActorRef, Kept>()

/** Asks once per step for the changes, however often the request is repeated. Without `tools`, any name may be offered. */
export const preparedStep = (
  run: AnyActorRef,
  prepare: PrepareStep,
  info: StepInfo,
  tools: ReadonlySet<string> | undefined,
): Promise<PreparedStep> => {
  const known = kept.get(run)
  if (known?.step === info.step) return known.prepared
  // The caller passes the context that the function needs: the types of `Agent` make sure of it.
  const prepared = Promise.resolve(prepare(info as StepInfo<never>)).then((given) =>
    checked(given ?? {}, tools),
  )
  kept.set(run, { step: info.step, prepared })
  return prepared
}

/** Refuses anything that is not an object: nothing else has fields. */
export const mustBePrepared = (given: unknown): void => {
  if (!isJsonObject(given)) throw new ConfigurationError('prepareStep must return an object, or nothing.')
}

const checked = (given: PreparedStep, tools: ReadonlySet<string> | undefined): PreparedStep => {
  mustBePrepared(given)
  const { model, system, settings }: { model?: unknown; system?: unknown; settings?: unknown } = given
  if (model !== undefined && !(isJsonObject(model) && typeof model.stream === 'function'))
    throw new ConfigurationError('The model that prepareStep returns must be a model string or a chat model.')
  if (system !== undefined && typeof system !== 'string')
    throw new ConfigurationError('The system prompt that prepareStep returns must be a string.')
  if (settings !== undefined && !isJsonObject(settings))
    throw new ConfigurationError('The settings that prepareStep returns must be an object.')
  const unknown = offeredNames(given)?.find((name) => tools && !tools.has(name))
  if (unknown === undefined) return given
  throw new ConfigurationError(
    `prepareStep offers the tool "${unknown}", which the run does not have: give it to the agent or the send.`,
  )
}

/** The names of the tools that are offered; undefined: all. */
export const offeredNames = ({ tools }: PreparedStep): string[] | undefined => {
  if (tools === undefined) return undefined
  if (!Array.isArray(tools))
    throw new ConfigurationError('The tools that prepareStep returns must be a list.')
  return tools.map((each: string | AnyTool) => (typeof each === 'string' ? each : String(each?.name)))
}
