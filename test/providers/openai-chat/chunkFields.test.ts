import { describe, expect, it } from 'vitest'
import { type OpenAIChatProfile, openaiChat } from '../../../providers/openai-chat/index.ts'
import { neverClosed } from '../../../providers/wire/decoder.ts'
import type { WireEvent } from '../../../providers/wire/protocol.ts'
import type { Delta } from '../../../src/model/delta.ts'
import { chunk, done, event, stop } from './chunks.ts'
import { plainProfile } from './plainProfile.ts'

// What comes out of each chunk, field by field: there, missing, of another type, in another order, repeated.

type Options = { isBroken?: boolean; quirks?: Partial<OpenAIChatProfile> }

const run = (events: (WireEvent | string)[], { isBroken, quirks }: Options = {}): Delta[] => {
  const profile = { ...plainProfile, ...quirks }
  const decoder = openaiChat.decoder({ provider: 'acme', model: 'm1', profile })
  const deltas = events.flatMap((each) => decoder.push(typeof each === 'string' ? { data: each } : each))
  return [...deltas, ...decoder.end(isBroken)]
}
const response = { type: 'response', id: 'r1' }
const text = (text: string) => ({ type: 'text', text })
const stopped = { type: 'finish', reason: 'stop', raw: 'stop' }
const progress = { type: 'progress' }
const metadata = (values: object) => ({ type: 'metadata', metadata: values })
const opaque = (data: object) => ({
  type: 'opaque',
  protocol: 'openai-chat',
  data: { provider: 'acme', model: 'm1', ...data },
})
const failed = (error: object, raw?: string) => ({
  type: 'error',
  error: { name: 'ModelError', ...error },
  ...(raw !== undefined && { raw }),
})
const truncated = (raw?: string) =>
  failed(
    {
      message: 'The stream ended before it was complete: a finish_reason or [DONE] never came.',
      code: 'truncated',
      retryable: true,
    },
    raw,
  )
/** The first chunk names the response; one like it that follows may take a shorter way. */
const first = event({ id: 'r1', choices: [] })
const said = (content: unknown) => event({ id: 'r1', choices: [{ index: 0, delta: { content } }] })

type Row = [string, (WireEvent | string)[], object[]]

describe('content', () => {
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
            { index: 1, delta: { content: 'other' } },
            { index: '1', delta: { content: 'a' } },
          ],
        }),
        event({ choices: [{ delta: { content: 'b' } }, { index: 0, delta: 'x', message: 'x' }] }),
        stop,
      ],
      [response, text('a'), text('b'), stopped],
    ],
    [
      'in a message that follows its pieces is not read again, on any way',
      [first, said('a'), event({ choices: [{ message: { content: 'a' }, finish_reason: 'stop' }] })],
      [response, text('a'), stopped],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(run(events)).toStrictEqual(expected))

  it.each<[string, object[], object[]]>([
    ['thoughts', [chunk({ reasoning: 'Hm' }), chunk({ content: 'a' })], [opaque({ thinking: true })]],
    ['text alone', [chunk({ content: 'a' })], []],
  ])('that has %s leaves a note where thoughts are sent back', (_, events, expected) => {
    const deltas = run([...(events as WireEvent[]), stop], {
      quirks: { reasoningReplay: 'reasoning', splitThinkTags: true },
    })
    expect(deltas.filter(({ type }) => type === 'opaque')).toStrictEqual(expected)
  })
})

