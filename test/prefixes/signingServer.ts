import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { type Loopback, loopback, type Received, type Reply } from '../loopback.ts'

// A server of Claude's messages API that signs thinking as the vendor documents it, written from that documentation
// alone: a block is bound to system, tools and all messages before it, and the first block that comes back after
// anything else is refused with a 400 that no retry cures, also where the request asks for it to be dropped.

/** A signing server, with the bodies that it took and those in which it found a block of another conversation. */
export type SigningServer = Loopback & {
  taken: JsonObject[]
  refused: JsonObject[]
  /** Signs what was sent before a block, for histories that are written by hand. */
  sign(body: JsonObject): string
}

export const refusal =
  'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.'

export const signingServer = async (): Promise<SigningServer> => {
  const taken: JsonObject[] = []
  const refused: JsonObject[] = []
  const answer = ({ body, path }: Received): Reply => {
    if (!/\/messages$|:streamRawPredict$/.test(path)) return { status: 404, body: problem(`no ${path}`) }
    if (!isBound(body)) {
      refused.push(body)
      return { status: 400, body: problem(refusal) }
    }
    taken.push(body)
    return { body: streamed(contentFor(body)) }
  }
  return { ...(await loopback(answer)), taken, refused, sign: (body) => sign(body, messagesOf(body)) }
}

const problem = (message: string) => ({ type: 'error', error: { type: 'invalid_request_error', message } })

export const messagesOf = ({ messages }: JsonObject): JsonObject[] =>
  Array.isArray(messages) ? messages.filter(isJsonObject) : []

export const blocksOf = ({ content }: JsonObject): JsonObject[] => {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.filter(isJsonObject) : []
}

/** JSON without cache markers, and with a text as the one block that it is short for. */
export const plain = (value: JsonValue | undefined): string =>
  JSON.stringify(value ?? null, (key, each) => {
    if (key === 'cache_control') return undefined
    const isShort = (key === 'content' || key === 'system') && typeof each === 'string'
    return isShort ? [{ type: 'text', text: each }] : each
  })

/** A part of a request that later ones have to repeat. */
export type Part = 'model' | 'system' | 'tools' | 'history'

const historyOf = (body: JsonObject, drop: boolean): string[] =>
  messagesOf(body).map((message) =>
    plain([message.role ?? '', blocksOf(message).filter(({ type }) => !drop || type !== 'thinking')]),
  )

/** The parts in which a body does not begin with the one before it. Thinking may be missing after a change. */
export const changesIn = (before: JsonObject, after: JsonObject): Part[] => {
  const opening: Part[] = [
    ...(before.model === after.model ? [] : ['model' as const]),
    ...(plain({ system: before.system ?? null }) === plain({ system: after.system ?? null })
      ? []
      : ['system' as const]),
    ...(plain(before.tools) === plain(after.tools) ? [] : ['tools' as const]),
  ]
  const [old, next] = [before, after].map((body) => historyOf(body, opening.length > 0))
  const repeats = old?.every((message, at) => message === next?.[at])
  return repeats ? opening : [...opening, 'history']
}

const sign = ({ system, tools }: JsonObject, before: readonly JsonObject[]): string =>
  createHash('sha256')
    .update(plain([{ system: system ?? null }, tools ?? [], [...before]]))
    .digest('base64')

/** True if every block comes back after what it was signed after. Blocks of one turn may follow what the turn began with. */
const isBound = (body: JsonObject): boolean => {
  const messages = messagesOf(body)
  return messages.every((message, at) =>
    blocksOf(message).every(
      (block) => block.type !== 'thinking' || block.signature === sign(body, messages.slice(0, at)),
    ),
  )
}

const callsFor = ['get_weather', 'get_time']

