import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cohere } from '../../../providers/cohere/index.ts'
import type { WireEvent } from '../../../providers/wire/protocol.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import type { Delta } from '../../../src/model/delta.ts'
import { target } from './target.ts'

const event = (type: string, message: JsonObject = {}, rest: JsonObject = {}): WireEvent => ({
  event: type,
  data: JSON.stringify({ type, delta: { message }, ...rest }),
})
const start = event('message-start', { role: 'assistant', content: [] }, { id: 'resp-1' })
const text = (piece: string) => event('content-delta', { content: { text: piece } }, { index: 0 })
const thinking = (piece: string) => event('content-delta', { content: { thinking: piece } }, { index: 0 })
const plan = (piece: string) => event('tool-plan-delta', { tool_plan: piece })
const callStart = (index: number, id: string, name: string, args = '') =>
  event(
    'tool-call-start',
    { tool_calls: { id, type: 'function', function: { name, arguments: args } } },
    { index },
  )
const callPiece = (index: number, args: string) =>
  event('tool-call-delta', { tool_calls: { function: { arguments: args } } }, { index })
const callEnd = (index: number) => event('tool-call-end', {}, { index })
const end = (delta: JsonObject): WireEvent => ({ data: JSON.stringify({ type: 'message-end', delta }) })
const done: WireEvent = { data: '[DONE]' }

const decode = (...events: WireEvent[]): Delta[] => {
  const decoder = cohere.decoder(target)
  return [...events.flatMap((each) => decoder.push(each)), ...decoder.end()]
}
const callsIn = (deltas: Delta[]) =>
  deltas.flatMap((delta) => (delta.type === 'toolCall' ? [delta.call] : []))
const finishOf = (deltas: Delta[]) => deltas.at(-1)

describe('a complete answer', () => {
  it('gives the id, thinking and text as they come, then the counts and the finish', () => {
    const deltas = decode(
      start,
      event('content-start', { content: { type: 'thinking', thinking: '' } }, { index: 0 }),
      thinking('Hm'),
      event('content-end', {}, { index: 0 }),
      event('content-start', { content: { type: 'text', text: 'A' } }, { index: 1 }),
      text('h!'),
      end({
        finish_reason: 'COMPLETE',
        usage: {
          billed_units: { input_tokens: 8, output_tokens: 50 },
          tokens: { input_tokens: 1394, output_tokens: 54, reasoning_tokens: 20 },
          cached_tokens: 1360,
        },
      }),
      done,
    )
    expect(deltas).toEqual([
      { type: 'response', id: 'resp-1' },
      { type: 'thinking', text: 'Hm' },
      { type: 'text', text: 'A' },
      { type: 'text', text: 'h!' },
      {
        type: 'usage',
        usage: {
          inputTokens: 1394,
          outputTokens: 54,
          totalTokens: 1448,
          cachedInputTokens: 1360,
          reasoningTokens: 20,
        },
      },
      { type: 'finish', reason: 'stop', raw: 'COMPLETE' },
    ])
  })

  it('counts the billed units where there is nothing else', () => {
    const usage = { billed_units: { input_tokens: 8, output_tokens: 2 } }
    expect(decode(end({ finish_reason: 'COMPLETE', usage }))[0]).toEqual({
      type: 'usage',
      usage: { inputTokens: 8, outputTokens: 2, totalTokens: 10 },
    })
  })

  it.each([
    ['STOP_SEQUENCE', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['TOOL_CALL', 'toolCalls'],
    ['ERROR_TOXIC', 'contentFilter'],
    ['SOMETHING_NEW', 'unspecified'],
  ])('keeps the word %s and calls it %s', (raw, reason) => {
    expect(decode(end({ finish_reason: raw }))).toEqual([{ type: 'finish', reason, raw }])
  })

  it('makes up no word when there is none', () => {
    expect(decode(end({}))).toEqual([{ type: 'finish', reason: 'stop' }])
  })

  it('goes by the data where the event has no name, and by the name where the data has no type', () => {
    const named = { event: 'content-delta', data: '{"delta":{"message":{"content":{"text":"b"}}}}' }
    const unnamed = { data: text('a').data }
    expect(decode(unnamed, named, end({})).slice(0, 2)).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ])
  })

  it.each(['[DONE]', '"[DONE]"'])('is over before %s, which adds nothing', (data) => {
    const decoder = cohere.decoder(target)
    decoder.push(end({ finish_reason: 'COMPLETE' }))
    expect(decoder.push({ data })).toEqual([])
    expect(decoder.push(text('late'))).toEqual([])
    expect(decoder.end()).toEqual([])
  })

  it('ignores debug events, unknown events and empty data', () => {
    const noise = [
      event('debug', {}, { prompt: '<BOS>' }),
      event('mood-start'),
      { data: '' },
      { data: ': hi' },
    ]
    expect(decode(...noise, end({ finish_reason: 'COMPLETE' }))).toHaveLength(1)
  })
})