describe('calls', () => {
  const delta = (index: number, fields: object) => ({ type: 'toolDelta', index, ...fields })
  const call = (id: string, name: string, args: object = {}) => ({
    type: 'toolCall',
    call: { id, name, arguments: args },
  })
  const called = { type: 'finish', reason: 'toolCalls', raw: 'stop' }
  const one = { function: { name: 'one' } }
  const rows: Row[] = [
    [
      'have fields of their types, and nothing else',
      [
        chunk({ tool_calls: 'x', function_call: 'x' }),
        chunk({ tool_calls: [null, 'x', { index: '0', id: 7, function: { name: 8 } }, { id: 'a' }] }),
        chunk({ tool_calls: [{ id: 'a', function: { name: 'one', arguments: null, input: '{"m":1}' } }] }),
        stop,
      ],
      [
        response,
        delta(0, { arguments: '' }),
        delta(0, { id: 'a', arguments: '' }),
        delta(0, { id: 'a', name: 'one', arguments: '{"m":1}' }),
        call('a', 'one', { m: 1 }),
        called,
      ],
    ],
    [
      'may be of a custom tool',
      [chunk({ tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'one', input: '{}' } }] }), stop],
      [response, delta(0, { id: 'a', name: 'one', arguments: '{}' }), call('a', 'one'), called],
    ],
    [
      'in one chunk are several, even where nothing tells them apart',
      [chunk({ tool_calls: [one, one] }), stop],
      [
        response,
        delta(0, { name: 'one', arguments: '' }),
        delta(1, { name: 'one', arguments: '' }),
        call('', 'one'),
        call('', 'one'),
        called,
      ],
    ],
    [
      'in two chunks are one, if nothing tells them apart',
      [
        chunk({ tool_calls: [one] }),
        chunk({ tool_calls: [{ function: { name: 'one', arguments: '{"m":1}' } }] }),
        stop,
      ],
      [
        response,
        delta(0, { name: 'one', arguments: '' }),
        delta(0, { name: 'one', arguments: '{"m":1}' }),
        call('', 'one', { m: 1 }),
        called,
      ],
    ],
    [
      'go to the place of their index',
      [
        chunk({
          tool_calls: [
            { index: 0, id: 'a', ...one },
            { index: 1, id: 'b', ...one },
          ],
        }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: '{"m":1}' } }] }),
        stop,
      ],
      [
        response,
        delta(0, { id: 'a', name: 'one', arguments: '' }),
        delta(1, { id: 'b', name: 'one', arguments: '' }),
        delta(0, { id: 'a', name: 'one', arguments: '{"m":1}' }),
        call('a', 'one', { m: 1 }),
        call('b', 'one'),
        called,
      ],
    ],
    [
      'keep what came with them',
      [
        chunk({
          tool_calls: [
            { index: 0, id: 'a', ...one },
            { index: 1, id: 'b', extra_content: { s: 1 }, ...one },
          ],
        }),
        stop,
      ],
      [
        response,
        delta(0, { id: 'a', name: 'one', arguments: '' }),
        delta(1, { id: 'b', name: 'one', arguments: '' }),
        call('a', 'one'),
        call('b', 'one'),
        opaque({ extraContent: [null, { s: 1 }] }),
        called,
      ],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(run(events)).toStrictEqual(expected))

  const bare = { tool_calls: [{ index: 0, id: 'a', ...one }] }
  const cut = { arguments: {}, argumentsRaw: '', argumentsError: neverClosed }
  const filtered = {
    arguments: {},
    argumentsRaw: '{}',
    argumentsError: expect.stringContaining('content filter'),
  }
  it.each<[string, WireEvent[], object]>([
    ['a finish reason', [chunk(bare), stop], { arguments: {} }],
    ['an end, and no reason', [chunk(bare)], cut],
    ['a reason that cuts it', [chunk(bare, { finish_reason: 'length' })], cut],
    ['a reason that forbids it', [chunk(bare, { finish_reason: 'content_filter' })], filtered],
    ['a refusal', [chunk(bare), chunk({ refusal: 'No.' }), stop], filtered],
    ['a message that was not streamed', [event({ choices: [{ message: bare }] })], { arguments: {} }],
  ])('without arguments, and with %s', (_, events, outcome) => {
    expect(run([...events, done]).filter(({ type }) => type === 'toolCall')).toStrictEqual([
      { type: 'toolCall', call: { id: 'a', name: 'one', ...outcome } },
    ])
  })
})

