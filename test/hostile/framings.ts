import { expect } from 'vitest'
import { callsRun, farewell, lastTurn, modelError, run, time, weather } from './hostileRun.ts'
import { type Answer, inBytes, type Piece } from './hostileServer.ts'
import { answer, halves, type Wire } from './wire.ts'

// One answer in every framing that servers and proxies make of it.

export const words = 'Grüße! 🌧 Regen in 東京?'
export const turn = {
  text: words,
  calls: [
    { id: 'call_1', name: 'get_weather', args: '{"city":"Tromsø 🏔"}' },
    { id: 'call_2', name: 'get_time', args: '{}' },
  ],
}

/** The answer is read as if it had come in the plainest framing. */
export const expectTheLoop = async (wire: Wire, first: Partial<Answer>): Promise<void> => {
  const outcome = await run(wire, [answer(wire, [], 'clean', first), lastTurn(wire)])

  expect(outcome.error).toBeUndefined()
  expect(callsRun(outcome)).toEqual([weather('Tromsø 🏔'), time])
  expect(outcome.result).toMatchObject({ output: `${words}\n${farewell}`, finishReason: 'stop' })
}

/** An event in front of every event of the answer. */
export const between =
  (noise: string) =>
  (events: string[]): string[] =>
    events.flatMap((event) => [noise, event])

export const whole = (change: (text: string) => string) => (events: string[]) => [change(events.join(''))]

/** A JSON document over several data lines. */
const pretty = (event: string): string =>
  event.replace(/data: (\{.*\})/, (_, json: string) =>
    JSON.stringify(JSON.parse(json), null, 1)
      .split('\n')
      .map((line) => `data: ${line}`)
      .join('\n'),
  )

/** Every line ends in CRLF, and every read between the two. */
const torn = (text: string): string[] => text.replaceAll('\n', '\r\n').split(/(?=\n)/)

export const framings: [string, (events: string[]) => Piece[]][] = [
  ['comments', between(': OPENROUTER PROCESSING\n\n')],
  ['comment_as_data', between('data: : OPENROUTER PROCESSING\n\n')],
  ['lone_colon', between(':\n\n')],
  ['comment_after_id', between('id: 7\n: still there\n\n')],
  ['keepalive_event', between('event: keepalive\n\n')],
  ['empty_data', between('data:\n\ndata: \n\n')],
  ['retry_field', between('retry: 3000\n\n')],
  ['unknown_field', between('whatever: 1\n\n')],
  ['unknown_event', between('event: x-gateway\ndata: {"type":"x-gateway","took":3}\n\n')],
  ['no_space', whole((text) => text.replaceAll('data: ', 'data:'))],
  ['crlf', whole((text) => text.replaceAll('\n', '\r\n'))],
  ['cr_only', whole((text) => text.replaceAll('\n', '\r'))],
  ['crlf_torn', (events) => torn(events.join(''))],
  ['crlf_bytes', (events) => inBytes(events.join('').replaceAll('\n', '\r\n'))],
  ['utf8_torn', (events) => inBytes(events.join(''))],
  ['json_torn', (events) => events.flatMap(halves)],
  ['byte_order_mark', whole((text) => `\uFEFF${text}`)],
  ['blank_lines_first', whole((text) => `\n\n\r\n${text}`)],
  ['data_lines', (events) => events.map(pretty)],
  ['data_lines_torn', (events) => torn(events.map(pretty).join(''))],
]

/** The last event counts although its blank line is missing. */
export const withoutBlankLine = async (wire: Wire): Promise<void> => {
  const events = wire.events(turn)
  for (let missing = 0; missing < wire.endMarks; missing += 1) {
    const body = events.slice(0, events.length - missing)
    await expectTheLoop(wire, { body, ending: 'noBlankLine' })
    await expectTheLoop(wire, { body, ending: 'noBlankLine', untilClose: true })
  }
}

/** A typed error with its cause, and the text so far. */
export const resetMidText = async (wire: Wire): Promise<void> => {
  const [first = '', ...rest] = wire.events({ text: 'abcdef' })
  const upToText = [first, ...rest].slice(
    0,
    [first, ...rest].findIndex((event) => event.includes('"abc"')) + 1,
  )
  const outcome = await run(wire, [answer(wire, upToText, 'reset')])

  const error = modelError(outcome)
  expect(error).toMatchObject({ retryable: true, status: undefined })
  expect(error.code).toMatch(/^(ECONNRESET|UND_ERR_SOCKET)$/)
  expect(error.cause).toMatchObject({ code: error.code })
  expect(error.message).toContain('127.0.0.1')
  expect(outcome.result.output).toBe('abc')
  expect(outcome.result.messages.at(-1)).toMatchObject({
    role: 'model',
    metadata: { interrupted: 'error' },
  })
}
