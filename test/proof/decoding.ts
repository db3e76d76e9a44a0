import {
  anthropic,
  anthropicProfile,
  cohere,
  type Decoder,
  geminiProfile,
  google,
  mistral,
  ollama,
  openaiChat,
  openaiResponses,
} from '../../providers/index.ts'
import { DeltaBatch } from '../../providers/wire/decoder.ts'
import type { ErrorData } from '../../src/messages/errors.ts'
import { type Accumulated, messageAccumulator, nothingAccumulated } from '../../src/model/accumulator.ts'
import type { ModelProfile } from '../../src/model/chatModel.ts'
import type { Delta } from '../../src/model/delta.ts'
import { Framing } from '../../src/transport/framing.ts'
import { defaultLimits } from '../../src/transport/limits.ts'
import type { Subject } from './subjects.ts'

const profile: ModelProfile = {
  tools: true,
  parallelTools: true,
  nativeSchema: true,
  schemaWithTools: true,
  thinking: true,
  attachments: { images: true, pdf: true, audio: true, links: true },
}

const target = (provider: string) => ({ provider, model: 'm', profile })

const decoders: Record<string, () => Decoder> = {
  'openai-chat': () => openaiChat.decoder(target('openai')),
  'openai-responses': () => openaiResponses.decoder(target('openai-responses')),
  anthropic: () => anthropic.decoder({ ...target('anthropic'), profile: anthropicProfile('m') }),
  google: () => google.decoder({ ...target('google'), profile: geminiProfile('m') }),
  ollama: () => ollama.decoder(target('ollama')),
  mistral: () => mistral.decoder(target('mistral')),
  cohere: () => cohere.decoder(target('cohere')),
}

const decoderOf = (protocol: string): Decoder => {
  const make = decoders[protocol]
  if (!make) throw new Error(`There is no decoder for ${protocol}.`)
  return make()
}

/** What an answer comes to between its bytes and the engine. */
export type Decoded = {
  deltas: Delta[]
  failure: ErrorData | undefined
  isFinished: boolean
  accumulated: Accumulated
}

/** How the body ends: as HTTP wants it, with a broken connection, or not at all. */
export type BodyEnd = 'clean' | 'broken' | 'open'

/** Reads an answer without sockets, its bytes cut into reads at these places. */
export const decode = (
  { protocol, contentType }: Pick<Subject, 'protocol' | 'contentType'>,
  body: Uint8Array,
  cuts: readonly number[] = [],
  end: BodyEnd = 'clean',
): Decoded => {
  const batch = new DeltaBatch(decoderOf(protocol))
  const framing = new Framing({
    contentType,
    maxEventSize: defaultLimits.maxEventSize,
    secrets: [],
    onEvent: (event) => batch.push(event),
  })
  const deltas: Delta[] = []
  let problem: ErrorData | undefined
  let from = 0
  for (const to of [...cuts, body.length]) {
    problem ??= framing.push(body.subarray(from, to))
    deltas.push(...batch.take())
    from = to
  }
  if (end !== 'open') {
    problem ??= framing.end(end === 'clean')
    batch.end(end === 'broken' || problem !== undefined)
    deltas.push(...batch.take())
  }
  const failure =
    batch.failure?.code === 'truncated' ? (problem ?? batch.failure) : (batch.failure ?? problem)
  const { isFinished } = batch
  return {
    // How often counts are reported may follow the reads; what they come to is in `accumulated`.
    deltas: joined(deltas.filter(({ type }) => type !== 'usage')),
    failure,
    isFinished,
    accumulated: messageAccumulator.accumulate(nothingAccumulated, deltas),
  }
}

/** The deltas with the pieces of each call as one: a read has those that came together in one anyway. */
const joined = (deltas: readonly Delta[]): Delta[] => {
  const all: Delta[] = []
  for (const delta of deltas) {
    const last = all.at(-1)
    if (delta.type !== 'toolDelta' || last?.type !== 'toolDelta' || last.index !== delta.index)
      all.push(delta)
    else all[all.length - 1] = { ...last, ...delta, arguments: last.arguments + delta.arguments }
  }
  return all
}
