import { describe, expect, it } from 'vitest'
import { geminiProfile, google } from '../../../providers/google/index.ts'
import type { JsonObject, JsonValue } from '../../../src/messages/json.ts'
import type { Delta } from '../../../src/model/delta.ts'

const target = { provider: 'google', model: 'gemini-3-flash', profile: geminiProfile('gemini-3-flash') }

/** What each chunk gave, and what the end gave. */
const run = (...chunks: (JsonValue | string)[]): Delta[] => {
  const decoder = google.decoder(target)
  const deltas = chunks.flatMap((chunk) =>
    decoder.push({ data: typeof chunk === 'string' ? chunk : JSON.stringify(chunk) }),
  )
  return [...deltas, ...decoder.end()]
}
const parts = (...list: JsonObject[]): JsonObject => ({
  candidates: [{ content: { parts: list, role: 'model' } }],
})
const finish = (finishReason: string, rest: JsonObject = {}): JsonObject => ({
  candidates: [{ finishReason, ...rest }],
})
const only = <T extends Delta['type']>(deltas: Delta[], type: T) =>
  deltas.filter((delta): delta is Extract<Delta, { type: T }> => delta.type === type)
const callsOf = (deltas: Delta[]) => only(deltas, 'toolCall').map((delta) => delta.call)

describe('text and thinking', () => {
  it('come at once and apart', () => {
    const decoder = google.decoder(target)
    expect(
      decoder.push({ data: JSON.stringify(parts({ text: 'hm', thought: true }, { text: 'Hel' })) }),
    ).toEqual([
      { type: 'thinking', text: 'hm' },
      { type: 'text', text: 'Hel' },
    ])
    expect(decoder.push({ data: JSON.stringify(parts({ text: 'lo' })) })).toEqual([
      { type: 'text', text: 'lo' },
    ])
    decoder.push({ data: JSON.stringify(finish('STOP')) })
    expect(decoder.end()).toEqual([{ type: 'finish', reason: 'stop', raw: 'STOP' }])
  })

  it('are taken from the first candidate only', () => {
    const deltas = run({
      candidates: [
        { index: 1, content: { parts: [{ text: 'other' }] } },
        { index: 0, content: { parts: [{ text: 'this' }] }, finishReason: 'STOP' },
      ],
    })
    expect(only(deltas, 'text')).toEqual([{ type: 'text', text: 'this' }])
  })

  it('survive chunks with null, missing or senseless content', () => {
    const deltas = run(
      { candidates: null },
      { candidates: [] },
      { candidates: [{ content: null }] },
      { candidates: [{ content: { parts: [null, 'x', { text: 7 }] } }] },
      '',
      ': keep-alive',
      parts({ text: 'ok' }),
      finish('STOP'),
      '[DONE]',
    )
    expect(deltas).toEqual([
      { type: 'text', text: 'ok' },
      { type: 'finish', reason: 'stop', raw: 'STOP' },
    ])
  })

  it('that follow an early finish reason are still read, and the last reason counts', () => {
    const deltas = run(finish('STOP'), parts({ text: 'late' }), finish('MAX_TOKENS'))
    expect(deltas).toEqual([
      { type: 'text', text: 'late' },
      { type: 'finish', reason: 'length', raw: 'MAX_TOKENS' },
    ])
  })

  it('in a JSON list instead of events are the whole answer', () => {
    const deltas = run([parts({ text: 'a' }), parts({ text: 'b' }), finish('STOP')])
    expect(only(deltas, 'text').map((delta) => delta.text)).toEqual(['a', 'b'])
    expect(deltas.at(-1)).toEqual({ type: 'finish', reason: 'stop', raw: 'STOP' })
  })
})

describe('counts and ids', () => {
  it('are told once for a read, with what earlier chunks said', () => {
    const decoder = google.decoder(target)
    const push = (chunk: JsonObject) => decoder.push({ data: JSON.stringify(chunk) })
    expect(push({ usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 } })).toEqual([])
    expect(push({ usageMetadata: { promptTokenCount: null, totalTokenCount: 5 } })).toEqual([])
    expect(decoder.readDone?.()).toEqual([
      { type: 'usage', usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 } },
    ])
    expect(decoder.readDone?.()).toEqual([])
    push({ usageMetadata: { candidatesTokenCount: 2 } })
    const usage = { inputTokens: 3, totalTokens: 5, outputTokens: 2 }
    expect(decoder.readDone?.()).toEqual([{ type: 'usage', usage }])
  })

  it('keep the last value of each count and the first response id', () => {
    const deltas = run(
      { responseId: 'r1', usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 } },
      {
        responseId: 'r2',
        ...finish('STOP'),
        usageMetadata: {
          promptTokenCount: 5,
          candidatesTokenCount: 2,
          thoughtsTokenCount: 4,
          cachedContentTokenCount: 1,
          totalTokenCount: 11,
          trafficType: 'ON_DEMAND',
        },
      },
    )
    expect(only(deltas, 'response')).toEqual([{ type: 'response', id: 'r1' }])
    expect(only(deltas, 'usage').map((delta) => delta.usage)).toEqual([
      { inputTokens: 5, outputTokens: 6, reasoningTokens: 4, cachedInputTokens: 1, totalTokens: 11 },
    ])
  })

  it('are not made up when a chunk brings none', () => {
    expect(run({ usageMetadata: { trafficType: 'X' }, ...finish('STOP') })).toEqual([
      { type: 'finish', reason: 'stop', raw: 'STOP' },
    ])
  })
})

