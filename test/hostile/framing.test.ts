import { Agent as Dispatcher } from 'undici'
import { describe, expect, test } from 'vitest'
import { openai } from './chatWire.ts'
import {
  between,
  expectTheLoop,
  framings,
  resetMidText,
  turn,
  whole,
  withoutBlankLine,
  words,
} from './framings.ts'
import {
  callsRun,
  farewell,
  lastTurn,
  loop,
  modelError,
  once,
  run,
  sseWires,
  time,
  weather,
  wires,
} from './hostileRun.ts'
import { inBytes, type Piece } from './hostileServer.ts'
import { ollama } from './otherWires.ts'
import { answer, halves } from './wire.ts'

// The same answers in every framing that servers and proxies make of them: rows 34 to 44 and 46 of the list of wire
// failures and the framing rows of its matrix. Cuts have a file of their own, errors too. Of row 35 only comments in
// data's clothing are skipped: other data that is not JSON is an error, because half an answer may be lost with it.

describe.each(sseWires)('$model', (wire) => {
  const events = wire.events(turn)

  test.each(framings)('%s: the answer is the same', async (_, frame) => {
    await expectTheLoop(wire, { body: frame(events) })
  })

  test('after_the_end: what follows the last event is not read', async () => {
    // Gemini and Chat Completions are over at [DONE] or with the body.
    const body = [...events, 'data: [DONE]\n\n', 'data: [DONE]\n\n']
    await expectTheLoop(wire, { body })
  })

  test.each(['application/json', 'text/plain; charset=utf-8', 'application/octet-stream'])(
    'content_type: events that are said to be %s are events',
    async (type) => {
      await expectTheLoop(wire, { body: events, headers: { 'content-type': type } })
    },
  )

  test('no_content_type: events are known by their looks', async () => {
    await expectTheLoop(wire, { body: events, headers: {} })
  })
})

describe.each(wires)('$model', (wire) => {
  const events = wire.events(turn)

  test('no_blank_line: the last event counts although its blank line is missing', () =>
    withoutBlankLine(wire))

  test('until_close: a body that only the end of the connection ends is whole', async () => {
    await expectTheLoop(wire, { body: events, untilClose: true })
  })

  test('until_close_cut: such a body is cut if its last event never came', async () => {
    const body = events.slice(0, -wire.endMarks)
    const outcome = await run(wire, [answer(wire, body, 'clean', { untilClose: true })])

    expect(modelError(outcome)).toMatchObject({ code: 'truncated', retryable: true })
    expect(outcome.ran).toEqual([])
    expect(outcome.result.output).toBe(words)
  })

  test('reset: a connection that is reset mid-text gives a typed error with its cause, and the text so far', () =>
    resetMidText(wire))

  test('reset_first: a connection that breaks before anything came is tried again', async () => {
    const options = { retry: { maxRetries: 1, initialDelayMs: 1 } }
    const outcome = await run(wire, [answer(wire, [], 'destroy'), lastTurn(wire)], options)

    expect(outcome.bodies).toHaveLength(2)
    expect(outcome.result.output).toBe(farewell)
  })

  test('bad_json: an event that is not JSON is a typed error, and the text before it is kept', async () => {
    const [noise] = wire === ollama ? ['{"message":{"content":\n'] : ['data: {"oops\n\n']
    const body = [...wire.events({ text: words }).slice(0, -wire.endMarks), noise ?? '', ...events]
    const outcome = await once(wire, body)

    expect(modelError(outcome)).toMatchObject({ code: 'invalid_json', retryable: true })
    expect(outcome.result.output).toBe(words)
    expect(outcome.ran).toEqual([])
  })

  test.each(['', '\n\n', ': nothing\n\n'])('empty_body: a body of %j is a truncated answer', async (body) => {
    const outcome = await once(wire, [body])

    expect(modelError(outcome)).toMatchObject({ code: 'truncated', retryable: true })
    expect(outcome.result.output).toBe('')
  })

  test('html_page: a page instead of an answer says to check the address', async () => {
    const page = { headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>Sign in</title>' }
    const outcome = await run(wire, [page])

    expect(modelError(outcome)).toMatchObject({ code: 'html_page', retryable: false })
    expect(modelError(outcome).message).toContain('baseUrl')
  })
})

// The transport is the same for all wires, and its timers tick by the second.
test("long_silence: the transport's own timers never end an answer", async () => {
  const dispatcher = new Dispatcher({ headersTimeout: 40, bodyTimeout: 40 })
  const first = answer(openai, [openai.events(turn).join('')], 'clean', { silenceMs: 1700 })
  const outcome = await run(openai, [first, lastTurn(openai)], { connection: { dispatcher } })
  await dispatcher.close()

  expect(outcome.error).toBeUndefined()
  expect(callsRun(outcome)).toEqual([weather('Tromsø 🏔'), time])
})

describe('ollama:m', () => {
  const events = ollama.events(turn)
  const lines: [string, (events: string[]) => Piece[]][] = [
    ['crlf', whole((text) => text.replaceAll('\n', '\r\n'))],
    ['crlf_bytes', (each) => inBytes(each.join('').replaceAll('\n', '\r\n'))],
    ['utf8_torn', (each) => inBytes(each.join(''))],
    ['json_torn', (each) => each.flatMap(halves)],
    ['blank_lines', between('\n')],
    ['byte_order_mark', whole((text) => `\uFEFF${text}`)],
    ['as_events', (each) => each.map((line) => `data: ${line}\n`)],
  ]

  test.each(lines)('%s: the answer is the same', async (_, frame) => {
    await expectTheLoop(ollama, { body: frame(events) })
  })

  test.each(['application/json', 'text/plain', 'text/event-stream'])(
    'content_type: lines that are said to be %s are lines',
    async (type) => {
      await expectTheLoop(ollama, { body: events, headers: { 'content-type': type } })
    },
  )

  test('one_line: an answer that was not streamed is one line', async () => {
    const message = { role: 'assistant', content: farewell }
    const outcome = await loop(ollama, [
      JSON.stringify({ model: 'm', message, done: true, done_reason: 'stop' }),
    ])

    expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
  })
})
