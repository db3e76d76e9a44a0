import { describe, expect, it } from 'vitest'
import { openaiChat } from '../../../providers/openai-chat/index.ts'
import type { WireEvent } from '../../../providers/wire/protocol.ts'
import { chunk, decode, event, first, type Row, response, said, stop, stopped, text } from './chunks.ts'
import { plainProfile } from './plainProfile.ts'

// The deltas of each chunk, field by field: present, missing, of another type, in another order, repeated.

const target = { provider: 'acme', model: 'm1', profile: plainProfile }
const progress = { type: 'progress' }
const metadata = (values: object) => ({ type: 'metadata', metadata: values })
const opaque = (data: object) => ({
  type: 'opaque',
  protocol: 'openai-chat',
  data: { provider: 'acme', model: 'm1', ...data },
})

describe('content', () => {
  it('is given piece by piece, without waiting', () => {
    const decoder = openaiChat.decoder(target)
    expect(decoder.push(chunk({ role: 'assistant', content: 'Hel' }))).toEqual([response, text('Hel')])
    expect(decoder.push(chunk({ content: 'lo' }))).toEqual([text('lo')])
    expect(decoder.push(chunk({ content: '' }))).toEqual([])
    expect(decoder.push(chunk({ content: null }))).toEqual([])
  })

  const rows: Row[] = [
    [
      'of other types, or empty, is nothing',
      [first, ...[null, 7, {}, '', [], [null, 7, {}, { type: 'tomorrow', text: 'x' }]].map(said), stop],
      [response, stopped],
    ],
    [
      'is not searched for tags',
      [first, said('<think>a</think>'), said('b'), stop],
      [response, text('<think>a</think>'), text('b'), stopped],
    ],
    [
      'may be a list of parts',
      [
        said([
          'a',
          { type: 'text', text: 'b' },
          { type: 'output_text', text: 'c' },
          { type: 'text', text: 7 },
          { type: 'text', text: '' },
          { type: 'reference', reference_ids: [1] },
          { type: 'image_url', image_url: { url: 'https://x.test/a' } },
          { type: 'image_url' },
        ]),
        stop,
      ],
      [
        response,
        text('a'),
        text('b'),
        text('c'),
        metadata({ citations: [{ type: 'reference', reference_ids: [1] }] }),
        { type: 'part', part: { type: 'link', url: 'https://x.test/a' } },
        stopped,
      ],
    ],
    [
      'may be thoughts, plain or in a list',
      [
        said([
          { type: 'thinking', thinking: 'a', text: 'x', summary: [{ text: 'x' }] },
          { type: 'reasoning', text: 'b' },
          {
            type: 'thinking',
            thinking: [{ type: 'text', text: 'c' }, null, 'x', { text: 7 }, { text: 'd' }],
          },
          { type: 'reasoning', summary: [{ text: 'e' }] },
          { type: 'thinking', thinking: '', text: 'x' },
          { type: 'thinking' },
        ]),
        stop,
      ],
      [response, ...['a', 'b', 'cd', 'e'].map((each) => ({ type: 'thinking', text: each })), stopped],
    ],
    [
      'may be a refusal, in any place',
      [
        said([{ type: 'refusal', refusal: 'I ' }, { type: 'refusal' }, { type: 'refusal', refusal: 7 }]),
        chunk({ refusal: 'won’t.' }),
        chunk({ refusal: '' }),
        chunk({ refusal: null }),
        stop,
      ],
      [
        response,
        progress,
        progress,
        metadata({ refusal: 'I won’t.' }),
        { type: 'finish', reason: 'contentFilter', raw: 'stop' },
      ],
    ],
    [
      'may be images',
      [
        chunk({ images: 'x' }),
        chunk({
          images: [
            null,
            'x',
            {},
            { image_url: '' },
            { image_url: { url: 7 } },
            { image_url: 'https://x.test/a,b' },
            { image_url: { url: 'data:image/png;base64,AA' } },
          ],
        }),
        stop,
      ],
      [
        response,
        { type: 'part', part: { type: 'link', url: 'https://x.test/a,b' } },
        { type: 'part', part: { type: 'data', mimeType: 'image/png', data: 'AA' } },
        stopped,
      ],
    ],
    [
      'may be spoken',
      [
        chunk({ audio: { id: 'x' } }),
        chunk({ audio: { transcript: 'Hi', data: '' } }),
        chunk({ audio: { transcript: 7, data: 'AQ==' } }),
        chunk({ audio: { data: 'AgM=' } }),
        chunk({ audio: 'x' }),
        stop,
      ],
      [
        response,
        progress,
        progress,
        progress,
        progress,
        { type: 'part', part: { type: 'data', mimeType: 'audio/pcm', data: 'AQID' } },
        metadata({ transcript: 'Hi' }),
        stopped,
      ],
    ],
    [
      'has notes beside it',
      [
        chunk({ annotations: [] }),
        chunk({ annotations: 'x' }),
        chunk({ annotations: [{ n: 1 }] }),
        event({ citations: ['u'], search_results: ['s'], moderation: { flagged: false } }),
        event({ citations: ['u', 'v'], search_results: ['s'], moderation: { flagged: true } }),
        event({ citations: [], search_results: 'x', moderation: null }),
        stop,
      ],
      [
        response,
        metadata({ citations: [{ n: 1 }] }),
        metadata({ citations: ['u'] }),
        metadata({ searchResults: ['s'] }),
        metadata({ moderation: [{ flagged: false }] }),
        metadata({ citations: ['v'] }),
        stopped,
      ],
    ],
    [
      'has tools of the server beside it: the latest report of each',
      [
        chunk({ executed_tools: 'x' }),
        chunk({ executed_tools: [null, { index: 0, n: 1 }, { n: 2 }] }),
        chunk({
          executed_tools: [
            { index: 0, n: 3 },
            { index: 5, n: 4 },
          ],
        }),
        chunk({ executed_tools: [{ index: 5, n: 5 }] }),
        stop,
      ],
      [
        response,
        progress,
        progress,
        progress,
        progress,
        progress,
        metadata({ serverTools: [{ index: 0, n: 3 }, { n: 2 }, { index: 5, n: 5 }] }),
        stopped,
      ],
    ],
    [
      'comes in the choice that is the first',
      [
        event({
          id: 'r1',
          choices: [
            null,
            'x',
            { index: 1, delta: { content: 'other' }, finish_reason: 'length' },
            { index: '1', delta: { content: 'a' } },
          ],
        }),
        event({ choices: [{ delta: { content: 'b' } }, { index: 0, delta: 'x', message: 'x' }] }),
        stop,
      ],
      [response, text('a'), text('b'), stopped],
    ],
    [
      'in a message beside or after its pieces is not read again, on any path',
      [
        first,
        said('a'),
        chunk({ content: 'b' }, { message: { content: 'b' } }),
        event({ choices: [{ message: { content: 'ab' }, finish_reason: 'stop' }] }),
      ],
      [response, text('a'), text('b'), stopped],
    ],
    [
      'has the first id of the response, and not an empty one',
      [event({ id: '', choices: [] }), event({ id: 'one', choices: [] }), stop],
      [{ type: 'response', id: 'one' }, stopped],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(events)).toStrictEqual(expected))

  it.each<[string, object[], object[]]>([
    ['thoughts', [chunk({ reasoning: 'Hm' }), chunk({ content: 'a' })], [opaque({ thinking: true })]],
    ['text alone', [chunk({ content: 'a' })], []],
  ])('that has %s leaves a note where thoughts are sent back', (_, events, expected) => {
    const deltas = decode([...(events as WireEvent[]), stop], {
      quirks: { reasoningReplay: 'reasoning', splitThinkTags: true },
    })
    expect(deltas.filter(({ type }) => type === 'opaque')).toStrictEqual(expected)
  })
})
