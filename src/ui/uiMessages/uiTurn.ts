import type { JsonObject } from '../../messages/json.ts'
import type { Audience, Chats, Decisions, Turn, TurnContext } from '../chats.ts'
import { readUiRequest } from './readUiMessages.ts'
import { UiMessageWriter } from './UiMessageWriter.ts'
import type { UiChunk } from './uiChunks.ts'

/** A turn, and the client's message that it continues. */
export type UiTurn = { turn: Turn; messageId: string | undefined; decisions: Decisions }

/** An answer that is shown from its start, as a separate message. */
export const newMessage = (turn: Turn): UiTurn => ({ turn, messageId: undefined, decisions: {} })

/** The turn that a request of the AI SDK asks for. */
export const uiTurn = async (
  chats: Chats,
  chatId: string,
  body: JsonObject,
  context: TurnContext,
): Promise<UiTurn> => {
  const asked = readUiRequest(body)
  if ('question' in asked) return newMessage(await chats.ask(chatId, asked.question, context))
  let decisions: Decisions = {}
  const turn = await chats.resume(
    chatId,
    (calls) => {
      decisions = asked.decide(calls)
      return decisions
    },
    context,
  )
  return { turn, messageId: asked.messageId, decisions }
}

/** How a turn is shown to a client. */
export type UiClient = {
  send: (chunk: UiChunk) => void
  clientVersion: 5 | 6 | 7
  showError: (error: unknown) => string
}

/** Shows a turn to its end, good or bad. */
export const showTurn = async (
  { turn, messageId, decisions }: UiTurn,
  client: UiClient,
  audience: Omit<Audience, 'hear'>,
): Promise<void> => {
  const writer = new UiMessageWriter({ ...client, messageId, decisions })
  try {
    await turn.follow({ ...audience, hear: (event) => writer.hear(event) })
  } catch (error) {
    writer.fail(error)
  }
}
