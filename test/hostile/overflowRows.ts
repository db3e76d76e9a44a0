/** The words of each server for a request that is too long, and the numbers in them. */
export type OverflowRow = {
  server: string
  model: string
  status: number
  body: string | object
  window?: number
  requested?: number
}

const chat = (
  server: string,
  status: number,
  error: object,
  counts: Partial<OverflowRow> = {},
): OverflowRow => ({
  server,
  model: 'openai:m',
  status,
  body: { error },
  ...counts,
})

const anthropic = (type: string, message: string): object => ({ type: 'error', error: { type, message } })

export const overflowRows: OverflowRow[] = [
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
