import { ConfigurationError } from '../src/messages/errors.ts'
import type { ChatModel, ModelProfile } from '../src/model/chatModel.ts'
import { httpEmbeddingsModel } from './embeddings/httpEmbeddingsModel.ts'
import type { EmbeddingsProtocol } from './embeddings/index.ts'
import type { Key } from './http/apiKey.ts'
import type { KeyHeader, Wire } from './http/connection.ts'
import { connectionOf } from './http/connectionOf.ts'
import { httpChatModel, type Recover } from './http/httpChatModel.ts'
import { httpJson } from './http/httpJson.ts'
import { type ModelListing, readModels } from './http/modelListing.ts'
import { inTime, retrying } from './http/retrying.ts'
import { isOtherServer, type Place, type ReadVariable } from './http/server.ts'
import { overriddenProfile } from './profileOverride.ts'
import type { Capability, ConnectionOptions, Provider } from './provider.ts'
import type { Protocol } from './wire/protocol.ts'

/** A provider as a preset describes it: a protocol, a place, a key, and the quirks of its models. */
export type ProviderPreset<P extends ModelProfile> = Place & {
  aliases?: readonly string[]
  protocol: Protocol<P>
  /** Left out where the provider needs no key. */
  keyVariable?: string
  /** What else may be passed as `apiKey`, for the error where it is missing. */
  keyForms?: string
  /** Where the environment has more to say about the key than one variable. */
  environmentKey?: (read: ReadVariable) => Key | undefined
  /** Default: `authorization: Bearer <key>`. */
  keyHeader?: KeyHeader
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>>
  /** Empty where a model must be named. */
  defaultModel: string
  /** `isOtherServer`: the user pointed the preset at another server, whose quirks are not known. */
  profile: (model: string, isOtherServer: boolean) => P
  recover?: Recover<P>
  embeddings?: { protocol: EmbeddingsProtocol; defaultModel: string }
  models?: ModelListing
  /** For a provider that is more than JSON over HTTP. */
  wire?: () => Promise<Wire>
}

/**
 * Makes a provider from its preset. The way to add one that speaks a known protocol.
 *
 * @example
 * registerProvider('acme', defineProvider({
 *   name: 'acme', protocol: openaiChat, baseUrl: 'https://api.acme.example/v1',
 *   keyVariable: 'ACME_API_KEY', defaultModel: 'acme-large',
 *   profile: () => ({ ...chatProfile, reasoningReplay: 'reasoning_content' }),
 * }))
 */
export const defineProvider = <const P extends ModelProfile>(preset: ProviderPreset<P>): Provider => {
  const { name, protocol, recover, embeddings, models } = preset

  const chatModel = (given: string | undefined, options: ConnectionOptions): ChatModel => {
    const model = named(preset, given ?? preset.defaultModel)
    const profile = overriddenProfile(
      preset.profile(options.profile?.like ?? model, isOtherServer(preset, options)),
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
      // What never made a request has no credentials yet.
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

const named = ({ name }: Place, model: string): string => {
  if (model !== '') return model
  throw new ConfigurationError(`${name} has no default model: name one, such as ${name}:my-model.`)
}

const capabilitiesOf = <P extends ModelProfile>(preset: ProviderPreset<P>): Capability[] => {
  const profile: ModelProfile = preset.profile(preset.defaultModel, false)
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
