import { describe, expect, it } from 'vitest'
import { cohere } from '../../../providers/cohere/index.ts'
import { neverClosed } from '../../../providers/wire/decoder.ts'
import type { Delta } from '../../../src/model/delta.ts'
import { target } from './target.ts'

// What comes out of each event, field by field: there, missing, of another type, in another order, repeated.

const decode = (...events: (object | string)[]): Delta[] => {
  const decoder = cohere.decoder(target)
  const deltas = events.flatMap((data) =>
    decoder.push({ data: typeof data === 'string' ? data : JSON.stringify(data) }),
  )
  return [...deltas, ...decoder.end()]
}
const message = (type: string, fields: unknown, rest: object = {}) => ({
  type,
  delta: { message: fields },
  ...rest,
})
const call = (id: unknown, name: unknown, args: unknown) => ({ id, function: { name, arguments: args } })
const started = (index: number, ...calls: unknown[]) =>
  message('tool-call-start', { tool_calls: calls }, { index })
const closed = (index: number) => ({ type: 'tool-call-end', index })
const end = (finish_reason?: unknown, rest: object = {}) => ({
  type: 'message-end',
  delta: { finish_reason, ...rest },
})
const finish = (reason: string, raw?: string) => ({
  type: 'finish',
  reason,
  ...(raw !== undefined && { raw }),
})
const failed = (error: object, raw?: string) => ({
  type: 'error',
  error: { name: 'ModelError', ...error },
  ...(raw !== undefined && { raw }),
})
const truncated = failed({
  message: 'The stream ended before it was complete: the message-end event never came.',
  code: 'truncated',
  retryable: true,
})

type Row = [string, (object | string)[], object[]]

describe('content', () => {
  const rows: Row[] = [
    [
      'only texts that are not empty are shown',
      [
        message('content-delta', { content: { text: '', thinking: '' } }),
        message('content-delta', { content: { text: 7, thinking: {} } }),
        message('content-delta', { content: 'x' }),
        message('content-delta', null),
        { type: 'content-delta' },
        message('content-start', { content: { thinking: 'Hm', text: 'a' } }),
        end(),
      ],
      [{ type: 'thinking', text: 'Hm' }, { type: 'text', text: 'a' }, finish('stop')],
    ],
    [
      'the first id counts, and an empty one does not',
      [
        { type: 'message-start' },
        { type: 'message-start', id: '' },
        { type: 'message-start', id: 7 },
        { type: 'message-start', id: 'r1' },
        { type: 'message-start', id: 'r2' },
        end(),
      ],
      [{ type: 'response', id: 'r1' }, finish('stop')],
    ],
    [
      'citations come alone or in a list, and nothing else is one',
      [
        message('citation-start', { citations: { start: 0 } }),
        message('citation-start', { citations: [{ start: 1 }, null, 'x', { start: 2 }] }),
        message('citation-start', { citations: [] }),
        message('citation-start', { citations: null }),
        message('citation-start', {}),
        { type: 'citation-start' },
        end(),
      ],
      [
        { type: 'metadata', metadata: { citations: [{ start: 0 }] } },
        { type: 'metadata', metadata: { citations: [{ start: 1 }, { start: 2 }] } },
        finish('stop'),
      ],
    ],
    [
      'a plan without calls is shown at the end, and not kept',
      [message('tool-plan-delta', { tool_plan: 'I ' }), message('tool-plan-delta', {}), end('COMPLETE')],
      [
        { type: 'progress' },
        { type: 'progress' },
        { type: 'metadata', metadata: { toolPlan: 'I ' } },
        finish('stop', 'COMPLETE'),
      ],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(...events)).toStrictEqual(expected))
})

