import { wires } from '../hostile/hostileRun.ts'
import type { Wire } from '../hostile/wire.ts'
import { hasRecordings, loadStreams, protocols, providerOf } from '../recordings/recordings.ts'

/** One whole answer as bytes: a fixture of this repository, or a recorded one. */
export type Subject = {
  id: string
  protocol: string
  /** The model string of the agent that reads it. */
  model: string
  contentType: string
  body: Buffer
  /** Where its events end, in bytes; the last is the length of the body. */
  ends: readonly number[]
}

export const protocolOf = (model: string): string => {
  const provider = model.split(':')[0] ?? ''
  return provider === 'openai' ? 'openai-chat' : provider
}

export const wireOf = (protocol: string): Wire => {
  const wire = wires.find(({ model }) => protocolOf(model) === protocol)
  if (!wire) throw new Error(`There is no wire for ${protocol}.`)
  return wire
}

/** A blank line ends an event, in NDJSON the end of its line does. */
const eventEnds = (body: Buffer, protocol: string): number[] => {
  const mark = protocol === 'ollama' ? /\n+/g : /\r\n\r\n|\n\n|\r\r/g
  const text = body.toString('latin1')
  const ends = [...text.matchAll(mark)].map(({ index, 0: found }) => index + found.length)
  return ends.at(-1) === body.length ? ends : [...ends, body.length]
}

export const subjectOf = (wire: Wire, name: string, text: string): Subject => {
  const protocol = protocolOf(wire.model)
  const body = Buffer.from(text)
  const { model, contentType } = wire
  return { id: `${protocol}: ${name}`, protocol, model, contentType, body, ends: eventEnds(body, protocol) }
}

/** Text beyond ASCII, so that a cut may fall into a character of two, three or four bytes. */
export const toolTurn = {
  text: 'Løt me — 見て 🦜 look.',
  calls: [
    { id: 'call_1', name: 'get_weather', args: '{"city":"Ōsaka 🦜"}' },
    { id: 'call_2', name: 'get_time', args: '{}' },
  ],
}

/** A turn of two tool calls and a turn of text, in the words of each protocol. */
export const fixtures: readonly Subject[] = wires.flatMap((wire) => [
  subjectOf(wire, 'two calls', wire.events(toolTurn).join('')),
  subjectOf(wire, 'text', wire.events({ text: 'Il fait 21° — ça va.' }).join('')),
])

export const recordings: readonly Subject[] = !hasRecordings
  ? []
  : protocols.flatMap((protocol) =>
      loadStreams(protocol).map(({ recording: { id, response } }): Subject => {
        const body = Buffer.from(response.body)
        const contentType = response.contentType ?? 'text/event-stream'
        const model = providerOf(protocol)
        return {
          id: `${protocol}: ${id}`,
          protocol,
          model,
          contentType,
          body,
          ends: eventEnds(body, protocol),
        }
      }),
    )
