import { describe, expect, test } from 'vitest'
import { Agent, ModelError } from '../../src/index.ts'
import { loopback, type Reply } from '../loopback.ts'

// Every server says "too long" in its own words, some of them with a status that means "try again". All of them are one
// code, with the numbers the text tells, and none is tried again.

type Row = {
  server: string
  model: string
  status: number
  body: string | object
  window?: number
  requested?: number
}

const chat = (server: string, status: number, error: object, counts: Partial<Row> = {}): Row => ({
  server,
  model: 'openai:m',
  status,
  body: { error },
  ...counts,
})

const anthropic = (type: string, message: string): object => ({ type: 'error', error: { type, message } })

const rows: Row[] = [
  {
    server: 'Anthropic',
    model: 'anthropic',
    status: 400,
    body: anthropic('invalid_request_error', 'prompt is too long: 213462 tokens > 200000 maximum'),
    window: 200_000,
    requested: 213_462,
  },
  {
    server: 'Anthropic, with max_tokens',
    model: 'anthropic',
    status: 400,
    body: anthropic(
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again',
    ),
    window: 200_000,
    requested: 242_959,
  },
  {
    server: 'Anthropic, in bytes',
    model: 'anthropic',
    status: 413,
    body: anthropic('request_too_large', 'Request exceeds the maximum size'),
  },
  {
    server: 'OpenAI Responses',
    model: 'openai-responses',
    status: 400,
    body: {
      error: {
        code: 'context_length_exceeded',
        message:
          'Your input exceeds the context window of this model. Please adjust your input and try again.',
      },
    },
  },
  {
    server: 'OpenAI Responses behind a gateway that drops the text',
    model: 'openai-responses',
    status: 400,
    body: { error: { code: 'context_length_exceeded', message: '' } },
  },
  {
    server: 'Google',
    model: 'google',
    status: 400,
    body: {
      error: {
        code: 400,
        status: 'INVALID_ARGUMENT',
        message: 'The input token count (134123) exceeds the maximum number of tokens allowed (131072).',
      },
    },
    window: 131_072,
    requested: 134_123,
  },
  {
    server: 'Google Vertex',
    model: 'google',
    status: 400,
    body: { error: { code: 400, message: 'Request payload size exceeds the limit: 20971520 bytes.' } },
  },
  {
    server: 'Mistral',
    model: 'mistral',
    status: 400,
    body: {
      object: 'error',
      message:
        'Prompt contains 40007 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    },
    window: 32_768,
    requested: 40_007,
  },
  {
    server: 'Cohere',
    model: 'cohere',
    status: 400,
    body: {
      message:
        'too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt.',
    },
    window: 2048,
    requested: 6354,
  },
  {
    server: 'Cohere today',
    model: 'cohere',
    status: 400,
    body: { message: 'too many tokens: reduce your prompt' },
  },
  {
    server: 'Ollama',
    model: 'ollama',
    status: 400,
    body: { error: 'prompt too long; exceeded max context length by 2048 tokens' },
  },
  {
    server: 'Ollama, embeddings',
    model: 'ollama',
    status: 400,
    body: { error: 'the input length exceeds the context length' },
  },
  chat(
    'OpenAI Chat and Azure',
    400,
    {
      code: 'context_length_exceeded',
      param: 'messages',
      message:
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 8227 tokens. Please reduce the length of the messages.",
    },
    { window: 8192, requested: 8227 },
  ),
  chat(
    'OpenAI, too much for the tier',
    429,
    {
      type: 'tokens',
      code: 'rate_limit_exceeded',
      message:
        'Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully. Visit https://platform.openai.com/account/rate-limits to learn more.',
    },
    { window: 30_000, requested: 342_389 },
  ),
  chat(
    'OpenRouter',
    400,
    {
      code: 400,
      message:
        'This endpoint\'s maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
    },
    { window: 32_768, requested: 42_832 },
  ),
  chat(
    'OpenRouter with the words of the provider behind it',
    400,
    {
      code: 400,
      message: 'Provider returned error',
      metadata: {
        raw: '{"type":"error","error":{"message":"prompt is too long: 213462 tokens > 200000 maximum"}}',
        provider_name: 'Anthropic',
      },
    },
    { window: 200_000, requested: 213_462 },
  ),
  chat(
    'Poolside',
    400,
    { message: 'Input length 140000 exceeds the maximum allowed input length of 131072 tokens.' },
    { window: 131_072, requested: 140_000 },
  ),
  chat('Groq', 400, {
    code: 'context_length_exceeded',
    message: 'Please reduce the length of the messages or completion.',
  }),
  chat(
    'Groq, too much for the tier',
    413,
    {
      code: 'rate_limit_exceeded',
      type: 'tokens',
      message:
        'Request too large for model `llama-3.3-70b-versatile` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size and try again.',
    },
    { window: 6000, requested: 14_810 },
  ),
  chat(
    'Together',
    400,
    { message: "The input (40000 tokens) is longer than the model's context length (32768 tokens)." },
    { window: 32_768, requested: 40_000 },
  ),
  chat(
    'Together in older days',
    400,
    {
      message:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 3000 `inputs` tokens and 2048 `max_new_tokens`',
    },
    { window: 4097, requested: 5048 },
  ),
  chat(
    'Fireworks',
    400,
    {
      code: 'invalid_request_error',
      message: 'The prompt is too long: 40177, model maximum context length: 32767',
    },
    { window: 32_767, requested: 40_177 },
  ),
  chat(
    'vLLM, DeepSeek and NVIDIA',
    400,
    {
      type: 'BadRequestError',
      code: 400,
      message:
        "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
    },
    { window: 131_072, requested: 131_134 },
  ),
  chat(
    'vLLM today',
    400,
    {
      message:
        "This model's maximum context length is 2048 tokens. However, your request has 8 input tokens plus 2045 'max_tokens'. Please reduce one or the other.",
    },
    { window: 2048, requested: 2053 },
  ),
  chat(
    'vLLM between the two',
    400,
    {
      message:
        "'max_tokens' or 'max_completion_tokens' is too large: 2045. This model's maximum context length is 2048 tokens and your request has 8 input tokens (2045 > 2048 - 8).",
    },
    { window: 2048, requested: 2053 },
  ),
  chat(
    'llama.cpp',
    400,
    {
      code: 400,
      type: 'exceed_context_size_error',
      message: 'the request exceeds the available context size, try increasing it',
      n_prompt_tokens: 5012,
      n_ctx: 4096,
    },
    { window: 4096, requested: 5012 },
  ),
  chat('llama.cpp in older days', 500, {
    code: 500,
    type: 'exceed_context_size_error',
    message: 'the request exceeds the available context size. try increasing the context size',
  }),
  chat('LM Studio', 200, {
    message: 'The number of tokens to keep from the initial prompt is greater than the context length.',
  }),
  chat(
    'xAI',
    400,
    {
      message: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    },
    { window: 131_072, requested: 537_812 },
  ),
  chat(
    'Cerebras',
    400,
    { message: 'Please reduce the input. Current length is 9000 while limit is 8192' },
    { window: 8192, requested: 9000 },
  ),
  { server: 'Cerebras without a word (400)', model: 'openai:m', status: 400, body: '' },
  { server: 'Cerebras without a word (413)', model: 'openai:m', status: 413, body: '' },
  ...['Input is too long for requested model.', 'Too many input tokens', 'expected maxLength: 200000'].map(
    (message) => chat(`Bedrock: ${message}`, 400, { type: 'ValidationException', message }),
  ),
  chat(
    'Kimi',
    400,
    { message: 'Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)' },
    { window: 262_144, requested: 300_000 },
  ),
  chat('MiniMax', 400, { message: 'invalid params, context window exceeds limit (2013)' }),
  chat('z.ai', 400, { code: '1261', message: 'Prompt too long' }),
  chat('z.ai in other words', 400, { code: '1210', message: 'Prompt exceeds max length' }),
  chat(
    'DashScope',
    400,
    {
      code: 'invalid_parameter_error',
      message: '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]',
    },
    { window: 98_304 },
  ),
  chat('LiteLLM', 400, {
    message:
      'litellm.ContextWindowExceededError: litellm.BadRequestError: Context Window exceeded for given call.',
  }),
]

const failureOf = async (model: string, reply: Reply) => {
  const { url, requests } = await loopback(() => reply)
  const agent = new Agent(model, { baseUrl: url, apiKey: 'key', retry: { maxRetries: 2, initialDelayMs: 1 } })
  const error = await agent.send('hi').then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ModelError)) throw new Error('The provider refused, and nobody heard of it.')
  return { error, requests: requests.length }
}

const asSse = (model: string, body: object): string =>
  model === 'ollama' ? JSON.stringify(body) : `data: ${JSON.stringify(body)}\n\n`

const overflowIn = ({ window, requested }: Row): object => ({
  code: 'context_overflow',
  retryable: false,
  window,
  requested,
  retryAfterMs: undefined,
})

test.each(rows)('$server: an overflow, told with its numbers and never tried again', async (row) => {
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
