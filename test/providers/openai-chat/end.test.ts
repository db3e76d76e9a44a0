import { describe, expect, it } from 'vitest'
import { openaiChat } from '../../../providers/openai-chat/index.ts'
import type { WireEvent } from '../../../providers/wire/protocol.ts'
import {
  chunk,
  decode,
  done,
  event,
  failed,
  first,
  type Row,
  response,
  said,
  stop,
  stopped,
  text,
  truncated,
} from './chunks.ts'
import { plainProfile } from './plainProfile.ts'

describe('the end', () => {
  it('is held back until nothing can follow, and nothing follows it', () => {
    const decoder = openaiChat.decoder({ provider: 'acme', model: 'm1', profile: plainProfile })
    expect(decoder.push(stop)).toEqual([response])
    expect(decoder.push(chunk({ content: 'late' }))).toEqual([text('late')])
    decoder.push(event({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } }))
    expect(decoder.push(done)).toEqual([stopped])
    expect(decoder.push(chunk({ content: 'ghost' }))).toEqual([])
    expect(decoder.end()).toEqual([])
  })

  // The fast path is for chunks with text alone; a field that is not known leads to the slow one.
  const late = (content: string, isSlow: boolean) =>
    event({ id: 'r1', choices: [{ index: 0, delta: { content } }], ...(isSlow && { unknown_field: 1 }) })
  const both = chunk({ content: 'b' }, { finish_reason: 'stop' })
  const usage = event({ choices: [], usage: { prompt_tokens: 1 } })

  describe.each([
    ['the slow path', true],
    ['the fast path', false],
  ])('%s', (_, isSlow) => {
    it.each<[string, WireEvent[], boolean, boolean]>([
      ['no reason', [late('b', isSlow)], false, false],
      ['no reason, and an empty chunk', [late('', isSlow)], false, false],
      ['a reason in a chunk without content', [stop], true, true],
      ['a reason in a chunk with content', [both], true, false],
      ['content, then a reason beside more', [late('a', isSlow), both], true, false],
      ['a reason, then counts', [both, usage], true, true],
      ['a reason, then more content', [stop, late('b', isSlow)], false, false],
      ['a reason, then more content, then counts', [stop, late('b', isSlow), usage], true, true],
      ['a reason, then an empty chunk', [stop, late('', isSlow)], true, true],
      ['a reason with content, then more', [both, late('b', isSlow)], false, false],
      ['a reason with content, then an empty chunk', [both, late('', isSlow)], true, true],
      ['a reason after each piece of content', [both, both, late('b', isSlow), both], false, false],
      ['more content after a reason, and a reason again', [stop, late('b', isSlow), stop], true, true],
    ])('after %s', (_name, events, isEnd, isEndOfBroken) => {
      const types = [false, true].map((isBroken) => decode([first, ...events], { isBroken }).at(-1)?.type)
      expect(types).toStrictEqual([isEnd, isEndOfBroken].map((is) => (is ? 'finish' : 'error')))
    })
  })

  it('where it is missing says so, with the word that came too early', () => {
    expect(decode([])).toStrictEqual([truncated()])
    expect(decode([], { isBroken: true })).toStrictEqual([truncated()])
    expect(decode([stop, late('b', false)])).toStrictEqual([response, text('b'), truncated('stop')])
    expect(decode([both], { isBroken: true })).toStrictEqual([response, text('b'), truncated('stop')])
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
    [
      'is not an event that says nothing',
      ['', 'null', '"hi"', ': ping', '[]', '{}', event({ type: 'ping' }, 'ping')],
      [truncated()],
    ],
    [
      'may be a message that was not streamed',
      [event({ id: 'r1', choices: [{ message: { content: 'a' } }] })],
      [response, text('a'), { type: 'finish', reason: 'stop' }],
    ],
    [
      'may be a whole answer with calls and a reason',
      [
        event({
          id: 'r1',
          object: 'chat.completion',
          choices: [
            {
              index: 0,
              message: {
                content: 'a',
                tool_calls: [{ id: 'c', function: { name: 'one', arguments: '{}' } }],
              },
              finish_reason: 'tool_calls',
            },
          ],
        }),
      ],
      [
        response,
        text('a'),
        { type: 'toolDelta', index: 0, id: 'c', name: 'one', arguments: '{}' },
        { type: 'toolCall', call: { id: 'c', name: 'one', arguments: {} } },
        { type: 'finish', reason: 'toolCalls', raw: 'tool_calls' },
      ],
    ],
    ['has the last reason, and no empty one', [stop, chunk({}, { finish_reason: '' })], [response, stopped]],
    [
      'has the last of several reasons',
      [chunk({}, { finish_reason: 'tool_calls' }), chunk({}, { finish_reason: 'length' })],
      [response, { type: 'finish', reason: 'length', raw: 'length' }],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(events)).toStrictEqual(expected))

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
    ['tomorrow', 'unspecified'],
    ['__proto__', 'unspecified'],
  ]
  it.each(words)('with the word %s is %s, in any case', (word, reason) => {
    for (const raw of [word, word.toUpperCase()])
      expect(decode([chunk({}, { finish_reason: raw })])).toStrictEqual([
        response,
        { type: 'finish', reason, raw },
      ])
  })
})

describe('a window that is full', () => {
  const counts = (completion_tokens?: number) =>
    event({ choices: [], usage: { prompt_tokens: 9, completion_tokens } })
  const cut = chunk({}, { finish_reason: 'length' })
  const full = (raw: string) =>
    failed(
      { message: `The model's context window is full (${raw}).`, retryable: false, code: 'context_overflow' },
      raw,
    )
  const ended = { type: 'finish', reason: 'length', raw: 'length' }

  it.each<[string, WireEvent[], object]>([
    ['no token and no content', [first, cut, counts(0)], full('length')],
    ['no token and an empty text', [first, said(''), cut, counts(0)], full('length')],
    ['no token, and counts that follow without it', [first, cut, counts(0), counts()], full('length')],
    ['no token, and text that came', [first, said('a'), cut, counts(0)], ended],
    ['no token, and text that came with the id', [chunk({ content: 'a' }), cut, counts(0)], ended],
    [
      'no token, and text that came before an empty one',
      [chunk({ content: 'a' }), said(''), cut, counts(0)],
      ended,
    ],
    ['one token', [first, cut, counts(1)], ended],
    ['nothing counted', [first, cut], ended],
    ['no token, and another reason', [first, stop, counts(0)], stopped],
    [
      'a word for it',
      [first, said('a'), chunk({}, { finish_reason: 'model_context_window_exceeded' })],
      full('model_context_window_exceeded'),
    ],
  ])('%s', (_, events, expected) => {
    expect(decode([...events, done]).at(-1)).toStrictEqual(expected)
  })
})
