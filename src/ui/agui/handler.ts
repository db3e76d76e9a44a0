import type { Last } from '../../agent/options.ts'
import type { JsonObject } from '../../messages/json.ts'
import { eventStream } from '../eventStream.ts'
import {
  admission,
  type ChatHandlerOptions,
  chatHandlerRules,
  chatsOf,
  checkHandler,
  type Served,
} from '../handlerOptions.ts'
import { type Page, PageChannel } from '../page.ts'
import { reported, reporting } from '../reports.ts'
import { HttpError, readBody, respond } from '../request.ts'
import { readRunInput } from './readRequest.ts'
import { AguiWriter } from './writer.ts'

/**
 * Serves an agent, or stored chats, to clients of AG-UI 1.0 (`HttpAgent`): CopilotKit, assistant-ui and others. A call that
 * needs an approval is an interrupt. The page calls its own tools.
 *
 * @example
 * const handler = aguiHandler(agent) // new HttpAgent({ url: '/api/agent' })
 * export { handler as POST }
 */
export const aguiHandler = <For extends Served>(
  served: For,
  ...[given]: Last<ChatHandlerOptions<For>>
): ((request: Request) => Promise<Response>) => {
  const options: ChatHandlerOptions = given === undefined ? {} : given
  const limits = checkHandler('aguiHandler', options, chatHandlerRules)
  const { showError, maxBodyBytes } = limits
  const find = chatsOf(served, options)
  const admit = admission({ context: sharedByPage, ...options })

  const answer = async (request: Request): Promise<Response> => {
    if (request.method !== 'POST') throw new HttpError(405, 'Use POST.', 'method_not_allowed')
    const body = await readBody(request, maxBodyBytes)
    const input = readRunInput(body)
    const { threadId, runId, messages, tools } = input
    const channel = new PageChannel(body)
    const given = { ...(await admit(request, threadId, channel.page)), tools }
    const chats = await find(request, threadId, body)
    const asked =
      'question' in input
        ? await chats.ask(threadId, input.question, given)
        : await chats.resume(threadId, input.decide, given)
    const turn = channel.attach(reported(asked, request, { ...options, chatId: threadId }))
    return eventStream(request, {}, limits, async (outlet, signal) => {
      const send = (event: object) => outlet.send(JSON.stringify(event))
      const writer = new AguiWriter({ send, threadId, runId, messages, showError })
      try {
        await turn.follow({
          onEvent: (event) => writer.onEvent(event),
          ready: () => outlet.ready(),
          signal,
        })
      } catch (error) {
        writer.fail(error)
      }
    })
  }
  return (request) => respond(request, answer, { showError, ...reporting(options, request) })
}

/** The values that a page shares with the tools, unless the handler has its own `context`. */
const sharedByPage = (_request: Request, _chatId: string, { body }: Page): JsonObject => {
  const { state = null, context = [], forwardedProps = {} } = body
  return { state, context, forwardedProps }
}
