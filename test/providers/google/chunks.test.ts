import { describe, expect, it } from 'vitest'
import { geminiProfile, google } from '../../../providers/google/index.ts'
import { neverClosed } from '../../../providers/wire/decoder.ts'
import type { Delta } from '../../../src/model/delta.ts'

// What comes out of each chunk, field by field: there, missing, of another type, in another order, repeated.

const target = { provider: 'google', model: 'gemini-3-flash', profile: geminiProfile('gemini-3-flash') }

const run = (chunks: (object | string)[], isBroken?: boolean): Delta[] => {
  const decoder = google.decoder(target)
  const deltas = chunks.flatMap((chunk) =>
    decoder.push({ data: typeof chunk === 'string' ? chunk : JSON.stringify(chunk) }),
  )
  return [...deltas, ...decoder.end(isBroken)]
}
const parts = (...list: unknown[]) => ({ candidates: [{ content: { parts: list } }] })
const stop = { candidates: [{ finishReason: 'STOP' }] }
const stopped = { type: 'finish', reason: 'stop', raw: 'STOP' }
const called = { type: 'finish', reason: 'toolCalls', raw: 'STOP' }
const failed = (error: object, raw?: string) => ({
  type: 'error',
  error: { name: 'ModelError', ...error },
  ...(raw !== undefined && { raw }),
})
const truncated = (what: string, raw?: string) =>
  failed(
    {
      message: `The stream ended before it was complete: ${what} never came.`,
      code: 'truncated',
      retryable: true,
    },
    raw,
  )
const invalid = (data: string, problem = 'is not valid JSON') =>
  failed({
    message: `The provider sent an event that ${problem}: ${data}`,
    code: 'invalid_json',
    retryable: true,
  })
const metadata = (values: object) => ({ type: 'metadata', metadata: values })
const opaque = (...bones: object[]) => ({
  type: 'opaque',
  protocol: 'google',
  data: { provider: 'google', parts: bones },
})

type Row = [string, (object | string)[], object[]]

describe('chunks', () => {
  const deep = `[${'['.repeat(256)}${']'.repeat(256)},"${'x'.repeat(600)}"]`
  const rows: Row[] = [
    ['that are not JSON', [parts({ text: 'a' }), '{', stop], [{ type: 'text', text: 'a' }, invalid('{')]],
    ['in a list that is not JSON', ['[{', stop], [invalid('[{')]],
    ['in a list that is too deep', [deep], [invalid(deep, 'nests deeper than 256 levels')]],
    [
      'in a list, between other values and blanks',
      [` \n${JSON.stringify([null, 'x', parts({ text: 'a' }), 7, stop])} `],
      [{ type: 'text', text: 'a' }, stopped],
    ],
    ['that are another wire’s end', [stop, ' [DONE]\n', 'null', '""', ''], [stopped]],
    [
      'with an error: what came before it in the same list is shown',
      [[parts({ text: 'a' }), { error: { code: 503, message: 'Busy', status: 'UNAVAILABLE' } }, stop], stop],
      [
        { type: 'text', text: 'a' },
        failed({ message: 'Busy', retryable: true, status: 503, code: 'UNAVAILABLE' }),
      ],
    ],
    [
      'with an error after a finish reason',
      [
        stop,
        { usageMetadata: { promptTokenCount: 3 } },
        { error: { code: 400, message: 'No.', status: 'BAD' } },
      ],
      [
        { type: 'usage', usage: { inputTokens: 3 } },
        failed({ message: 'No.', retryable: false, status: 400, code: 'BAD' }, 'STOP'),
      ],
    ],
    [
      'with ids: the first that is not empty',
      [{ responseId: '' }, { responseId: 7 }, { responseId: 'r1' }, { responseId: 'r2' }, stop],
      [{ type: 'response', id: 'r1' }, stopped],
    ],
    [
      'with several candidates, or none',
      [
        { candidates: [null, 'x', { index: 1, content: { parts: [{ text: 'other' }] } }] },
        { candidates: [{ index: 0, content: { parts: [{ text: 'a' }] } }] },
        {
          candidates: [
            { index: '1', content: { parts: [{ text: 'b' }] } },
            { content: { parts: [{ text: 'c' }] } },
          ],
        },
        stop,
      ],
      [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }, stopped],
    ],
    ['after the end of a stream that failed', ['{', parts({ text: 'late' })], [invalid('{')]],
  ]
  it.each(rows)('%s', (_, chunks, expected) => expect(run(chunks)).toStrictEqual(expected))
})

