import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject } from '../../../src/messages/json.ts'
import { callChunk, chunk, usageChunk } from '../../hostile/chatWire.ts'
import { sse } from '../../hostile/wire.ts'
import { saidInRequest } from './conversation.ts'
import { type ScriptedTurn, turnFor } from './script.ts'

// A provider of the OpenAI chat protocol in its own process, which is never killed. It answers from what it is sent; all
// it remembers is which turns have failed as planned, and the results of each call that it saw. Its port goes to the parent.

const failed = new Set<string>()
/** The results that models were shown, by call. */
const seen = new Map<string, Set<string>>()

const bodyOf = async (request: IncomingMessage): Promise<JsonObject> => {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) text += piece
  return JSON.parse(text)
}

const refuse = (response: ServerResponse): void => {
  response.writeHead(503, { 'content-type': 'application/json' })
  response.end('{"error":{"message":"Busy: try again."}}')
}

const events = ({ words, calls }: ScriptedTurn): string[] =>
  sse(
    chunk({ role: 'assistant', content: '' }),
    ...words.map((word, index) => chunk({ content: index === 0 ? word : ` ${word}` })),
    ...calls.map(({ id, name, arguments: args }, index) =>
      callChunk({ index, id, name, args: JSON.stringify(args) }),
    ),
    chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    usageChunk,
    '[DONE]',
  )

const play = async (response: ServerResponse, pieces: readonly string[]): Promise<void> => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const [index, piece] of pieces.entries()) {
    if (response.destroyed) return
    response.write(piece)
    // Some come together, some alone, some late.
    if (index % 3 !== 0) await pause(index % 7 === 1 ? 6 : 1)
  }
}

const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const body = await bodyOf(request)
  const said = saidInRequest(body)
  for (const each of said)
    if (each.by === 'tool') seen.set(each.callId, (seen.get(each.callId) ?? new Set()).add(each.result))
  const turn = turnFor(said)
  const key = `${turn.plan.id}/${turn.turn}`
  const isBroken = body.model === 'broken'
  const failure = isBroken ? (turn.turn % 2 === 0 ? 'cut' : 'refused') : turn.plan.failures[turn.turn]
  const isFailing = failure !== undefined && (isBroken || !failed.has(key))
  failed.add(key)
  const pieces = events(turn)
  if (isFailing && failure === 'refused') return refuse(response)
  await play(response, isFailing ? pieces.slice(0, 3) : pieces)
  if (isFailing) response.destroy()
  else response.end()
}

const server = createServer((request, response) => {
  if (request.url === '/results') {
    response.end(JSON.stringify(Object.fromEntries([...seen].map(([id, results]) => [id, [...results]]))))
    return
  }
  answer(request, response).catch((thrown) => {
    // A client that was killed has broken its request off; anything else is a mistake of this script.
    if (!request.complete) return response.destroy()
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message: String(thrown) } }))
  })
})

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.send?.({ port })
})
process.on('disconnect', () => process.exit())
