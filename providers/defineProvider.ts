import { ConfigurationError } from '../src/messages/errors.ts'
import { addUsage, type Usage } from '../src/messages/result.ts'
import type { ChatModel, ModelProfile } from '../src/model/chatModel.ts'
import type { Connection } from './connection.ts'
import { batchesOf, type EmbeddingsProtocol } from './embeddings/index.ts'
import { httpChatModel, type Recover } from './httpChatModel.ts'
import { httpJson } from './httpJson.ts'
import { type ModelListing, readModels } from './modelListing.ts'
import { isOtherServer } from './otherServer.ts'
import { overriddenProfile } from './profileOverride.ts'
import type { Protocol } from './protocol.ts'
import type { Capability, ConnectionOptions, EmbeddingsModel, Provider } from './provider.ts'
import { retrying } from './retrying.ts'

/** A provider as a preset tells it: a protocol, a place, a key, and the quirks of its models. */
export type ProviderPreset<P extends ModelProfile> = {
  name: string
  aliases?: readonly string[]
  protocol: Protocol<P>
  baseUrl: string
  /** Left out where the provider needs no key. */
  keyVariable?: string
  /** Default: `authorization: Bearer <key>`. */
  keyHeader?: (key: string) => Record<string, string>
  defaultModel: string
  /** `isOtherServer`: the user pointed the preset at another server, whose quirks nobody knows. */
  profile: (model: string, isOtherServer: boolean) => P
  recover?: Recover<P>
  embeddings?: { protocol: EmbeddingsProtocol; defaultModel: string }
  models?: ModelListing
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/**
 * Makes a provider from its preset. The way to add one that speaks a known protocol.
 *
 * @example
 * registerProvider('deepseek', defineProvider({
 *   name: 'deepseek', protocol: openaiChat, baseUrl: 'https://api.deepseek.com',
 *   keyVariable: 'DEEPSEEK_API_KEY', defaultModel: 'deepseek-flash',
 *   profile: () => ({ ...chatProfile, reasoningReplay: 'reasoning_content' }),
 * }))
 */
export const defineProvider = <const P extends ModelProfile>(preset: ProviderPreset<P>): Provider => {
  const { name, protocol, recover, embeddings, models } = preset

  const chatModel = (model = preset.defaultModel, options: ConnectionOptions): ChatModel => {
    const named = options.profile?.like ?? model
    const profile = overriddenProfile(
      preset.profile(named, isOtherServer(preset.baseUrl, options)),
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

  const json = (options: ConnectionOptions, signal: AbortSignal | undefined) => ({
    provider: name,
    connection: connectionOf(preset, options),
    error: protocol.error,
    signal,
  })

  return {
    name,
    aliases: preset.aliases ?? [],
    keyVariable: preset.keyVariable,
    baseUrl: preset.baseUrl,
    defaultModel: preset.defaultModel,
    defaultEmbeddingsModel: embeddings?.defaultModel,
    capabilities: capabilitiesOf(preset),
    chatModel,
    ...(embeddings && {
      embeddingsModel: (model = embeddings.defaultModel, options): EmbeddingsModel => ({
        provider: name,
        model,
        async embed(texts, purpose, { dimensions, signal, providerOptions } = {}) {
          const target = {
            provider: name,
            model,
            purpose,
            ...(dimensions !== undefined && { dimensions }),
            ...(providerOptions && { providerOptions }),
          }
          const vectors: number[][] = []
          let usage: Usage | undefined
          for (const batch of batchesOf(texts, embeddings.protocol.batchSize)) {
            const wanted = embeddings.protocol.request(batch, target)
            const body = await retrying(() => httpJson(json(options, signal), wanted), signal)
            const answer = embeddings.protocol.read(body, batch.length)
            vectors.push(...answer.vectors)
            usage = addUsage(usage, answer.usage)
          }
          return { vectors, ...(usage && { usage }) }
        },
      }),
    }),
    ...(models && {
      listModels: async ({ signal, ...options }) => {
        const { connection, ...rest } = json(options, signal)
        const baseUrl = options.baseUrl === undefined ? models.baseUrl : undefined
        const place = { ...rest, connection: baseUrl === undefined ? connection : { ...connection, baseUrl } }
        return readModels(await retrying(() => httpJson(place, { path: models.path }), signal))
      },
    }),
  }
}

const connectionOf = <P extends ModelProfile>(
  preset: ProviderPreset<P>,
  options: ConnectionOptions,
): Connection => {
  const apiKey = options.apiKey ?? (preset.keyVariable && environment(preset.keyVariable))
  const { baseUrl = preset.baseUrl, headers } = options
  // Another server may need no key, and own headers may carry one.
  const mayLackKey =
    options.baseUrl !== undefined || Object.keys(headers ?? {}).some((name) => /auth|key/i.test(name))
  if (!apiKey && preset.keyVariable && !mayLackKey) {
    throw new ConfigurationError(
      `${preset.name} needs an API key: set the environment variable ${preset.keyVariable}, or pass apiKey.`,
    )
  }
  return {
    baseUrl,
    ...(apiKey && { apiKey }),
    keyHeader: preset.keyHeader ?? bearer,
    ...(headers && { headers }),
    ...(options.dispatcher && { dispatcher: options.dispatcher }),
    ...(options.fetch && { fetch: options.fetch }),
    ...(options.limits && { limits: options.limits }),
  }
}

const environment = (variable: string): string | undefined =>
  typeof process === 'undefined' ? undefined : process.env[variable]

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
