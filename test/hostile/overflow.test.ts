import { describe, expect, test } from 'vitest'
import { Agent, ModelError } from '../../src/index.ts'
import { loopback, type Reply } from '../loopback.ts'
import { type OverflowRow, overflowRows as rows } from './overflowRows.ts'

// Every server says "too long" in its own words, some of them with a status that means "try again". All of them are one
// code, with the numbers that the text names, and none is tried again.

const failureOf = async (model: string, reply: Reply) => {
  const { url, requests } = await loopback(() => reply)
  const agent = new Agent(model, { baseUrl: url, apiKey: 'key', retry: { maxRetries: 2, initialDelayMs: 1 } })
  const error = await agent.send('hi').then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ModelError)) throw new Error('The provider refused, and no error was reported.')
  return { error, requests: requests.length }
}

const asSse = (model: string, body: object): string =>
  model === 'ollama' ? JSON.stringify(body) : `data: ${JSON.stringify(body)}\n\n`

const overflowIn = ({ window, requested }: OverflowRow): object => ({
  code: 'context_overflow',
  retryable: false,
  window,
  requested,
  retryAfterMs: undefined,
})

test.each(rows)('$server: an overflow, reported with its numbers and never tried again', async (row) => {
  const headers = { 'retry-after-ms': '1', ...(row.body !== '' && { 'x-should-retry': 'true' }) }
  const { error, requests } = await failureOf(row.model, { status: row.status, headers, body: row.body })
  expect(error).toMatchObject(overflowIn(row))
  expect(requests).toBe(1)
})

test.each(rows.filter(({ body }) => body !== ''))('$server: the same inside a stream', async (row) => {
  const { error, requests } = await failureOf(row.model, { body: asSse(row.model, Object(row.body)) })
  expect(error).toMatchObject(overflowIn(row))
  expect(requests).toBe(1)
})

describe('events of streams', () => {
  const text = 'Your input exceeds the context window of this model.'

  test.each([
    ['error', { type: 'error', code: 'context_length_exceeded', message: text }],
    [
      'response.failed',
      {
        type: 'response.failed',
        response: { id: 'r', status: 'failed', error: { code: 'context_length_exceeded', message: text } },
      },
    ],
  ])('Responses: %s', async (_, event) => {
    const { error } = await failureOf('openai-responses', { body: asSse('openai', event) })
    expect(error).toMatchObject({ code: 'context_overflow', retryable: false, message: text })
  })

  test('Anthropic and z.ai stop with a word for it: what came of the answer is in the partial result', async () => {
    const stopped = 'model_context_window_exceeded'
    const events = [
      { type: 'message_start', message: { id: 'm', content: [], usage: { input_tokens: 5 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'So far' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: stopped }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ]
    const chunk = { id: 'c', choices: [{ index: 0, delta: { content: 'So far' }, finish_reason: stopped }] }
    const answers: [string, string][] = [
      ['anthropic', events.map((event) => asSse('anthropic', event)).join('')],
      ['openai:m', `${asSse('openai', chunk)}data: [DONE]\n\n`],
    ]
    for (const [model, body] of answers) {
      const { error, requests } = await failureOf(model, { body })
      expect(error).toMatchObject({ code: 'context_overflow', retryable: false, rawFinishReason: stopped })
      expect(error.partial).toMatchObject({ output: 'So far', rawFinishReason: stopped })
      expect(requests).toBe(1)
    }
  })

  test('Xiaomi MiMo cuts the input until it fills the window: length without a single token', async () => {
    const chunk = { id: 'c', choices: [{ index: 0, delta: { content: '' }, finish_reason: 'length' }] }
    const usage = { id: 'c', choices: [], usage: { prompt_tokens: 262_144, completion_tokens: 0 } }
    const body = `${asSse('openai', chunk)}${asSse('openai', usage)}data: [DONE]\n\n`
    const { error } = await failureOf('openai:m', { body })
    expect(error).toMatchObject({ code: 'context_overflow', retryable: false, rawFinishReason: 'length' })
  })
})

const others: [string, number, object, { code: string; retryable: boolean }][] = [
  [
    'Bedrock throttles',
    429,
    { type: 'ThrottlingException', message: 'Too many tokens, please wait before trying again.' },
    { code: 'ThrottlingException', retryable: true },
  ],
  [
    'a rate limit that will pass',
    429,
    {
      code: 'rate_limit_exceeded',
      type: 'tokens',
      message:
        'Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 25000, Requested 10000. Please try again in 10s.',
    },
    { code: 'rate_limit_exceeded', retryable: true },
  ],
  ['too many requests', 429, { code: '429', message: 'Too many requests' }, { code: '429', retryable: true }],
  [
    'a parameter that is too long',
    400,
    {
      code: 'string_above_max_length',
      message:
        "Invalid 'messages[0].content': string too long. Expected a string with maximum length 10485760.",
    },
    { code: 'string_above_max_length', retryable: false },
  ],
  [
    'a quota of z.ai',
    429,
    { code: '1308', message: 'Usage limit reached for 5 hours. Your limit will reset later.' },
    { code: '1308', retryable: true },
  ],
  [
    'an account without money',
    429,
    {
      code: 'insufficient_quota',
      type: 'insufficient_quota',
      message: 'You exceeded your current quota, please check your plan and billing details.',
    },
    { code: 'insufficient_quota', retryable: false },
  ],
  [
    'an account without money, the word beside a number',
    429,
    { code: 429, type: 'insufficient_quota', message: 'You exceeded your current quota.' },
    { code: '429', retryable: false },
  ],
]

describe.each(others)('%s is not an overflow', (_, status, error, expected) => {
  test('and is tried again only where that may help', async () => {
    const { error: thrown, requests } = await failureOf('openai:m', {
      status,
      headers: { 'retry-after-ms': '1' },
      body: { error },
    })
    expect(thrown).toMatchObject({ ...expected, window: undefined, requested: undefined })
    expect(requests).toBe(expected.retryable ? 3 : 1)
  })
})

test('Google asks for a wait with the same words as OpenAI without money: that one is tried again', async () => {
  const { error, requests } = await failureOf('google', {
    status: 429,
    body: {
      error: {
        code: 429,
        status: 'RESOURCE_EXHAUSTED',
        message: 'You exceeded your current quota, please check your plan and billing details.',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0.001s' }],
      },
    },
  })
  expect(error).toMatchObject({ code: 'RESOURCE_EXHAUSTED', retryable: true })
  expect(requests).toBe(3)
})
