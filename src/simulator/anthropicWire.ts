import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import { RefusedRequest, type SimulatorReply, type SimulatorRequest, type Turn } from './request.ts'
import { argumentsIn, type Ids, listOf, piecesOf, textIn, textOfValue, type Wire } from './wire.ts'

/** Anthropic's `POST /v1/messages`. */
export const anthropicWire: Wire = {
  path: '/v1/messages',

  read: (body) => {
    if (typeof body.max_tokens !== 'number') throw new RefusedRequest('max_tokens: Field required')
    if (!Array.isArray(body.messages) || body.messages.length === 0) {
      throw new RefusedRequest('messages: at least one message is required')
    }
    const choice = isJsonObject(body.tool_choice) ? body.tool_choice : {}
    const config = isJsonObject(body.output_config) ? body.output_config : {}
    const format = isJsonObject(config.format) ? config.format : {}
    const thinking = isJsonObject(body.thinking) ? body.thinking : {}
    return {
      model: textIn(body, 'model'),
      turns: listOf(body.messages).map(turnOf),
      tools: listOf(body.tools).map((tool) => ({
        name: textIn(tool, 'name'),
        description: textIn(tool, 'description'),
        parameters: isJsonObject(tool.input_schema) ? tool.input_schema : {},
      })),
      toolChoice: choiceOf(choice),
      mayCallSeveral: choice.disable_parallel_tool_use !== true,
      outputSchema: isJsonObject(format.schema) ? format.schema : schemaInWords(body.system),
      isThinking: thinking.type === 'enabled' || thinking.type === 'adaptive',
      isStreaming: body.stream === true,
    }
  },

  events: (reply, ids, { input, output }, { model }) => {
    const event = (type: string, data: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
    const start = {
      ...head(ids, model),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: input, output_tokens: 1 },
    }
    return [
      event('message_start', { message: start }),
      ...blocksOf(reply, ids).flatMap(({ opening, deltas }, index) => [
        event('content_block_start', { index, content_block: opening }),
        ...deltas.map((delta) => event('content_block_delta', { index, delta })),
        event('content_block_stop', { index }),
      ]),
      event('message_delta', {
        delta: { stop_reason: stopReason(reply), stop_sequence: null },
        usage: { output_tokens: output },
      }),
      event('message_stop', {}),
    ]
  },

  whole: (reply, ids, { input, output }, { model }) => ({
    ...head(ids, model),
    content: blocksOf(reply, ids).map(({ whole }) => whole),
    stop_reason: stopReason(reply),
    stop_sequence: null,
    usage: { input_tokens: input, output_tokens: output },
  }),

  error: (message, status) => ({
    type: 'error',
    error: {
      type:
        status === 404 ? 'not_found_error' : status === 413 ? 'request_too_large' : 'invalid_request_error',
      message,
    },
    request_id: null,
  }),
}

const head = ({ id }: Ids, model: string) => ({ id: `msg_${id}`, type: 'message', role: 'assistant', model })

const stopReason = ({ calls }: SimulatorReply): string => (calls.length > 0 ? 'tool_use' : 'end_turn')

type Block = { opening: object; deltas: object[]; whole: object }

const blocksOf = ({ thinking, text, calls }: SimulatorReply, { id, callId }: Ids): Block[] => {
  // Signatures prove that a text is the model's own; this one only says whose it is.
  const signature = `simulator-${id}`
  return [
    ...(thinking === ''
      ? []
      : [
          {
            opening: { type: 'thinking', thinking: '', signature: '' },
            deltas: [
              ...piecesOf(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
              { type: 'signature_delta', signature },
            ],
            whole: { type: 'thinking', thinking, signature },
          },
        ]),
    ...(text === ''
      ? []
      : [
          {
            opening: { type: 'text', text: '' },
            deltas: piecesOf(text).map((piece) => ({ type: 'text_delta', text: piece })),
            whole: { type: 'text', text },
          },
        ]),
    ...calls.map(({ name, arguments: input }, index) => {
      const call = { type: 'tool_use', id: callId(index).replace('call_', 'toolu_'), name }
      return {
        opening: { ...call, input: {} },
        deltas: piecesOf(JSON.stringify(input)).map((piece) => ({
          type: 'input_json_delta',
          partial_json: piece,
        })),
        whole: { ...call, input },
      }
    }),
  ]
}

const turnOf = (message: JsonObject): Turn => {
  if (message.role !== 'user' && message.role !== 'assistant') {
    throw new RefusedRequest(`messages: Input should be 'user' or 'assistant', not '${String(message.role)}'`)
  }
  const parts = listOf(message.content)
  const ofType = (type: string) => parts.filter((part) => part.type === type)
  return {
    role: message.role === 'user' ? 'user' : 'model',
    text: typeof message.content === 'string' ? message.content : textOfValue(ofType('text')),
    calls: ofType('tool_use').map((part) => ({
      id: textIn(part, 'id'),
      name: textIn(part, 'name'),
      arguments: argumentsIn(part.input),
    })),
    results: ofType('tool_result').map((part) => ({
      id: textIn(part, 'tool_use_id'),
      text: textOfValue(part.content),
      isError: part.is_error === true,
    })),
  }
}

const choiceOf = (choice: JsonObject): SimulatorRequest['toolChoice'] => {
  if (choice.type === 'tool') return { tool: textIn(choice, 'name') }
  return choice.type === 'any' ? 'required' : choice.type === 'none' ? 'none' : 'auto'
}

/** Where the API cannot say a schema, clients say it in the system prompt. */
const schemaInWords = (system: JsonValue | undefined): JsonObject | undefined => {
  const found = /JSON Schema[^{]*(\{.*\})/s.exec(textOfValue(system))?.[1]
  const schema = found === undefined ? {} : argumentsIn(found)
  return Object.keys(schema).length > 0 ? schema : undefined
}
