import { describe, expect, it } from 'vitest'
import { openaiChat } from '../../../providers/openai-chat/index.ts'
import {
  chunk,
  decode,
  done,
  event,
  failed,
  first,
  ofType,
  type Row,
  response,
  said,
  stop,
  stopped,
  text,
  truncated,
} from './chunks.ts'
import { plainProfile } from './plainProfile.ts'

const errorOf = (...events: Parameters<typeof decode>[0]) => ofType(decode(events), 'error')[0]

describe('an error inside a stream', () => {
  it('ends it with the message of the provider, after the text that came', () => {
    const deltas = decode([
      chunk({ content: 'Hel' }),
      event({ error: { message: 'Overloaded', type: 'server_error', code: null } }),
      chunk({ content: 'lo' }),
      done,
    ])
    expect(deltas.slice(-2)).toEqual([
      { type: 'text', text: 'Hel' },
      {
        type: 'error',
        error: { name: 'ModelError', message: 'Overloaded', code: 'server_error', retryable: true },
      },
    ])
  })

  it.each([
    ['refusal', { refusal: 'I can' }],
    ['transcript', { audio: { id: 'x', data: 'AAAA', transcript: 'Hel' } }],
    ['tool the server runs', { executed_tools: [{ index: 0, name: 'search' }] }],
  ])('reports nothing of a %s that is reported whole or not at all', (_, delta) => {
    const shown = decode([chunk(delta)]).filter(({ type }) => type !== 'response' && type !== 'progress')
    expect(shown).toMatchObject([{ type: 'error', error: { code: 'truncated', retryable: true } }])
  })

  it.each([[null], [''], [{}]])('is not seen in error: %j', (error) => {
    const quiet = event({ error, choices: [{ index: 0, delta: { content: 'a' } }] })
    expect(decode([quiet, stop, done]).at(-1)?.type).toBe('finish')
  })

  it('lets the usage that OpenRouter sends after it through, and keeps its finish word', () => {
    const failed = {
      choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
      error: { message: 'Provider returned error', code: 502, metadata: { raw: 'upstream: out of memory' } },
    }
    const usage = { choices: [{ index: 0, delta: {} }], usage: { prompt_tokens: 3, completion_tokens: 1 } }
    const decoder = openaiChat.decoder({ provider: 'openrouter', model: 'm1', profile: plainProfile })
    expect(ofType(decoder.push(event(failed)), 'error')).toEqual([])
    expect(decoder.push(event(usage))).toEqual([
      { type: 'usage', usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 } },
      {
        type: 'error',
        raw: 'error',
        error: {
          name: 'ModelError',
          message: 'Provider returned error (upstream: out of memory)',
          code: '502',
          status: 502,
          retryable: true,
        },
      },
    ])
    expect(decoder.end()).toEqual([])
  })

  it('keeps what a model had written when Groq could not read the call, and may be retried', () => {
    const error = {
      message: 'Failed to call a function.',
      type: 'invalid_request_error',
      code: 'tool_use_failed',
      failed_generation: '<function=get_weather>',
      status_code: 400,
    }
    expect(errorOf(event({ error }, 'error'))?.error).toEqual({
      name: 'ModelError',
      message: 'Failed to call a function. Failed generation: <function=get_weather>',
      code: 'tool_use_failed',
      status: 400,
      retryable: true,
    })
  })

  it('may be retried where Groq could not read an answer as JSON', () => {
    const error = { message: 'Failed to generate JSON.', code: 'json_validate_failed', status_code: 400 }
    expect(errorOf(event({ error }, 'error'))?.error).toMatchObject({ status: 400, retryable: true })
  })

  it('reports the calls that were whole before it', () => {
    const whole = { index: 0, id: 'a', function: { name: 'f', arguments: '{"x":1}' } }
    const open = { index: 1, id: 'b', function: { name: 'g', arguments: '{"x"' } }
    const deltas = decode([chunk({ tool_calls: [whole, open] }), event({ error: 'boom' })])
    expect(ofType(deltas, 'toolCall').map((delta) => delta.call.id)).toEqual(['a'])
    expect(deltas.at(-1)?.type).toBe('error')
  })

  it('is made of data that is not JSON', () => {
    expect(errorOf({ data: '{"choices":[' })?.error).toMatchObject({ code: 'invalid_json' })
  })

  it('is never made of hostile keys', () => {
    const hostile =
      '{"__proto__":{"polluted":1},"choices":[{"delta":{"__proto__":{"content":"x"},"content":"a"}}]}'
    const deltas = decode([{ data: hostile }, stop, done])
    expect(ofType(deltas, 'text')).toEqual([{ type: 'text', text: 'a' }])
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })
})