describe('function calls', () => {
  it('are held until the end, in order, and turn a stop into a tool round', () => {
    const deltas = run(
      parts({ functionCall: { name: 'a', args: { x: 1 }, id: 'i' } }),
      parts({ functionCall: { name: 'b' } }, { text: 'and' }),
      finish('STOP'),
    )
    expect(deltas.slice(-3)).toEqual([
      { type: 'toolCall', call: { id: 'i', name: 'a', arguments: { x: 1 } } },
      { type: 'toolCall', call: { id: '', name: 'b', arguments: {} } },
      { type: 'finish', reason: 'toolCalls', raw: 'STOP' },
    ])
    expect(only(deltas, 'toolDelta').map(({ index, arguments: text }) => [index, text])).toEqual([
      [0, '{"x":1}'],
      [1, ''],
    ])
  })

  it('with equal or empty ids stay separate calls', () => {
    const same = { functionCall: { name: 'a', id: 'same', args: { x: 1 } } }
    const none = { functionCall: { name: 'a', id: '' } }
    expect(callsOf(run(parts(same, same, none, none), finish('STOP')))).toHaveLength(4)
  })

  it('keep the raw reason when the answer was cut after a call', () => {
    expect(run(parts({ functionCall: { name: 'a' } }), finish('MAX_TOKENS')).at(-1)).toEqual({
      type: 'finish',
      reason: 'length',
      raw: 'MAX_TOKENS',
    })
  })

  it('whose arguments are not an object say so', () => {
    expect(callsOf(run(parts({ functionCall: { name: 'a', args: [1] } }), finish('STOP')))).toEqual([
      {
        id: '',
        name: 'a',
        arguments: {},
        argumentsRaw: '[1]',
        argumentsError: expect.stringContaining('object'),
      },
    ])
  })

  it('that are not there although the model tried end the answer with an error reason', () => {
    const deltas = run(finish('MALFORMED_FUNCTION_CALL', { finishMessage: 'print(x' }))
    expect(deltas).toEqual([
      { type: 'metadata', metadata: { finishMessage: 'print(x' } },
      { type: 'finish', reason: 'error', raw: 'MALFORMED_FUNCTION_CALL' },
    ])
  })
})

