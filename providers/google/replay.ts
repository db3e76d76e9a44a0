import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { type ChatMessage, type Part, toolCallsOf } from '../../src/messages/messages.ts'
import { arrayAt, numberAt, objectAt, stringAt } from '../wire/json.ts'
import { rebuilt } from '../wire/replay.ts'

/**
 * Gemini's thought signatures belong to the exact part they came on, so an answer is sent back part by part.
 *
 * The message keeps text, calls and media; the skeleton only says how they were cut and in which order: a text by its
 * length, a call or a medium by its number, each with its signature, and whole parts the message has no place for.
 */
type CallBone = { call: number; signature?: string; noId?: true }
type Bone =
  | CallBone
  | { text: number; signature?: string }
  | { media: number; signature?: string }
  | { raw: JsonObject }

/** Notes the parts of an answer as they arrive. */
export class PartRecorder {
  readonly #bones: Bone[] = []
  readonly #calls: CallBone[] = []
  #worthKeeping = false

  text(length: number, signature: string | undefined): void {
    const last = this.#bones.at(-1)
    // Unsigned pieces of one text are one part; a signed part is never joined with its neighbours.
    const grows = last && 'text' in last && last.signature === undefined && signature === undefined
    if (grows) last.text += length
    else if (length > 0 || signature !== undefined) this.#add({ text: length, ...signed(signature) })
  }

  /** Notes a call. The next piece of it only adds what is new: signature and id may come on any of them. */
  call(index: number, signature: string | undefined, hasId: boolean): void {
    const bone: CallBone = this.#calls[index] ?? this.#add({ call: index, ...signed(signature) })
    this.#calls[index] = bone
    if (hasId) delete bone.noId
    else bone.noId = true
    if (signature === undefined) return
    bone.signature = signature
    this.#worthKeeping = true
  }

  media(index: number, signature: string | undefined): void {
    this.#add({ media: index, ...signed(signature) })
  }

  raw(part: JsonObject): void {
    this.#add({ raw: part })
  }

  /** Undefined when the message alone says everything. `server` are the calls, by number, that the message does not have. */
  skeleton(server: ReadonlyMap<number, JsonObject> = new Map(), isNeeded = false): JsonValue[] | undefined {
    if (!this.#worthKeeping && !isNeeded) return undefined
    if (server.size === 0) return this.#bones
    let calls = 0
    return this.#bones.map((bone): Bone => {
      if (!('call' in bone)) return bone
      const part = server.get(bone.call)
      if (!part) return { ...bone, call: calls++ }
      return { raw: bone.signature === undefined ? part : { ...part, thoughtSignature: bone.signature } }
    })
  }

  #add<B extends Bone>(bone: B): B {
    this.#bones.push(bone)
    if ('raw' in bone || 'signature' in bone) this.#worthKeeping = true
    return bone
  }
}

const signed = (signature: string | undefined) => (signature === undefined ? {} : { signature })

/** The calls for which Gemini sent no id: it does not get ours. */
export const callsWithoutId = (opaque: JsonObject, message: ChatMessage): string[] => {
  const calls = toolCallsOf(message)
  return (arrayAt(opaque, 'parts') ?? [])
    .filter(isJsonObject)
    .filter((bone) => bone.noId === true)
    .flatMap((bone) => calls[numberAt(bone, 'call') ?? -1]?.id ?? [])
}

/** The parts as they came, or undefined when the message is no longer the one the skeleton was taken from. */
export const replay = (
  opaque: JsonObject,
  message: ChatMessage,
  partOf: (part: Part) => JsonObject | undefined,
): JsonObject[] | undefined => {
  const written = (part: Part, bone: JsonObject) => withSignature(partOf(part), bone)
  return rebuilt(message, arrayAt(opaque, 'parts') ?? [], {
    block: (bone) => withSignature(objectAt(bone, 'raw'), bone),
    text: (text, bone) => ({ text, ...signatureOf(bone) }),
    call: written,
    media: written,
  })
}

const signatureOf = (bone: JsonObject): JsonObject => {
  const signature = stringAt(bone, 'signature')
  return signature === undefined ? {} : { thoughtSignature: signature }
}

const withSignature = (part: JsonObject | undefined, bone: JsonObject): JsonObject | undefined =>
  part && { ...part, ...signatureOf(bone) }