describe('errors in a stream', () => {
  const busy = { message: 'Busy', code: 'overloaded' }
  const isBusy = failed({ message: 'Busy', retryable: true, code: 'overloaded' })
  const rows: Row[] = [
    ['alone', [event({ error: busy }), said('late')], [isBusy]],
    ['as a text', [event({ error: 'Busy' })], [failed({ message: 'Busy', retryable: false })]],
    ['in a list', [event({ errors: [busy], success: false }), stop], [isBusy]],
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
      'in an event that is named so, with a status',
      [event({ message: 'Busy', code: 503 }, 'error')],
      [failed({ message: 'Busy', retryable: true, status: 503, code: '503' })],
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
      'beside a choice, before the end mark',
      [event({ choices: [{ index: 0 }], error: busy }), done],
      [isBusy],
    ],
    ['beside a choice, before the end', [event({ choices: [{ index: 0 }], error: busy })], [isBusy]],
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
  it.each(rows)('%s', (_, events, expected) => expect(decode(events)).toStrictEqual(expected))
})

describe('an error body', () => {
  it.each([
    [
      { error: { message: 'No such model', type: 'invalid_request_error', code: 'model_not_found' } },
      'No such model',
      'model_not_found',
    ],
    [{ error: { message: 'Bad key', type: 'auth', code: null } }, 'Bad key', 'auth'],
    [{ error: { message: 'Slow down', code: 429 } }, 'Slow down', '429'],
    [{ error: 'model not found' }, 'model not found', undefined],
    [{ error: 'Unauthorized', message: 'The key is not valid' }, 'The key is not valid', 'Unauthorized'],
    [
      { message: 'Invalid model', type: 'invalid_model', object: 'error', code: '1500' },
      'Invalid model',
      '1500',
    ],
    [{ detail: 'Invalid API Key' }, 'Invalid API Key', undefined],
    [
      { detail: [{ loc: ['body', 'seed'], msg: 'Extra inputs are not permitted' }] },
      'body.seed: Extra inputs are not permitted',
      undefined,
    ],
    [
      { object: 'error', message: { detail: [{ loc: ['body', 'n'], msg: 'too big' }] } },
      'body.n: too big',
      undefined,
    ],
    [
      [{ error: { code: 400, message: 'API key not valid', status: 'INVALID_ARGUMENT' } }],
      'API key not valid',
      '400',
    ],
    [
      { title: 'Payment Required', status: 402, type: 'about:blank', detail: 'No credits' },
      'No credits',
      '402',
    ],
    [{ error: { reason: 'odd' } }, '{"reason":"odd"}', undefined],
  ])('%j is understood', (body, message, code) => {
    const { type: _, ...error } = openaiChat.error(body) ?? {}
    expect(error).toEqual({ message, ...(code !== undefined && { code }) })
  })

  it('brings the word beside a code that is only a number', () => {
    const error = { message: 'No money', code: 429, type: 'insufficient_quota' }
    expect(openaiChat.error({ error })).toEqual({ ...error, code: '429' })
  })

  it('brings the id of the request where the server gives it', () => {
    expect(openaiChat.error({ id: 'req-1', error: { message: 'no' } })).toEqual({
      message: 'no',
      requestId: 'req-1',
    })
    expect(openaiChat.error({ request_id: 'req-2', error: 'no' })).toEqual({
      message: 'no',
      requestId: 'req-2',
    })
  })

  it.each([[{ choices: [] }], [{ id: 'x' }], [{}], [[]], ['text'], [null], [7]])(
    '%j is not an error',
    (body) => {
      expect(openaiChat.error(body)).toBeUndefined()
    },
  )
})