describe('arguments streamed leaf by leaf', () => {
  const piece = (call: JsonObject) => parts({ functionCall: call })
  const leaf = (jsonPath: string, rest: JsonObject) =>
    piece({ partialArgs: [{ jsonPath, ...rest }], willContinue: true })

  it('become one object', () => {
    const deltas = run(
      piece({ name: 'save', willContinue: true }),
      leaf('$.title', { stringValue: 'Hel', willContinue: true }),
      leaf('$.title', { stringValue: 'lo', willContinue: true }),
      leaf('$.title', { stringValue: '' }),
      leaf('$.rows[0].n', { numberValue: 1 }),
      leaf('$.rows[1].n', { numberValue: 2 }),
      leaf("$['odd key']", { boolValue: false }),
      leaf('$["a.b"][0]', { nullValue: 'NULL_VALUE' }),
      piece({}),
      finish('STOP'),
    )
    expect(callsOf(deltas)).toEqual([
      {
        id: '',
        name: 'save',
        arguments: { title: 'Hello', rows: [{ n: 1 }, { n: 2 }], 'odd key': false, 'a.b': [null] },
      },
    ])
  })

  it('belong to the call that is open, and the next name opens the next call', () => {
    const deltas = run(
      piece({ name: 'f', willContinue: true }),
      leaf('$.x', { stringValue: '1' }),
      piece({}),
      piece({ name: 'f', willContinue: true }),
      piece({ partialArgs: [{ jsonPath: '$.x', stringValue: '2' }] }),
      piece({ name: 'g' }),
      finish('STOP'),
    )
    expect(callsOf(deltas).map((call) => [call.name, call.arguments])).toEqual([
      ['f', { x: '1' }],
      ['f', { x: '2' }],
      ['g', {}],
    ])
  })

  it('are replaced by whole arguments, but not by the empty default beside them', () => {
    const begin = piece({ name: 'f', willContinue: true })
    const some = leaf('$.x', { stringValue: 'a' })
    const end = (args: JsonObject) => callsOf(run(begin, some, piece({ args }), finish('STOP')))[0]?.arguments
    expect(end({ y: 1 })).toEqual({ y: 1 })
    expect(end({})).toEqual({ x: 'a' })
  })

  it('go to the open call by its id or name, or by neither', () => {
    const pieces = (...calls: JsonObject[]) =>
      callsOf(run(...calls.map((call) => piece({ ...call, willContinue: true })), piece({}), finish('STOP')))
    const x = [{ jsonPath: '$.x', numberValue: 1 }]
    expect(pieces({ name: 'f' }, { name: 'f', id: 'late', partialArgs: x })).toEqual([
      { id: 'late', name: 'f', arguments: { x: 1 } },
    ])
    expect(
      pieces({ name: 'f', id: 'a' }, { name: 'f', id: 'b', partialArgs: x }).map((call) => call.id),
    ).toEqual(['a', 'b'])
    expect(pieces({ name: 'f' }, { name: 'g', partialArgs: x }).map((call) => call.name)).toEqual(['f', 'g'])
  })

  it('that were announced and never came make the call unusable', () => {
    const deltas = run(
      piece({ name: 'f', willContinue: true }),
      leaf('$.x', { stringValue: 'a' }),
      finish('STOP'),
    )
    expect(callsOf(deltas)).toEqual([
      {
        id: '',
        name: 'f',
        arguments: {},
        argumentsRaw: '{"x":"a"}',
        argumentsError: expect.stringContaining('cut off'),
      },
    ])
  })

  it.each(['$.list[1000000000]', 'x', '$.', '$', '$.s.deeper', '$.s[0]'])(
    'at the impossible path %s are refused',
    (path) => {
      const deltas = run(
        piece({ name: 'f', willContinue: true }),
        leaf('$.s', { stringValue: 'text' }),
        leaf(path, { stringValue: 'v' }),
        piece({}),
        finish('STOP'),
      )
      expect(callsOf(deltas)[0]?.argumentsError).toContain(path)
    },
  )

  it('never reach a prototype', () => {
    const deltas = run(
      piece({ name: 'f', willContinue: true }),
      leaf('$.__proto__.polluted', { boolValue: true }),
      leaf('$.constructor.prototype.polluted', { boolValue: true }),
      piece({}),
      finish('STOP'),
    )
    expect(JSON.stringify(callsOf(deltas)[0]?.arguments)).toBe(
      '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
    )
    expect({}).not.toHaveProperty('polluted')
  })
})

describe('the end of a stream', () => {
  it.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'contentFilter'],
    ['RECITATION', 'contentFilter'],
    ['PROHIBITED_CONTENT', 'contentFilter'],
    ['IMAGE_SAFETY', 'contentFilter'],
    ['LANGUAGE', 'contentFilter'],
    ['OTHER', 'stop'],
    ['A_NEW_WORD', 'stop'],
  ])('by %s means %s', (raw, reason) => {
    expect(run(parts({ text: 'x' }), finish(raw)).at(-1)).toEqual({ type: 'finish', reason, raw })
  })

  it('without a finish reason is a cut, and only whole calls are reported', () => {
    const deltas = run(
      parts({ functionCall: { name: 'whole', args: { x: 1 } } }),
      parts({ functionCall: { name: 'half', willContinue: true } }),
    )
    expect(callsOf(deltas).map((call) => call.name)).toEqual(['whole'])
    expect(deltas.at(-1)).toMatchObject({ type: 'error', error: { code: 'truncated', retryable: true } })
  })

  it('after thinking alone is a cut', () => {
    expect(run(parts({ text: 'hm', thought: true })).at(-1)).toMatchObject({
      type: 'error',
      error: { code: 'truncated' },
    })
  })

  it('after an answer that says nothing at all is empty, not cut', () => {
    expect(run({ candidates: [{ content: {} }] })).toEqual([{ type: 'finish', reason: 'stop' }])
  })

  it('of a body without any event is a cut', () => {
    expect(run()).toMatchObject([{ type: 'error', error: { code: 'truncated' } }])
  })

  it('after a blocked prompt is a content filter that tells why', () => {
    const deltas = run({
      promptFeedback: { blockReason: 'SAFETY', blockReasonMessage: 'no', safetyRatings: [{ category: 'C' }] },
    })
    expect(deltas).toEqual([
      {
        type: 'metadata',
        metadata: { blockReason: 'SAFETY', blockReasonMessage: 'no', safetyRatings: [{ category: 'C' }] },
      },
      { type: 'finish', reason: 'contentFilter' },
    ])
  })

  it('is final: nothing is said afterwards', () => {
    const decoder = google.decoder(target)
    decoder.push({ data: JSON.stringify(finish('STOP')) })
    expect(decoder.end()).toHaveLength(1)
    expect(decoder.push({ data: JSON.stringify(parts({ text: 'late' })) })).toEqual([])
    expect(decoder.end()).toEqual([])
  })
})

