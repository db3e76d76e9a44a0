import type { JsonObject } from '../messages/json.ts'
import {
  argumentsIn,
  callIdOf,
  choiceIn,
  contentIn,
  isEffort,
  listIn,
  type MadeCall,
  objectIn,
  piecesOf,
  RefusedRequest,
  schemaIn,
  type Turn,
  TurnList,
  textIn,
  toolsIn,
  typedEvent,
  type Wire,
  type WireAnswer,
} from './wire.ts'

/** OpenAI's `POST /v1/chat/completions`. */
export const openaiChatWire: Wire = {
  path: '/v1/chat/completions',

  read: (body) => {
    const messages = listIn(body, 'messages')
    if (messages.length === 0) throw new RefusedRequest("Missing required parameter: 'messages'.")
    return {
      turns: turnsOf(messages),
      tools: toolsIn(listIn(body, 'tools').map((tool) => objectIn(tool, 'function'))),
      toolChoice: choiceIn(body),
      mayCallSeveral: body.parallel_tool_calls !== false,
      outputSchema: schemaIn(objectIn(objectIn(body, 'response_format'), 'json_schema')),
      isThinking: isEffort(body.reasoning_effort),
    }
  },

  events: (answer) => {
    const { thinking, text, calls } = answer.reply
    const event = (body: object) => `data: ${JSON.stringify(body)}\n\n`
    const chunk = (delta: object, finish_reason: string | null = null) =>
      event({ ...envelope(answer, 'chat.completion.chunk'), choices: [{ index: 0, delta, finish_reason }] })
    return [
      chunk({ role: 'assistant', content: '' }),
      ...piecesOf(thinking).map((piece) => chunk({ reasoning_content: piece })),
      ...piecesOf(text).map((piece) => chunk({ content: piece })),
      ...callsOf(answer).flatMap((call, index) => [
        chunk({ tool_calls: [{ index, ...call, function: { ...call.function, arguments: '' } }] }),
        ...piecesOf(call.function.arguments).map((piece) =>
          chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
        ),
      ]),
      chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
      event({ ...envelope(answer, 'chat.completion.chunk'), choices: [], usage: usageOf(answer) }),
      'data: [DONE]\n\n',
    ]
  },

  whole: (answer) => {
    const { thinking, text, calls } = answer.reply
    const message = {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(thinking !== '' && { reasoning_content: thinking }),
      ...(calls.length > 0 && { tool_calls: callsOf(answer) }),
    }
    const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop'
    return {
      ...envelope(answer, 'chat.completion'),
      choices: [{ index: 0, message, finish_reason }],
      usage: usageOf(answer),
    }
  },

  error: (message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
}

const envelope = ({ id, model }: WireAnswer, object: string) => ({
  id: `chatcmpl-${id}`,
  object,
  created: 0,
  model,
})

const usageOf = ({ usage: { input, output } }: WireAnswer) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
})

const callsOf = ({ reply, id }: WireAnswer) =>
  reply.calls.map(({ name, arguments: args }, index) => ({
    id: callIdOf(id, index),
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }))

const turnsOf = (messages: readonly JsonObject[]): Turn[] => {
  const list = new TurnList()
  for (const message of messages) {
    const text = contentIn(message)
    if (message.role === 'user') list.add('user', text)
    else if (message.role === 'assistant')
      list.add('model', text, listIn(message, 'tool_calls').map(madeCall))
    else if (message.role === 'tool') list.addResult(textIn(message, 'tool_call_id'), text)
    else if (message.role !== 'system' && message.role !== 'developer')
      throw new RefusedRequest(`Invalid value: '${String(message.role)}' is not a role of a message.`)
  }
  return list.turns
}

const madeCall = (call: JsonObject): MadeCall => {
  const called = objectIn(call, 'function')
  const args = argumentsIn(textIn(called, 'arguments'))
  return { id: textIn(call, 'id'), name: textIn(called, 'name'), arguments: args }
}

