import { isJsonObject, type JsonObject, type JsonValue, ownValue, stableJson } from '../../messages/json.ts'
import { partFlaw } from '../../messages/messageFlaw.ts'
import type { Part, ToolResultPart } from '../../messages/messages.ts'
import type { PendingCall } from '../../messages/result.ts'
import {
  type ClientMessage,
  historyOf,
  mediaPart,
  objectsIn,
  promptsIn,
  stringOr,
  textParts,
} from '../clientMessages.ts'
import { HttpError } from '../request.ts'
import { type Decisions, type Question, questionIdOf } from '../turn.ts'

/** The request of a client of the AI SDK: a question, or decisions on the calls that its last message waits for. */
type UiRequest =
  | { question: Question }
  | { messageId: string | undefined; decide: (calls: readonly PendingCall[]) => Decisions }

/** Reads a request. Nothing in it is trusted: `historyOf` and `decisionsIn` say what counts. */
export const readUiRequest = ({ messages, trigger, messageId, editedArgs }: JsonObject): UiRequest => {
  const sent = objectsIn(messages)
  const last = sent.at(-1)
  if (!last) throw new HttpError(400, 'There are no messages.')
  const named = sent.findLast(({ id }) => id !== undefined && id === messageId)
  const isRegenerated = trigger === 'regenerate-message'
  if (!isRegenerated) {
    const answer = [named, last].find((message) => message?.role === 'assistant')
    if (answer)
      return { messageId: textIn(answer, 'id'), decide: (calls) => decisionsIn(answer, calls, editedArgs) }
  }
  if (last.role !== 'user') throw new HttpError(400, 'The last message must be from the user.')
  const prompt = partsOf(last).flatMap(userPart)
  if (prompt.length === 0) throw new HttpError(400, 'The last message is empty.')
  const intent = isRegenerated ? 'regenerate' : named === last ? 'edit' : 'new'
  const before = sent.slice(0, -1).flatMap(messagesOf)
  const question = { prompt, history: historyOf(before), asked: promptsIn(before), intent } as const
  return { question: { ...question, ...idOf(last) } }
}

/**
 * The decisions in a message on pending calls. Only those on the questions that wait now count: the id of a call may come
 * again. `editedArgs`: the arguments that a person changed, by the id of the approval.
 */
const decisionsIn = (
  message: JsonObject,
  calls: readonly PendingCall[],
  editedArgs: JsonValue | undefined,
): Decisions => {
  // Of several parts under one id, the last one shows the call that waits. Each of the others would cost a comparison.
  const shown = new Map<unknown, JsonObject>(partsOf(message).map((part) => [part.toolCallId, part]))
  const edited = isJsonObject(editedArgs) ? editedArgs : {}
  const questions = questionsIn(message)
  const decided = calls.flatMap((call) => {
    const part = shown.get(call.id)
    if (!part) return []
    const decision =
      call.kind === 'answer' ? answerOf(part, call, questions) : decisionOf(part, call, edited, questions)
    return decision === undefined ? [] : [[call.id, decision] as const]
  })
  // An assignment would lose a call whose id is `__proto__`.
  return Object.fromEntries(decided)
}

/** The questions to the page, by the ids of their calls: the parts of a page have no place for them. */
const questionsIn = ({ metadata }: JsonObject): JsonObject =>
  isJsonObject(metadata) && isJsonObject(metadata.questions) ? metadata.questions : {}

const answerOf = (
  part: JsonObject,
  call: PendingCall,
  questions: JsonObject,
): Decisions[string] | undefined => {
  const asked = ownValue(questions, call.id)
  // A page that does not send its metadata is believed if it shows the same tool and arguments.
  const { question = asked } = call
  if ((asked !== undefined && asked !== question) || !showsCall(part, call)) return undefined
  const about = call.question === undefined ? {} : { question: call.question }
  const { state, output = null } = part
  if (state === 'output-available') return { result: output, ...about }
  if (state !== 'output-error') return undefined
  return { result: textIn(part, 'errorText') ?? 'The tool failed.', isError: true, ...about }
}

const decisionOf = (
  part: JsonObject,
  call: PendingCall,
  editedArgs: JsonObject,
  questions: JsonObject,
): Decisions[string] | undefined => {
  const { state, output = null, approval } = part
  // Version 5 of the client has no approvals: its pages answer with an output.
  const decided =
    state === 'approval-responded' ? approval : state === 'output-available' ? output : undefined
  if (!isJsonObject(decided) || typeof decided.approved !== 'boolean') return undefined
  const asked = questionIdOf(call)
  if (!isAbout(decided.id ?? ownValue(questions, call.id), part, call)) return undefined
  const reason = textIn(decided, 'reason')
  const edited = decided.editedArgs ?? ownValue(editedArgs, asked)
  if (edited !== undefined && !isJsonObject(edited))
    throw new HttpError(400, 'The edited arguments of a call must be an object.')
  return {
    approve: decided.approved,
    ...(reason !== undefined && { reason }),
    ...(edited && { arguments: edited }),
    ...(call.question !== undefined && { question: call.question }),
  }
}

