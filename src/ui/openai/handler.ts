import { Agent } from '../../agent/Agent.ts'
import type { AnyAgent } from '../../agent/options.ts'
import { ConfigurationError } from '../../messages/errors.ts'
import type { JsonObject } from '../../messages/json.ts'
import type { ChatMessage } from '../../messages/messages.ts'
import { callable, checkValue, members, object, type Rules } from '../../messages/optionRules.ts'
import { argumentCheck } from '../../tools/argumentCheck.ts'
import { type AgentTurnOptions, agentTurn, clientToolsFor } from '../AgentChats.ts'
import { eventStream } from '../eventStream.ts'
import { checkHandler, type HandlerOptions, handlerRules } from '../handlerOptions.ts'
import { reported, reporting } from '../reports.ts'
import { decodedSegment, HttpError, httpErrorOf, readBody, respond } from '../request.ts'
import type { Turn } from '../turn.ts'
import { type OpenaiRequest, readChatRequest, readResponsesRequest } from './readRequest.ts'
import type { AnswerWriter, SendEvent } from './writer.ts'
import { ChatCompletionWriter, errorOf, ResponseWriter } from './writer.ts'

/** Options of {@link openaiHandler}. None is required. */
export type OpenaiHandlerOptions = HandlerOptions & {
  /** Allows or refuses a key, which is `''` if there is none. Default: anyone who reaches the server may ask. */
  authorize?: (key: string, request: Request) => boolean | Promise<boolean>
  /** Gives the tools their `context`. */
  context?: (request: Request) => unknown
  /**
   * Keeps conversations by the id of their last response, for `previous_response_id`. A `Map` works; the request says
   * whose conversation it is. Default: conversations are not kept.
   */
  store?: ResponseStore
}

/** The place where {@link openaiHandler} keeps conversations, by the id of their last response. */
export type ResponseStore = {
  get(id: string, request: Request): ChatMessage[] | undefined | Promise<ChatMessage[] | undefined>
  set(id: string, messages: ChatMessage[], request: Request): unknown
}

const rules: Rules<OpenaiHandlerOptions> = {
  ...handlerRules,
  authorize: callable,
  context: callable,
  store: members({ get: callable, set: callable }),
}

/** A form of requests and answers. */
type Form = {
  read: (body: JsonObject, before: readonly ChatMessage[]) => OpenaiRequest
  writer: (model: string, send: SendEvent, body: JsonObject) => AnswerWriter
  /** Names its events, and has no `[DONE]` at the end. */
  hasNames: boolean
}

const forms: Readonly<Record<string, Form>> = {
  '/chat/completions': {
    read: readChatRequest,
    writer: (model, send, { stream_options: options }) =>
      new ChatCompletionWriter(model, send, Object(options).include_usage === true),
    hasNames: false,
  },
  '/responses': {
    read: readResponsesRequest,
    writer: (model, send, body) => new ResponseWriter(model, send, previousIn(body)),
    hasNames: true,
  },
}

/**
 * Serves agents as models of an OpenAI-compatible server: `/v1/models`, `/v1/chat/completions` and `/v1/responses`. The
 * agent's own tools run on the server, and the client calls its own.
 *
 * @example
 * const handler = openaiHandler({ weather: agent }, { authorize: (key) => key === process.env.MY_KEY })
 * createServer(nodeListener(handler)).listen(8000) // new OpenAI({ baseURL: 'http://localhost:8000/v1', apiKey })
 */