/** Thinks and then calls the tool that the last prompt names (`Weather` or `Time`), or answers. */
const contentFor = (body: JsonObject): JsonObject[] => {
  const messages = messagesOf(body)
  const thinking = isJsonObject(body.thinking) ? body.thinking.type : 'adaptive'
  const signature = sign(body, messages)
  const thoughts = thinking === 'disabled' ? [] : [{ type: 'thinking', thinking: 'Hm.', signature }]
  const said = messages.filter(({ role }) => role !== 'system')
  const prompt = JSON.stringify(said.findLast((each) => each.role === 'user' && !hasResult(each)) ?? '')
  const last = said.at(-1)
  const done = last && hasResult(last) ? namesIn(said.slice(said.findLastIndex(isPrompt))) : []
  const wanted = callsFor.filter(
    (name) => prompt.toLowerCase().includes(name.slice(4)) && !done.includes(name),
  )
  const choice = isJsonObject(body.tool_choice) ? body.tool_choice : {}
  const offered = offeredIn(body)
  const forced = choice.type === 'tool' ? String(choice.name) : choice.type === 'any' ? offered[0] : undefined
  const free = [...wanted, 'return_result'].find((each) => offered.includes(each) && !done.includes(each))
  const name = forced ?? free
  if (name !== undefined && choice.type !== 'none') {
    const input = name === 'get_weather' || name === 'get_time' ? { city: 'Oslo' } : inputFor(name)
    return [
      ...thoughts,
      { type: 'tool_use', id: `toolu_${signature.replace(/\W/g, '').slice(0, 12)}`, name, input },
    ]
  }
  const isTyped = isJsonObject(body.output_config) && body.output_config.format
  const text = isTyped || prompt.includes('JSON') ? '{"city":"Oslo"}' : 'It is fine.'
  return [...thoughts, { type: 'text', text }]
}

const inputFor = (name: string): JsonObject => {
  if (name === 'return_result') return { city: 'Oslo' }
  return name === 'load_skill' ? { name: 'greeting' } : { query: 'weather', prompt: 'Weather?' }
}

const hasResult = (message: JsonObject): boolean =>
  blocksOf(message).some(({ type }) => type === 'tool_result')
const isPrompt = (message: JsonObject): boolean => message.role === 'user' && !hasResult(message)
const namesIn = (messages: readonly JsonObject[]): string[] =>
  messages.flatMap(blocksOf).flatMap(({ type, name }) => (type === 'tool_use' ? [String(name)] : []))

/** The tools of the request, and those that messages added or took away. */
const offeredIn = (body: JsonObject): string[] => {
  const names = new Set(
    (Array.isArray(body.tools) ? body.tools : []).filter(isJsonObject).map(({ name }) => String(name)),
  )
  for (const { type, tool } of messagesOf(body).flatMap(blocksOf)) {
    if (!isJsonObject(tool)) continue
    if (type === 'tool_addition' && isJsonObject(tool.definition)) names.add(String(tool.definition.name))
    if (type === 'tool_removal') names.delete(String(tool.name))
  }
  return [...names]
}

const streamed = (content: readonly JsonObject[]): string => {
  const calls = content.some(({ type }) => type === 'tool_use')
  const events: JsonObject[] = [
    {
      type: 'message_start',
      message: { id: 'msg', role: 'assistant', usage: { input_tokens: 10, output_tokens: 1 } },
    },
    ...content.flatMap((block, index): JsonObject[] => [
      { type: 'content_block_start', index, content_block: opened(block) },
      ...pieces(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: calls ? 'tool_use' : 'end_turn' },
      usage: { output_tokens: 9 },
    },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

const opened = (block: JsonObject): JsonObject => {
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' }
  return block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} }
}

const pieces = (block: JsonObject): JsonObject[] => {
  const { thinking = '', signature = '', text = '', input = {} } = block
  if (block.type === 'thinking')
    return [
      { type: 'thinking_delta', thinking },
      { type: 'signature_delta', signature },
    ]
  if (block.type === 'text') return [{ type: 'text_delta', text }]
  return [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }]
}
