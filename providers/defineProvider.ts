import { fromBase64 } from '../src/messages/base64.ts'
import type { JsonValue } from '../src/messages/json.ts'
import type { ModelProfile } from '../src/model/chatModel.ts'
import { type ChatPreset, modelMaker, modelNamed } from './chatModels.ts'
import { httpEmbeddingsModel } from './embeddings/httpEmbeddingsModel.ts'
import type { EmbeddingsProtocol } from './embeddings/vectors.ts'
import type { MediaProtocol } from './files/media.ts'
import type { FilesProtocol } from './files/protocols.ts'
import type { ProviderRequest } from './http/connection.ts'
import { connectionOf } from './http/connectionOf.ts'
import { httpEvents } from './http/httpEvents.ts'
import { type HttpPlace, httpJson, inTime, itemsInTime, readModels, retrying } from './http/httpJson.ts'
import { modelTables } from './models/index.ts'
import { priceLists } from './models/priceLists.ts'
import type { Capability, ConnectionOptions, Provider, RequestOptions } from './provider.ts'

/** The parts of a preset that are not for presets of other packages. */
type Inner = 'priceList' | 'tables' | 'wire'

/** A provider as a preset describes it: a protocol, a place, a key, and the quirks of its models. */
export type ProviderPreset<P extends ModelProfile> = Omit<ChatPreset<P>, Inner> & {
  aliases?: readonly string[]
  /** The name of its list of prices. Default: the provider's own name. */
  prices?: string
  embeddings?: { protocol: EmbeddingsProtocol; defaultModel: string }
  /** The images that it makes. */
  media?: { protocol: MediaProtocol; defaultModel: string }
  /** The way to upload a file. */
  files?: FilesProtocol
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
  preset: ProviderPreset<P> & Pick<ChatPreset<P>, Inner>,
): Provider => {
  const { name, protocol, embeddings, models, media, files } = preset

  /** Sends a request that has one JSON answer, again where that may help. */
  const ask = (
    wanted: ProviderRequest,
    { signal, retry, timeouts, ...options }: ConnectionOptions & RequestOptions,
    baseUrl?: (ownUrl: string) => string,
  ): Promise<JsonValue> =>
    inTime(
      (signal) => {
        const place = placeOf({ ...options, signal, timeouts }, baseUrl)
        return retrying(() => httpJson(place, wanted), signal, retry)
      },
      { signal, ...(timeouts && { timeouts }) },
    )

  const placeOf = (
    { signal, timeouts, ...options }: ConnectionOptions & Pick<HttpPlace, 'signal' | 'timeouts'>,
    baseUrl?: (ownUrl: string) => string,
  ): HttpPlace => {
    const own = connectionOf(preset, options)
    const connection = { ...own, baseUrl: baseUrl?.(own.baseUrl) ?? own.baseUrl }
    return { provider: name, connection, error: protocol.error, signal, timeouts }
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
    chatModel: modelMaker({
      priceList: priceLists.get(preset.prices ?? name),
      tables: modelTables,
      ...preset,
    }),
    ...(embeddings && {
      embeddingsModel: (given, options) =>
        httpEmbeddingsModel({
          provider: name,
          model: modelNamed(preset, given ?? embeddings.defaultModel),
          protocol: embeddings.protocol,
          connection: () => connectionOf(preset, options),
          error: protocol.error,
          options,
        }),
    }),
    ...(media && {
      mediaModel: (given, options) => {
        const model = modelNamed(preset, given ?? media.defaultModel)
        const { stream: streaming } = media.protocol
        return {
          provider: name,
          model,
          generate: async (prompt, wish = {}) => {
            const { signal = options.signal } = wish
            const answer = await ask(media.protocol.request(prompt, wish, model), { ...options, signal })
            return media.protocol.read(answer, wish)
          },
          ...(streaming && {
            stream(prompt, wish = {}) {
              const { retry, ...rest } = options
              const { signal = options.signal } = wish
              return itemsInTime(
                async function* (signal) {
                  const wanted = streaming.request(prompt, wish, model)
                  const place = placeOf({ ...rest, signal })
                  const reader = streaming.reader(wish)
                  const events = await retrying(() => httpEvents(place, wanted), signal, retry)
                  for await (const event of events) yield* reader.push(event)
                  reader.end()
                },
                { ...options, signal },
              )
            },
          }),
        }
      },
    }),
    ...(files && {
      uploadFile: async ({ data, mimeType, name = 'file' }, options) => {
        const file = { data: fromBase64(data), mimeType, name }
        return files.read(await ask(files.request(file), options, files.baseUrl), file)
      },
    }),
    ...(models && {
      listModels: async (options) => readModels(await ask({ path: models.path }, options, models.baseUrl)),
    }),
  }
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
