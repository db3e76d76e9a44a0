import type { ServerResponse } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { Agent as Dispatcher } from 'undici'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { Chat } from '../../src/agent/Chat.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { openai as wire } from '../hostile/chatWire.ts'
import type { Turn } from '../hostile/wire.ts'
import { type Runner, runnerOf } from './interrupting.ts'
import type { Script } from './runServer.ts'
import { prompt, type slowWeather, turnFor } from './toolLoop.ts'

/** What a scenario is made from: options of an agent with the slow tool, at the server of the test. */
export type Parts = { options: AgentOptions & { baseUrl: string }; weather: ReturnType<typeof slowWeather> }

/** Somewhere a run may be when it is interrupted. */
export type Scenario = {
  where: string
  script?: Script
  make: (parts: Parts) => Runner
  /** The number of idle sockets that the carrier of the requests may keep. */
  idleSockets?: number
}

export const loop: Script = (body) => turnFor(wire, body)

const agentOf = ({ options }: Parts, more: AgentOptions = {}): Agent =>
  new Agent(wire.model, { ...options, ...more })

/** Half an answer, then the rest of an error that may pass. */
const unwell = (response: ServerResponse): void => {
  response.writeHead(503, { 'content-type': 'application/json', 'retry-after-ms': '1' })
  response.write('{"error":')
  setImmediate(() => response.end('{"message":"unwell"}}'))
}

const unwellEverySecondTime = (script: Script): Script => {
  let asked = 0
  return (body, nth) => (asked++ % 2 === 0 ? unwell : script(body, nth))
}

/** A boss who asks an expert, who runs the whole loop. */
const team: Script = (body) => {
  if (!JSON.stringify(body.tools ?? []).includes('"expert"')) return turnFor(wire, body)
  if (wire.sentResults(body).length > 0) return { text: 'So be it.' }
  return { calls: [{ id: 'e', name: 'expert', args: JSON.stringify({ prompt }) }] }
}

/** The loop, whose last word is JSON; the first time it does not fit. */
const typed: Script = (body) => {
  const answer: Turn = turnFor(wire, body)
  if (answer.calls) return answer
  return { text: isCorrection(body) ? '{"fine":true}' : '{"fine":"maybe"}' }
}

const isCorrection = (body: JsonObject): boolean => JSON.stringify(body).includes('does not fit the schema')

const typedRunner = (agent: Agent): Runner => {
  const schema = z.object({ fine: z.boolean() })
  return {
    send: (asked, options) => agent.sendFor(asked, schema, options),
    sendStream: (asked, options) => agent.sendStreamFor(asked, schema, options),
  }
}

export const scenarios: Scenario[] = [
  {
    where: 'while approvals are asked for',
    make: (parts) => {
      const tools = [{ ...parts.weather.tool, needsApproval: true }]
      // Its actors have no one to ask.
      const { actor: _, ...runner } = runnerOf(agentOf(parts, { tools, onApproval: () => turn(true) }))
      return runner
    },
  },
  {
    where: 'while requests fail and are tried again',
    script: unwellEverySecondTime(loop),
    make: (parts) => runnerOf(agentOf(parts, { retry: { maxRetries: 3, initialDelayMs: 1 } })),
  },
  {
    where: 'while another model takes over',
    script: (body, nth) => (body.model === 'broken' ? unwell : loop(body, nth)),
    make: ({ options }) => {
      const { baseUrl } = options
      const fallback = [{ model: wire.model, baseUrl, apiKey: 'k' }]
      return runnerOf(new Agent('openai:broken', { ...options, fallback }))
    },
  },
  { where: 'in typed output', script: typed, make: (parts) => typedRunner(agentOf(parts)) },
  {
    where: 'in the phases of reasoning',
    make: (parts) => runnerOf(agentOf(parts, { orchestrator: reasoningOrchestrator() })),
  },
  {
    where: 'in the rounds of reflection',
    make: (parts) => runnerOf(agentOf(parts, { orchestrator: reflectionOrchestrator({ maxRounds: 1 }) })),
  },
  {
    where: 'in the run of a sub-agent',
    script: team,
    make: (parts) => {
      const expert = agentOf(parts).asTool({ name: 'expert', description: 'Knows cities' })
      return runnerOf(agentOf(parts, { tools: [expert] }))
    },
  },
  {
    where: 'in the reasoning of a sub-agent',
    script: team,
    make: (parts) => {
      const expert = agentOf(parts, { orchestrator: reasoningOrchestrator() })
      const tools = [expert.asTool({ name: 'expert', description: 'Knows cities' })]
      return runnerOf(agentOf(parts, { tools }))
    },
  },
  {
    where: 'in a chat',
    make: (parts) => {
      const agent = agentOf(parts)
      // A chat of its own each time: what is kept of a history is another matter.
      return {
        send: (asked, options) => new Chat(agent).send(asked, options),
        sendStream: (asked, options) => new Chat(agent).sendStream(asked, options),
      }
    },
  },
  {
    where: 'on a dispatcher of the user’s',
    make: (parts) => {
      const dispatcher = new Dispatcher({ connections: 1 })
      onTestFinished(() => dispatcher.destroy())
      return runnerOf(agentOf(parts, { connection: { dispatcher } }))
    },
  },
  {
    where: 'on a fetch of the user’s',
    make: (parts) => runnerOf(agentOf(parts, { connection: { fetch: globalThis.fetch } })),
    // The pool of a fetch is its own: Node 22 finishes opening a connection whose request was aborted meanwhile, and keeps
    // it for later requests, so three are open at times. A run that leaked would leave one each time: about a hundred.
    idleSockets: 6,
  },
]
