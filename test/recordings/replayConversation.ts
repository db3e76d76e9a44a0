import { isDeepStrictEqual } from 'node:util'
import {
  Agent,
  type ChatMessage,
  type ChatResult,
  dataPart,
  linkPart,
  type Part,
  type Tool,
  textPart,
  tool,
} from '../../src/index.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { Conversation, Recording } from './recordings.ts'
import { type WireItem, wireItems, wireTools } from './wireItems.ts'

/** The request of a recorded client, and our own, seen by the same eyes. */
export type Request = { body: JsonObject; items: WireItem[] }

export type Replayed = { results: ChatResult[]; history: ChatMessage[]; requests: Request[] }

type Served = { base: string; requests: { path: string; body: string }[] }

export type Place = { name: string; agentOf(conversation: Conversation): string }

export const readRequest = (protocol: string, body: unknown): Request => {
  const object = isJsonObject(body) ? body : {}
  return { body: object, items: wireItems(protocol, object) }
}

/** The model a recording was made with: most protocols name it in the body, Google in the path. */
export const recordedModel = ({ request }: Recording): string => {
  const { body, path } = request
  if (isJsonObject(body) && typeof body.model === 'string') return body.model
  return /models\/([^:]+):/.exec(path)?.[1] ?? ''
}

/** The calls of the exchange before a request, with their recorded results. */
type Answer = { name: string; arguments: JsonValue; text: string; isUsed: boolean }

/** Items after the last word of the model: the answers to its calls, or what the user said next. */
export const tailOf = (items: readonly WireItem[]): WireItem[] =>
  items.slice(items.findLastIndex(({ kind }) => kind === 'model' || kind === 'call') + 1)

const answersIn = (request: Request | undefined): Answer[] => {
  const items = request?.items ?? []
  const results = tailOf(items).filter((item) => item.kind === 'result')
  const calls = items.filter((item) => item.kind === 'call')
  const open = calls.slice(calls.length - results.length)
  return results.map((result, place) => {
    const call = open.find(({ id }) => id !== '' && id === result.id) ?? open[place]
    return { name: call?.name ?? '', arguments: call?.arguments ?? {}, text: result.text, isUsed: false }
  })
}

/** Tools as the recorded client declared them; each call gets the answer that was recorded for it. */
const recordedTools = (requests: readonly Request[], served: Served): Tool[] => {
  const answers = requests.map(answersIn)
  const declared = new Map(requests.flatMap(({ body }) => wireTools(body)).map((each) => [each.name, each]))
  return [...declared.values()].map(({ name, description, schema }) =>
    tool({
      name,
      description,
      input: { jsonSchema: plainTypes(schema) },
      execute: (args) => {
        const recorded = answers[served.requests.length] ?? []
        const fitting = recorded.filter((answer) => answer.name === name && !answer.isUsed)
        const answer = fitting.find((each) => isDeepStrictEqual(each.arguments, args)) ?? fitting[0]
        if (!answer) return 'no answer was recorded'
        answer.isUsed = true
        return answer.text
      },
    }),
  )
}

/** Google's clients write the types of OpenAPI, in capitals. */
export const plainTypes = (schema: JsonObject): JsonObject =>
  JSON.parse(JSON.stringify(schema), (key, value) =>
    key === 'type' && typeof value === 'string' ? value.toLowerCase() : value,
  )

const partsOf = (item: WireItem): Part[] => {
  if (item.kind !== 'user') return []
  const images = item.images.map((image) => {
    const [, mimeType, data] = /^data:([^;]+);base64,(.*)$/s.exec(image) ?? []
    if (mimeType && data) return dataPart(mimeType, data)
    return image.startsWith('http') ? linkPart(image) : dataPart('image/png', image)
  })
  return [...(item.text === '' ? [] : [textPart(item.text)]), ...images]
}

/** Runs a recorded conversation as its user did: the first prompt, the tool loop, and whatever was asked after it. */
export const replayConversation = async (
  conversation: Conversation,
  served: Served,
  model: string,
): Promise<Replayed> => {
  const { protocol, exchanges } = conversation
  const recorded = exchanges.map(({ request }) => readRequest(protocol, request.body))
  const system = recorded[0]?.items.filter((item) => item.kind === 'system').map(({ text }) => text)
  const agent = new Agent(model, {
    baseUrl: served.base,
    apiKey: 'key',
    tools: recordedTools(recorded, served),
    ...(system?.length && { system: system.join('\n\n') }),
    ...(recorded[0]?.body.store === false && { providerOptions: { store: false } }),
    // A stream that failed after it had shown something is started again, as the recorded client did.
    retry: { maxRetries: 1, initialDelayMs: 1, midStream: true },
  })
  const results: ChatResult[] = []
  let history: ChatMessage[] = []
  while (served.requests.length < exchanges.length) {
    const items = recorded[served.requests.length]?.items ?? []
    const prompts = tailOf(items).map(partsOf)
    const said = prompts.filter((parts) => parts.length > 0)
    const earlier = said.slice(0, -1).map((parts): ChatMessage => ({ role: 'user', parts }))
    const result = await agent.send(said.at(-1) ?? 'Go on.', { history: [...history, ...earlier] })
    history = [...history, ...earlier, ...result.messages]
    results.push(result)
  }
  const requests = served.requests.map(({ body }) => readRequest(protocol, JSON.parse(body)))
  return { results, history, requests }
}
