import type { AnyStateMachine } from 'xstate'
import type { CompactionOptions } from '../../machines/agent/agentConfig.ts'
import { mustBePrepared, type PrepareStep } from '../../machines/model/prepareStep.ts'
import { modelsNamedIn, policyOptions, resolvePolicy } from '../../machines/policy/policyConfig.ts'
import type { PolicyOptions } from '../../machines/policy/policyEvents.ts'
import { connectedModel, connectionIn } from '../../providers/chatModels.ts'
import { findProvider } from '../../providers/namedProviders.ts'
import type { ConnectionOptions, TransportOptions } from '../../providers/provider.ts'
import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import type { ChatModel } from '../model/chatModel.ts'
import { parseModelString } from '../model/modelString.ts'
import type { AnyToolEntry } from '../tools/tool.ts'
import type { FallbackModel } from './options.ts'

/** A fallback uses the agent's way to the network, but never its key: that belongs to another provider. */
export const fallbackModel = (fallback: FallbackModel, connection: ConnectionOptions): ChatModel => {
  if (typeof fallback === 'object' && 'stream' in fallback)
    return connectedModel(fallback, { connection: routeOf(connection) })
  const { model, ...own }: ConnectionOptions & { model: string } =
    typeof fallback === 'string' ? { model: fallback } : fallback
  const { provider, chat } = parseModelString(model)
  const route = { ...routeOf(connection), ...own.connection }
  return findProvider(provider, chat).chatModel(chat, { ...own, connection: route })
}

/** The way to the network alone: a key, an address and limits belong to one provider. */
const routeOf = ({ connection: { dispatcher, fetch } = {} }: ConnectionOptions): TransportOptions => ({
  ...(dispatcher && { dispatcher }),
  ...(fetch && { fetch }),
})

/**
 * A model by its string. If its provider is the agent's, it gets the agent's whole connection; otherwise only the way
 * to the network.
 */
const namedModel = (text: string, ofAgent: ChatModel, connection: ConnectionOptions): ChatModel => {
  const { provider, chat } = parseModelString(text)
  const found = findProvider(provider, chat)
  return found.chatModel(
    chat,
    found.name === ofAgent.provider ? connectionIn(connection) : { connection: routeOf(connection) },
  )
}

/** Lets `prepareStep` name models by their strings. */
export const withModelStrings = (
  prepare: PrepareStep<never, string | ChatModel>,
  ofAgent: ChatModel,
  connection: ConnectionOptions,
): PrepareStep => {
  const made = new Map<string, ChatModel>()
  const modelOf = (text: string): ChatModel => {
    const model = made.get(text) ?? namedModel(text, ofAgent, connection)
    made.set(text, model)
    return model
  }
  return async (info) => {
    const prepared = await prepare(info)
    if (prepared === undefined || prepared === null) return undefined
    mustBePrepared(prepared)
    const { model, ...rest } = prepared
    if (model === undefined) return rest
    return { ...rest, model: typeof model === 'string' ? modelOf(model) : model }
  }
}

/** Lets the states of a policy name models by their strings. The policy is checked with the tools of the agent. */
export const withPolicyModels = (
  policy: AnyStateMachine | PolicyOptions<string | ChatModel> | undefined,
  tools: readonly AnyToolEntry[],
  ofAgent: ChatModel,
  connection: ConnectionOptions,
): PolicyOptions | undefined => {
  if (!policy) return undefined
  const { models = {}, ...rest } = policyOptions(policy)
  const modelOf = (model: string | ChatModel) =>
    typeof model === 'string' ? namedModel(model, ofAgent, connection) : model
  const named = modelsNamedIn(rest.machine).filter((name) => !Object.hasOwn(models, name))
  const all = [...Object.entries(models), ...named.map((name): [string, string] => [name, name])]
  try {
    const own = {
      ...rest,
      models: Object.fromEntries(all.map(([name, model]) => [name, modelOf(model)])),
    }
    resolvePolicy(own, tools)
    return own
  } catch (cause) {
    throw new ConfigurationError(`The policy cannot be used: ${describeThrown(cause)}`, { cause })
  }
}

/** Lets the model of a compaction be named by its string. */
export const withSummariser = (
  compaction: false | CompactionOptions<string | ChatModel> | undefined,
  ofAgent: ChatModel,
  connection: ConnectionOptions,
): false | CompactionOptions | undefined => {
  if (!compaction) return compaction
  const { model, ...rest } = compaction
  if (model === undefined) return rest
  if (typeof model !== 'string') return { ...rest, model }
  try {
    return { ...rest, model: namedModel(model, ofAgent, connection) }
  } catch (cause) {
    throw new ConfigurationError(`compaction.model cannot be used: ${describeThrown(cause)}`, { cause })
  }
}
