import { createHash } from 'node:crypto'
import type { JsonObject, JsonValue } from '../../../src/messages/json.ts'
import type { ChatMessage } from '../../../src/messages/messages.ts'
import { objects } from '../../hostile/wire.ts'

/** The parts of a conversation, one after the other: the same for a request on the wire and for a stored history. */
export type Said =
  | { by: 'user' | 'model'; text: string }
  | { by: 'model'; callId: string; tool: string }
  | { by: 'tool'; callId: string; result: string }

/** A conversation as the provider was sent it. */
export const saidInRequest = (body: JsonObject): Said[] =>
  joined(
    objects(body.messages).flatMap((message): Said[] => {
      const text = textOfContent(message.content)
      switch (message.role) {
        case 'user':
          return [{ by: 'user', text }]
        case 'tool':
          return [{ by: 'tool', callId: String(message.tool_call_id), result: text }]
        case 'assistant':
          return [
            { by: 'model', text },
            ...objects(message.tool_calls).map((call): Said => {
              const [called] = objects([call.function ?? null])
              return { by: 'model', callId: String(call.id), tool: String(called?.name) }
            }),
          ]
        default:
          return []
      }
    }),
  )

/** The parts of stored messages. */
export const saidInHistory = (messages: readonly ChatMessage[]): Said[] =>
  joined(
    messages.flatMap(({ role, parts }) =>
      parts.flatMap((part): Said[] => {
        switch (part.type) {
          case 'text':
            return role === 'system' ? [] : [{ by: role, text: part.text }]
          case 'toolCall':
            return [{ by: 'model', callId: part.id, tool: part.name }]
          case 'toolResult':
            return [{ by: 'tool', callId: part.id, result: part.result }]
          default:
            return []
        }
      }),
    ),
  )

const textOfContent = (content: JsonValue | undefined): string =>
  typeof content === 'string'
    ? content
    : objects(content)
        .map(({ text }) => String(text))
        .join('')

/** Joins neighbouring texts and drops empty ones: a history and a wire cut a text into messages differently. */
const joined = (said: Said[]): Said[] =>
  said.reduce<Said[]>((all, each) => {
    const last = all.at(-1)
    if (!('text' in each)) all.push(each)
    else if (last && 'text' in last && last.by === each.by) last.text += each.text
    else if (each.text !== '') all.push({ ...each })
    return all
  }, [])

/** A digest of everything that was said. Blanks between parts are the wire's own business. */
export const digestOf = (said: readonly Said[]): string => {
  const content = JSON.stringify(said).replace(/\s|\\n/g, '')
  return createHash('sha256').update(content).digest('base64url').slice(0, 10)
}
