import { describe, expect, test } from 'vitest'
import { defineProvider, geminiProfile, google as googleProtocol } from '../../providers/index.ts'
import { registerProvider } from '../../src/index.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { callChunk, callPiece, chatEvents, chunk, openai } from './chatWire.ts'
import {
  callsRun,
  farewell,
  lastTurn,
  loop,
  modelError,
  once,
  run,
  time,
  weather,
  wires,
} from './hostileRun.ts'
import { functionCall, google, googleChunk } from './otherWires.ts'
import { answer, objects, sse } from './wire.ts'

// Gemini's own wire: rows 76 to 86 of the list of wire failures. Running totals (51) are with the counts.

const oslo = { name: 'get_weather', args: { city: 'Oslo' } }
const rome = { name: 'get_weather', args: { city: 'Rome' } }
const signature = 'CtwBAVSoXO7+/=='
const signed = (part: JsonObject, thoughtSignature = signature): JsonObject => ({ ...part, thoughtSignature })

const modelParts = (body: JsonObject | undefined): JsonObject[] =>
  objects(objects(body?.contents).find(({ role }) => role === 'model')?.parts)

const gemini3 = { model: 'google:gemini-3-flash-preview' }

describe('thought signatures', () => {
  test('signature: goes back on the exact part it came on, byte for byte', async () => {
    const events = sse(
      googleChunk([{ text: 'Where is it?', thought: true }]),
      googleChunk([{ text: 'Let me look.' }]),
      googleChunk([signed(functionCall(oslo))]),
      googleChunk([], 'STOP'),
    )
    const outcome = await loop(google, events)

    expect(callsRun(outcome)).toEqual([weather('Oslo')])
    expect(modelParts(outcome.bodies[1])).toEqual([{ text: 'Let me look.' }, signed(functionCall(oslo))])
    expect(outcome.result.metadata.thinking).toBe('Where is it?')

    const history = JSON.parse(JSON.stringify(outcome.result.messages))
    const later = await run(google, [lastTurn(google)], { history, prompt: 'And Rome?' })
    expect(modelParts(later.bodies[0])).toEqual([{ text: 'Let me look.' }, signed(functionCall(oslo))])
  })

  test('first_signed: of parallel calls only the first is signed; all stay in one content, in order', async () => {
    const parts = [
      signed(functionCall(oslo)),
      functionCall(rome),
      functionCall({ name: 'get_time', args: {} }),
    ]
    const outcome = await loop(
      google,
      sse(...parts.map((part) => googleChunk([part])), googleChunk([], 'STOP')),
    )

    expect(callsRun(outcome)).toEqual([weather('Oslo'), weather('Rome'), time])
    expect(modelParts(outcome.bodies[1])).toEqual(parts)
    const answers = objects(objects(outcome.bodies[1]?.contents).at(-1)?.parts)
    expect(answers.map(({ functionResponse }) => functionResponse)).toMatchObject([
      { name: 'get_weather', response: { city: 'Oslo' } },
      { name: 'get_weather', response: { city: 'Rome' } },
      { name: 'get_time', response: { result: '12:00' } },
    ])
  })

  test('signed_text: a signature on an empty last part goes back with it', async () => {
    const events = sse(googleChunk([{ text: farewell }]), googleChunk([signed({ text: '' })], 'STOP'))
    const first = await once(google, events)
    const later = await run(google, [lastTurn(google)], { history: first.result.messages, prompt: 'And?' })

    expect(modelParts(later.bodies[0])).toEqual([{ text: farewell }, signed({ text: '' })])
  })

  test('unsigned: a model that demands signatures gets a substitute for a call that has none', async () => {
    const outcome = await loop(google, sse(googleChunk([functionCall(oslo)], 'STOP')), gemini3)

    const [call] = modelParts(outcome.bodies[1])
    expect(call?.thoughtSignature).toBe('skip_thought_signature_validator')
  })

  test('other_host: a signature is dropped where another host serves the model', async () => {
    const vertex = defineProvider({
      name: 'vertex',
      protocol: googleProtocol,
      baseUrl: 'http://localhost',
      defaultModel: 'gemini-2.5-flash',
      profile: geminiProfile,
    })
    registerProvider('vertex', vertex)
    const first = await loop(google, sse(googleChunk([signed(functionCall(oslo))], 'STOP')))
    const options = { history: first.result.messages, prompt: 'And?', model: 'vertex:gemini-2.5-flash' }
    const later = await run(google, [lastTurn(google)], options)

    expect(modelParts(later.bodies[0])).toEqual([functionCall(oslo)])
  })

  test.each(wires.filter((wire) => wire !== google))(
    'foreign_signature: $model is never sent it',
    async (wire) => {
      const first = await loop(google, sse(googleChunk([signed(functionCall(oslo))], 'STOP')))
      const later = await run(wire, [lastTurn(wire)], { history: first.result.messages, prompt: 'And?' })

      expect(later.result.output).toBe(farewell)
      expect(JSON.stringify(later.bodies[0])).not.toContain(signature.slice(0, 8))
    },
  )

  test('compat: through the compatible endpoint it goes back as extra_content of its call', async () => {
    const extra_content = { google: { thought_signature: signature } }
    const piece = { index: 0, id: 'call_1', name: 'get_weather', args: '{"city":"Oslo"}' }
    const signedChunk = chunk({ tool_calls: [{ ...callPiece(piece), extra_content }] })
    const second = callChunk({ index: 1, id: 'call_2', name: 'get_time', args: '{}' })
    const outcome = await loop(openai, chatEvents([signedChunk, second], 'stop'))

    expect(callsRun(outcome)).toEqual([weather('Oslo'), time])
    const calls = objects(
      objects(outcome.bodies[1]?.messages).find(({ tool_calls }) => tool_calls)?.tool_calls,
    )
    expect(calls.map((call) => call.extra_content)).toEqual([extra_content, undefined])
  })
})