describe('errors inside a stream', () => {
  it('end it with the provider’s words and its status', () => {
    const deltas = run(
      parts({ text: 'a' }, { functionCall: { name: 'f', args: { x: 1 } } }),
      { error: { code: 504, message: 'Deadline expired.', status: 'DEADLINE_EXCEEDED' } },
      parts({ text: 'never' }),
    )
    expect(deltas.slice(-2)).toEqual([
      { type: 'toolCall', call: { id: '', name: 'f', arguments: { x: 1 } } },
      {
        type: 'error',
        error: {
          name: 'ModelError',
          message: 'Deadline expired.',
          code: 'DEADLINE_EXCEEDED',
          status: 504,
          retryable: true,
        },
      },
    ])
  })

  it('are read from a JSON list instead of a stream', () => {
    expect(run([{ error: { code: 400, message: 'Bad key.', status: 'INVALID_ARGUMENT' } }])).toMatchObject([
      { type: 'error', error: { message: 'Bad key.', status: 400, retryable: false } },
    ])
  })

  it('include events that are not JSON', () => {
    expect(run('{"candidates": [')).toMatchObject([{ type: 'error', error: { code: 'invalid_json' } }])
    expect(run('[{"candidates": ')).toMatchObject([{ type: 'error', error: { code: 'invalid_json' } }])
  })
})

describe('extras', () => {
  it('give generated media as parts and leave thought images out', () => {
    const deltas = run(
      parts({ inlineData: { mimeType: 'image/png', data: 'DRAFT' }, thought: true }),
      parts({ inlineData: { mimeType: 'image/png', data: 'AAAA' } }),
      parts({ fileData: { mimeType: 'video/mp4', fileUri: 'https://x.test/v' } }),
      finish('STOP'),
    )
    expect(only(deltas, 'part').map((delta) => delta.part)).toEqual([
      { type: 'data', mimeType: 'image/png', data: 'AAAA' },
      { type: 'link', mimeType: 'video/mp4', url: 'https://x.test/v' },
    ])
  })

  it('tell each citation and each read page once, and grounding in its last state', () => {
    const citation = (n: number) => ({ startIndex: n, uri: 'https://x.test' })
    const page = { retrievedUrl: 'https://y.test' }
    const deltas = run(
      finish('', { citationMetadata: { citationSources: [citation(1)] }, groundingMetadata: {} }),
      finish('', {
        citationMetadata: { citationSources: [citation(1), citation(2)] },
        urlContextMetadata: { urlMetadata: [page] },
        groundingMetadata: { webSearchQueries: ['q'], groundingChunks: [1] },
      }),
      finish('STOP', {
        citationMetadata: { citations: [citation(3)] },
        urlContextMetadata: { urlMetadata: [page] },
        groundingMetadata: { groundingChunks: [1, 2] },
      }),
    )
    expect(only(deltas, 'metadata').map((delta) => delta.metadata)).toEqual([
      { citations: [citation(1)] },
      { citations: [citation(2)], urlContext: [page] },
      { citations: [citation(3)] },
      { grounding: [{ webSearchQueries: ['q'], groundingChunks: [1, 2] }] },
    ])
  })

  it('tell safety ratings only when they explain a block', () => {
    const rating = { category: 'C', probability: 'LOW' }
    expect(only(run(finish('STOP', { safetyRatings: [rating] })), 'metadata')).toEqual([])
    expect(only(run(finish('SAFETY', { safetyRatings: [rating] })), 'metadata')).toEqual([
      { type: 'metadata', metadata: { safetyRatings: [rating] } },
    ])
    const blocking = { ...rating, blocked: true }
    expect(only(run(finish('OTHER', { safetyRatings: [blocking] })), 'metadata')).toEqual([
      { type: 'metadata', metadata: { safetyRatings: [blocking] } },
    ])
  })

  it('show what the server ran itself', () => {
    const deltas = run(
      parts({ executableCode: { code: 'print(1)' } }, { codeExecutionResult: { output: '1' } }),
      parts({ toolCall: { toolType: 'GOOGLE_SEARCH_WEB' } }, { text: 'One.' }),
      finish('STOP'),
    )
    expect(only(deltas, 'metadata').map((delta) => delta.metadata)).toEqual([
      { serverTools: [{ executableCode: { code: 'print(1)' } }] },
      { serverTools: [{ codeExecutionResult: { output: '1' } }] },
      { serverTools: [{ toolCall: { toolType: 'GOOGLE_SEARCH_WEB' } }] },
    ])
    expect(callsOf(deltas)).toEqual([])
  })
})
