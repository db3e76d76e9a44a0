import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, type JsonObject } from '../../src/index.ts'
import { farewell, wires } from '../hostile/hostileRun.ts'
import type { Wire } from '../hostile/wire.ts'
import { rawServer, untilClose } from '../transport/rawServer.ts'
import { dice } from './dice.ts'
import {
  answersWith,
  bodyAnswer,
  expectWhole,
  faultedLoop,
  loopAnswers,
  withFaultServer,
} from './faultedLoop.ts'

// Bytes that are no answer: whatever comes, the run ends once, with a typed error or a right result, and nothing
// outside the run is touched.

withFaultServer()

const randomBytes = (seed: number): Buffer => {
  const { below } = dice(seed)
  return Buffer.from(Array.from({ length: 1 + below(3000) }, () => below(256)))
}

const depth = 100_000
const deepArray = '['.repeat(depth) + ']'.repeat(depth)
const deepObject = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

/** The data of an event in the clothes of the wire. */
const dressed = ({ contentType }: Wire, data: string): string =>
  contentType.includes('ndjson') ? `${data}\n` : `data: ${data}\n\n`

describe.each(wires)('$model', (wire) => {
  const failureOf = async (body: string | Uint8Array, contentType = wire.contentType) => {
    const fault = bodyAnswer(wire, body, { headers: { 'content-type': contentType } })
    const { output, requests, ran } = await faultedLoop(wire, [fault], { retry: { maxRetries: 0 } })
    expect({ status: output.status, requests, ran }).toEqual({ status: 'failed', requests: 1, ran: [] })
    if (output.status !== 'failed') throw new Error('It cannot be anything else.')
    return output.error
  }

  test('random bytes are a typed error', async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      for (const contentType of [wire.contentType, 'application/json', 'text/plain'])
        expect(await failureOf(randomBytes(seed), contentType)).toMatchObject({
          name: 'ModelError',
          code: expect.stringMatching(/^(truncated|invalid_json|unexpected_body|html_page)$/),
        })
    }
  })

  test('a page instead of a stream is an error that points at baseUrl, and is not tried again', async () => {
    for (const page of ['<!doctype html><title>Login</title>', '\n\n  <html>', '\uFEFF<HTML>'])
      expect(await failureOf(page)).toMatchObject({ code: 'html_page', retryable: false })
  })

  test.each([
    ['arrays', deepArray],
    ['objects', deepObject],
    ['an array of objects', `[${deepObject}]`],
  ])('%s nested 100,000 levels deep are a typed error, as a body and as an event', async (_, deep) => {
    for (const body of [deep, dressed(wire, deep), `${deep.slice(0, depth)}`])
      expect(await failureOf(body)).toMatchObject({
        name: 'ModelError',
        code: expect.stringMatching(/^(invalid_json|truncated)$/),
      })
  })

  test('arguments nested 100,000 levels deep never run, and the model learns of it', async () => {
    const calling = (args: string) =>
      wire.events({ calls: [{ id: 'call_1', name: 'get_time', args }] }).join('')
    const isText = !/^(google|ollama)/.test(wire.model)
    const body = isText ? calling(`{"x":${deepArray}}`) : calling('{"x":"deep"}').replace('"deep"', deepArray)
    const first = bodyAnswer(wire, body)
    const [, second] = loopAnswers(wire)
    const { output, ran } = await faultedLoop(wire, [first, second], { retry: { maxRetries: 0 } })
    expect(ran).toEqual([])
    // Where arguments are no text but a part of the event, the event itself is refused.
    if (isText) expect(output).toMatchObject({ status: 'complete', output: farewell })
    else expect(output).toMatchObject({ status: 'failed', error: { code: 'invalid_json' } })
    JSON.stringify(output)
  })

  test('a typed answer nested 100,000 levels deep is a misfit', async () => {
    const answer = bodyAnswer(wire, wire.events({ text: deepArray }).join(''))
    const server = await rawServer(({ socket }) =>
      socket.end(`${untilClose(wire.contentType)}${answer.body}`),
    )
    const agent = new Agent(wire.model, { baseUrl: server.url, apiKey: 'key', maxSteps: 1 })
    const read = async () => {
      for await (const { output } of agent.sendStreamFor('List', z.object({ list: z.array(z.string()) })))
        JSON.stringify(output)
    }
    await expect(read()).rejects.toMatchObject({ name: 'OutputValidationError' })
  })

  test('keys that reach for prototypes stay plain data', async () => {
    const poison = '"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}'
    const poisoned = (body: Uint8Array): string =>
      Buffer.from(body)
        .toString()
        .replaceAll(/\{(?=")/g, `{${poison},`)
        .replaceAll(/\{\}/g, `{${poison}}`)
    const answers = loopAnswers(wire).map(({ body }) => bodyAnswer(wire, poisoned(body)))
    const { output } = await faultedLoop(wire, answers, { retry: { maxRetries: 0 } })
    const clean: JsonObject & { polluted?: unknown } = {}
    expect([clean.polluted, Object.prototype.constructor === Object]).toEqual([undefined, true])
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
    expect(output.output).toBe(output.status === 'complete' ? `Let me look.\n${farewell}` : output.output)
    for (const message of output.messages) expect(Object.getPrototypeOf(message)).toBe(Object.prototype)
  })

  test('bytes that are not UTF-8 become replacement characters, and nothing else is lost', async () => {
    const [first, second] = loopAnswers(wire)
    const text = Buffer.from(second.body).toString('latin1').replace('degrees', 'degr\xff\xfe\xc3s')
    const { output } = await faultedLoop(wire, [first, { ...second, body: Buffer.from(text, 'latin1') }])
    expect(output.output).toMatch(/^Let me look\.\nIt is 21 (degr\uFFFD+s|degrees)\.$/)
  })

  test('garbage once, then a right answer: tried again where that may help', async () => {
    const looped = await faultedLoop(
      wire,
      answersWith(wire, 'first request', [bodyAnswer(wire, dressed(wire, '{"a'))]),
    )
    expectWhole(looped)
    expect(looped.requests).toBe(3)
  })
})

describe('a line without an end', () => {
  const mebibyte = 1024 * 1024
  const beginnings: [string, string, string][] = [
    ['openai:m', 'an event', 'data: '],
    ['openai:m', 'an event in JSON', 'data: {"id":"'],
    ['anthropic:claude-sonnet-5', 'a comment', ': '],
    ['google:gemini-2.5-flash', 'a name', 'event: '],
    ['ollama:m', 'a line', '{"model":"'],
    ['ollama:m', 'a document', '{\n"model":"'],
  ]

  test.each(beginnings)(
    '%s: %s is cut off at the limit, and the connection closed',
    async (model, _, beginning) => {
      let sent = 0
      const piece = Buffer.alloc(64 * 1024, 'x')
      const server = await rawServer(({ socket }) => {
        socket.write(`${untilClose('text/event-stream')}${beginning}`)
        const flood = (): void => {
          if (socket.destroyed) return
          sent += piece.length
          socket.write(piece, () => setImmediate(flood))
        }
        flood()
      })
      const connection = { limits: { maxEventSize: 16 * mebibyte } }
      const agent = new Agent(model, { baseUrl: server.url, apiKey: 'key', connection })
      await expect(agent.send('Hi')).rejects.toMatchObject({
        name: 'ModelError',
        code: 'event_too_large',
        retryable: false,
      })
      await server.closed()
      expect(server.requests).toHaveLength(1)
      // What the client ever had in memory cannot be more than what was sent.
      expect(sent).toBeGreaterThan(16 * mebibyte)
      expect(sent).toBeLessThan(32 * mebibyte)
    },
  )
})
