/** A request writes only what is new: the text of everything else is kept, and is the text that it would be. */
import { array, assert, constantFrom, option, property, record, string } from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { bodyText } from '../../../providers/wire/written.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import {
  type ChatMessage,
  dataPart,
  type Part,
  textPart,
  userMessage,
} from '../../../src/messages/messages.ts'
import type { ModelRequest, ToolSpec } from '../../../src/model/chatModel.ts'
import { neverChanges } from '../../../src/model/unchanging.ts'
import { everyProtocol, protocolNames } from '../everyProtocol.ts'

const weather: ToolSpec = {
  name: 'get_weather',
  description: 'Weather',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

const wellFormed = (value: string): string => new TextDecoder().decode(new TextEncoder().encode(value))

/** The text of a body that nothing was kept of. */
const wholeText = (body: JsonObject): string =>
  JSON.stringify(body, (_, value) => (typeof value === 'string' ? wellFormed(value) : value))

const text = string({
  unit: constantFrom('a', ' ', '"', '\\', '\n', '\ud800', '\udc00', 'é', '{', '\\ud800'),
})

const turns = array(
  record({
    said: text,
    answer: option(text, { nil: undefined }),
    image: constantFrom(false, false, true),
    thinking: option(text, { nil: undefined }),
    calls: array(record({ city: text, result: text, isError: constantFrom(false, true) }), { maxLength: 3 }),
    isRenamed: constantFrom(false, true),
  }),
  { maxLength: 5 },
)

/** A conversation as a run has it, of turns that are each a prompt, an answer with calls, and their results. */
const conversationOf = (given: readonly Turn[]): ChatMessage[] =>
  given.flatMap(({ said, answer, image, thinking, calls, isRenamed }, turn): ChatMessage[] => {
    const idOf = (index: number) => `call ${turn}.${index}`
    const parts: Part[] = calls.map(({ city }, index) => ({
      type: 'toolCall',
      id: idOf(index),
      name: 'get_weather',
      arguments: { city },
    }))
    const picture = image ? [dataPart('image/png', 'aGk=')] : []
    return [
      { role: 'user', parts: [textPart(said === '' ? 'Go' : said), ...picture] },
      {
        role: 'model',
        parts: [...(answer ? [textPart(answer)] : []), ...parts],
        metadata: {
          ...(thinking && { thinking }),
          ...(isRenamed && {
            providerCallIds: Object.fromEntries(calls.map((_, index) => [idOf(index), `call_${index}`])),
          }),
        },
      },
      {
        role: 'user',
        parts: calls.map(({ result, isError }, index) => ({
          type: 'toolResult',
          id: idOf(index),
          name: 'get_weather',
          result,
          ...(isError && { isError: true }),
          ...(image && { parts: picture }),
        })),
      },
    ]
  })

type Turn = {
  said: string
  answer: string | undefined
  image: boolean
  thinking: string | undefined
  calls: { city: string; result: string; isError: boolean }[]
  isRenamed: boolean
}

describe.each(protocolNames)('a body of %s', (name) => {
  const ask = everyProtocol[name]

  test.each(['off', 'auto'] as const)('is the text of a body that nothing is kept of, cache %s', (cache) => {
    const tools = [{ ...weather }]
    tools.forEach(neverChanges)
    assert(
      property(turns, (given) => {
        const messages = [userMessage('Hi'), ...conversationOf(given)]
        messages.forEach(neverChanges)
        for (let count = 1; count <= messages.length; count += 1) {
          const request: ModelRequest = { messages: messages.slice(0, count), tools, cache }
          expect(bodyText(ask(request))).toBe(wholeText(ask(structuredClone(request))))
        }
      }),
      { numRuns: 40 },
    )
  })

  test('is written once, however many requests repeat it', () => {
    const stringify = vi.spyOn(JSON, 'stringify')
    const messages: ChatMessage[] = [userMessage('Hi')]
    let size = 0
    for (let step = 0; step < 100; step += 1) {
      const id = `call${step}`
      const call: Part = { type: 'toolCall', id, name: 'get_weather', arguments: { city: 'Oslo' } }
      const result: Part = { type: 'toolResult', id, name: 'get_weather', result: 'fine '.repeat(200) }
      messages.push({ role: 'model', parts: [call] }, { role: 'user', parts: [result] })
      messages.forEach(neverChanges)
      size = bodyText(ask({ messages: [...messages], tools: [weather] })).length
    }
    const written = stringify.mock.results.reduce(
      (sum, { value }) => sum + (typeof value === 'string' ? value.length : 0),
      0,
    )
    stringify.mockRestore()
    // Without it, all bodies together: fifty times the last one.
    expect(written).toBeLessThan(5 * size)
  })

  test('has what a caller changed in its own message', () => {
    const message = userMessage('Hi')
    const said = () => bodyText(ask({ messages: [message] }))
    expect(said()).toContain('Hi')
    message.parts[0] = textPart('Bye')
    expect(said()).toContain('Bye')
    expect(said()).not.toContain('Hi')
  })
})

/** A run of many steps, each a call and its result. */
const longRun = (steps: number): ChatMessage[] => {
  const messages = Array.from({ length: steps }, (_, step): ChatMessage[] => {
    const call: Part = { type: 'toolCall', id: `call${step}`, name: 'get_weather', arguments: { step } }
    const result: Part = { type: 'toolResult', id: `call${step}`, name: 'get_weather', result: `${step}` }
    return [
      { role: 'model', parts: [call] },
      { role: 'user', parts: [result] },
    ]
  })
  return [userMessage('Hi'), ...messages.flat()]
}

describe('a long conversation', () => {
  test.each(protocolNames)('is its own text whatever went before: %s', (name) => {
    const ask = everyProtocol[name]
    const run = longRun(30)
    const other = run.with(20, { role: 'user', parts: [...(run[20]?.parts ?? []), textPart('Stop')] })
    const messages = [run.slice(0, 41), run.slice(0, 43), run, other, run.slice(0, 31), other, run]
    ;[...run, ...other].forEach(neverChanges)
    for (const system of ['Be brief.', 'Be kind.', 'Be brief.', '']) {
      for (const each of messages) {
        const said: ChatMessage = { role: 'system', parts: [textPart(system)] }
        const request = { messages: system === '' ? each : [said, ...each] }
        expect(bodyText(ask(request))).toBe(wholeText(ask(structuredClone(request))))
      }
    }
  })

  test('is looked at where it is new', () => {
    const ask = everyProtocol['openai-chat']
    const run = longRun(1000)
    run.forEach(neverChanges)
    const [before, after] = [run.slice(0, -2), run].map((messages) => {
      const said: ChatMessage = { role: 'system', parts: [textPart('Be brief.')] }
      return ask({ messages: [said, ...messages] })
    })
    const has = vi.spyOn(WeakMap.prototype, 'has')
    bodyText(before ?? {})
    const whole = has.mock.calls.length
    bodyText(after ?? {})
    const added = has.mock.calls.length - whole
    has.mockRestore()
    expect(whole).toBeGreaterThan(2000)
    expect(added).toBeLessThan(50)
  })
})
