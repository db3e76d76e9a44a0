import type { AgentEmitted } from '../../machines/index.ts'
import type { ChatMessage } from '../../src/messages/messages.ts'
import type { AgentActor } from './watching.ts'

/** Everything that an actor emits, in order, a line for each event. Call it before `start`. */
export const eventList = (actor: AgentActor): string[] => {
  const list: string[] = []
  actor.on('*', (event) => list.push(eventLine(event)))
  return list
}

/** An event with all that it holds; what is empty is left out. */
const eventLine = ({ type, ...event }: AgentEmitted): string => {
  if (!('messages' in event)) return [type, ...Object.values(event).map(partLine)].join(' ')
  const { messages, ...chunk } = event
  const shown = Object.entries(chunk).filter(([, value]) => !isEmpty(value))
  return [type, ...messages.map(lineOf), ...shown.map(([name, value]) => `${name} ${partLine(value)}`)].join(
    ' ',
  )
}

const isEmpty = (value: unknown): boolean => ['""', '{}', '"unspecified"'].includes(JSON.stringify(value))

const isMessage = (value: unknown): value is ChatMessage =>
  typeof value === 'object' && value !== null && 'role' in value

const partLine = (value: unknown): string =>
  typeof value === 'string' ? value : isMessage(value) ? lineOf(value) : JSON.stringify(value)

/** A message: its role, what each part holds, and its metadata. */
export const lineOf = ({ role, parts, metadata }: ChatMessage): string =>
  [
    `${role}:`,
    ...parts.map((part) => {
      if (part.type === 'text') return part.text
      if (part.type === 'toolCall') return `${part.name}(${JSON.stringify(part.arguments)})#${part.id}`
      if (part.type === 'toolResult') return `${part.id}${part.isError ? ' failed' : ''}=${part.result}`
      return part.type
    }),
    ...(metadata ? [JSON.stringify(metadata)] : []),
  ].join(' ')
