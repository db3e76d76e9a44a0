import { describe, expect, it } from 'vitest'
import { google } from '../../../providers/google/index.ts'
import { decode, failed, invalid, metadata, opaque, parts, type Row, stop, stopped, target } from './wire.ts'

// The deltas of each chunk, field by field: present, missing, of another type, in another order, repeated.

describe('chunks', () => {
  it('are read piece by piece, without waiting, and nothing follows the end', () => {
    const decoder = google.decoder(target)
    const push = (chunk: object) => decoder.push({ data: JSON.stringify(chunk) })
    expect(push(parts({ text: 'hm', thought: true }, { text: 'Hel' }))).toEqual([
      { type: 'thinking', text: 'hm' },
      { type: 'text', text: 'Hel' },
    ])
    expect(push(parts({ text: 'lo' }))).toEqual([{ type: 'text', text: 'lo' }])
    push(stop)
    expect(decoder.end()).toEqual([stopped])
    expect(push(parts({ text: 'late' }))).toEqual([])
    expect(decoder.end()).toEqual([])
  })

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
    [
      'without content',
      [{ candidates: null }, { candidates: [] }, { candidates: [{ content: null }] }, ': keep-alive', stop],
      [stopped],
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
    [
      'after an early finish reason: they are still read, and the last reason counts',
      [stop, parts({ text: 'late' }), { candidates: [{ finishReason: 'MAX_TOKENS' }] }],
      [
        { type: 'text', text: 'late' },
        { type: 'finish', reason: 'length', raw: 'MAX_TOKENS' },
      ],
    ],
    ['after the end of a stream that failed', ['{', parts({ text: 'late' })], [invalid('{')]],
  ]
  it.each(rows)('%s', (_, chunks, expected) => expect(decode(chunks)).toStrictEqual(expected))
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
          { inlineData: { mimeType: 'image/png', data: 'DRAFT' }, thought: true },
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
  it.each(rows)('%s', (_, chunks, expected) => expect(decode(chunks)).toStrictEqual(expected))
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
  it.each(rows)('%s', (_, chunks, expected) => expect(decode(chunks)).toStrictEqual(expected))
})

describe('counts', () => {
  it('are given once for a read, with those of earlier chunks', () => {
    const decoder = google.decoder(target)
    const push = (chunk: object) => decoder.push({ data: JSON.stringify(chunk) })
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

  it('keep the last value of each', () => {
    const deltas = decode([
      { usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 } },
      {
        ...stop,
        usageMetadata: {
          promptTokenCount: 5,
          candidatesTokenCount: 2,
          thoughtsTokenCount: 4,
          cachedContentTokenCount: 1,
          totalTokenCount: 11,
          trafficType: 'ON_DEMAND',
        },
      },
    ])
    expect(deltas).toEqual([
      {
        type: 'usage',
        usage: {
          inputTokens: 5,
          outputTokens: 6,
          reasoningTokens: 4,
          cachedInputTokens: 1,
          totalTokens: 11,
        },
      },
      stopped,
    ])
  })

  it('are not made up when a chunk brings none', () => {
    expect(decode([{ ...stop, usageMetadata: { trafficType: 'X' } }])).toEqual([stopped])
  })
})