/** Says whether a decision is about the question that waits: by the id of the question, which pages of version 5 may leave out. */
const isAbout = (id: JsonValue | undefined, part: JsonObject, call: PendingCall): boolean => {
  if (id !== undefined) return id === questionIdOf(call)
  return call.question === undefined || (part.state === 'output-available' && showsCall(part, call))
}

/**
 * Says whether a part shows the tool and the arguments of a call: without the id of a question, nothing else can be
 * compared.
 */
const showsCall = (part: JsonObject, { name, arguments: args }: PendingCall): boolean =>
  toolNameOf(part) === name && stableJson(part.input ?? {}) === stableJson(args)

/** Reads a message of a client. System messages of a client are dropped. */
const messagesOf = (message: JsonObject): ClientMessage[] => {
  const parts = partsOf(message)
  if (message.role === 'user') {
    const metadata = idOf(message)
    return [{ role: 'user', parts: parts.flatMap(userPart), ...(metadata.id && { metadata }) }]
  }
  return message.role === 'assistant' ? withMetadata(stepsOf(parts), message.metadata) : []
}

/** The longest id of a message that is kept. */
const longestId = 200

const idOf = (message: JsonObject): { id?: string } => {
  const id = textIn(message, 'id')
  return id && id.length <= longestId ? { id } : {}
}

/** Keeps the usage of an answer: it is in the metadata of its last step. */
const withMetadata = (steps: readonly ClientMessage[], metadata: JsonValue | undefined): ClientMessage[] => {
  const used = isJsonObject(metadata) && isJsonObject(metadata.usage) ? metadata.usage : {}
  const usage = Object.fromEntries(Object.entries(used).filter(([, count]) => typeof count === 'number'))
  const last = steps.at(-1)
  if (!last || Object.keys(usage).length === 0) return [...steps]
  return [...steps.slice(0, -1), { ...last, metadata: { usage } }]
}

const userPart = (part: JsonObject): Part[] => {
  const text = textIn(part, 'text')
  if (part.type === 'text' && text !== undefined) return textParts(text)
  const url = part.type === 'file' ? textIn(part, 'url') : undefined
  const media = url && mediaPart(url, textIn(part, 'mediaType'), textIn(part, 'filename'))
  return media ? [media] : []
}

/** Splits an answer into its steps, each of which is a message of the model. */
const stepsOf = (parts: readonly JsonObject[]): ClientMessage[] => {
  const steps: (ClientMessage & { results: Map<string, ToolResultPart> })[] = []
  for (const part of parts) {
    let step = steps.at(-1)
    if (!step || part.type === 'step-start') {
      step = { role: 'model', parts: [], results: new Map() }
      steps.push(step)
    }
    const text = textIn(part, 'text')
    if (part.type === 'text') step.parts.push(...textParts(text ?? ''))
    // A picture that the model made is part of what it said.
    if (part.type === 'file') step.parts.push(...userPart(part))
    const id = textIn(part, 'toolCallId')
    const name = toolNameOf(part)
    // A call of a sub-agent is not part of this conversation.
    if (!id || !name || id.includes('/')) continue
    step.parts.push({ type: 'toolCall', id, name, arguments: isJsonObject(part.input) ? part.input : {} })
    const result = resultIn(part, id, name)
    if (result) step.results.set(id, result)
  }
  return steps
}

const toolNameOf = (part: JsonObject): string | undefined => {
  if (part.type === 'dynamic-tool') return textIn(part, 'toolName')
  return typeof part.type === 'string' && part.type.startsWith('tool-') ? part.type.slice(5) : undefined
}

const resultIn = (part: JsonObject, id: string, name: string): ToolResultPart | undefined => {
  const { state, output = null } = part
  const result = { type: 'toolResult' as const, id, name }
  if (state === 'output-available') return { ...result, ...contentOf(output) }
  const error = state === 'output-error' ? textIn(part, 'errorText') : undefined
  if (error !== undefined) return { ...result, result: JSON.stringify({ error }), isError: true }
  if (state !== 'output-denied') return undefined
  return {
    ...result,
    result: JSON.stringify({ error: 'A person rejected this call.' }),
    isError: true,
    rejected: true,
  }
}

/** The reverse of `outputOf`. */
const contentOf = (output: JsonValue): Pick<ToolResultPart, 'result' | 'parts'> => {
  if (isJsonObject(output) && Array.isArray(output.parts) && output.result !== undefined) {
    const { result, parts } = output
    const isMedia = (part: JsonValue) =>
      isJsonObject(part) && (part.type === 'data' || part.type === 'link') && partFlaw(part) === undefined
    if (parts.every(isMedia))
      return { result: asText(result), parts: parts as ToolResultPart['parts'] & JsonValue[] }
  }
  return { result: asText(output) }
}

const asText = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value))

const partsOf = ({ parts }: JsonObject): JsonObject[] => objectsIn(parts)

const textIn = (object: JsonObject, key: string): string | undefined => stringOr(undefined, object[key])