describe('call ids', () => {
  test('echo: Gemini 3 gets its own ids back, on calls and responses', async () => {
    const parts = [functionCall({ ...oslo, id: 'a' }), functionCall({ ...rome, id: 'b' })]
    const outcome = await loop(google, sse(googleChunk(parts, 'STOP')), gemini3)

    expect(google.sentCalls(outcome.bodies[1] ?? {}).map(({ id }) => id)).toEqual(['a', 'b'])
    expect(google.sentResults(outcome.bodies[1] ?? {}).map(({ id }) => id)).toEqual(['a', 'b'])
  })

  test('no_echo: Gemini 2 gets no ids, not even its own', async () => {
    const parts = [functionCall({ ...oslo, id: 'a' }), functionCall(rome)]
    const outcome = await loop(google, sse(googleChunk(parts, 'STOP')))

    expect(google.sentCalls(outcome.bodies[1] ?? {}).map(({ id }) => id)).toEqual(['', ''])
    expect(google.sentResults(outcome.bodies[1] ?? {}).map(({ id }) => id)).toEqual(['', ''])
  })

  test.each([
    ['no_id', undefined],
    ['empty_id', ''],
    ['dup_id', 'same'],
  ])('%s: Gemini 3 gets ids that distinguish the calls', async (_, id) => {
    const withId = (call: JsonObject) => functionCall({ ...call, ...(id !== undefined && { id }) })
    const outcome = await loop(google, sse(googleChunk([withId(oslo), withId(rome)], 'STOP')), gemini3)

    expect(callsRun(outcome)).toEqual([weather('Oslo'), weather('Rome')])
    const ids = google.sentCalls(outcome.bodies[1] ?? {}).map((call) => call.id)
    expect(new Set(ids).size).toBe(2)
    expect(ids).not.toContain('')
  })

  test('same_call_twice: two equal calls without ids are two calls', async () => {
    const outcome = await loop(
      google,
      sse(googleChunk([functionCall(oslo)]), googleChunk([functionCall(oslo)], 'STOP')),
    )

    expect(callsRun(outcome)).toEqual([weather('Oslo'), weather('Oslo')])
  })
})

