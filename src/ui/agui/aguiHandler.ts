import { answering } from '../answering.ts'
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
import { AguiWriter } from './AguiWriter.ts'
import { readRunInput } from './readRunInput.ts'

/**
 * Serves an agent, or stored chats, to clients of AG-UI 1.0 (`HttpAgent`): CopilotKit, assistant-ui and others. A call that
 * needs an approval is an interrupt; tools of the page are called by the page.
 *
 * @example
 * const handler = aguiHandler(agent) // new HttpAgent({ url: '/api/agent' })
 * export { handler as POST }
 */
export const aguiHandler = (
  served: Served,
  options: ChatHandlerOptions = {},
): ((request: Request) => Promise<Response>) => {
  const limits = checkHandler('aguiHandler', options, chatHandlerRules)
  const { showError, maxBodyBytes } = limits
  const chats = chatsOf(served, options)
  const admit = admission(options)

  const answer = async (request: Request): Promise<Response> => {
    if (request.method !== 'POST') throw new Refusal(405, 'Use POST.', 'method_not_allowed')
    const input = readRunInput(await readBody(request, maxBodyBytes))
    const { threadId, runId, messages, tools } = input
    const given = { ...(await admit(request, threadId)), tools }
    const turn =
      'question' in input
        ? await chats.ask(threadId, input.question, given)
        : await chats.resume(threadId, input.decide, given)
    return eventStream(request, {}, limits, async (outlet, signal) => {
      const send = (event: object) => outlet.send(JSON.stringify(event))
      const writer = new AguiWriter({ send, threadId, runId, messages, showError })
      try {
        await turn.follow({
          hear: (event) => writer.hear(event),
          ready: () => outlet.ready(),
          signal,
        })
      } catch (error) {
        writer.fail(error)
      }
    })
  }
  return (request) => answering(request, answer, showError)
}