describe('calls', () => {
  const one = { id: 'a', name: 'one', arguments: {} }
  const two = { id: 'b', name: 'two', arguments: {} }
  const cut = { argumentsRaw: '', argumentsError: neverClosed }
  const open = [started(0, call('a', 'one', '')), started(1, call('b', 'two', ''))]

  it.each<[string, object[], string, object[]]>([
    ['both were closed', [closed(0), closed(1)], 'TOOL_CALL', [one, two]],
    ['the last was not', [closed(0)], 'TOOL_CALL', [one, { ...two, ...cut }]],
    ['the first was not', [closed(1)], 'TOOL_CALL', [{ ...one, ...cut }, two]],
    [
      'an end without an index closes the latest',
      [{ type: 'tool-call-end' }],
      'TOOL_CALL',
      [{ ...one, ...cut }, two],
    ],
    ['the tokens ran out', [closed(0), closed(1)], 'MAX_TOKENS', [one, { ...two, ...cut }]],
  ])('without arguments: %s', (_, events, raw, calls) => {
    expect(decode(...open, ...events, end(raw))).toStrictEqual([
      { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '' },
      { type: 'toolDelta', index: 1, id: 'b', name: 'two', arguments: '' },
      ...calls.map((each) => ({ type: 'toolCall', call: each })),
      finish(raw === 'MAX_TOKENS' ? 'length' : 'toolCalls', raw),
    ])
  })

  const rows: Row[] = [
    [
      'fields of other types are left out',
      [
        started(
          0,
          null,
          'x',
          { id: 7, function: { name: 8, arguments: { m: 1 } } },
          { id: 'a', function: 'x' },
        ),
        message('tool-call-delta', { tool_calls: { function: { name: 'one' } } }, { index: 0 }),
        end(),
      ],
      [
        { type: 'toolDelta', index: 0, arguments: '{"m":1}' },
        { type: 'toolDelta', index: 0, id: 'a', arguments: '' },
        { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '' },
        { type: 'toolCall', call: { id: 'a', name: 'one', arguments: { m: 1 } } },
        finish('toolCalls'),
      ],
    ],
    [
      'a plan and thoughts before calls are kept for the next request',
      [
        message('content-delta', { content: { thinking: 'Hm' } }),
        message('tool-plan-delta', { tool_plan: 'I will.' }),
        started(0, call('a', 'one', '{}')),
        end('TOOL_CALL'),
      ],
      [
        { type: 'thinking', text: 'Hm' },
        { type: 'progress' },
        { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '{}' },
        { type: 'metadata', metadata: { toolPlan: 'I will.' } },
        { type: 'toolCall', call: one },
        {
          type: 'opaque',
          protocol: 'cohere',
          data: { provider: target.provider, toolPlan: 'I will.', ownThinking: true },
        },
        finish('toolCalls', 'TOOL_CALL'),
      ],
    ],
    [
      'after text alone nothing is kept',
      [message('content-delta', { content: { text: 'a' } }), started(0, call('a', 'one', '{}')), end()],
      [
        { type: 'text', text: 'a' },
        { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '{}' },
        { type: 'toolCall', call: one },
        finish('toolCalls'),
      ],
    ],
    [
      'a plan alone is kept too',
      [message('tool-plan-delta', { tool_plan: 'Go' }), started(0, call('a', 'one', '{}')), end()],
      [
        { type: 'progress' },
        { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '{}' },
        { type: 'metadata', metadata: { toolPlan: 'Go' } },
        { type: 'toolCall', call: one },
        { type: 'opaque', protocol: 'cohere', data: { provider: target.provider, toolPlan: 'Go' } },
        finish('toolCalls'),
      ],
    ],
    [
      'of a toxic answer do not run',
      [started(0, call('a', 'one', '{}')), end('ERROR_TOXIC', { error: 'x' })],
      [
        { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '{}' },
        {
          type: 'toolCall',
          call: { ...one, argumentsRaw: '{}', argumentsError: expect.stringContaining('content filter') },
        },
        finish('contentFilter', 'ERROR_TOXIC'),
      ],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(...events)).toStrictEqual(expected))
})