describe('finish reasons', () => {
  test('own_chunks: parallel calls in chunks of their own all run', async () => {
    const calls = [oslo, rome, oslo].map((call) => googleChunk([functionCall(call)]))
    const outcome = await loop(google, sse(...calls, googleChunk([], 'STOP')))

    expect(callsRun(outcome)).toEqual([weather('Oslo'), weather('Rome'), weather('Oslo')])
  })

  const malformed = answer(
    google,
    sse({ candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL', index: 0 }] }),
  )

  test('malformed_call: a call the model garbled is tried again', async () => {
    const options = { retry: { maxRetries: 1, initialDelayMs: 1 } }
    const outcome = await run(google, [malformed, lastTurn(google)], options)

    expect(outcome.bodies).toHaveLength(2)
    expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
  })

  test('malformed_call: without retries it is an outcome of its own, never a stop', async () => {
    const outcome = await run(google, [malformed])

    expect(outcome.result).toMatchObject({
      output: '',
      finishReason: 'error',
      rawFinishReason: 'MALFORMED_FUNCTION_CALL',
    })
  })

  test('stop_empty: STOP with empty parts is an empty answer', async () => {
    const outcome = await once(google, sse(googleChunk([], 'STOP')))

    expect(outcome.result).toMatchObject({ output: '', finishReason: 'stop', rawFinishReason: 'STOP' })
  })

  test('stop_first: STOP on an empty first chunk ends nothing', async () => {
    const events = sse(
      googleChunk([], 'STOP'),
      googleChunk([{ text: 'Let me look.' }]),
      googleChunk([functionCall(oslo)], 'STOP'),
    )
    const outcome = await loop(google, events)

    expect(callsRun(outcome)).toEqual([weather('Oslo')])
    expect(outcome.result.output).toBe(`Let me look.\n${farewell}`)
  })

  test('no_content: a finish reason without content ends the answer', async () => {
    const events = sse(googleChunk([{ text: farewell }]), { candidates: [{ finishReason: 'STOP' }] })
    const outcome = await once(google, events)

    expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
  })

  test('no_finish: an answer without a finish reason is cut', async () => {
    const outcome = await once(
      google,
      sse(googleChunk([{ text: farewell }]), googleChunk([functionCall(oslo)])),
    )

    expect(modelError(outcome)).toMatchObject({ code: 'truncated', retryable: true })
    expect(outcome.result.output).toBe(farewell)
    expect(outcome.ran).toEqual([])
  })

  test.each([
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'contentFilter'],
  ])('%s: is not hidden by a call', async (word, reason) => {
    const first = sse(googleChunk([functionCall(oslo)]), googleChunk([], word))
    const limited = await once(google, first, { maxSteps: 1 })
    expect(limited.result.rawFinishReason).toBe(word)

    const text = await once(google, sse(googleChunk([{ text: 'So far' }]), googleChunk([], word)))
    expect(text.result).toMatchObject({ output: 'So far', finishReason: reason, rawFinishReason: word })
  })

  test('blocked: a prompt that was blocked is filtered content, with the reason', async () => {
    const outcome = await once(google, sse({ promptFeedback: { blockReason: 'SAFETY' } }))

    expect(outcome.error).toBeUndefined()
    expect(outcome.result).toMatchObject({
      finishReason: 'contentFilter',
      metadata: { blockReason: 'SAFETY' },
    })
  })
})

describe('what is no answer', () => {
  const error = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }

  test.each([
    ['an object', JSON.stringify(error, undefined, 2)],
    ['a list', JSON.stringify([error], undefined, 2)],
    ['one line', JSON.stringify(error)],
  ])('unframed_error: an error written into the stream as %s ends it', async (_, document) => {
    const events = [...sse(googleChunk([{ text: 'So far' }])), `${document}\n`]
    const finished = [...sse(googleChunk([{ text: 'So far' }], 'STOP')), `${document}\n`]
    for (const body of [events, finished]) {
      const outcome = await once(google, body)
      expect(modelError(outcome)).toMatchObject({ status: 503, code: 'UNAVAILABLE', retryable: true })
      expect(outcome.result.output).toBe('So far')
    }
  })

  test.each([
    ['an object of something else', '{"ok":true}'],
    ['an empty object', '{}'],
    ['an empty list', '[]'],
    ['a list of something else', '[{"a":1},{"b":2}]'],
    ['nothing', ''],
  ])('no_answer: %s is an error, not an empty answer', async (_, body) => {
    const asJson = { contentType: 'application/json' }
    for (const framed of [[body], sse(body)]) {
      const outcome = await run({ ...google, ...asJson }, [answer({ ...google, ...asJson }, framed)])
      expect(modelError(outcome)).toMatchObject({ code: 'truncated', retryable: true })
    }
  })
})
