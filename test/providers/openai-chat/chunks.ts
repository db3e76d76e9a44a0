import { type OpenAIChatProfile, openaiChat } from '../../../providers/openai-chat/index.ts'
import type { WireEvent } from '../../../providers/wire/protocol.ts'
import type { Delta } from '../../../src/model/delta.ts'
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

/** A chunk that names the response; one like it that follows may take the fast path. */
export const first = event({ id: 'r1', choices: [] })
export const said = (content: unknown) => event({ id: 'r1', choices: [{ index: 0, delta: { content } }] })

type Options = { isBroken?: boolean; quirks?: Partial<OpenAIChatProfile> }

export const decode = (
  events: readonly (WireEvent | string)[],
  { isBroken, quirks }: Options = {},
): Delta[] => {
  const profile = { ...plainProfile, ...quirks }
  const decoder = openaiChat.decoder({ provider: 'acme', model: 'm1', profile })
  const deltas = events.flatMap((each) => decoder.push(typeof each === 'string' ? { data: each } : each))
  return [...deltas, ...decoder.end(isBroken)]
}

export const ofType = <T extends Delta['type']>(deltas: readonly Delta[], type: T) =>
  deltas.filter((delta): delta is Extract<Delta, { type: T }> => delta.type === type)

/** A promise about a stream: its name, its events, and all deltas that come out. */
export type Row = [string, (WireEvent | string)[], object[]]

export const response = { type: 'response', id: 'r1' }
export const text = (text: string) => ({ type: 'text', text })
export const stopped = { type: 'finish', reason: 'stop', raw: 'stop' }
export const failed = (error: object, raw?: string) => ({
  type: 'error',
  error: { name: 'ModelError', ...error },
  ...(raw !== undefined && { raw }),
})
export const truncated = (raw?: string) =>
  failed(
    {
      message: 'The stream ended before it was complete: a finish_reason or [DONE] never came.',
      code: 'truncated',
      retryable: true,
    },
    raw,
  )