describe('parts', () => {
  const code = { executableCode: { language: 'PYTHON', code: '1' } }
  const rows: Row[] = [
    [
      'that say nothing',
      [
        parts(
          null,
          'x',
          {},
          { text: 7 },
          { text: '' },
          { text: '', thought: true },
          { thought: true },
          { other: {} },
        ),
        stop,
      ],
      [stopped],
    ],
    [
      'with thoughts: only a signed one is kept',
      [
        parts(
          { text: 'Hm', thought: true },
          { text: 'So', thought: true, thoughtSignature: 's' },
          { text: 'a', thought: 'true' },
          { text: 'b', thought: false, thoughtSignature: '' },
        ),
        stop,
      ],
      [
        { type: 'thinking', text: 'Hm' },
        { type: 'thinking', text: 'So' },
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
        opaque({ raw: { text: 'So', thought: true, thoughtSignature: 's' } }, { text: 2 }),
        stopped,
      ],
    ],
    [
      'with a signature and no text',
      [parts({ text: 'a' }, { text: '', thoughtSignature: 's' }), stop],
      [{ type: 'text', text: 'a' }, opaque({ text: 1 }, { text: 0, signature: 's' }), stopped],
    ],
    [
      'of tools that ran at the server',
      [parts(code, { codeExecutionResult: 'x' }, { toolCall: { id: 1 } }, { toolResponse: {} }), stop],
      [
        metadata({ serverTools: [code] }),
        metadata({ serverTools: [{ toolCall: { id: 1 } }] }),
        metadata({ serverTools: [{ toolResponse: {} }] }),
        opaque({ raw: code }, { raw: { toolCall: { id: 1 } } }, { raw: { toolResponse: {} } }),
        stopped,
      ],
    ],
    [
      'with media',
      [
        parts(
          { inlineData: { mimeType: 'image/png', data: 'AA' } },
          { inlineData: { data: 'BB' }, thoughtSignature: 's' },
          { inlineData: { mimeType: 'image/png', data: '' } },
          { inlineData: 'x' },
          { fileData: { fileUri: 'https://x.test/a', mimeType: 'video/mp4' } },
          { fileData: { fileUri: 'https://x.test/b', mimeType: '' } },
          { fileData: { fileUri: '' } },
        ),
        stop,
      ],
      [
        { type: 'part', part: { type: 'data', mimeType: 'image/png', data: 'AA' } },
        { type: 'part', part: { type: 'data', mimeType: 'application/octet-stream', data: 'BB' } },
        { type: 'part', part: { type: 'link', url: 'https://x.test/a', mimeType: 'video/mp4' } },
        { type: 'part', part: { type: 'link', url: 'https://x.test/b' } },
        opaque({ media: 0 }, { media: 1, signature: 's' }, { media: 2 }, { media: 3 }),
        stopped,
      ],
    ],
  ]
  it.each(rows)('%s', (_, chunks, expected) => expect(run(chunks)).toStrictEqual(expected))
})

