import { expect } from 'vitest'
import { z } from 'zod'
import {
  Agent,
  type AgentOptions,
  type ChatMessage,
  type ChatResult,
  isFatal,
  type JsonObject,
  ModelError,
  type SendOptions,
  StatewireError,
  tool,
  toolCallsOf,
  toolResultsOf,
  validateHistory,
} from '../../src/index.ts'
import { anthropic } from './anthropicWire.ts'
import { mistral, openai } from './chatWire.ts'
import { type Answer, type HostileRequest, hostileServer } from './hostileServer.ts'
import { cohere, google, ollama } from './otherWires.ts'
import { responses } from './responsesWire.ts'
import { answer, type Turn, type Wire } from './wire.ts'

export const wires: readonly Wire[] = [openai, responses, anthropic, google, ollama, mistral, cohere]

/** The wires whose answers are server-sent events. */
export const sseWires: readonly Wire[] = wires.filter((wire) => wire !== ollama)

/** The text of the model in the last turn of a scenario. */
export const farewell = 'It is 21 degrees.'

export const lastTurn = (wire: Wire): Answer => answer(wire, wire.events({ text: farewell }))

export type Ran = { tool: string; args: unknown; id: string }

export type Outcome = {
  /** The result of the run, or what the error has of it. */
  result: ChatResult
  error: StatewireError | undefined
  ran: Ran[]
  requests: HostileRequest[]
  /** The bodies of the requests. */
  bodies: JsonObject[]
}

export type RunOptions = Omit<AgentOptions, 'baseUrl'> &
  SendOptions & {
    model?: string
    prompt?: string
    /** The scenario's server uses an id again, and gets it back as it knows it. */
    reusesIds?: boolean
  }

/** Two tools that write down how they were called. */
export const recordingTools = (ran: Ran[]) => [
  tool({
    name: 'get_weather',
    description: 'Current weather in a city',
    input: z.object({ city: z.string() }),
    execute: (args, { callId }) => {
      ran.push({ tool: 'get_weather', args, id: callId })
      return { city: args.city, celsius: 21 }
    },
  }),
  tool({
    name: 'get_time',
    description: 'The time',
    execute: (args, { callId }) => {
      ran.push({ tool: 'get_time', args, id: callId })
      return '12:00'
    },
  }),
]

/** An agent with the two tools, at a server that gives these answers. */
export const hostileAgent = async (wire: Wire, answers: readonly Answer[], options: RunOptions = {}) => {
  const server = await hostileServer(answers)
  const ran: Ran[] = []
  const {
    model = wire.model,
    history: _,
    prompt: __,
    signal: ___,
    attachments: ____,
    reusesIds: _____,
    ...rest
  } = options
  const agent = new Agent(model, {
    baseUrl: server.url,
    apiKey: 'k',
    tools: recordingTools(ran),
    maxSteps: 3,
    retry: { maxRetries: 0 },
    ...rest,
  })
  return { agent, server, ran }
}

/** Sends once against these answers. In every case its history must be usable and its ids must be right. */
export const run = async (
  wire: Wire,
  answers: readonly Answer[],
  options: RunOptions = {},
): Promise<Outcome> => {
  const { agent, server, ran } = await hostileAgent(wire, answers, options)
  const { history, signal, prompt = 'How is the weather?' } = options
  const settled = await agent
    .send(prompt, { ...(history && { history }), ...(signal && { signal }) })
    .then((result) => ({ result, error: undefined }), failed)
  const bodies = server.requests.map(({ body }) => body)
  checkHistory(settled.result.messages, ran, history ?? [])
  for (const body of bodies) checkRequest(wire, body, options.reusesIds)
  return { ...settled, ran, requests: server.requests, bodies }
}

const failed = (error: unknown): { result: ChatResult; error: StatewireError } => {
  if (!(error instanceof StatewireError) || !error.partial) throw error
  return { result: error.partial, error }
}

const checkHistory = (messages: ChatMessage[], ran: Ran[], history: ChatMessage[]): void => {
  expect(validateHistory([...history, ...messages]).filter(isFatal)).toEqual([])
  const calls = messages.flatMap(toolCallsOf).map(({ id }) => id)
  const results = messages.flatMap(toolResultsOf).map(({ id }) => id)
  expect(results).toEqual(calls)
  expect(new Set(calls).size).toBe(calls.length)
  expect(calls).not.toContain('')
  expect(calls).toEqual(expect.arrayContaining(ran.map(({ id }) => id)))
}

/** Every result of a request answers one call of it, and every call has one; Gemini and Ollama go by order as well. */
const checkRequest = (wire: Wire, body: JsonObject, reusesIds = false): void => {
  const calls = wire.sentCalls(body)
  const results = wire.sentResults(body)
  for (const { args } of calls) expect(args).toBeTypeOf('object')
  if (typeof body.previous_response_id === 'string') return
  expect(results.map(({ id }) => id)).toEqual(calls.map(({ id }) => id))
  const ids = calls.map(({ id }) => id).filter((id) => id !== '')
  if (!reusesIds) expect(new Set(ids).size).toBe(ids.length)
}

/** A first answer, and the farewell after the tools. */
export const loop = (
  wire: Wire,
  first: Turn | readonly string[],
  options: RunOptions = {},
): Promise<Outcome> =>
  run(wire, [answer(wire, 'length' in first ? first : wire.events(first)), lastTurn(wire)], options)

/** Sends once; no second request is expected. */
export const once = (
  wire: Wire,
  first: Turn | readonly string[],
  options: RunOptions = {},
): Promise<Outcome> => run(wire, [answer(wire, 'length' in first ? first : wire.events(first))], options)

/** The failure as its typed error. */
export const modelError = ({ error }: Outcome): ModelError => {
  if (error instanceof ModelError) return error
  throw new Error(`No ModelError, but ${error?.name ?? 'no error at all'}.`)
}

/** The calls that ran, without the ids. */
export const callsRun = ({ ran }: Outcome): [string, unknown][] => ran.map((each) => [each.tool, each.args])

export const weather = (city: string) => ['get_weather', { city }]
export const time = ['get_time', {}]
