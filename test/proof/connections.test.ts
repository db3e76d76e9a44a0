import { describe, expect, test } from 'vitest'
import { Agent, tool } from '../../src/index.ts'
import { wires } from '../hostile/hostileRun.ts'
import { deadPort, portThatDies } from '../ports.ts'
import {
  answersWith,
  bodyAnswer,
  expectFailed,
  expectWhole,
  faultedLoop,
  loopAnswers,
  steps,
  withFaultServer,
  words,
} from './faultedLoop.ts'
import { type Ending, faultServer, type ServedAnswer } from './faultServer.ts'

// A connection that breaks or falls silent at any step of a tool loop, on every protocol: while nothing was shown it
// is tried again, afterwards the run fails with what came, or starts over where the user wants that.

withFaultServer()

const headless = (ending: Ending): ServedAnswer => ({ isHeadless: true, body: Buffer.alloc(0), ending })

const broken = /^(ECONNRESET|UND_ERR_SOCKET)$/

describe.each(wires)('$model', (wire) => {
  const events = wire.events({ text: words })
  const inEvent = (events[0] ?? '').slice(0, 20)
  /** The text has arrived, but not the end of the answer. */
  const shown = events.slice(0, events.findIndex((event) => event.includes(words.slice(6))) + 1).join('')

  describe.each(steps)('at the %s', (step) => {
    const before = step === 'first request' ? 0 : 1
    const unseen: [string, ServedAnswer][] = [
      ['reset before the head', headless('reset')],
      ['closed before the head', headless('destroy')],
      ['reset between head and body', bodyAnswer(wire, '', { ending: 'reset' })],
      ['closed between head and body', bodyAnswer(wire, '', { ending: 'destroy' })],
      ['ended without a body', bodyAnswer(wire, '')],
      ['reset in an event', bodyAnswer(wire, inEvent, { ending: 'reset' })],
      ['shorter than announced', bodyAnswer(wire, inEvent, { ending: 'destroy', framing: 'length' })],
    ]

    test.each(unseen)('%s: tried again, and the run comes to its right end', async (_, fault) => {
      const looped = await faultedLoop(wire, answersWith(wire, step, [fault, fault]))
      expectWhole(looped)
      expect(looped.requests).toBe(4)
    })

    test.each(unseen)('%s every time: a typed error after exactly three tries', async (_, fault) => {
      const looped = await faultedLoop(wire, answersWith(wire, step, [fault, fault, fault]))
      expectFailed(looped, step, { name: 'ModelError', retryable: true })
      expect(looped.requests).toBe(before + 3)
    })

    test.each(['reset', 'destroy'] as const)(
      '%s after text was shown: kept, and not asked for again',
      async (ending) => {
        const looped = await faultedLoop(wire, answersWith(wire, step, [bodyAnswer(wire, shown, { ending })]))
        expectFailed(looped, step, { name: 'ModelError', retryable: true })
        expect(looped.output).toMatchObject({ error: { code: expect.stringMatching(broken) } })
        expect(looped.output.output.endsWith(words)).toBe(true)
        expect(looped.requests).toBe(before + 1)
      },
    )

    test('broken after text was shown, with midStream: discarded, and sent again', async () => {
      const fault = bodyAnswer(wire, shown, { ending: 'destroy' })
      const looped = await faultedLoop(wire, answersWith(wire, step, [fault]), { retry: { midStream: true } })
      expectWhole(looped)
      expect(looped.retries).toMatchObject([{ restart: true }])
      expect(looped.requests).toBe(3)
    })

    const silences: [string, ServedAnswer, string][] = [
      ['before the head', headless('stall'), 'firstChunkMs'],
      ['after the head', bodyAnswer(wire, '', { ending: 'stall' }), 'firstChunkMs'],
      ['in the first event', bodyAnswer(wire, inEvent, { ending: 'stall' }), 'firstChunkMs'],
    ]

    test.each(silences)('silent %s: timed out, tried again, whole', async (_, fault, timeout) => {
      const looped = await faultedLoop(wire, answersWith(wire, step, [fault]))
      expectWhole(looped)
      expect(looped.requests).toBe(3)
      expect(looped.retries).toMatchObject([
        { error: { name: 'TimeoutError', message: expect.stringContaining(timeout) } },
      ])
    })

    test('silent after text was shown: a time-out with the text', async () => {
      const fault = bodyAnswer(wire, shown, { ending: 'stall' })
      const looped = await faultedLoop(wire, answersWith(wire, step, [fault]))
      expectFailed(looped, step, { name: 'TimeoutError', retryable: true })
      expect(looped.output.output.endsWith(words)).toBe(true)
      expect(looped.requests).toBe(before + 1)
    })

    test('out of time as a whole: never tried again', async () => {
      for (const [, fault] of silences) {
        const looped = await faultedLoop(wire, answersWith(wire, step, [fault]), {
          timeouts: { totalMs: 200_000 },
        })
        expectFailed(looped, step, { name: 'TimeoutError', code: 'total_timeout', retryable: false })
        expect(looped.requests).toBe(before + 1)
      }
    })
  })

  test('refused at the first request: an error that names the host, after exactly the tries allowed', async () => {
    const baseUrl = `http://127.0.0.1:${await deadPort()}`
    const agent = new Agent(wire.model, {
      baseUrl,
      apiKey: 'key',
      retry: { maxRetries: 2, initialDelayMs: 1 },
    })
    const actor = agent.actor({ prompt: 'Hi' })
    let retries = 0
    actor.on('retry', () => {
      retries += 1
    })
    const over = new Promise((resolve) => actor.subscribe({ complete: () => resolve(undefined) }))
    actor.start()
    await over
    expect(actor.getSnapshot().output).toMatchObject({
      status: 'failed',
      error: { name: 'ModelError', code: 'ECONNREFUSED', retryable: true },
    })
    expect(retries).toBe(2)
  })

  test('refused after the tools, because the server is gone: what the tools did is kept', async () => {
    const server = await faultServer(await portThatDies())
    const [answer] = loopAnswers(wire)
    const { url } = server.script([{ ...answer, framing: 'close' }])
    let count = 0
    const execute = async () => {
      count += 1
      if (count === 1) await server.close()
      return 'done'
    }
    const tools = ['get_weather', 'get_time'].map((name) => tool({ name, description: name, execute }))
    const agent = new Agent(wire.model, {
      baseUrl: url,
      apiKey: 'key',
      tools,
      retry: { maxRetries: 1, initialDelayMs: 1 },
    })
    await expect(agent.send('Hi')).rejects.toMatchObject({
      name: 'ModelError',
      code: 'ECONNREFUSED',
      partial: { output: words, finishReason: 'error' },
    })
    expect(count).toBe(2)
  })
})