describe('calls', () => {
  const call = (functionCall: object, more: object = {}) => parts({ functionCall, ...more })
  const delta = (index: number, fields: object) => ({ type: 'toolDelta', index, ...fields })
  const cut = (raw: string, problem: unknown = neverClosed) => ({
    arguments: {},
    argumentsRaw: raw,
    argumentsError: problem,
  })
  const leaf = { jsonPath: '$.a', stringValue: 'x' }
  const rows: Row[] = [
    [
      'that are whole',
      [
        call({ id: 'a', name: 'one', args: { m: 1 } }),
        call({ name: 'one', args: null }),
        call({ id: 7, name: 'one', args: '{"m":2}' }),
        call({ id: 'a', name: 'one', args: [1] }),
        call({ args: {} }),
        stop,
      ],
      [
        delta(0, { id: 'a', name: 'one', arguments: '{"m":1}' }),
        delta(1, { name: 'one', arguments: '' }),
        delta(2, { name: 'one', arguments: '{"m":2}' }),
        delta(3, { id: 'a', name: 'one', arguments: '[1]' }),
        delta(4, { arguments: '{}' }),
        { type: 'toolCall', call: { id: 'a', name: 'one', arguments: { m: 1 } } },
        { type: 'toolCall', call: { id: '', name: 'one', arguments: {} } },
        { type: 'toolCall', call: { id: '', name: 'one', arguments: { m: 2 } } },
        {
          type: 'toolCall',
          call: { id: 'a', name: 'one', ...cut('[1]', 'The arguments must be a JSON object, not an array.') },
        },
        { type: 'toolCall', call: { id: '', name: '', arguments: {} } },
        called,
      ],
    ],
    [
      'that say nothing',
      [
        call({}),
        call({ id: 'a' }),
        call({ partialArgs: [] }),
        call({ partialArgs: [null, 'x'] }),
        call({ willContinue: true }),
        stop,
      ],
      [stopped],
    ],
    [
      'in pieces: the id may come late, and an empty piece closes',
      [
        call({ name: 'one', willContinue: true }),
        call({ id: 'a', partialArgs: [leaf, null, { jsonPath: '$.b', numberValue: 1 }], willContinue: true }),
        call({ id: 'a', name: 'one', args: {}, willContinue: true }),
        call({}),
        call({ name: 'one' }),
        stop,
      ],
      [
        delta(0, { name: 'one', arguments: '' }),
        delta(0, { id: 'a', name: 'one', arguments: 'x1' }),
        delta(0, { id: 'a', name: 'one', arguments: '' }),
        delta(0, { id: 'a', name: 'one', arguments: '' }),
        delta(1, { name: 'one', arguments: '' }),
        { type: 'toolCall', call: { id: 'a', name: 'one', arguments: { a: 'x', b: 1 } } },
        { type: 'toolCall', call: { id: '', name: 'one', arguments: {} } },
        called,
      ],
    ],
    [
      'in pieces, with another name or id in between',
      [
        call({ id: 'a', name: 'one', willContinue: true }),
        call({ id: 'b', name: 'one', willContinue: true }),
        call({ name: 'two', willContinue: true }),
        stop,
      ],
      [
        delta(0, { id: 'a', name: 'one', arguments: '' }),
        delta(1, { id: 'b', name: 'one', arguments: '' }),
        delta(2, { name: 'two', arguments: '' }),
        { type: 'toolCall', call: { id: 'a', name: 'one', ...cut('{}') } },
        { type: 'toolCall', call: { id: 'b', name: 'one', ...cut('{}') } },
        { type: 'toolCall', call: { id: '', name: 'two', ...cut('{}') } },
        called,
      ],
    ],
    [
      'in pieces that continue whole arguments, or are replaced by them',
      [
        call({ name: 'one', args: { b: 1 }, partialArgs: [leaf] }),
        call({ name: 'two', partialArgs: [leaf], willContinue: true }),
        call({ args: { c: 2 } }),
        call({ name: 'three', args: 'x', partialArgs: [leaf] }),
        stop,
      ],
      [
        delta(0, { name: 'one', arguments: '{"b":1}x' }),
        delta(1, { name: 'two', arguments: 'x' }),
        delta(1, { name: 'two', arguments: '{"c":2}' }),
        delta(2, { name: 'three', arguments: 'xx' }),
        { type: 'toolCall', call: { id: '', name: 'one', arguments: { b: 1, a: 'x' } } },
        { type: 'toolCall', call: { id: '', name: 'two', arguments: { c: 2 } } },
        { type: 'toolCall', call: { id: '', name: 'three', arguments: { a: 'x' } } },
        called,
      ],
    ],
    [
      'whose pieces do not end, or make no sense',
      [
        call({ name: 'one', partialArgs: [{ ...leaf, willContinue: true }] }),
        call({ name: 'two', partialArgs: [leaf, { jsonPath: 'a', stringValue: 'y' }] }),
        call({ partialArgs: [leaf] }),
        stop,
      ],
      [
        delta(0, { name: 'one', arguments: 'x' }),
        delta(1, { name: 'two', arguments: 'xy' }),
        delta(2, { arguments: 'x' }),
        { type: 'toolCall', call: { id: '', name: 'one', ...cut('{"a":"x"}') } },
        {
          type: 'toolCall',
          call: { id: '', name: 'two', ...cut('{"a":"x"}', 'The arguments have an impossible path: a') },
        },
        { type: 'toolCall', call: { id: '', name: '', arguments: { a: 'x' } } },
        called,
      ],
    ],
    [
      'with signatures are kept, with a note where there was no id',
      [
        call({ name: 'one' }, { thoughtSignature: 's' }),
        call({ id: 'b', name: 'two' }),
        call({}, { thoughtSignature: 't' }),
        stop,
      ],
      [
        delta(0, { name: 'one', arguments: '' }),
        delta(1, { id: 'b', name: 'two', arguments: '' }),
        { type: 'toolCall', call: { id: '', name: 'one', arguments: {} } },
        { type: 'toolCall', call: { id: 'b', name: 'two', arguments: {} } },
        opaque({ call: 0, signature: 's', noId: true }, { call: 1 }),
        called,
      ],
    ],
    [
      'of a stream that failed are reported if they are whole',
      [call({ name: 'one' }), call({ name: 'two', willContinue: true }), '{'],
      [
        delta(0, { name: 'one', arguments: '' }),
        delta(1, { name: 'two', arguments: '' }),
        { type: 'toolCall', call: { id: '', name: 'one', arguments: {} } },
        invalid('{'),
      ],
    ],
  ]
  it.each(rows)('%s', (_, chunks, expected) => expect(run(chunks)).toStrictEqual(expected))
})

