import { ConfigurationError } from '../src/messages/errors.ts'
import { checkOptions, unknownOption } from '../src/messages/optionRules.ts'
import type { ChatModel, ModelProfile } from '../src/model/chatModel.ts'
import type { Wire } from './http/connection.ts'
import { connectionOf, isOtherServer, type Place, serverUrl } from './http/connectionOf.ts'
import { connectionRules, profileRules } from './http/connectionRules.ts'
import { httpChatModel, type Recover } from './http/httpChatModel.ts'
import type { ModelTable } from './models/modelFacts.ts'
import { pricesOf } from './models/prices.ts'
import type { ConnectionOptions, ProfileOverride } from './provider.ts'
import type { Protocol } from './wire/protocol.ts'

/** The part of a preset that its chat models are made of: nothing of embeddings, files or lists of models. */
export type ChatPreset<P extends ModelProfile> = Place & {
  protocol: Protocol<P>
  /** Empty where a model must be named. */
  defaultModel: string
  /** `isOtherServer`: the user pointed the preset at another server, whose quirks are not known. `url`: the server. */
  profile: (model: string, isOtherServer: boolean, url: string) => P
  recover?: Recover
  /** The list of its prices. */
  priceList?: string | undefined
  /** The tables of its models: a name that it refuses is compared with theirs. */
  tables?: readonly ModelTable[]
  /** The wire, where it is more than JSON over HTTP. */
  wire?: () => Promise<Wire>
}

/** Makes the chat models of a provider; without a name, the default one. */
export type ModelMaker = (model: string | undefined, options: ConnectionOptions) => ChatModel

/** The maker of a preset's chat models. A key is looked for with the first request. */
export const modelMaker =
  <P extends ModelProfile>(preset: ChatPreset<P>): ModelMaker =>
  (given, options) => {
    const { name, protocol, recover, tables } = preset
    const model = modelNamed(preset, given ?? preset.defaultModel)
    checkProfile(protocol, options.profile)
    const isOther = isOtherServer(preset, options)
    const prices = isOther ? undefined : pricesOf(preset.priceList, model)
    const profile = overriddenProfile(
      {
        ...preset.profile(options.profile?.like ?? model, isOther, serverUrl(preset, options.baseUrl)),
        ...(prices && { prices }),
      },
      options.profile,
    )
    let connected: ChatModel | undefined
    return {
      provider: name,
      model,
      protocol: protocol.name,
      profile,
      stream(request, sink) {
        connected ??= httpChatModel({
          protocol,
          target: { provider: name, model, profile },
          connection: connectionOf(preset, options),
          ...(recover && { recover }),
          tables,
        })
        return connected.stream(request, sink)
      },
      // A model that made no request has no credentials yet.
      redact: (text) => connected?.redact?.(text) ?? text,
    }
  }

/** Refuses a field that the protocol does not have: it would change nothing. */
const checkProfile = ({ profileFields }: Pick<Protocol, 'profileFields'>, profile: object = {}): void => {
  const unknown = profileFields && unknownOption('profile', profile, { ...profileRules, ...profileFields })
  if (unknown !== undefined) throw new ConfigurationError(unknown)
}

/** The profile of a model, with the fields that the user knows better. */
const overriddenProfile = <P extends ModelProfile>(
  profile: P,
  { like: _, attachments, ...fields }: ProfileOverride = {},
): P => ({
  ...profile,
  // The context that Ollama loads is all that fits.
  ...('numCtx' in fields && fields.numCtx !== undefined && { window: fields.numCtx }),
  ...fields,
  attachments: { ...profile.attachments, ...attachments },
})

/** The name of a model that must not be empty. */
export const modelNamed = ({ name }: Pick<Place, 'name'>, model: string): string => {
  if (model !== '') return model
  throw new ConfigurationError(`${name} has no default model: name one, such as ${name}:my-model.`)
}

/**
 * A provider as a value, of `statewire/providers/<name>`: it makes chat models without the registry of all providers. The
 * options of the agent count for them, too; those that are given here win.
 *
 * @example
 * import { openai } from 'statewire/providers/openai'
 * const agent = new Agent(openai('gpt-6-luna'), { apiKey })
 */
export type ProviderValue = (model?: string, options?: ConnectionOptions) => ChatModel

/** A provider as a value, and the preset that the registry builds on. */
export const providerValue = <Preset extends Pick<Place, 'name'>>(
  preset: Preset,
  make: ModelMaker,
): ProviderValue & { readonly preset: Preset } => {
  const value: ProviderValue = (model, options = {}) => {
    checkOptions(`The options of ${preset.name}`, options, connectionRules)
    const made = make(model, options)
    makers.set(made, (more) => make(model, merged(more, options)))
    return made
  }
  return Object.assign(value, { preset })
}

const makers = new WeakMap<ChatModel, (more: ConnectionOptions) => ChatModel>()

/** The options of a connection, out of all those of an agent. */
export const connectionIn = (options: ConnectionOptions): ConnectionOptions =>
  Object.fromEntries(
    Object.keys(connectionRules).flatMap((name) => {
      const value: unknown = Reflect.get(options, name)
      return value === undefined ? [] : [[name, value]]
    }),
  )

/** A model of a provider's value with the connection of its agent; any other model as it is. */
export const connectedModel = (model: ChatModel, ofAgent: ConnectionOptions): ChatModel => {
  const connection = connectionIn(ofAgent)
  const isGiven = Object.keys(connection).length > 0
  return (isGiven && makers.get(model)?.(connection)) || model
}

const merged = (ofAgent: ConnectionOptions, own: ConnectionOptions): ConnectionOptions => {
  const connection = { ...ofAgent.connection, ...own.connection }
  return { ...ofAgent, ...own, connection }
}