describe('citations', () => {
  it('are shown as the provider wrote them, each once', () => {
    const citation = { start: 0, end: 5, text: 'Hello', sources: [{ type: 'document', id: 'doc:0' }] }
    const deltas = decode(
      event('citation-start', { citations: citation }, { index: 0 }),
      event('citation-end', {}, { index: 0 }),
      end({ finish_reason: 'COMPLETE' }),
    )
    expect(deltas[0]).toEqual({ type: 'metadata', metadata: { citations: [citation] } })
    expect(deltas).toHaveLength(2)
  })
})

describe('tool calls', () => {
  const round = [
    start,
    plan('I will '),
    plan('look.'),
    callStart(0, 'a_1', 'weather'),
    callPiece(0, '{"city":'),
    callPiece(0, ' "Oslo"}'),
    callEnd(0),
    callStart(1, 'b_2', 'now', 'null'),
    callEnd(1),
  ]

  it('come whole and in order right before the finish, after the plan', () => {
    expect(decode(...round, end({ finish_reason: 'TOOL_CALL' })).slice(-5)).toEqual([
      { type: 'metadata', metadata: { toolPlan: 'I will look.' } },
      {
        type: 'toolCall',
        call: {
          id: 'a_1',
          name: 'weather',
          arguments: { city: 'Oslo' },
          argumentsRaw: '{"city": "Oslo"}',
        },
      },
      { type: 'toolCall', call: { id: 'b_2', name: 'now', arguments: {} } },
      { type: 'opaque', protocol: 'cohere', data: { provider: 'cohere', toolPlan: 'I will look.' } },
      { type: 'finish', reason: 'toolCalls', raw: 'TOOL_CALL' },
    ])
  })

  it('show their progress while they are written', () => {
    expect(decode(...round).filter((delta) => delta.type === 'toolDelta')).toEqual([
      { type: 'toolDelta', index: 0, id: 'a_1', name: 'weather', arguments: '' },
      { type: 'toolDelta', index: 0, id: 'a_1', name: 'weather', arguments: '{"city":' },
      { type: 'toolDelta', index: 0, id: 'a_1', name: 'weather', arguments: ' "Oslo"}' },
      { type: 'toolDelta', index: 1, id: 'b_2', name: 'now', arguments: 'null' },
    ])
  })

  it('never show the plan as text or thinking', () => {
    const kinds = decode(...round, end({ finish_reason: 'TOOL_CALL' })).map((delta) => delta.type)
    expect(kinds).not.toContain('text')
    expect(kinds).not.toContain('thinking')
  })

  it('are what the finish is about even if the word is COMPLETE', () => {
    expect(finishOf(decode(...round, end({ finish_reason: 'COMPLETE' })))).toEqual({
      type: 'finish',
      reason: 'toolCalls',
      raw: 'COMPLETE',
    })
  })

  it('whose arguments are cut are handed over marked as broken', () => {
    const cut = [callStart(0, 'a', 'weather'), callPiece(0, '{"city":"Os')]
    const [call] = callsIn(decode(...cut, end({ finish_reason: 'MAX_TOKENS' })))
    expect(call).toMatchObject({ arguments: {}, argumentsRaw: '{"city":"Os' })
    expect(call?.argumentsError).toMatch(/not valid JSON/)
  })

  it('are read from a list as well', () => {
    const listed = event(
      'tool-call-start',
      { tool_calls: [{ id: 'a', function: { name: 'now', arguments: '{}' } }] },
      { index: 0 },
    )
    expect(callsIn(decode(listed, end({ finish_reason: 'TOOL_CALL' })))).toEqual([
      { id: 'a', name: 'now', arguments: {} },
    ])
  })

  it('after thinking leave a note that the thinking is the provider’s own', () => {
    const deltas = decode(thinking('Hm'), callStart(0, 'a', 'now', '{}'), end({ finish_reason: 'TOOL_CALL' }))
    expect(deltas.at(-2)).toEqual({
      type: 'opaque',
      protocol: 'cohere',
      data: { provider: 'cohere', ownThinking: true },
    })
  })
})