describe('the end', () => {
  const content: [string, object, object | undefined][] = [
    ['text', { text: 'a' }, { type: 'text', text: 'a' }],
    ['a thought', { text: 'a', thought: true }, { type: 'thinking', text: 'a' }],
    ['a server tool', { toolCall: {} }, metadata({ serverTools: [{ toolCall: {} }] })],
    ['a medium', { fileData: { fileUri: 'u' } }, { type: 'part', part: { type: 'link', url: 'u' } }],
    [
      'a call',
      { functionCall: { name: 'one' } },
      { type: 'toolDelta', index: 0, name: 'one', arguments: '' },
    ],
    ['nothing', {}, undefined],
    ['an empty text', { text: '' }, undefined],
    ['an empty thought', { text: '', thought: true }, undefined],
  ]
  it.each(content)('without a finish reason, after %s', (_, part, delta) => {
    const deltas = run([parts(part)])
    expect(deltas.at(0)).toStrictEqual(delta ?? { type: 'finish', reason: 'stop' })
    expect(deltas.at(-1)).toStrictEqual(
      delta ? truncated('a finish reason') : { type: 'finish', reason: 'stop' },
    )
  })

  it.each(content)('where the connection broke, after a finish reason beside %s', (_, part, delta) => {
    const whole = { candidates: [{ content: { parts: [part] }, finishReason: 'STOP' }] }
    const end = run([whole], true).at(-1)
    expect(end).toMatchObject(delta ? truncated('the end of the answer', 'STOP') : stopped)
    expect(run([whole]).at(-1)?.type).toBe('finish')
    // A chunk without content follows: nothing more was to come.
    expect(run([whole, { usageMetadata: {} }], true).at(-1)?.type).toBe('finish')
  })

  const rows: [string, (object | string)[], boolean, object[]][] = [
    ['of nothing', [], false, [truncated('a finish reason')]],
    ['of nothing, broken', [], true, [truncated('a finish reason')]],
    ['of other JSON', [{ hello: 1 }], false, [truncated('a finish reason')]],
    ['of an empty answer', [{ candidates: [] }], false, [{ type: 'finish', reason: 'stop' }]],
    ['of an empty answer, broken', [{ candidates: [] }], true, [truncated('a finish reason')]],
    [
      'of one that has something else beside it',
      [{ modelVersion: 'm', x: 1 }],
      false,
      [{ type: 'finish', reason: 'stop' }],
    ],
    ['of feedback without a reason', [{ promptFeedback: {} }], false, [{ type: 'finish', reason: 'stop' }]],
    [
      'of an empty reason',
      [{ candidates: [{ finishReason: '' }] }, stop, { candidates: [{ finishReason: '' }] }],
      false,
      [stopped],
    ],
    [
      'of a prompt that was blocked',
      [
        { promptFeedback: { blockReason: 'SAFETY', blockReasonMessage: 'No.', safetyRatings: [1] } },
        { promptFeedback: {} },
      ],
      true,
      [
        metadata({ blockReason: 'SAFETY', blockReasonMessage: 'No.', safetyRatings: [1] }),
        { type: 'finish', reason: 'contentFilter' },
      ],
    ],
    [
      'of one that was blocked, and still has a reason',
      [
        { promptFeedback: { blockReason: 'SAFETY', blockReasonMessage: '' } },
        { candidates: [{ finishReason: 'MAX_TOKENS' }] },
      ],
      false,
      [metadata({ blockReason: 'SAFETY' }), { type: 'finish', reason: 'length', raw: 'MAX_TOKENS' }],
    ],
    [
      'with a message about an error',
      [{ candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage: 'Bad call' }] }],
      false,
      [
        metadata({ finishMessage: 'Bad call' }),
        { type: 'finish', reason: 'error', raw: 'MALFORMED_FUNCTION_CALL' },
      ],
    ],
    [
      'with an error and no message',
      [{ candidates: [{ finishReason: 'MALFORMED_RESPONSE', finishMessage: 7 }] }],
      false,
      [{ type: 'finish', reason: 'error', raw: 'MALFORMED_RESPONSE' }],
    ],
    [
      'with a message about nothing',
      [{ candidates: [{ finishReason: 'STOP', finishMessage: 'Fine' }] }],
      false,
      [stopped],
    ],
  ]
  it.each(rows)('%s', (_, chunks, isBroken, expected) => {
    expect(run(chunks, isBroken)).toStrictEqual(expected)
  })

  it.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['MALFORMED_FUNCTION_CALL', 'error'],
    ['UNEXPECTED_TOOL_CALL', 'error'],
    ['TOO_MANY_TOOL_CALLS', 'error'],
    ['MISSING_THOUGHT_SIGNATURE', 'error'],
    ['MALFORMED_RESPONSE', 'error'],
    ['SAFETY', 'contentFilter'],
    ['RECITATION', 'contentFilter'],
    ['LANGUAGE', 'contentFilter'],
    ['BLOCKLIST', 'contentFilter'],
    ['PROHIBITED_CONTENT', 'contentFilter'],
    ['SPII', 'contentFilter'],
    ['IMAGE_SAFETY', 'contentFilter'],
    ['IMAGE_PROHIBITED_CONTENT', 'contentFilter'],
    ['IMAGE_RECITATION', 'contentFilter'],
    ['TOMORROW', 'stop'],
  ])('with the word %s is %s', (finishReason, reason) => {
    expect(run([{ candidates: [{ finishReason }] }])).toStrictEqual([
      { type: 'finish', reason, raw: finishReason },
    ])
  })
})

