import { isJsonObject, type JsonObject, type JsonValue, stableJson } from '../../messages/json.ts'
import { type Part, type ToolResultPart, textOf } from '../../messages/messages.ts'
import type { PendingCall } from '../../messages/result.ts'
import { parseArguments } from '../../model/toolArguments.ts'
import {
  type ClientMessage,
  type ClientTool,
  historyOf,
  mediaPart,
  objectsIn,
  promptsIn,
  readClientTool,
  stringOr,
  textParts,
} from '../clientMessages.ts'
import { chatIdOf, HttpError } from '../request.ts'
import { type Decisions, type Question, questionIdOf } from '../turn.ts'

/** The request of a client of AG-UI: a question, or decisions on the calls that its thread waits for. */
export type RunInput = {
  threadId: string
  runId: string
  messages: JsonObject[]
  tools: ClientTool[]
} & ({ question: Question } | { decide: (calls: readonly PendingCall[]) => Decisions })

/** Reads the input of a run. Only the prompt and the decisions of a client are trusted. */
export const readRunInput = (body: JsonObject): RunInput => {
  const messages = objectsIn(body.messages)
  const resume = objectsIn(body.resume)
  const input = {
    threadId: chatIdOf(body.threadId),
    runId: chatIdOf(body.runId),
    messages,
    tools: objectsIn(body.tools).map(readClientTool),
  }
  const last = messages.at(-1)
  if (resume.length > 0 || last?.role === 'tool')
    return { ...input, decide: (calls) => decisionsIn(resume, messages, calls) }
  if (last?.role !== 'user') throw new HttpError(400, 'The last message must be from the user or a tool.')
  const prompt = partsOf(last.content)
  if (prompt.length === 0) throw new HttpError(400, 'The last message is empty.')
  const before = messagesIn(messages.slice(0, -1))
  return {
    ...input,
    question: { prompt, history: historyOf(before), asked: promptsIn(before), intent: 'new' },
  }
}

const decisionsIn = (
  resume: readonly JsonObject[],
  messages: readonly JsonObject[],
  calls: readonly PendingCall[],
): Decisions => {
  const entries = new Map(resume.map((entry) => [entry.interruptId, entry]))
  const thread = new Thread(messages)
  const decided = calls.flatMap((call) => {
    const decision =
      call.kind === 'answer'
        ? answerIn(thread.resultOf(call), call)
        : approvalIn(entries.get(questionIdOf(call)), call)
    return decision === undefined ? [] : [[call.id, decision] as const]
  })
  return Object.fromEntries(decided)
}

/** A message, and its place in the thread. */
type Placed = { message: JsonObject; at: number }

/** The calls of a thread and their results, each under the id of its call: a thread may have thousands of both. */
class Thread {
  readonly #calls = new Map<JsonValue | undefined, Placed>()
  readonly #results = new Map<JsonValue | undefined, Placed>()

  constructor(messages: readonly JsonObject[]) {
    messages.forEach((message, at) => {
      for (const call of objectsIn(message.toolCalls)) this.#calls.set(call.id, { message: call, at })
      if (message.role === 'tool') this.#results.set(message.toolCallId, { message, at })
    })
  }

  /**
   * The message that answers a call: it comes after the last such call, and has the arguments and the question that
   * wait now. Without a question it counts if the rest is the same.
   */
  resultOf({ id, name, arguments: args, question }: PendingCall): JsonObject | undefined {
    const [made, result] = [this.#calls.get(id), this.#results.get(id)]
    // A client may send nothing but its result.
    if (!made) return result?.message
    if (!result || result.at < made.at) return undefined
    const asked = stringOr(question, made.message.encryptedValue)
    if (asked !== question) return undefined
    const shown = isJsonObject(made.message.function) ? made.message.function : {}
    const given = parseArguments(stringOr(null, shown.arguments)).arguments
    const isSame = shown.name === name && stableJson(given) === stableJson(args)
    return isSame ? result.message : undefined
  }
}

const approvalIn = (
  entry: JsonObject | undefined,
  { question }: PendingCall,
): Decisions[string] | undefined => {
  const about = question === undefined ? {} : { question }
  if (entry?.status === 'cancelled') return { approve: false, reason: 'cancelled', ...about }
  const payload = entry?.status === 'resolved' ? entry.payload : undefined
  if (!isJsonObject(payload) || typeof payload.approved !== 'boolean') return undefined
  const { approved: approve, reason, editedArgs } = payload
  if (editedArgs !== undefined && !isJsonObject(editedArgs))
    throw new HttpError(400, 'editedArgs must be an object.')
  return {
    approve,
    ...(typeof reason === 'string' && { reason }),
    ...(editedArgs && { arguments: editedArgs }),
    ...about,
  }
}

const answerIn = (
  message: JsonObject | undefined,
  { question }: PendingCall,
): Decisions[string] | undefined => {
  if (!message) return undefined
  const about = question === undefined ? {} : { question }
  if (typeof message.error === 'string') return { result: message.error, isError: true, ...about }
  return { result: textIn(message.content), ...about }
}

/**
 * Reads the conversation. System messages of a client are dropped; activities and thoughts are not part of the
 * conversation.
 */
const messagesIn = (messages: readonly JsonObject[]): ClientMessage[] => {
  const results = new Map(messages.flatMap(resultIn))
  return messages.flatMap((message): ClientMessage[] => {
    if (message.role === 'user') return [{ role: 'user', parts: partsOf(message.content) }]
    if (message.role !== 'assistant') return []
    return [
      {
        role: 'model',
        parts: [...partsOf(message.content), ...callsOf(message.toolCalls, results)],
        results,
      },
    ]
  })
}

const resultIn = ({ role, toolCallId: id, content, error }: JsonObject): [string, ToolResultPart][] => {
  if (role !== 'tool' || typeof id !== 'string') return []
  const isError = typeof error === 'string'
  // The name is that of the call, which is set when the call is read.
  const result = isError ? JSON.stringify({ error }) : textIn(content)
  return [[id, { type: 'toolResult', id, name: '', result, ...(isError && { isError }) }]]
}

const callsOf = (calls: JsonValue | undefined, results: ReadonlyMap<string, ToolResultPart>): Part[] =>
  objectsIn(calls).flatMap(({ id, function: called }): Part[] => {
    // A call of a sub-agent is not part of this conversation.
    if (typeof id !== 'string' || id.includes('/') || !isJsonObject(called)) return []
    const { name, arguments: args } = called
    if (typeof name !== 'string') return []
    const result = results.get(id)
    if (result) result.name = name
    const parsed = parseArguments(stringOr(null, args))
    return [{ type: 'toolCall', id, name, arguments: parsed.arguments }]
  })

const partsOf = (content: JsonValue | undefined): Part[] => {
  if (typeof content === 'string') return textParts(content)
  return objectsIn(content).flatMap((part): Part[] => {
    if (typeof part.text === 'string') return textParts(part.text)
    const { type, value, mimeType } = isJsonObject(part.source) ? part.source : {}
    if (typeof value !== 'string') return []
    const given = stringOr(undefined, mimeType)
    if (type === 'data') return [{ type: 'data', mimeType: given ?? 'application/octet-stream', data: value }]
    const media = type === 'url' ? mediaPart(value, given) : undefined
    return media ? [media] : []
  })
}

const textIn = (content: JsonValue | undefined): string => textOf({ role: 'user', parts: partsOf(content) })
