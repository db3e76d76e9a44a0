import type { Last } from '../../agent/options.ts'
import { eventStream } from '../eventStream.ts'
import {
  admission,
  type ChatHandlerOptions,
  chatHandlerRules,
  chatsOf,
  checkHandler,
  type Served,
} from '../handlerOptions.ts'
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
  const options: ChatHandlerOptions = given ?? {}
  const limits = checkHandler('aguiHandler', options, chatHandlerRules)
  const { showError, maxBodyBytes } = limits
  const chats = chatsOf(served, options)
  const admit = admission(options)

  const answer = async (request: Request): Promise<Response> => {
    if (request.method !== 'POST') throw new HttpError(405, 'Use POST.', 'method_not_allowed')
    const input = readRunInput(await readBody(request, maxBodyBytes))
    const { threadId, runId, messages, tools } = input
    const given = { ...(await admit(request, threadId)), tools }
    const asked =
      'question' in input
        ? await chats.ask(threadId, input.question, given)
        : await chats.resume(threadId, input.decide, given)
    const turn = reported(asked, request, { ...options, chatId: threadId })
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
