import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { describeThrown } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import { amount, checkOptions, flag, type Rules, wholeFrom } from '../messages/optionRules.ts'
import { anthropicWire } from './anthropicWire.ts'
import { openaiChatWire, openaiResponsesWire } from './openaiWires.ts'
import { checkThinking } from './preservedThinking.ts'
import { replyTo } from './rules.ts'
import { objectIn, RefusedRequest, refuseUnpaired, textIn, type Wire } from './wire.ts'

/** Options of {@link startSimulator}. */
export type SimulatorOptions = {
  /** The wait before each word, in milliseconds. Default: 15. */
  delayMs?: number
  /** The port on 127.0.0.1. Default: any free one. */
  port?: number
  /**
   * Thinks on Anthropic's wire unless a request turns it off, binds each thinking block to the conversation before it, and
   * refuses one that comes back after another, as Claude does since Fable 5.1. Default: false.
   */
  preservedThinking?: boolean
}

/** A simulator that is running. */
export type Simulator = {
  /** The `baseUrl` for an `openai` or an `anthropic` agent. */
  baseUrl: string
  close: () => Promise<void>
}

const rules: Rules<SimulatorOptions> = { delayMs: amount, port: wholeFrom(0), preservedThinking: flag }

const wires: readonly Wire[] = [openaiChatWire, openaiResponsesWire, anthropicWire]
const mostBytes = 8 * 1024 * 1024

/**
 * Starts a provider that needs no key and no network: an HTTP server on 127.0.0.1 that speaks the wire formats of OpenAI
 * (chat completions and responses) and Anthropic (messages). It follows a few rules, so the same conversation always gets
 * the same answer: it calls the tools whose names are in the question, and then shows what they returned.
 *
 * @example
 * const simulator = await startSimulator()
 * const agent = new Agent('openai:simulator', { baseUrl: simulator.baseUrl, tools: [weather] })
 * await agent.send('Weather in Oslo?')
 * await simulator.close()
 */
export const startSimulator = async (options: SimulatorOptions = {}): Promise<Simulator> => {
  checkOptions('The options of startSimulator', options, rules)
  const { delayMs = 15, port = 0, preservedThinking = false } = options
  const server = createServer((request, response) => {
    void handle(request, response, { delayMs, preservedThinking })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const at = typeof address === 'object' && address ? address.port : port
  return {
    baseUrl: `http://127.0.0.1:${at}/v1`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

type Habits = Required<Omit<SimulatorOptions, 'port'>>

const handle = async (request: IncomingMessage, response: ServerResponse, habits: Habits): Promise<void> => {
  const [path = ''] = (request.url ?? '').split('?')
  const wire = wires.find((each) => each.path === path)
  // Unknown places answer as OpenAI does, except to clients of Anthropic.
  const { error } = wire ?? (request.headers['anthropic-version'] ? anthropicWire : openaiChatWire)
  try {
    if (path === '/v1/models' && request.method === 'GET') return sendJson(response, 200, models)
    if (!wire) throw new RefusedRequest(`Unknown request URL: ${request.method} ${path}.`, 404)
    if (request.method !== 'POST') throw new RefusedRequest(`${path} takes POST, not ${request.method}.`, 405)
    const body = await bodyOf(request)
    const isBound = habits.preservedThinking && wire === anthropicWire
    const checked = isBound ? checkThinking(body, String(request.headers['anthropic-beta'])) : { body }
    await answer(wire, checked, response, habits.delayMs)
  } catch (refusal) {
    const status = refusal instanceof RefusedRequest ? refusal.status : 500
    if (response.headersSent) response.destroy()
    else sendJson(response, status, error(describeThrown(refusal), status))
  }
}

const models = {
  object: 'list',
  data: [{ id: 'simulator', object: 'model', type: 'model', created: 0, owned_by: 'statewire' }],
}

const answer = async (
  wire: Wire,
  { body, signature }: { body: JsonObject; signature?: string },
  response: ServerResponse,
  delayMs: number,
): Promise<void> => {
  const model = textIn(body, 'model')
  if (model === '') throw new RefusedRequest('model: Field required')
  const read = wire.read(body)
  const mayThink = signature !== undefined && objectIn(body, 'thinking').type !== 'disabled'
  const request = { ...read, isThinking: read.isThinking || mayThink }
  refuseUnpaired(request.turns)
  const reply = replyTo(request)
  const sent = JSON.stringify(body)
  // Made from the request: the same conversation gets the same ids, and each step of it gets others.
  const id = `sim${createHash('sha256').update(sent).digest('hex').slice(0, 16)}`
  const usage = { input: tokensOf(sent), output: tokensOf(JSON.stringify(reply)) }
  const answered = { reply, id, model, usage, ...(signature !== undefined && { signature }) }
  if (body.stream !== true) return sendJson(response, 200, wire.whole(answered))
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  for (const event of wire.events(answered)) {
    await pause(delayMs)
    if (response.destroyed) return
    response.write(event)
  }
  response.end()
}

/** Estimates the count of a tokenizer. */
const tokensOf = (text: string): number => Math.ceil(text.length / 4)

const bodyOf = async (request: IncomingMessage): Promise<JsonObject> => {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request) {
    size += part.length
    if (size > mostBytes) throw new RefusedRequest('The request is too large.', 413)
    parts.push(part)
  }
  try {
    const body: unknown = JSON.parse(Buffer.concat(parts).toString('utf8'))
    if (isJsonObject(body)) return body
  } catch {}
  throw new RefusedRequest('We could not parse the JSON body of your request.')
}

const sendJson = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
