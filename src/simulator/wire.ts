import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'

/** A wire format: reads its requests, and writes an answer. */
export type Wire = {
  path: string
  /** Throws a `RefusedRequest` where the API would refuse. */
  read: (body: JsonObject) => SimulatorRequest
  /** The answer as a stream: one text for each write. */
  events: (answer: WireAnswer) => string[]
  /** The answer in one piece, for requests without a stream. */
  whole: (answer: WireAnswer) => object
  error: (message: string, status: number) => object
}

/** A request of any wire format. */
export type SimulatorRequest = {
  turns: Turn[]
  tools: OfferedTool[]
  toolChoice: 'auto' | 'none' | 'required' | { tool: string }
  mayCallSeveral: boolean
  outputSchema: JsonObject | undefined
  isThinking: boolean
}

export type OfferedTool = { name: string; parameters: JsonObject }

export type MadeCall = { id: string; name: string; arguments: JsonObject }

/** A message of a conversation. Tool results are in a user turn. */
export type Turn = {
  role: 'user' | 'model'
  text: string
  calls: MadeCall[]
  results: { id: string; text: string; isError: boolean }[]
}

export type PlannedCall = { name: string; arguments: JsonObject }

export type SimulatorReply = { thinking: string; text: string; calls: PlannedCall[] }

export type WireAnswer = {
  reply: SimulatorReply
  id: string
  model: string
  usage: { input: number; output: number }
  /** The signature of its thinking, where it is bound to the conversation. */
  signature?: string
}

/** A request that the API would refuse: it is answered with this status, in the API's own error shape. */
export class RefusedRequest extends Error {
  readonly status: number
  constructor(message: string, status = 400) {
    super(message)
    this.status = status
  }
}

/** Refuses a history as APIs do: the results of a message's calls must come right after it, and nothing else. */
export const refuseUnpaired = (turns: readonly Turn[]): void => {
  turns.forEach(({ calls, results }, at) => {
    const answered = turns[at + 1]?.results ?? []
    const open = calls.find(({ id }) => !answered.some((result) => result.id === id))
    if (open) throw new RefusedRequest(`The call ${open.id} of the tool ${open.name} has no result after it.`)
    const asked = turns[at - 1]?.calls ?? []
    const stray = results.find(({ id }) => !asked.some((call) => call.id === id))
    if (stray)
      throw new RefusedRequest(`The result ${stray.id} does not answer a call of the message before it.`)
  })
}

/** The turns of a format that sends each tool result by itself: results in a row become one turn. */
export class TurnList {
  readonly turns: Turn[] = []

  add(role: Turn['role'], text: string, calls: MadeCall[] = []): void {
    this.turns.push({ role, text, calls, results: [] })
  }

  /** Adds to the model's last turn: a format may send its text and its calls one by one. */
  extend(text: string, calls: MadeCall[] = []): void {
    const last = this.turns.at(-1)
    if (last?.role === 'model') {
      last.text += text
      last.calls.push(...calls)
    } else this.add('model', text, calls)
  }

  addResult(id: string, text: string): void {
    const last = this.turns.at(-1)
    if (!last || last.results.length === 0) this.add('user', '')
    // The format has no mark for errors, but statewire writes them in one shape.
    this.turns.at(-1)?.results.push({ id, text, isError: text.startsWith('{"error":') })
  }
}

export const callIdOf = (id: string, index: number): string => `call_${id}_${index}`

/** The words of a text; joined they are the text. */
export const piecesOf = (text: string): string[] => (text === '' ? [] : text.split(/(?<=\s)(?=\S)/))

/** A server-sent event that has a type. */
export const typedEvent = (type: string, data: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`

export const textIn = (object: JsonObject, key: string): string => {
  const value = object[key]
  return typeof value === 'string' ? value : ''
}

export const objectIn = (object: JsonObject, key: string): JsonObject => {
  const value = object[key]
  return isJsonObject(value) ? value : {}
}

export const listIn = (object: JsonObject, key: string): JsonObject[] => {
  const value = object[key]
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/** The text of a content, which is a text or a list of parts. */
export const contentIn = (object: JsonObject, key = 'content'): string =>
  textIn(object, key) ||
  listIn(object, key)
    .map((part) => textIn(part, 'text'))
    .filter((text) => text !== '')
    .join('\n')

export const schemaIn = (format: JsonObject): JsonObject | undefined =>
  isJsonObject(format.schema) ? format.schema : undefined

export const toolsIn = (tools: readonly JsonObject[], schemaKey = 'parameters'): OfferedTool[] =>
  tools
    .map((tool) => ({ name: textIn(tool, 'name'), parameters: objectIn(tool, schemaKey) }))
    .filter(({ name }) => name !== '')

export const choiceIn = ({ tool_choice: choice }: JsonObject): SimulatorRequest['toolChoice'] => {
  const type = isJsonObject(choice) ? choice.type : choice
  if (type === 'none' || type === 'required') return type
  if (type === 'any') return 'required'
  if (!isJsonObject(choice)) return 'auto'
  const tool = textIn(choice, 'name') || textIn(objectIn(choice, 'function'), 'name')
  return tool === '' ? 'auto' : { tool }
}

/** Efforts of OpenAI for which it shows no thinking. */
export const isEffort = (effort: JsonValue | undefined): boolean =>
  typeof effort === 'string' && !/^(?:none|minimal)$/.test(effort)

export const argumentsIn = (json: string): JsonObject => {
  try {
    const parsed: JsonValue = JSON.parse(json)
    return isJsonObject(parsed) ? parsed : {}
  } catch {
    return {}
  }
}