export const openaiHandler = (
  agents: Readonly<Record<string, AnyAgent>>,
  options: OpenaiHandlerOptions = {},
): ((request: Request) => Promise<Response>) => {
  const limits = checkHandler('openaiHandler', options, rules)
  checkValue('The agents of openaiHandler', agents, object)
  if (agents instanceof Agent)
    throw new ConfigurationError(
      'The agents of openaiHandler have names: write openaiHandler({ weather: agent }).',
    )
  const models = new Map(Object.entries(agents).map(([name, agent]) => [name, agentOf(name, agent)]))
  const { authorize, context, store } = options
  const { showError, maxBodyBytes } = limits

  const agentNamed = (name: string): Agent => {
    const agent = models.get(name)
    if (agent) return agent
    throw new HttpError(
      404,
      `The model ${JSON.stringify(name.slice(0, 100))} does not exist.`,
      'model_not_found',
    )
  }

  const conversationBefore = async (body: JsonObject, request: Request): Promise<ChatMessage[]> => {
    const id = previousIn(body)
    if (id === null) return []
    const found = await store?.get(id, request)
    if (found) return found
    const reason = store ? `The response ${JSON.stringify(id.slice(0, 100))} does not exist.` : notStored
    throw new HttpError(
      store ? 404 : 400,
      reason,
      store ? 'previous_response_not_found' : 'unsupported_parameter',
    )
  }

  const answer = async (request: Request, { read, writer, hasNames }: Form): Promise<Response> => {
    const body = await readBody(request, maxBodyBytes)
    const before = hasNames ? await conversationBefore(body, request) : []
    const { model, prompt, history, tools, isStream, schema } = read(body, before)
    const agent = agentNamed(model)
    const clientTools = clientToolsFor(agent, tools)
    const given = { history, clientTools, context: await context?.(request), ...asked(schema) }
    const turnFor = (writer: AnswerWriter): Turn => {
      const follow: Turn['follow'] = async (listener) => {
        const { outcome } = await agentTurn(agent, prompt, given, listener)
        if (hasNames && body.store !== false)
          await store?.set(writer.id, withoutInstructions(outcome.messages, body), request)
        return outcome
      }
      return reported({ follow }, request, options)
    }
    const ready = async () => {}
    if (!isStream) {
      const whole = writer(model, () => {}, body)
      const { signal } = request
      try {
        await turnFor(whole).follow({ onEvent: (event) => whole.onEvent(event), signal, ready })
      } catch (error) {
        return jsonError(httpErrorOf(error, showError))
      }
      return Response.json(whole.result())
    }
    return eventStream(request, {}, limits, async (outlet, signal) => {
      const events = writer(
        model,
        (data) => outlet.send(JSON.stringify(data), hasNames ? String(data.type) : undefined),
        body,
      )
      try {
        await turnFor(events).follow({ onEvent: (event) => events.onEvent(event), signal, ready })
        if (!hasNames) outlet.send('[DONE]')
      } catch (error) {
        events.fail(httpErrorOf(error, showError))
      }
    })
  }

  const route = async (request: Request): Promise<Response> => {
    const [, key = ''] = /^Bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? []
    if (authorize && !(await authorize(key, request)))
      throw new HttpError(401, 'This API key is not valid.', 'invalid_api_key')
    const { pathname } = new URL(request.url)
    const form = Object.entries(forms).find(([path]) => pathname.endsWith(path))?.[1]
    if (form && request.method === 'POST') return answer(request, form)
    const [isModels, name] = /\/models(?:\/([^/]+))?$/.exec(pathname) ?? []
    if (isModels === undefined || request.method !== 'GET')
      throw new HttpError(404, `There is no ${request.method} ${pathname.slice(0, 100)}.`, 'not_found')
    if (name === undefined) return Response.json({ object: 'list', data: [...models.keys()].map(modelOf) })
    agentNamed(decodedSegment(name))
    return Response.json(modelOf(decodedSegment(name)))
  }
  return (request) => respond(request, route, { showError, ...reporting(options, request) }, jsonError)
}

const agentOf = (name: string, agent: AnyAgent): Agent => {
  if (agent instanceof Agent) return agent
  throw new ConfigurationError(
    `"${name}" is not an agent of this copy of statewire: make it with new Agent(model).`,
  )
}

const notStored =
  'previous_response_id is not supported. Answers are not stored: send the whole conversation.'

const previousIn = ({ previous_response_id: id }: JsonObject): string | null =>
  typeof id === 'string' && id !== '' ? id : null

/** The instructions of a request are not those of the next one. */
const withoutInstructions = (messages: ChatMessage[], { instructions }: JsonObject): ChatMessage[] => {
  const index = typeof instructions === 'string' ? messages.findIndex(({ role }) => role === 'system') : -1
  return index < 0 ? messages : messages.toSpliced(index, 1)
}

/** Asks for an answer of a client's shape. Its patterns are not run here, since they may never end. */
const asked = (jsonSchema: JsonObject | undefined): Pick<AgentTurnOptions, 'schema'> => {
  if (!jsonSchema) return {}
  try {
    return { schema: { jsonSchema, schema: argumentCheck(jsonSchema) } }
  } catch (error) {
    throw error instanceof ConfigurationError ? new HttpError(400, error.message) : error
  }
}

const modelOf = (id: string): JsonObject => ({ id, object: 'model', created: 0, owned_by: 'statewire' })

const jsonError = (error: HttpError): Response => Response.json(errorOf(error), { status: error.status })
