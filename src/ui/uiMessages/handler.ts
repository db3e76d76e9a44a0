import type { Last } from '../../agent/options.ts'
import type { JsonObject } from '../../messages/json.ts'
import { type Rules, rule } from '../../messages/optionRules.ts'
import { eventStream } from '../eventStream.ts'
import {
  admission,
  type ChatHandlerOptions,
  chatHandlerRules,
  chatsOf,
  checkHandler,
  type Served,
} from '../handlerOptions.ts'
import { PageChannel } from '../page.ts'
import { reported, reporting } from '../reports.ts'
import { chatIdOf, decodedSegment, HttpError, readBody, respond } from '../request.ts'
import type { Chats, Decisions, Turn, TurnContext, TurnListener } from '../turn.ts'
import { type UiChunk, uiMessagesOf } from './messages.ts'
import { readUiRequest } from './readRequest.ts'
import { UiMessageWriter } from './writer.ts'

/** Options of {@link uiMessageHandler}. None is required, except a `context` that tools need. */
export type UiMessageHandlerOptions<For extends Served = Served> = ChatHandlerOptions<For> & {
  /** The major version of `ai` in the page. Version 5 has no approvals: see the guide. Default: 7. */
  clientVersion?: 5 | 6 | 7
}

export const clientVersion = rule('5, 6 or 7', (value) => value === 5 || value === 6 || value === 7)

const rules: Rules<UiMessageHandlerOptions> = { ...chatHandlerRules, clientVersion }

/** The mark of a stream that every version of the AI SDK reads. */
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
export const uiMessageHandler = <For extends Served>(
  served: For,
  ...[given]: Last<UiMessageHandlerOptions<For>>
): ((request: Request) => Promise<Response>) => {
  const options: UiMessageHandlerOptions = given === undefined ? {} : given
  const limits = checkHandler('uiMessageHandler', options, rules)
  const { clientVersion: version = 7 } = options
  const { showError, maxBodyBytes } = limits
  const find = chatsOf(served, options)
  const admit = admission(options)

  const show = (request: Request, turn: UiTurn): Response =>
    eventStream(request, headers, limits, async (outlet, signal) => {
      const send = (chunk: UiChunk) => outlet.send(JSON.stringify(chunk))
      await showTurn(
        turn,
        { send, clientVersion: version, showError },
        { ready: () => outlet.ready(), signal },
      )
      outlet.send('[DONE]')
    })

  const ask = async (request: Request): Promise<Response> => {
    const body = await readBody(request, maxBodyBytes)
    const chatId = chatIdOf(body.id)
    const channel = new PageChannel(body)
    const context = await admit(request, chatId, channel.page)
    const { turn, ...shown } = await startTurn(await find(request, chatId, body), chatId, body, context)
    return show(request, { ...shown, turn: channel.attach(reported(turn, request, { ...options, chatId })) })
  }

  const readStored = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url)
    const [, id = '', what] = /\/([^/]+)\/(stream|messages)\/?$/.exec(pathname) ?? []
    if (!what) throw new HttpError(404, 'This address does not exist. Use POST to ask.', 'not_found')
    const chatId = chatIdOf(decodedSegment(id))
    await admit(request, chatId, new PageChannel({}).page)
    const chats = await find(request, chatId, {})
    if (what === 'messages') {
      const history =
        request.method === 'GET' ? await chats.history(chatId, searchParams.has('now')) : undefined
      if (history) return Response.json(uiMessagesOf(history, showError))
    } else if (request.method === 'DELETE') {
      await chats.stop(chatId)
      return new Response(null, { status: 204 })
    } else {
      const turn = await chats.current(chatId, searchParams.get('prompt') ?? undefined)
      // Version 5 would show an answer that it already has twice.
      if (!turn || (turn.isOver && version === 5)) return new Response(null, { status: 204 })
      const { onError } = options
      // Its outcome is reported to the request that asked.
      return show(request, newMessage(reported(turn, request, { ...(onError && { onError }) })))
    }
    throw new HttpError(404, 'The messages of this chat are not stored here.', 'not_found')
  }

  const answer = (request: Request): Promise<Response> => {
    if (request.method === 'POST') return ask(request)
    if (request.method === 'GET' || request.method === 'DELETE') return readStored(request)
    throw new HttpError(405, 'Use POST, GET or DELETE.', 'method_not_allowed')
  }
  return (request) => respond(request, answer, { showError, ...reporting(options, request) })
}

/** A turn, and the client's message that it continues. */
export type UiTurn = { turn: Turn; messageId: string | undefined; decisions: Decisions }

/** Shows a turn from its start, as a separate message. */
const newMessage = (turn: Turn): UiTurn => ({ turn, messageId: undefined, decisions: {} })

/** Starts the turn that a request of the AI SDK asks for. */
export const startTurn = async (
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

/** The client that a turn is shown to. */
type UiClient = {
  send: (chunk: UiChunk) => void
  clientVersion: 5 | 6 | 7
  showError: (error: unknown) => string
}

/** Shows a turn until it ends or fails. */
export const showTurn = async (
  { turn, messageId, decisions }: UiTurn,
  client: UiClient,
  listener: Omit<TurnListener, 'onEvent'>,
): Promise<void> => {
  const writer = new UiMessageWriter({ ...client, messageId, decisions, promptId: turn.promptId })
  try {
    await turn.follow({ ...listener, onEvent: (event) => writer.onEvent(event) })
  } catch (error) {
    writer.fail(error)
  }
}
