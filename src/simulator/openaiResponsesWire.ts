import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import { openaiChatWire } from './openaiChatWire.ts'
import {
  type OfferedTool,
  RefusedRequest,
  type SimulatorReply,
  type SimulatorRequest,
  type Turn,
} from './request.ts'
import {
  argumentsIn,
  type Ids,
  listOf,
  piecesOf,
  type TokenCounts,
  textIn,
  textOfValue,
  type Wire,
} from './wire.ts'

/** OpenAI's `POST /v1/responses`. The simulator stores no responses: to continue one, send the conversation. */
export const openaiResponsesWire: Wire = {
  path: '/v1/responses',

  read: (body) => {
    if (typeof body.previous_response_id === 'string') {
      throw new RefusedRequest(`Previous response with id '${body.previous_response_id}' not found.`, 404)
    }
    const input =
      typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : listOf(body.input)
    if (input.length === 0) throw new RefusedRequest("Missing required parameter: 'input'.")
    const format = isJsonObject(body.text) && isJsonObject(body.text.format) ? body.text.format : {}
    const effort = isJsonObject(body.reasoning) ? body.reasoning.effort : undefined
    return {
      model: textIn(body, 'model'),
      turns: turnsOf(input),
      tools: listOf(body.tools).flatMap(toolOf),
      toolChoice: choiceOf(body.tool_choice),
      mayCallSeveral: body.parallel_tool_calls !== false,
      outputSchema: isJsonObject(format.schema) ? format.schema : undefined,
      isThinking: typeof effort === 'string' && !/^(?:none|minimal)$/.test(effort),
      isStreaming: body.stream === true,
    }
  },

  events: (reply, ids, usage, request) => {
    const items = itemsOf(reply, ids)
    return [
      event('response.created', { response: responseOf([], ids, request, 'in_progress') }),
      ...items.flatMap((item, index) => itemEvents(item, index)),
      event('response.completed', { response: responseOf(items, ids, request, 'completed', usage) }),
    ]
  },

  whole: (reply, ids, usage, request) => responseOf(itemsOf(reply, ids), ids, request, 'completed', usage),

  error: openaiChatWire.error,
}

type Item = { type: 'reasoning' | 'message' | 'function_call'; id: string; text: string; wire: JsonObject }

const itemsOf = ({ thinking, text, calls }: SimulatorReply, { id, callId }: Ids): Item[] => [
  ...(thinking === '' ? [] : [reasoningItem(`rs_${id}`, thinking)]),
  ...(text === '' ? [] : [messageItem(`msg_${id}`, text)]),
  ...calls.map((call, index) => {
    const text = JSON.stringify(call.arguments)
    const own = { call_id: callId(index), name: call.name, arguments: text, status: 'completed' }
    return itemOf('function_call', `fc_${id}_${index}`, text, own)
  }),
]

const itemOf = (type: Item['type'], id: string, text: string, own: JsonObject): Item => ({
  type,
  id,
  text,
  wire: { type, id, ...own },
})

const reasoningItem = (id: string, text: string): Item =>
  itemOf('reasoning', id, text, { summary: [{ type: 'summary_text', text }] })

const messageItem = (id: string, text: string): Item =>
  itemOf('message', id, text, {
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  })

const deltaEvents: Record<Item['type'], { type: string; place: JsonObject }> = {
  reasoning: { type: 'response.reasoning_summary_text.delta', place: { summary_index: 0 } },
  message: { type: 'response.output_text.delta', place: { content_index: 0 } },
  function_call: { type: 'response.function_call_arguments.delta', place: {} },
}

const itemEvents = ({ type, id, text, wire }: Item, output_index: number): string[] => {
  const { type: deltaType, place } = deltaEvents[type]
  const announced = { ...wire, ...(type === 'function_call' && { arguments: '', status: 'in_progress' }) }
  return [
    event('response.output_item.added', {
      output_index,
      item: type === 'function_call' ? announced : { ...announced, content: [], summary: [] },
    }),
    ...piecesOf(text).map((delta) => event(deltaType, { item_id: id, output_index, ...place, delta })),
    event('response.output_item.done', { output_index, item: wire }),
  ]
}

const event = (type: string, body: JsonObject): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...body })}\n\n`

const responseOf = (
  items: readonly Item[],
  { id }: Ids,
  { model }: SimulatorRequest,
  status: string,
  usage?: TokenCounts,
): JsonObject => ({
  id: `resp_${id}`,
  object: 'response',
  created_at: 0,
  model,
  status,
  output: items.map(({ wire }) => wire),
  ...(usage && {
    usage: {
      input_tokens: usage.input,
      output_tokens: usage.output,
      total_tokens: usage.input + usage.output,
    },
  }),
})

/** Items in a row that one side made are one turn of it. */
const turnsOf = (items: readonly JsonObject[]): Turn[] => {
  const turns: Turn[] = []
  const last = (role: Turn['role'], isOwn: boolean): Turn => {
    const turn = turns.at(-1)
    if (turn?.role === role && !isOwn) return turn
    const next: Turn = { role, text: '', calls: [], results: [] }
    turns.push(next)
    return next
  }
  for (const item of items) {
    switch (item.type ?? 'message') {
      case 'message':
        readMessage(item, last)
        break
      case 'function_call':
        last('model', false).calls.push(callOf(item))
        break
      case 'function_call_output': {
        const text = textOfValue(item.output)
        const isRound = (turns.at(-1)?.results.length ?? 0) > 0
        last('user', !isRound).results.push({
          id: textIn(item, 'call_id'),
          text,
          isError: /^\{"error":/.test(text),
        })
      }
    }
  }
  return turns
}

const readMessage = (item: JsonObject, last: (role: Turn['role'], isOwn: boolean) => Turn): void => {
  const text = textOfValue(item.content)
  switch (item.role) {
    case 'system':
    case 'developer':
      return
    case 'user':
      last('user', true).text = text
      return
    case 'assistant':
      last('model', false).text += text
      return
    default:
      throw new RefusedRequest(`Invalid value: '${String(item.role)}' is not a role of a message.`)
  }
}

const callOf = (item: JsonObject): Turn['calls'][number] => ({
  id: textIn(item, 'call_id'),
  name: textIn(item, 'name'),
  arguments: argumentsIn(item.arguments),
})

const toolOf = ({ type, name, description, parameters }: JsonObject): OfferedTool[] =>
  type === 'function' && typeof name === 'string'
    ? [
        {
          name,
          description: typeof description === 'string' ? description : '',
          parameters: isJsonObject(parameters) ? parameters : {},
        },
      ]
    : []

const choiceOf = (choice: JsonValue | undefined): SimulatorRequest['toolChoice'] => {
  if (isJsonObject(choice)) return { tool: textIn(choice, 'name') }
  return choice === 'none' || choice === 'required' ? choice : 'auto'
}