describe('a stream that goes wrong', () => {
  it('is truncated without message-end, even after [DONE], and shows only whole calls and no plan', () => {
    const deltas = decode(
      start,
      plan('Both.'),
      callStart(0, 'a', 'one', '{}'),
      callEnd(0),
      callStart(1, 'b', 'two'),
      callPiece(1, '{"x":'),
      done,
    )
    expect(callsIn(deltas).map((call) => call.name)).toEqual(['one'])
    expect(deltas.map(({ type }) => type)).not.toContain('metadata')
    expect(deltas.at(-1)).toMatchObject({ type: 'error', error: { code: 'truncated', retryable: true } })
  })

  it.each(['ERROR', 'TIMEOUT'])('ends in an error when it finishes with %s', (raw) => {
    const usage = { tokens: { input_tokens: 1, output_tokens: 2 } }
    const deltas = decode(text('Hel'), end({ finish_reason: raw, usage }))
    expect(deltas.map((delta) => delta.type)).toEqual(['text', 'usage', 'error'])
    expect(deltas.at(-1)).toMatchObject({ raw, error: { name: 'ModelError', code: raw, retryable: true } })
  })

  it('says what the provider says about its failure', () => {
    const [delta] = decode(end({ finish_reason: 'ERROR', error: 'the engine is on fire' }))
    expect(delta).toMatchObject({ type: 'error', error: { message: 'the engine is on fire' } })
  })

  it('ends at an error event', () => {
    const [delta] = decode({ event: 'error', data: '{"id":"req-9","message":"internal server error"}' })
    expect(delta).toMatchObject({
      type: 'error',
      error: { message: 'internal server error', requestId: 'req-9' },
    })
  })

  it('ends at data that is not JSON', () => {
    const deltas = decode(text('Hel'), { data: '{"type":"content-' }, text('lo'))
    expect(deltas.map((delta) => delta.type)).toEqual(['text', 'error'])
  })

  it('never finishes when it is cut after any event', () => {
    const events = [start, plan('x'), callStart(0, 'a', 'now', '{}'), callEnd(0), text('y')]
    for (let count = 0; count <= events.length; count++) {
      const deltas = decode(...events.slice(0, count))
      expect(deltas.at(-1)?.type).toBe('error')
      expect(deltas.filter((delta) => delta.type === 'finish')).toEqual([])
    }
  })
})

it('survives any event, and ends exactly once', () => {
  const type = fc.constantFrom(
    'content-delta',
    'tool-call-start',
    'tool-call-delta',
    'citation-start',
    'message-end',
  )
  const key = fc.constantFrom(
    'delta',
    'message',
    'content',
    'text',
    'tool_calls',
    'function',
    'arguments',
    'usage',
  )
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 6 },
      fc.constantFrom(null, true, 0, '', 'x'),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(key, tie('any'), { maxKeys: 4 }),
    ),
  })).any
  const data = fc.oneof(
    value.map((any) => JSON.stringify(any)),
    fc.string(),
  )
  const events = fc.array(fc.record({ event: fc.option(type, { nil: undefined }), data }), { maxLength: 6 })
  fc.assert(
    fc.property(events, (any) => {
      const ends = decode(...any).filter((delta) => delta.type === 'finish' || delta.type === 'error')
      expect(ends).toHaveLength(1)
    }),
  )
})

describe('error bodies', () => {
  it.each([
    [
      { id: 'r1', message: 'model not found' },
      { message: 'model not found', requestId: 'r1' },
    ],
    [{ message: 'too many tokens' }, { message: 'too many tokens' }],
    [{ data: 'invalid request' }, { message: 'invalid request' }],
    [{ detail: 'Not Found' }, { message: 'Not Found' }],
    [{ error: 'overloaded' }, { message: 'overloaded' }],
    [
      { error: { message: 'slow down', type: 'rate_limit', code: 429 } },
      { message: 'slow down', code: '429' },
    ],
    [
      { status_code: 500, message: 'internal' },
      { message: 'internal', code: '500' },
    ],
    [{ type: 'error', message: 'x' }, { message: 'x' }],
  ])('%j is read', (body, error) => {
    expect(cohere.error(body)).toEqual(error)
  })

  it.each([null, 'text', [], {}, { id: 'r', message: { role: 'assistant' }, finish_reason: 'COMPLETE' }])(
    '%j is not an error',
    (body) => {
      expect(cohere.error(body)).toBeUndefined()
    },
  )
})
