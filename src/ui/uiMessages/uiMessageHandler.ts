import { type Rules, rule } from '../../messages/optionRules.ts'
import { answering, chatIdOf, decoded } from '../answering.ts'
import { eventStream } from '../eventStream.ts'
import {
  admission,
  type ChatHandlerOptions,
  chatHandlerRules,
  chatsOf,
  checkHandler,
  type Served,
} from '../handlerOptions.ts'
import { Refusal } from '../Refusal.ts'
import { readBody } from '../readBody.ts'
import type { UiChunk } from './uiChunks.ts'
import { uiMessagesOf } from './uiMessages.ts'
import { newMessage, showTurn, type UiTurn, uiTurn } from './uiTurn.ts'

/** Options of {@link uiMessageHandler}. None is required. */
export type UiMessageHandlerOptions = ChatHandlerOptions & {
  /** The major version of `ai` in the page. Version 5 has no approvals: see the guide. Default: 7. */
  clientVersion?: 5 | 6 | 7
}

const rules: Rules<UiMessageHandlerOptions> = {
  ...chatHandlerRules,
  clientVersion: rule('5, 6 or 7', (value) => value === 5 || value === 6 || value === 7),
}

/** A stream that a page of any version of the AI SDK reads. */
const headers = { 'x-vercel-ai-ui-message-stream': 'v1' }

/**
 * Serves an agent, or stored chats, to pages that use the AI SDK (`useChat`). `POST` asks and decides,
 * `GET …/<chat>/stream` reads an answer again, `DELETE …/<chat>/stream` ends it, `GET …/<chat>/messages` gives the
 * conversation; the last three are for stored chats.
 *
 * @example
 * // app/api/chat/[[...path]]/route.ts
 * const handler = uiMessageHandler(agent)
 * export { handler as DELETE, handler as GET, handler as POST }
 *
 * @example
 * // Chats that outlive a reload, and the process.
 * const handler = uiMessageHandler(await openRuns({ store: sqlite('chats.db'), agents: { assistant } }))
 */
export const uiMessageHandler = (
  served: Served,
  options: UiMessageHandlerOptions = {},
): ((request: Request) => Promise<Response>) => {
  const limits = checkHandler('uiMessageHandler', options, rules)
  const { clientVersion = 7 } = options
  const { showError, maxBodyBytes } = limits
  const chats = chatsOf(served, options)
  const admit = admission(options)

  const show = (request: Request, turn: UiTurn): Response =>
    eventStream(request, headers, limits, async (outlet, signal) => {
      const send = (chunk: UiChunk) => outlet.send(JSON.stringify(chunk))
      await showTurn(turn, { send, clientVersion, showError }, { ready: () => outlet.ready(), signal })
      outlet.send('[DONE]')
    })

  const ask = async (request: Request): Promise<Response> => {
    const body = await readBody(request, maxBodyBytes)
    const chatId = chatIdOf(body.id)
    const context = await admit(request, chatId)
    return show(request, await uiTurn(chats, chatId, body, context))
  }

  const other = async (request: Request): Promise<Response> => {
    const [, id = '', what] = /\/([^/]+)\/(stream|messages)\/?$/.exec(new URL(request.url).pathname) ?? []
    if (!what) throw new Refusal(404, 'There is nothing here: use POST to ask.', 'not_found')
    const chatId = chatIdOf(decoded(id))
    await admit(request, chatId)
    if (what === 'messages') {
      const history = request.method === 'GET' ? await chats.history(chatId) : undefined
      if (history) return Response.json(uiMessagesOf(history))
    } else if (request.method === 'DELETE') {
      await chats.stop(chatId)
      return new Response(null, { status: 204 })
    } else {
      const turn = await chats.current(chatId)
      return turn ? show(request, newMessage(turn)) : new Response(null, { status: 204 })
    }
    throw new Refusal(404, 'The messages of this chat are not stored here.', 'not_found')
  }

  const answer = (request: Request): Promise<Response> => {
    if (request.method === 'POST') return ask(request)
    if (request.method === 'GET' || request.method === 'DELETE') return other(request)
    throw new Refusal(405, 'Use POST, GET or DELETE.', 'method_not_allowed')
  }
  return (request) => answering(request, answer, showError)
}