describe('sources', () => {
  const candidate = (fields: object) => ({ candidates: [fields] })
  const rows: Row[] = [
    [
      'are shown once, under any of their names',
      [
        candidate({ citationMetadata: { citations: [{ uri: 'a' }] } }),
        candidate({ citationMetadata: { citationSources: [{ uri: 'a' }, { uri: 'b' }] } }),
        candidate({ urlContextMetadata: { urlMetadata: [{ url: 'c' }] } }),
        candidate({
          citationMetadata: { citations: [{ uri: 'd' }] },
          urlContextMetadata: { urlMetadata: [{ url: 'c' }, { url: 'e' }] },
        }),
        candidate({ citationMetadata: { citations: [{ uri: 'd' }] }, urlContextMetadata: {} }),
        candidate({ citationMetadata: 'x', urlContextMetadata: 'x' }),
        stop,
      ],
      [
        metadata({ citations: [{ uri: 'a' }] }),
        metadata({ citations: [{ uri: 'b' }] }),
        metadata({ urlContext: [{ url: 'c' }] }),
        metadata({ citations: [{ uri: 'd' }], urlContext: [{ url: 'e' }] }),
        stopped,
      ],
    ],
    [
      'of a search are put together',
      [
        candidate({ groundingMetadata: { webSearchQueries: ['q'], groundingChunks: [1] } }),
        candidate({ groundingMetadata: { groundingChunks: [1, 2] } }),
        candidate({ groundingMetadata: 'x' }),
        stop,
      ],
      [metadata({ grounding: [{ webSearchQueries: ['q'], groundingChunks: [1, 2] }] }), stopped],
    ],
    ['of a search that found nothing', [candidate({ groundingMetadata: {} }), stop], [stopped]],
    [
      'that rate what is harmless are not shown',
      [candidate({ safetyRatings: [{ category: 'a' }, 'x', { blocked: 'true' }] }), stop],
      [stopped],
    ],
    [
      'that rate one thing as blocked are shown, the latest of them',
      [
        candidate({ safetyRatings: [{ category: 'old', blocked: true }] }),
        candidate({ safetyRatings: [{ category: 'a' }, { category: 'b', blocked: true }] }),
        stop,
      ],
      [metadata({ safetyRatings: [{ category: 'a' }, { category: 'b', blocked: true }] }), stopped],
    ],
    [
      'that rate an answer which was filtered are shown',
      [candidate({ safetyRatings: [{ category: 'a' }] }), candidate({ finishReason: 'SAFETY' })],
      [
        metadata({ safetyRatings: [{ category: 'a' }] }),
        { type: 'finish', reason: 'contentFilter', raw: 'SAFETY' },
      ],
    ],
    [
      'may be missing where an answer was filtered',
      [candidate({ finishReason: 'SAFETY' })],
      [{ type: 'finish', reason: 'contentFilter', raw: 'SAFETY' }],
    ],
  ]
  it.each(rows)('%s', (_, chunks, expected) => expect(run(chunks)).toStrictEqual(expected))
})
