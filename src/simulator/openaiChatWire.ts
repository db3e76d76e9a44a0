import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import { type OfferedTool, RefusedRequest, type SimulatorRequest, type Turn } from './request.ts'
import { argumentsIn, type Ids, listOf, piecesOf, textIn, textOfValue, type Wire } from './wire.ts'

/** OpenAI's `POST /v1/chat/completions`. */
export const openaiChatWire: Wire = {
  path: '/v1/chat/completions',

  read: (body) => {
    if (!Array.isArray(body.messages) || body.messages.length === 0) {
      throw new RefusedRequest("Missing required parameter: 'messages'.")
    }
    const format = isJsonObject(body.response_format) ? body.response_format : {}
    const schema = isJsonObject(format.json_schema) ? format.json_schema.schema : undefined
    return {
      model: textIn(body, 'model'),
      turns: turnsOf(listOf(body.messages)),
      tools: listOf(body.tools).flatMap(toolOf),
      toolChoice: choiceOf(body.tool_choice),
      mayCallSeveral: body.parallel_tool_calls !== false,
      outputSchema: isJsonObject(schema) ? schema : undefined,
      isThinking:
        typeof body.reasoning_effort === 'string' && !/^(?:none|minimal)$/.test(body.reasoning_effort),
      isStreaming: body.stream === true,
    }
  },

  events: ({ thinking, text, calls }, { id, callId }, usage, { model }) => {
    const chunk = (delta: JsonObject, finish: string | null = null) =>
      `data: ${JSON.stringify({ ...head(id, model, 'chat.completion.chunk'), choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
    return [
      chunk({ role: 'assistant', content: '' }),
      ...piecesOf(thinking).map((piece) => chunk({ reasoning_content: piece })),
      ...piecesOf(text).map((piece) => chunk({ content: piece })),
      ...calls.flatMap(({ name, arguments: args }, index) => [
        chunk({
          tool_calls: [{ index, id: callId(index), type: 'function', function: { name, arguments: '' } }],
        }),
        ...piecesOf(JSON.stringify(args)).map((piece) =>
          chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
        ),
      ]),
      chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
      `data: ${JSON.stringify({ ...head(id, model, 'chat.completion.chunk'), choices: [], usage: usageOf(usage) })}\n\n`,
      'data: [DONE]\n\n',
    ]
  },

  whole: ({ thinking, text, calls }, { id, callId }, usage, { model }) => ({
    ...head(id, model, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text === '' ? null : text,
          ...(thinking !== '' && { reasoning_content: thinking }),
          ...(calls.length > 0 && {
            tool_calls: calls.map(({ name, arguments: args }, index) => ({
              id: callId(index),
              type: 'function',
              function: { name, arguments: JSON.stringify(args) },
            })),
          }),
        },
        finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
      },
    ],
    usage: usageOf(usage),
  }),

  error: (message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
}

const head = (id: Ids['id'], model: string, object: string) => ({
  id: `chatcmpl-${id}`,
  object,
  created: 0,
  model,
})

const usageOf = ({ input, output }: { input: number; output: number }) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
})

/** Tool messages in a row are the results of one round. */
const turnsOf = (messages: JsonObject[]): Turn[] => {
  const turns: Turn[] = []
  for (const message of messages) {
    const text = textOfValue(message.content)
    switch (message.role) {
      case 'system':
      case 'developer':
        break
      case 'user':
        turns.push({ role: 'user', text, calls: [], results: [] })
        break
      case 'assistant':
        turns.push({ role: 'model', text, calls: listOf(message.tool_calls).map(callOf), results: [] })
        break
      case 'tool': {
        const result = { id: textIn(message, 'tool_call_id'), text, isError: /^\{"error":/.test(text) }
        const last = turns.at(-1)
        if (last && last.role === 'user' && last.results.length > 0) last.results.push(result)
        else turns.push({ role: 'user', text: '', calls: [], results: [result] })
        break
      }
      default:
        throw new RefusedRequest(`Invalid value: '${String(message.role)}' is not a role of a message.`)
    }
  }
  return turns
}

const callOf = (call: JsonObject): Turn['calls'][number] => {
  const called = isJsonObject(call.function) ? call.function : {}
  return { id: textIn(call, 'id'), name: textIn(called, 'name'), arguments: argumentsIn(called.arguments) }
}

const toolOf = ({ function: offered }: JsonObject): OfferedTool[] =>
  isJsonObject(offered) && typeof offered.name === 'string'
    ? [
        {
          name: offered.name,
          description: textIn(offered, 'description'),
          parameters: isJsonObject(offered.parameters) ? offered.parameters : {},
        },
      ]
    : []

const choiceOf = (choice: JsonValue | undefined): SimulatorRequest['toolChoice'] => {
  if (isJsonObject(choice) && isJsonObject(choice.function)) return { tool: textIn(choice.function, 'name') }
  return choice === 'none' || choice === 'required' ? choice : 'auto'
}