describe('the end', () => {
  // The short way is for chunks with text alone; a field that is not known makes it the long one.
  const late = (content: string, isLong: boolean) =>
    event({ id: 'r1', choices: [{ index: 0, delta: { content } }], ...(isLong && { unknown_field: 1 }) })
  const both = chunk({ content: 'b' }, { finish_reason: 'stop' })
  const usage = event({ choices: [], usage: { prompt_tokens: 1 } })

  describe.each([
    ['the long way', true],
    ['the short way', false],
  ])('%s', (_, isLong) => {
    it.each<[string, WireEvent[], boolean, boolean]>([
      ['no reason', [late('b', isLong)], false, false],
      ['no reason, and an empty chunk', [late('', isLong)], false, false],
      ['a reason in a chunk without content', [stop], true, true],
      ['a reason in a chunk with content', [both], true, false],
      ['content, then a reason beside more', [late('a', isLong), both], true, false],
      ['a reason, then counts', [both, usage], true, true],
      ['a reason, then more content', [stop, late('b', isLong)], false, false],
      ['a reason, then more content, then counts', [stop, late('b', isLong), usage], true, true],
      ['a reason, then an empty chunk', [stop, late('', isLong)], true, true],
      ['a reason with content, then more', [both, late('b', isLong)], false, false],
      ['a reason with content, then an empty chunk', [both, late('', isLong)], true, true],
      ['a reason after each piece of content', [both, both, late('b', isLong), both], false, false],
      ['more content after a reason, and a reason again', [stop, late('b', isLong), stop], true, true],
    ])('after %s', (_name, events, isEnd, isEndOfBroken) => {
      const types = [false, true].map((isBroken) => run([first, ...events], { isBroken }).at(-1)?.type)
      expect(types).toStrictEqual([isEnd, isEndOfBroken].map((is) => (is ? 'finish' : 'error')))
    })
  })

  it('where it is missing says so, with the word that came too early', () => {
    expect(run([])).toStrictEqual([truncated()])
    expect(run([], { isBroken: true })).toStrictEqual([truncated()])
    expect(run([stop, late('b', false)])).toStrictEqual([response, text('b'), truncated('stop')])
    expect(run([both], { isBroken: true })).toStrictEqual([response, text('b'), truncated('stop')])
  })

  const rows: Row[] = [
    ['may be a mark alone', ['[DONE]'], [{ type: 'finish', reason: 'stop' }]],
    ['may be a mark between blanks', [' \n[DONE] '], [{ type: 'finish', reason: 'stop' }]],
    ['may be a mark with something after it', ['[DONE] {'], [{ type: 'finish', reason: 'stop' }]],
    [
      'is not a mark with something before it',
      ['x [DONE]'],
      [
        failed({
          message: 'The provider sent an event that is not valid JSON: x [DONE]',
          code: 'invalid_json',
          retryable: true,
        }),
      ],
    ],
    ['is not an event that says nothing', ['', 'null', ': ping', '[]', '{}'], [truncated()]],
    [
      'may be a message that was not streamed',
      [event({ id: 'r1', choices: [{ message: { content: 'a' } }] })],
      [response, text('a'), { type: 'finish', reason: 'stop' }],
    ],
    ['has the last reason, and no empty one', [stop, chunk({}, { finish_reason: '' })], [response, stopped]],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(run(events)).toStrictEqual(expected))

  const words: [string, string][] = [
    ...['stop', 'stop_sequence', 'end_turn', 'eos', 'eos_token', 'completed'].map(
      (word): [string, string] => [word, 'stop'],
    ),
    ...['length', 'max_tokens', 'max_output_tokens', 'model_length'].map((word): [string, string] => [
      word,
      'length',
    ]),
    ...['tool_calls', 'tool_call', 'tool_use', 'function_call'].map((word): [string, string] => [
      word,
      'toolCalls',
    ]),
    ...[
      'content_filter',
      'content-filter',
      'safety',
      'sensitive',
      'refusal',
      'recitation',
      'prohibited_content',
    ].map((word): [string, string] => [word, 'contentFilter']),
    ...['error', 'network_error', 'insufficient_system_resource'].map((word): [string, string] => [
      word,
      'error',
    ]),
    ['tomorrow', 'stop'],
  ]
  it.each(words)('with the word %s is %s, in any case', (word, reason) => {
    for (const raw of [word, word.toUpperCase()])
      expect(run([chunk({}, { finish_reason: raw })])).toStrictEqual([
        response,
        { type: 'finish', reason, raw },
      ])
  })
})