describe('the end', () => {
  const rows: Row[] = [
    [
      'is missing',
      [message('content-delta', { content: { text: 'a' } })],
      [{ type: 'text', text: 'a' }, truncated],
    ],
    ['is there without anything', [{ type: 'message-end' }], [finish('stop')]],
    ['has an empty word', [end('')], [finish('stop')]],
    ['has a word of another type', [end(7)], [finish('stop')]],
    [
      'comes once',
      [end('COMPLETE'), end('ERROR'), message('content-delta', { content: { text: 'x' } })],
      [finish('stop', 'COMPLETE')],
    ],
    [
      'is an error',
      [end('ERROR')],
      [
        failed(
          { message: 'Cohere says that the generation failed (ERROR).', code: 'ERROR', retryable: true },
          'ERROR',
        ),
      ],
    ],
    [
      'came too late',
      [end('TIMEOUT')],
      [
        failed(
          {
            message: 'Cohere says that the generation took too long (TIMEOUT).',
            code: 'TIMEOUT',
            retryable: true,
          },
          'TIMEOUT',
        ),
      ],
    ],
    [
      'has a reason for the error, and counts',
      [end('ERROR', { error: 'Out of memory', usage: { tokens: { input_tokens: 1 } } })],
      [
        { type: 'usage', usage: { inputTokens: 1 } },
        failed({ message: 'Out of memory', code: 'ERROR', retryable: true }, 'ERROR'),
      ],
    ],
    [
      'has an error without a word for it',
      [end(undefined, { error: 'Out of memory' })],
      [failed({ message: 'Out of memory', code: 'ERROR', retryable: true })],
    ],
    [
      'has an error beside a good word',
      [end('COMPLETE', { error: 'Out of memory' })],
      [failed({ message: 'Out of memory', code: 'COMPLETE', retryable: true }, 'COMPLETE')],
    ],
    [
      'is an error event',
      [{ type: 'error', message: 'Busy', status_code: 503 }],
      [failed({ message: 'Busy', retryable: true, status: 503, code: '503' })],
    ],
    [
      'is an error without a type',
      [{ message: 'No.' }, end()],
      [failed({ message: 'No.', retryable: false })],
    ],
    [
      'is data that is not JSON',
      ['{', end()],
      [
        failed({
          message: 'The provider sent an event that is not valid JSON: {',
          code: 'invalid_json',
          retryable: true,
        }),
      ],
    ],
    [
      'is the message-end, and no mark of another protocol',
      [
        '',
        'null',
        '[DONE]',
        '"[DONE]"',
        { type: 'debug', message: 'x' },
        {},
        { message: {} },
        { finish_reason: 'x' },
      ],
      [truncated],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(...events)).toStrictEqual(expected))

  it.each([
    ['nothing', {}, undefined],
    [
      'tokens',
      { tokens: { input_tokens: 1, output_tokens: 2 } },
      { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
    ],
    [
      'tokens before billed units',
      { tokens: { output_tokens: 2 }, billed_units: { input_tokens: 9 } },
      { outputTokens: 2 },
    ],
    ['billed units', { billed_units: { input_tokens: 9 } }, { inputTokens: 9 }],
    ['cached tokens', { cached_tokens: 0 }, { cachedInputTokens: 0 }],
    ['reasoning tokens', { tokens: { reasoning_tokens: 4 } }, { reasoningTokens: 4 }],
  ])('has counts: %s', (_, usage, expected) => {
    expect(decode(end('COMPLETE', { usage }))).toStrictEqual([
      ...(expected ? [{ type: 'usage', usage: expected }] : []),
      finish('stop', 'COMPLETE'),
    ])
  })
})

it('an answer that is not streamed is read as a whole', () => {
  const answer = {
    id: 'r1',
    finish_reason: 'TOOL_CALL',
    message: {
      tool_plan: 'Go',
      content: [{ type: 'thinking', thinking: 'Hm' }, null, { type: 'text', text: 'a' }],
      citations: [{ start: 0 }],
      tool_calls: [call('a', 'one', ''), call('b', 'two', '{"n":1}'), call('c', 'one', '')],
    },
    usage: { tokens: { input_tokens: 1, output_tokens: 2 } },
  }
  expect(decode(answer, answer)).toStrictEqual([
    { type: 'response', id: 'r1' },
    { type: 'thinking', text: 'Hm' },
    { type: 'text', text: 'a' },
    { type: 'metadata', metadata: { citations: [{ start: 0 }] } },
    { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '' },
    { type: 'toolDelta', index: 1, id: 'b', name: 'two', arguments: '{"n":1}' },
    { type: 'toolDelta', index: 2, id: 'c', name: 'one', arguments: '' },
    { type: 'usage', usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } },
    { type: 'metadata', metadata: { toolPlan: 'Go' } },
    { type: 'toolCall', call: { id: 'a', name: 'one', arguments: {} } },
    { type: 'toolCall', call: { id: 'b', name: 'two', arguments: { n: 1 } } },
    { type: 'toolCall', call: { id: 'c', name: 'one', arguments: {} } },
    {
      type: 'opaque',
      protocol: 'cohere',
      data: { provider: target.provider, toolPlan: 'Go', ownThinking: true },
    },
    finish('toolCalls', 'TOOL_CALL'),
  ])
  const plain = { finish_reason: 'COMPLETE', message: { content: { text: 'a' } } }
  expect(decode(plain)).toStrictEqual([{ type: 'text', text: 'a' }, finish('stop', 'COMPLETE')])
})

it('an event without data means nothing, and one without a type is what it is named', () => {
  const decoder = cohere.decoder(target)
  expect(decoder.push({ event: 'message-end', data: 'null' })).toStrictEqual([])
  expect(decoder.push({ event: 'message-end', data: '{}' })).toStrictEqual([finish('stop')])
})
