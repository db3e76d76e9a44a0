import { describe, expect, it } from 'vitest'
import { ollama } from '../../../providers/ollama/index.ts'
import type { Delta } from '../../../src/model/delta.ts'
import { target } from './target.ts'

// What comes out of each line, field by field: there, missing, of another type, repeated.

const decode = (...lines: (object | string)[]): Delta[] => {
  const decoder = ollama.decoder(target)
  const deltas = lines.flatMap((line) =>
    decoder.push({ data: typeof line === 'string' ? line : JSON.stringify(line) }),
  )
  return [...deltas, ...decoder.end()]
}
const said = (message: unknown, rest: object = {}) => ({ model: 'm', created_at: 't', message, ...rest })
const calls = (...tool_calls: unknown[]) => said({ tool_calls })
const done = (rest: object = {}) => ({ done: true, ...rest })
const finish = { type: 'finish', reason: 'stop' }
const failed = (error: object) => ({ type: 'error', error: { name: 'ModelError', ...error } })
const truncated = failed({
  message: 'The stream ended before it was complete: the line with "done": true never came.',
  code: 'truncated',
  retryable: true,
})

type Row = [string, (object | string)[], object[]]

describe('an answer', () => {
  const rows: Row[] = [
    [
      'has texts, and nothing of another type',
      [
        said({ content: 7, thinking: {} }),
        said({ content: '', thinking: '' }),
        said(null),
        said([]),
        '',
        'null',
        said({ content: 'a', thinking: 'Hm' }),
        done(),
      ],
      [{ type: 'thinking', text: 'Hm' }, { type: 'text', text: 'a' }, finish],
    ],
    ['is over at its last line', [done(), said({ content: 'late' }), done()], [finish]],
    [
      'is not over before',
      [said({ content: 'a' }, { done: 'true' })],
      [{ type: 'text', text: 'a' }, truncated],
    ],
    ['has an empty word at its end', [done({ done_reason: '' })], [finish]],
    ['has a word of another type at its end', [done({ done_reason: 7 })], [finish]],
    [
      'that thinks without calls keeps nothing',
      [said({ thinking: 'Hm' }), done()],
      [{ type: 'thinking', text: 'Hm' }, finish],
    ],
    [
      'is filtered by a server behind it',
      [calls({ function: { name: 'one' } }), done({ done_reason: 'content_filter' })],
      [
        { type: 'toolDelta', index: 0, name: 'one', arguments: '{}' },
        {
          type: 'toolCall',
          call: {
            id: '',
            name: 'one',
            arguments: {},
            argumentsRaw: '{}',
            argumentsError: expect.stringContaining('content filter'),
          },
        },
        { type: 'finish', reason: 'contentFilter', raw: 'content_filter' },
      ],
    ],
    [
      'counts what it counts',
      [done({ prompt_eval_count: 0, eval_count: '3' })],
      [{ type: 'usage', usage: { inputTokens: 0 } }, finish],
    ],
  ]
  it.each(rows)('%s', (_, lines, expected) => expect(decode(...lines)).toStrictEqual(expected))
})

describe('calls', () => {
  it('are whole, numbered in their order, and nothing else is one', () => {
    expect(
      decode(
        said({ thinking: 'Hm', tool_calls: 'x' }),
        calls(
          null,
          'x',
          {},
          { function: 'x' },
          { function: {} },
          { function: { name: '' } },
          { name: 'one' },
        ),
        calls(
          { id: 'a', function: { index: 0, name: 'one', arguments: { m: 1 } } },
          { id: 7, function: { index: 0, name: 'two', arguments: '{ "n": 2 }' } },
        ),
        calls({ function: { name: 'three', arguments: '{"n' } }),
        done({ done_reason: 'stop' }),
      ),
    ).toStrictEqual([
      { type: 'thinking', text: 'Hm' },
      { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '{"m":1}' },
      { type: 'toolDelta', index: 1, name: 'two', arguments: '{ "n": 2 }' },
      { type: 'toolDelta', index: 2, name: 'three', arguments: '{"n' },
      { type: 'toolCall', call: { id: 'a', name: 'one', arguments: { m: 1 } } },
      { type: 'toolCall', call: { id: '', name: 'two', arguments: { n: 2 }, argumentsRaw: '{ "n": 2 }' } },
      {
        type: 'toolCall',
        call: {
          id: '',
          name: 'three',
          arguments: {},
          argumentsRaw: '{"n',
          argumentsError: expect.stringContaining('not valid JSON'),
        },
      },
      { type: 'opaque', protocol: 'ollama', data: { provider: target.provider, ownThinking: true } },
      { type: 'finish', reason: 'toolCalls', raw: 'stop' },
    ])
  })

  it('of a stream that broke are reported if they are whole', () => {
    const lines = [calls({ function: { name: 'one' } }, { function: { name: 'two', arguments: '{' } })]
    expect(decode(...lines).slice(2)).toStrictEqual([
      { type: 'toolCall', call: { id: '', name: 'one', arguments: {} } },
      truncated,
    ])
  })
})

describe('an error', () => {
  const rows: Row[] = [
    [
      'without a code may pass',
      [{ error: 'Crashed' }, done()],
      [failed({ message: 'Crashed', retryable: true })],
    ],
    [
      'with a code is what the code says',
      [{ error: { message: 'No.', code: 404 } }],
      [failed({ message: 'No.', retryable: false, status: 404, code: '404' })],
    ],
    [
      'may come beside a message',
      [said({ content: 'a' }, { error: 'Crashed' })],
      [failed({ message: 'Crashed', retryable: true })],
    ],
    ['may be a message alone', [{ message: 'Crashed' }], [failed({ message: 'Crashed', retryable: true })]],
    [
      'is a line that is not JSON',
      [said({ content: 'a' }), '{', done()],
      [
        { type: 'text', text: 'a' },
        failed({
          message: 'The provider sent an event that is not valid JSON: {',
          code: 'invalid_json',
          retryable: true,
        }),
      ],
    ],
  ]
  it.each(rows)('%s', (_, lines, expected) => expect(decode(...lines)).toStrictEqual(expected))
})
