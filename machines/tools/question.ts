import { stableJson } from '../../src/messages/json.ts'
import type { ToolCallPart } from '../../src/messages/messages.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import type { StreamingState } from '../agent/streamingState.ts'

/**
 * The identity of a question to a person: its run, its round, which no other round shares, the tool and the arguments.
 * Providers number their calls, so that the id of a call may come again; a question never does. `asked`: the number of
 * times that the call was asked about before, as it is after the end of a process.
 */
export const questionOf = (
  { options, round, bounds }: StreamingState,
  { id, name, arguments: args }: ToolCallPart,
  kind: PendingCall['kind'],
): string => {
  const place = kind === 'limit' ? (bounds.question ?? '') : round.id
  const asked = Object.hasOwn(round.interruptions, id) ? round.interruptions[id] : 0
  return `${place}.${digest(stableJson([options.id, kind, asked, id, name, args]))}`
}

/** A pending call with the identity of its question. */
export const asQuestion = (
  state: StreamingState,
  call: ToolCallPart,
  kind: PendingCall['kind'],
): PendingCall => {
  // A run that does not ask at its limit, or was stored by an older release.
  if (kind === 'limit' && state.bounds.question === undefined) return { ...call, kind }
  const known = made.get(call)
  const key = `${kind} ${state.round.id} ${state.round.interruptions[call.id] ?? 0}`
  if (known?.key === key) return { ...call, kind, question: known.question }
  const question = questionOf(state, call, kind)
  made.set(call, { key, question })
  return { ...call, kind, question }
}

/** The questions of calls: arguments may be long, and what waits is looked at often. */
const made = new WeakMap<ToolCallPart, { key: string; question: string }>()

/**
 * Says whether a decision is about a question. One that names no question is about the call that waits now; what an older
 * release stored has none.
 */
export const isAbout = (
  decision: { question?: string | undefined },
  asked: { question?: string | undefined },
): boolean =>
  decision.question === undefined || asked.question === undefined || decision.question === asked.question

/** A short text for a longer one, the same in every process. */
export const digest = (text: string): string => new Digest().add(text).text

/** The digest of a text that grows at its end. Two hashes of 32 bits, each with another start. */
export class Digest {
  #a = 0x811c9dc5
  #b = 0x9747b28c

  add(text: string): this {
    let a = this.#a
    let b = this.#b
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index)
      a = Math.imul(a ^ code, 0x01000193)
      b = Math.imul(b ^ code, 0x5bd1e995)
      b ^= b >>> 15
    }
    this.#a = a
    this.#b = b
    return this
  }

  get text(): string {
    return (this.#a >>> 0).toString(36) + (this.#b >>> 0).toString(36).padStart(7, '0')
  }
}