describe('a window that is full', () => {
  const counts = (completion_tokens?: number) =>
    event({ choices: [], usage: { prompt_tokens: 9, completion_tokens } })
  const cut = chunk({}, { finish_reason: 'length' })
  const plain = (content: string) => event({ id: 'r1', choices: [{ index: 0, delta: { content } }] })
  const full = (raw: string) =>
    failed(
      { message: `The model's context window is full (${raw}).`, retryable: false, code: 'context_overflow' },
      raw,
    )
  const ended = { type: 'finish', reason: 'length', raw: 'length' }

  it.each<[string, WireEvent[], object]>([
    ['no token and no content', [first, cut, counts(0)], full('length')],
    ['no token and an empty text', [first, plain(''), cut, counts(0)], full('length')],
    ['no token, and counts that follow without it', [first, cut, counts(0), counts()], full('length')],
    ['no token, and text that came', [first, plain('a'), cut, counts(0)], ended],
    ['no token, and text that came with the id', [chunk({ content: 'a' }), cut, counts(0)], ended],
    [
      'no token, and text that came before an empty one',
      [chunk({ content: 'a' }), plain(''), cut, counts(0)],
      ended,
    ],
    ['one token', [first, cut, counts(1)], ended],
    ['nothing counted', [first, cut], ended],
    ['no token, and another reason', [first, stop, counts(0)], stopped],
    [
      'a word for it',
      [first, plain('a'), chunk({}, { finish_reason: 'model_context_window_exceeded' })],
      full('model_context_window_exceeded'),
    ],
  ])('%s', (_, events, expected) => {
    expect(run([...events, done]).at(-1)).toStrictEqual(expected)
  })
})

describe('errors', () => {
  const busy = { message: 'Busy', code: 'overloaded' }
  const isBusy = failed({ message: 'Busy', retryable: true, code: 'overloaded' })
  const rows: Row[] = [
    ['alone', [event({ error: busy }), said('late')], [isBusy]],
    ['in a list', [event({ errors: [busy] }), stop], [isBusy]],
    [
      'that are null',
      [event({ id: 'r1', error: null, errors: null, choices: [] }), stop],
      [response, stopped],
    ],
    [
      'in an event that is named so',
      [first, { ...said('a'), event: 'error' }],
      [response, text('a'), failed({ message: said('a').data, retryable: false })],
    ],
    [
      'in an event that is named so and looks like those before it',
      [first, said('a'), said('b'), said('c'), { ...said('d'), event: 'error' }],
      [
        response,
        text('a'),
        text('b'),
        text('c'),
        text('d'),
        failed({ message: said('d').data, retryable: false }),
      ],
    ],
    [
      'in an event that is named so and is not JSON',
      [{ event: 'error', data: 'Out of memory' }],
      [failed({ message: 'Out of memory', retryable: false })],
    ],
    [
      'in an object that is named so',
      [event({ object: 'error', message: 'No.', code: 400 }), done],
      [failed({ message: 'No.', retryable: false, status: 400, code: '400' })],
    ],
    [
      'in a choice: the counts may still follow',
      [
        event({
          id: 'r1',
          choices: [null, { index: 0, delta: { content: 'a' }, error: busy, finish_reason: 'error' }],
        }),
        event({ choices: [] }),
        chunk({ content: 'b' }),
        event({ choices: [], usage: { prompt_tokens: 1 } }),
        chunk({ content: 'late' }),
      ],
      [
        response,
        text('a'),
        text('b'),
        { type: 'usage', usage: { inputTokens: 1 } },
        failed({ message: 'Busy', retryable: true, code: 'overloaded' }, 'error'),
      ],
    ],
    [
      'in a choice, before the end mark',
      [event({ choices: [{ index: 0, error: busy }] }), done, said('late')],
      [isBusy],
    ],
    ['in a choice, before the end', [event({ choices: [{ index: 0, error: busy }] })], [isBusy]],
    [
      'in a choice, the first of two',
      [event({ choices: [{ index: 0, error: busy }] }), event({ error: { message: 'No.' } })],
      [isBusy],
    ],
    [
      'beside Groq’s counts',
      [event({ x_groq: { error: 'over capacity' } })],
      [failed({ message: 'over capacity', retryable: false })],
    ],
    ['beside Groq’s counts, empty', [event({ x_groq: { error: '' } }), stop], [response, stopped]],
    [
      'that may be one, with nothing after it',
      [event({ detail: 'No.' })],
      [failed({ message: 'No.', retryable: false })],
    ],
    ['that may be one, before an answer', [event({ detail: 'No.' }), stop], [response, stopped]],
    [
      'that may be one, the first of two',
      [event({ detail: 'No.' }), event({ message: 'Two' })],
      [failed({ message: 'No.', retryable: false })],
    ],
    ['that are only a notice beside choices', [event({ choices: [], message: 'Hi' })], [truncated()]],
    [
      'that are only a notice beside an empty error',
      [event({ error: {}, message: 'Hi' })],
      [failed({ message: 'Hi', retryable: false })],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(run(events)).toStrictEqual(expected))
})
