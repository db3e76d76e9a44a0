// A model provider on loopback, in a process of its own. Its answer is in the path of the request:
// /<wire>/<bulk|paced|slow>/<text|json>/<chunks>/rounds/<tool rounds>/calls/<calls per round>/…
import { createServer } from 'node:http'
import { bulk, callsAnswer, events, textAnswer } from './answers.mjs'
import { wires } from './wires/index.mjs'

const shape = /^\/([a-z-]+)\/(bulk|paced|slow)\/(text|json)\/(\d+)\/rounds\/(\d+)\/calls\/(\d+)\//

const answers = new Map()
const remembered = (key, make) => {
  const known = answers.get(key)
  if (known) return known
  const made = make()
  answers.set(key, made)
  return made
}

const answerTo = (url, body) => {
  const [prefix, name, pacing, form, ...numbers] = shape.exec(url) ?? []
  const wire = wires[name]
  if (!wire) return undefined
  const [chunks, rounds, calls] = numbers.map(Number)
  const round = rounds === 0 ? 0 : roundOf(wire, JSON.parse(body), calls)
  const writes = remembered(`${prefix}${round}`, () => {
    const asWrites = pacing === 'bulk' ? bulk : events
    return round < rounds
      ? callsAnswer(wire, { round, calls, asWrites })
      : textAnswer(wire, { chunks, round, asWrites, isJson: form === 'json' })
  })
  return { wire, pacing, writes }
}

/** Rounds that are over: as many as the request has results of. */
const roundOf = (wire, body, calls) => wire.roundOf?.(body) ?? Math.round(wire.resultsIn(body) / calls)

/** Between two events of a paced answer: long enough that a reader gets each in a read of its own. */
const gapMs = 0.1

/** Between those of a slow one: about as a model does it. */
const slowGapMs = 5

/** Sends block by block; in a paced answer every event is flushed by itself. */
const send = (response, { pacing, writes }) => {
  let block = 0
  let index = 0
  let due = 0
  const step = () => {
    if (pacing === 'paced' && performance.now() < due) return setImmediate(step)
    due = performance.now() + gapMs
    while (!response.destroyed) {
      const current = writes[block]
      if (!current) return response.end()
      if (index === current.length) {
        block += 1
        index = 0
        continue
      }
      const isRoom = response.write(current[index++])
      if (!isRoom) return response.once('drain', step)
      if (pacing === 'slow') return setTimeout(step, slowGapMs)
      if (pacing === 'paced') return setImmediate(step)
    }
  }
  step()
}

/** The times at which answers were broken off, by the machine's monotonic clock, which all processes share. */
const closings = []
const waiting = new Set()

const noteClosing = () => {
  closings.push(String(process.hrtime.bigint()))
  for (const report of waiting) report()
}

/** `/closings/<n>`: answers once `n` of them are known. */
const reportClosings = (count, response) => {
  const report = () => {
    if (closings.length < count) return
    waiting.delete(report)
    response.end(JSON.stringify(closings))
  }
  waiting.add(report)
  report()
}

const server = createServer((request, response) => {
  const count = /^\/closings\/(\d+)$/.exec(request.url)?.[1]
  if (count) return reportClosings(Number(count), response)
  const pieces = []
  request.on('data', (piece) => pieces.push(piece))
  request.on('end', () => {
    const answer = answerTo(request.url, Buffer.concat(pieces))
    if (!answer) return response.writeHead(404).end('{"error":{"message":"no such answer"}}')
    const type = answer.wire.framing === 'sse' ? 'text/event-stream; charset=utf-8' : 'application/x-ndjson'
    response.writeHead(200, { 'content-type': type, 'transfer-encoding': 'chunked' })
    response.on('close', () => {
      if (!response.writableFinished) noteClosing()
    })
    send(response, answer)
  })
})

server.keepAliveTimeout = 60_000
server.listen({ port: 0, host: '127.0.0.1', backlog: 20_000 }, () =>
  process.send?.({ port: server.address().port }),
)
process.on('disconnect', () => process.exit())
