import type { AnyActorRef } from 'xstate'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { isJsonObject } from '../../src/messages/json.ts'
import type { ChatMessage } from '../../src/messages/messages.ts'
import { unknownOption } from '../../src/messages/optionRules.ts'
import type { Usage } from '../../src/messages/result.ts'
import type { ChatModel, GenerationSettings, ModelRequest, ToolChoice } from '../../src/model/chatModel.ts'
import type { AnyTool } from '../../src/tools/tool.ts'
import { settingRules } from '../agent/configRules.ts'
import { policyActor } from '../policy/policyConfig.ts'
import { metaIn } from '../policy/policyLogic.ts'
import type { ResolvedPolicy } from '../policy/questions.ts'

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

/** The changes that the states of the agent's own policy ask for; undefined if they ask for none. */
export const stepOfPolicy = (
  policy: ResolvedPolicy | undefined,
  run: AnyActorRef | undefined,
  tools: ReadonlyMap<string, unknown>,
): PreparedStep | undefined => {
  const { machine } = policy ?? {}
  const actor = machine && run && policyActor(run)
  if (!policy || !actor) return undefined
  const { reason: _, model: named, ...meta } = metaIn(machine, actor.getSnapshot())
  const model = typeof named === 'string' ? policy.models.get(named) : named
  if (named !== undefined && !model)
    throw new ConfigurationError(`The policy names the model "${String(named)}": add it to policy.models.`)
  const step: PreparedStep = { ...meta, ...(model && { model }) }
  return Object.keys(step).length === 0 ? undefined : checked(step, new Set(tools.keys()), 'the policy')
}

/** Refuses tools that the provider runs: a policy cannot be asked about them, so that it must name or allow them before. */
export const refuseServerTools = (
  policy: ResolvedPolicy | undefined,
  { serverTools = [] }: Pick<ModelRequest, 'serverTools'>,
  ofPolicy: PreparedStep | undefined,
): void => {
  if (!policy || policy.others === 'allow') return
  const named = ofPolicy?.settings?.serverTools ?? []
  if (serverTools.every((each) => named.includes(each))) return
  throw new ConfigurationError(
    "The provider runs its server tools itself, so the policy cannot be asked about them: name them in the meta.settings of the states that allow them, or give the policy others: 'allow'.",
  )
}

/** The changes of a step, of which none may offer more tools than the policy does. */
export const withinPolicy = (ofPolicy: PreparedStep, given: PreparedStep): PreparedStep => {
  const allowed = offeredNames(ofPolicy)
  const wanted = offeredNames(given)
  const tools = allowed && wanted ? wanted.filter((name) => allowed.includes(name)) : (wanted ?? allowed)
  return { ...ofPolicy, ...given, ...(tools && { tools }) }
}

/** Refuses anything that is not an object: nothing else has fields. */
export const mustBePrepared = (given: unknown): void => {
  if (!isJsonObject(given)) throw new ConfigurationError('prepareStep must return an object, or nothing.')
}

const preparedNames: Record<keyof PreparedStep, true> = {
  model: true,
  tools: true,
  toolChoice: true,
  system: true,
  settings: true,
}

const checked = (
  given: PreparedStep,
  tools: ReadonlySet<string> | undefined,
  by = 'prepareStep',
): PreparedStep => {
  mustBePrepared(given)
  const stranger = unknownOption(`What ${by} returns`, given, preparedNames)
  if (stranger !== undefined) throw new ConfigurationError(stranger)
  const { model, system, settings }: { model?: unknown; system?: unknown; settings?: unknown } = given
  if (model !== undefined && !(isJsonObject(model) && typeof model.stream === 'function'))
    throw new ConfigurationError(`The model that ${by} returns must be a model string or a chat model.`)
  if (system !== undefined && typeof system !== 'string')
    throw new ConfigurationError(`The system prompt that ${by} returns must be a string.`)
  if (settings !== undefined && !isJsonObject(settings))
    throw new ConfigurationError(`The settings that ${by} returns must be an object.`)
  const unset = settings && unknownOption(`The settings that ${by} returns`, settings, settingRules)
  if (unset !== undefined) throw new ConfigurationError(unset)
  const unknown = offeredNames(given)?.find((name) => tools && !tools.has(name))
  if (unknown === undefined) return given
  throw new ConfigurationError(
    `${by} offers the tool "${unknown}", which the run does not have: give it to the agent or the send.`,
  )
}

/** The names of the tools that are offered; undefined: all. */
export const offeredNames = ({ tools }: PreparedStep): string[] | undefined => {
  if (tools === undefined) return undefined
  if (!Array.isArray(tools))
    throw new ConfigurationError('The tools that prepareStep returns must be a list.')
  return tools.map((each: string | AnyTool) => (typeof each === 'string' ? each : String(each?.name)))
}
