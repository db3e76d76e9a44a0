import type { JsonObject } from '../messages/json.ts'
import {
  argumentsIn,
  callIdOf,
  choiceIn,
  contentIn,
  listIn,
  objectIn,
  piecesOf,
  RefusedRequest,
  schemaIn,
  type Turn,
  textIn,
  toolsIn,
  typedEvent,
  type Wire,
  type WireAnswer,
} from './wire.ts'

/** Anthropic's `POST /v1/messages`. */
export const anthropicWire: Wire = {
  path: '/v1/messages',

  read: (body) => {
    if (typeof body.max_tokens !== 'number') throw new RefusedRequest('max_tokens: Field required')
    const messages = listIn(body, 'messages')
    if (messages.length === 0) throw new RefusedRequest('messages: at least one message is required')
    checkPlaces(messages)
    return {
      turns: messages.filter(({ role }) => role !== 'system').map(turnOf),
      tools: toolsIn(toolsAfter(listIn(body, 'tools'), messages), 'input_schema'),
      toolChoice: choiceIn(body),
      mayCallSeveral: objectIn(body, 'tool_choice').disable_parallel_tool_use !== true,
      outputSchema: schemaIn(objectIn(objectIn(body, 'output_config'), 'format')) ?? schemaInWords(body),
      isThinking: /^(?:enabled|adaptive)$/.test(textIn(objectIn(body, 'thinking'), 'type')),
    }
  },

  events: (answer) => {
    const { input, output } = answer.usage
    const message = { ...envelope(answer), content: [], stop_reason: null, stop_sequence: null }
    const delta = { stop_reason: stopReason(answer), stop_sequence: null }
    return [
      typedEvent('message_start', {
        message: { ...message, usage: { input_tokens: input, output_tokens: 1 } },
      }),
      ...blocksOf(answer).flatMap(({ opening, deltas }, index) => [
        typedEvent('content_block_start', { index, content_block: opening }),
        ...deltas.map((each) => typedEvent('content_block_delta', { index, delta: each })),
        typedEvent('content_block_stop', { index }),
      ]),
      typedEvent('message_delta', { delta, usage: { output_tokens: output } }),
      typedEvent('message_stop', {}),
    ]
  },

  whole: (answer) => ({
    ...envelope(answer),
    content: blocksOf(answer).map(({ whole }) => whole),
    stop_reason: stopReason(answer),
    stop_sequence: null,
    usage: { input_tokens: answer.usage.input, output_tokens: answer.usage.output },
  }),

  error: (message, status) => {
    const known = { 404: 'not_found_error', 413: 'request_too_large' }[status]
    return { type: 'error', error: { type: known ?? 'invalid_request_error', message }, request_id: null }
  },
}

const envelope = ({ id, model }: WireAnswer) => ({
  id: `msg_${id}`,
  type: 'message',
  role: 'assistant',
  model,
})

const stopReason = ({ reply }: WireAnswer): string => (reply.calls.length > 0 ? 'tool_use' : 'end_turn')

type Block = { opening: object; deltas: object[]; whole: object }

const blocksOf = ({
  reply: { thinking, text, calls },
  id,
  signature = `simulator-${id}`,
}: WireAnswer): Block[] => [
  ...(thinking === '' ? [] : [thinkingBlock(thinking, signature)]),
  ...(text === '' ? [] : [textBlock(text)]),
  ...calls.map(({ name, arguments: input }, index) => {
    const call = { type: 'tool_use', id: callIdOf(id, index).replace('call_', 'toolu_'), name }
    const pieces = piecesOf(JSON.stringify(input))
    const deltas = pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json }))
    return { opening: { ...call, input: {} }, deltas, whole: { ...call, input } }
  }),
]

const thinkingBlock = (thinking: string, signature: string): Block => ({
  opening: { type: 'thinking', thinking: '', signature: '' },
  deltas: [
    ...piecesOf(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
    { type: 'signature_delta', signature },
  ],
  whole: { type: 'thinking', thinking, signature },
})

const textBlock = (text: string): Block => ({
  opening: { type: 'text', text: '' },
  deltas: piecesOf(text).map((piece) => ({ type: 'text_delta', text: piece })),
  whole: { type: 'text', text },
})

/** The API takes a system message right after one of the user, as the last one or before an answer. */
const checkPlaces = (messages: readonly JsonObject[]): void => {
  messages.forEach(({ role }, index) => {
    const after = messages[index + 1]?.role ?? 'assistant'
    if (role === 'system' && (messages[index - 1]?.role !== 'user' || after !== 'assistant'))
      throw new RefusedRequest(`messages.${index}: a system message must follow a user message`)
  })
}

/** The tools after the changes in the conversation. A deferred tool is there once a result names it. */
const toolsAfter = (tools: readonly JsonObject[], messages: readonly JsonObject[]): JsonObject[] => {
  const blocks = messages.flatMap((message) => listIn(message, 'content'))
  const results = blocks.flatMap((block) => listIn(block, 'content'))
  const found = new Set(results.map((block) => textIn(block, 'tool_name')))
  const offered = new Map(
    tools
      .filter((tool) => tool.defer_loading !== true || found.has(textIn(tool, 'name')))
      .map((tool) => [textIn(tool, 'name'), tool]),
  )
  for (const block of blocks) {
    const changed = objectIn(block, 'tool')
    const definition = objectIn(changed, 'definition')
    if (block.type === 'tool_addition') offered.set(textIn(definition, 'name'), definition)
    if (block.type === 'tool_removal') offered.delete(textIn(changed, 'name'))
  }
  return [...offered.values()]
}

const turnOf = (message: JsonObject): Turn => {
  const { role } = message
  if (role !== 'user' && role !== 'assistant')
    throw new RefusedRequest(`messages: Input should be 'user' or 'assistant', not '${String(role)}'`)
  const partsOf = (type: string) => listIn(message, 'content').filter((part) => part.type === type)
  return {
    role: role === 'user' ? 'user' : 'model',
    text: textIn(message, 'content') || contentIn({ content: partsOf('text') }),
    calls: partsOf('tool_use').map((part) => ({
      id: textIn(part, 'id'),
      name: textIn(part, 'name'),
      arguments: objectIn(part, 'input'),
    })),
    results: partsOf('tool_result').map((part) => ({
      id: textIn(part, 'tool_use_id'),
      text: contentIn(part),
      isError: part.is_error === true,
    })),
  }
}

/** A schema in the prompt, where clients write it for models that have no field for it. */
const schemaInWords = (body: JsonObject): JsonObject | undefined => {
  const said = listIn(body, 'messages').map((message) => turnOf({ ...message, role: 'user' }).text)
  const prompt = [contentIn(body, 'system'), said.findLast((text) => text !== '') ?? ''].join('\n')
  const found = /JSON Schema[^{]*(\{.*\})/s.exec(prompt)?.[1]
  const schema = found === undefined ? {} : argumentsIn(found)
  return Object.keys(schema).length > 0 ? schema : undefined
}