/** OpenAI's `POST /v1/responses`. The simulator stores no responses: to continue one, send the conversation. */
export const openaiResponsesWire: Wire = {
  path: '/v1/responses',

  read: (body) => {
    const previous = textIn(body, 'previous_response_id')
    if (previous !== '') throw new RefusedRequest(`Previous response with id '${previous}' not found.`, 404)
    const { input } = body
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : listIn(body, 'input')
    if (items.length === 0) throw new RefusedRequest("Missing required parameter: 'input'.")
    return {
      turns: turnsOfItems(items),
      tools: toolsIn(listIn(body, 'tools').filter(({ type }) => type === 'function')),
      toolChoice: choiceIn(body),
      mayCallSeveral: body.parallel_tool_calls !== false,
      outputSchema: schemaIn(objectIn(objectIn(body, 'text'), 'format')),
      isThinking: isEffort(objectIn(body, 'reasoning').effort),
    }
  },

  events: (answer) => [
    typedEvent('response.created', {
      response: { ...responseEnvelope(answer), output: [], status: 'in_progress' },
    }),
    ...itemsOf(answer).flatMap(itemEvents),
    typedEvent('response.completed', { response: openaiResponsesWire.whole(answer) }),
  ],

  whole: (answer) => {
    const { input, output } = answer.usage
    return {
      ...responseEnvelope(answer),
      status: 'completed',
      output: itemsOf(answer).map(({ item }) => item),
      usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
    }
  },

  error: openaiChatWire.error,
}

const responseEnvelope = ({ id, model }: WireAnswer) => ({
  id: `resp_${id}`,
  object: 'response',
  created_at: 0,
  model,
})

/** An item, the form in which it is announced, and the text that its deltas carry. */
type Item = { item: JsonObject; announced: object; text: string; delta: { type: string } }

const itemsOf = ({ reply: { thinking, text, calls }, id }: WireAnswer): Item[] => [
  ...(thinking === '' ? [] : [reasoningItem(`rs_${id}`, thinking)]),
  ...(text === '' ? [] : [messageItem(`msg_${id}`, text)]),
  ...calls.map(({ name, arguments: args }, index): Item => {
    const call = { type: 'function_call', id: `fc_${id}_${index}`, call_id: callIdOf(id, index), name }
    const text = JSON.stringify(args)
    return {
      item: { ...call, arguments: text, status: 'completed' },
      announced: { ...call, arguments: '', status: 'in_progress' },
      text,
      delta: { type: 'response.function_call_arguments.delta' },
    }
  }),
]

const reasoningItem = (id: string, text: string): Item => {
  const item = { type: 'reasoning', id, summary: [{ type: 'summary_text', text }] }
  const delta = { type: 'response.reasoning_summary_text.delta', summary_index: 0 }
  return { item, announced: { ...item, summary: [] }, text, delta }
}

const messageItem = (id: string, text: string): Item => {
  const content = [{ type: 'output_text', text, annotations: [] }]
  const item = { type: 'message', id, role: 'assistant', status: 'completed', content }
  const delta = { type: 'response.output_text.delta', content_index: 0 }
  return { item, announced: { ...item, content: [] }, text, delta }
}

const itemEvents = ({ item, announced, text, delta }: Item, output_index: number): string[] => [
  typedEvent('response.output_item.added', { output_index, item: announced }),
  ...piecesOf(text).map((piece) =>
    typedEvent(delta.type, { ...delta, item_id: item.id ?? '', output_index, delta: piece }),
  ),
  typedEvent('response.output_item.done', { output_index, item }),
]

const turnsOfItems = (items: readonly JsonObject[]): Turn[] => {
  const list = new TurnList()
  for (const item of items) {
    const { type = 'message', role } = item
    const id = textIn(item, 'call_id')
    if (type === 'function_call_output') list.addResult(id, contentIn(item, 'output'))
    else if (type === 'function_call')
      list.extend('', [{ id, name: textIn(item, 'name'), arguments: argumentsIn(textIn(item, 'arguments')) }])
    else if (type !== 'message' || role === 'system' || role === 'developer') continue
    else if (role === 'user') list.add('user', contentIn(item))
    else if (role === 'assistant') list.extend(contentIn(item))
    else throw new RefusedRequest(`Invalid value: '${String(role)}' is not a role of a message.`)
  }
  return list.turns
}
