import type { ServerResponse } from 'node:http'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { listen } from './serve.ts'

/** A provider whose answers never end, and what it sees of its connections. */
export type EndlessProvider = {
  agent: Agent
  opened: number
  /** The time at which each connection was closed by the other side. */
  closedAt: number[]
}

const chunk = (content: string): string =>
  `data: ${JSON.stringify({ id: 'r1', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`

/** Answers over HTTP with a word first, and then with `text` as often as `everyMs` says. */
export const endlessProvider = async (
  { text = '', everyMs = 50 }: { text?: string; everyMs?: number } = {},
  options: AgentOptions = {},
): Promise<EndlessProvider> => {
  const answers = new Set<ServerResponse>()
  const { url, server } = await listen((request, response) => {
    request.resume()
    provider.opened += 1
    answers.add(response)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk('Well'))
    response.on('close', () => {
      answers.delete(response)
      provider.closedAt.push(Date.now())
    })
  })
  const timer = setInterval(() => {
    if (text !== '') for (const answer of answers) if (!answer.writableNeedDrain) answer.write(chunk(text))
  }, everyMs)
  server.on('close', () => clearInterval(timer))
  const agent = new Agent('openai-chat:endless', { baseUrl: url, apiKey: 'k', ...options })
  const provider: EndlessProvider = { agent, opened: 0, closedAt: [] }
  return provider
}
