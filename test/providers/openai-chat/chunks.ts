import { type OpenAIChatProfile, openaiChat } from '../../../providers/openai-chat/index.ts'
import type { WireEvent } from '../../../providers/wire/protocol.ts'
import type { Delta } from '../../../src/model/delta.ts'
import { decodeAll } from './foldedDeltas.ts'
import { plainProfile } from './plainProfile.ts'

export const done: WireEvent = { data: '[DONE]' }

export const event = (chunk: unknown, name?: string): WireEvent => ({
  event: name,
  data: JSON.stringify(chunk),
})

/** A chunk with one choice. */
export const chunk = (delta: unknown, more: object = {}): WireEvent =>
  event({ id: 'r1', object: 'chat.completion.chunk', choices: [{ index: 0, delta, ...more }] })

export const stop: WireEvent = chunk({}, { finish_reason: 'stop' })

export const decode = (events: readonly WireEvent[], quirks: Partial<OpenAIChatProfile> = {}): Delta[] => {
  const profile = { ...plainProfile, ...quirks }
  return decodeAll(openaiChat.decoder({ provider: 'acme', model: 'm1', profile }), events)
}

export const ofType = <T extends Delta['type']>(deltas: readonly Delta[], type: T) =>
  deltas.filter((delta): delta is Extract<Delta, { type: T }> => delta.type === type)
