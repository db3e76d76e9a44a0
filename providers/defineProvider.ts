import { ConfigurationError } from '../src/messages/errors.ts'
import type { ChatModel, ModelProfile } from '../src/model/chatModel.ts'
import { httpEmbeddingsModel } from './embeddings/httpEmbeddingsModel.ts'
import type { EmbeddingsProtocol } from './embeddings/vectors.ts'
import type { Wire } from './http/connection.ts'
import { connectionOf, isOtherServer, type Place, serverUrl } from './http/connectionOf.ts'
import { httpChatModel, type Recover } from './http/httpChatModel.ts'
import { httpJson, inTime, readModels, retrying } from './http/httpJson.ts'
import { pricesOf } from './models/prices.ts'
import type { Capability, ConnectionOptions, ProfileOverride, Provider } from './provider.ts'
import type { Protocol } from './wire/protocol.ts'

/** A provider as a preset describes it: a protocol, a place, a key, and the quirks of its models. */
export type ProviderPreset<P extends ModelProfile> = Place & {
  aliases?: readonly string[]
  protocol: Protocol<P>
  /** Empty where a model must be named. */
  defaultModel: string
  /** `isOtherServer`: the user pointed the preset at another server, whose quirks are not known. `url`: the server. */
  profile: (model: string, isOtherServer: boolean, url: string) => P
  recover?: Recover
  /** The name of its list of prices. Default: the provider's own name. */
  prices?: string
  embeddings?: { protocol: EmbeddingsProtocol; defaultModel: string }
  /** The list of the provider's models. `baseUrl` changes the base URL, where the list is elsewhere. */
  models?: { path: string; baseUrl?(ownUrl: string): string }
}

/**
 * Makes a provider from its preset: the way to add one that speaks a known protocol.
 *
 * @example
 * registerProvider('acme', defineProvider({
 *   name: 'acme', protocol: openaiChat, baseUrl: 'https://api.acme.example/v1',
 *   keyVariable: 'ACME_API_KEY', defaultModel: 'acme-large',
 *   profile: () => ({ ...chatProfile, reasoningReplay: 'reasoning_content' }),
 * }))
 */
export const defineProvider = <const P extends ModelProfile>(preset: ProviderPreset<P>): Provider =>
  providerWithWire(preset)

/** Makes a provider whose wire may be more than JSON over HTTP. */
export const providerWithWire = <const P extends ModelProfile>(
  preset: ProviderPreset<P> & { wire?: () => Promise<Wire> },
): Provider => {
  const { name, protocol, recover, embeddings, models } = preset

  const chatModel = (given: string | undefined, options: ConnectionOptions): ChatModel => {
    const model = named(preset, given ?? preset.defaultModel)
    const isOther = isOtherServer(preset, options)
    const prices = isOther ? undefined : pricesOf(preset.prices ?? name, model)
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
        })
        return connected.stream(request, sink)
      },
      // A model that made no request has no credentials yet.
      redact: (text) => connected?.redact?.(text) ?? text,
    }
  }

  return {
    name,
    aliases: preset.aliases ?? [],
    keyVariable: preset.keyVariable,
    baseUrl: preset.baseUrl,
    serverVariables: preset.server?.variables ?? [],
    defaultModel: preset.defaultModel,
    defaultEmbeddingsModel: embeddings?.defaultModel,
    capabilities: capabilitiesOf(preset),
    chatModel,
    ...(embeddings && {
      embeddingsModel: (given, options) =>
        httpEmbeddingsModel({
          provider: name,
          model: named(preset, given ?? embeddings.defaultModel),
          protocol: embeddings.protocol,
          connection: () => connectionOf(preset, options),
          error: protocol.error,
          options,
        }),
    }),
    ...(models && {
      listModels: ({ signal, retry, timeouts, ...options }) =>
        inTime(
          async (signal) => {
            const own = connectionOf(preset, options)
            const baseUrl = models.baseUrl?.(own.baseUrl) ?? own.baseUrl
            const place = { provider: name, connection: { ...own, baseUrl }, error: protocol.error }
            const ask = () => httpJson({ ...place, signal, timeouts }, { path: models.path })
            return readModels(await retrying(ask, signal, retry))
          },
          { signal, ...(timeouts && { timeouts }) },
        ),
    }),
  }
}

/** The profile of a model, with the fields that the user knows better. */
const overriddenProfile = <P extends ModelProfile>(
  profile: P,
  { like: _, attachments, ...fields }: ProfileOverride = {},
): P => ({ ...profile, ...fields, attachments: { ...profile.attachments, ...attachments } })

const named = ({ name }: Place, model: string): string => {
  if (model !== '') return model
  throw new ConfigurationError(`${name} has no default model: name one, such as ${name}:my-model.`)
}

const capabilitiesOf = <P extends ModelProfile>(preset: ProviderPreset<P>): Capability[] => {
  const profile: ModelProfile = preset.profile(preset.defaultModel, false, preset.baseUrl)
  const known: Record<Capability, boolean> = {
    chat: true,
    tools: profile.tools,
    parallelTools: profile.parallelTools,
    nativeSchema: profile.nativeSchema,
    thinking: profile.thinking,
    images: profile.attachments.images,
    pdf: profile.attachments.pdf,
    audio: profile.attachments.audio,
    embeddings: preset.embeddings !== undefined,
    listModels: preset.models !== undefined,
  }
  return (Object.keys(known) as Capability[]).filter((capability) => known[capability])
}

/** A provider with models of several protocols: `other` chooses by the model's name; undefined stays with the first. */
export const routed = (first: Provider, other: (model: string) => Provider | undefined): Provider => ({
  ...first,
  chatModel: (model = first.defaultModel, options) => (other(model) ?? first).chatModel(model, options),
})
