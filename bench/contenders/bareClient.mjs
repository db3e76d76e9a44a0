import { StringDecoder } from 'node:string_decoder'
import { createParser } from 'eventsource-parser'
import { Agent } from 'undici'
import { weather } from '../tool.mjs'

/**
 * The least a program can do around a way to send a request: eventsource-parser, `JSON.parse`, `+=`. No errors, no
 * limits, no state; a typed answer is parsed at its end. `send(request, onBytes, signal)` settles at the end of the body.
 */
export const bareClient = ({ wire, baseUrl, hasTools, typed }, send) => {
  const dispatcher = new Agent()
  const { origin, pathname } = new URL(baseUrl)
  const path = pathname + wire.path
  const headers = { 'content-type': 'application/json', authorization: 'Bearer none', ...wire.headers }

  const exchange = (body, answer, signal) => {
    const utf8 = new StringDecoder('utf8')
    const framing = wire.framing === 'sse' ? sse(wire, answer) : lines(wire, answer)
    const request = { dispatcher, origin, path, method: 'POST', headers, body: JSON.stringify(body) }
    return send(request, (bytes) => framing(utf8.write(bytes)), signal)
  }

  return {
    async ask(prompt, { onText, signal } = {}) {
      let turn = wire.start(prompt)
      const schema = typed?.schema()
      const shape = schema && wire.shaped(typed.jsonSchemaOf(schema))
      while (true) {
        const answer = new Answer(onText)
        await exchange({ ...wire.request(turn, hasTools), ...shape }, answer, signal)
        if (schema) return typed.resultOf(schema.parse(JSON.parse(answer.text)))
        if (answer.calls.length === 0) return { text: answer.text, held: answer.text }
        const results = await Promise.all(answer.calls.map(run))
        turn = wire.next(turn, answer, results)
      }
    },
    close: () => dispatcher.destroy(),
  }
}

const run = async ({ arguments: text, input = JSON.parse(text) }) => JSON.stringify(weather.execute(input))

class Answer {
  text = ''
  calls = []
  constructor(onText) {
    this.onText = onText
  }
  add(piece) {
    this.text += piece
    this.onText?.(piece)
  }
}

const sse = (wire, answer) => {
  const parser = createParser({ onEvent: ({ data }) => wire.read(data, answer) })
  return (text) => parser.feed(text)
}

const lines = (wire, answer) => {
  let rest = ''
  return (text) => {
    const whole = (rest + text).split('\n')
    rest = whole.pop()
    for (const line of whole) if (line !== '') wire.read(line, answer)
  }
}
