import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type PlannedTurn, planIn } from './plan.ts'

type Asked = { role: string; content?: unknown }

export type ModelServer = {
  url: string
  /** The conversations that it was asked with. */
  asked: Asked[][]
  /** The time between two pieces of a text. */
  paceMs: number
  stop(): Promise<void>
}

/**
 * A model that keeps nothing: what it says follows from the conversation alone, so a turn that is asked for again gets the
 * same answer. Speaks the chat API of OpenAI.
 */
export const startModel = async (paceMs = 2): Promise<ModelServer> => {
  const asked: Asked[][] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (piece) => {
      body += piece
    })
    request.on('end', () => {
      const { messages }: { messages: Asked[] } = JSON.parse(body)
      asked.push(messages)
      void answer(response, turnOf(messages), () => model.paceMs)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  const model: ModelServer = { url: `http://127.0.0.1:${port}/v1`, asked, paceMs, stop }
  return model
}

/** The turn that a conversation is at: one for each answer after the message with the plan. */
const turnOf = (messages: Asked[]): PlannedTurn & { nth: number; id: string } => {
  const at = messages.findLastIndex(({ role, content }) => role === 'user' && planIn(textIn(content)))
  const plan = planIn(textIn(messages[at]?.content))
  const nth = messages.slice(at).filter(({ role }) => role === 'assistant').length
  return { ...(plan?.turns[nth] ?? { text: 'Nothing more is planned.' }), nth, id: plan?.id ?? '' }
}

const textIn = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : Array.isArray(content)
      ? content.map((part: { text?: string }) => part.text ?? '').join('\n')
      : ''

const answer = async (
  response: ServerResponse,
  turn: PlannedTurn & { nth: number; id: string },
  paceMs: () => number,
): Promise<void> => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const say = (delta: object, finish: string | null = null) => {
    const choice = { index: 0, delta, finish_reason: finish }
    const chunk = { id: 'answer', object: 'chat.completion.chunk', model: 'planned', choices: [choice] }
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  say({ role: 'assistant', content: '' })
  if ('text' in turn) {
    for (const piece of turn.text.match(/\S+\s*|\s+/g) ?? []) {
      await sleep(paceMs())
      if (response.destroyed) return
      say({ content: piece })
    }
    say({}, 'stop')
  } else {
    await sleep(paceMs())
    turn.calls.forEach(({ name, input }, index) => {
      const id = `call_${turn.nth}_${index}`
      const called = { name, arguments: JSON.stringify(input) }
      say({ tool_calls: [{ index, id, type: 'function', function: called }] })
    })
    say({}, 'tool_calls')
  }
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  response.write(`data: ${JSON.stringify({ id: 'answer', choices: [], usage })}\n\n`)
  response.end('data: [DONE]\n\n')
}
