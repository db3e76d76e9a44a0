/** Refusals as users report them, of thirty servers: one request more and a warning, and none for what is no refusal. */
import { describe, expect, it } from 'vitest'
import { modelMessage, userMessage } from '../../../src/messages/messages.ts'
import type { ModelRequest } from '../../../src/model/chatModel.ts'
import { loopback } from '../../loopback.ts'
import { answerOn, ask, claude, gemini, openai } from './refusingServer.ts'

const tool = {
  name: 'search',
  description: 'Searches.',
  inputSchema: {
    type: 'object',
    properties: { q: { type: 'string' } },
    required: ['q'],
    additionalProperties: false,
  },
}
const tools = [tool]
const forced = { tools, toolChoice: 'required' as const }
const named = { tools, toolChoice: { tool: 'search' } }
const schema = { outputSchema: { type: 'object', properties: { city: { type: 'string' } } } }
const hard = { thinking: { effort: 'high' as const } }
const serial = { tools, parallelToolCalls: false }
const stops = { stopSequences: ['END'] }
const all: Partial<ModelRequest> = {
  ...forced,
  ...hard,
  ...stops,
  temperature: 0.2,
  topP: 0.9,
  seed: 7,
  maxOutputTokens: 500,
  parallelToolCalls: false,
}
const vllm = (message: string, param: string | null = null) => ({
  error: { message, type: 'BadRequestError', param, code: 400 },
})
const aliyun = (message: string) => openai(`<400> InternalError.Algo.InvalidParameter: ${message}`)
const mistral = (message: string) => ({
  object: 'error',
  message,
  type: 'invalid_request_invalid_args',
  param: null,
  code: '3051',
  raw_status_code: 400,
})
const cerebras = (message: string, param: string) => ({
  message,
  type: 'invalid_request_error',
  param,
  code: 'wrong_api_format',
})

const M = 'openai:my-model'
const R = 'openai-responses:my-model'
const C = 'anthropic:claude-sonnet-5-5'
const G = 'google:gemini-3-flash'
const sonar = 'openai:my-sonar'

type Case = [server: string, model: string, request: Partial<ModelRequest>, body: object, setting: string]

const refusals: Case[] = [
  [
    'OpenAI',
    M,
    schema,
    openai(
      "Invalid schema for response_format 'answer': In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing 'city'.",
      { param: 'response_format' },
    ),
    'outputSchema',
  ],
  [
    'OpenAI',
    R,
    hard,
    openai(
      "Unsupported value: 'high' is not supported with the 'gpt-5.2-chat-latest' model. Supported values are: 'medium'.",
      { param: 'reasoning.effort', code: 'unsupported_value' },
    ),
    'thinking',
  ],
  ['OpenAI', M, stops, openai("'$.stop' is invalid. Please check the API reference."), 'stopSequences'],
  ['OpenAI', M, stops, openai("Unknown parameter: 'stop'. Did you mean 'store'?"), 'stopSequences'],
  [
    'Anthropic',
    C,
    { thinking: { effort: 'max' } },
    claude("This model does not support effort level 'max'. Supported levels: high, low, medium."),
    'thinking',
  ],
  [
    'Anthropic',
    C,
    { thinking: false },
    claude('"thinking.type.disabled" is not supported for this model.'),
    'thinking',
  ],
  [
    'Bedrock',
    C,
    {},
    {
      message:
        'You invoked an unsupported model or your request did not allow prompt caching. See the documentation for more information.',
    },
    'cache',
  ],
  [
    'Bedrock',
    M,
    stops,
    {
      message:
        'The model returned the following errors: Malformed input request: #: extraneous key [stop] is not permitted, please reformat your input and try again.',
    },
    'stopSequences',
  ],
  [
    'Vertex',
    G,
    schema,
    gemini(
      'Unable to submit request because one or more response schemas specified other fields next to any_of. When using any_of, it must be the only field set.',
    ),
    'outputSchema',
  ],
  [
    'Vertex',
    G,
    hard,
    gemini(
      'Unable to submit request because thinking is not configurable in this model; please remove the thinking_config setting and try it again.',
    ),
    'thinking',
  ],
  [
    'Vertex',
    G,
    hard,
    gemini('Unable to submit request because thinking_level MEDIUM is not supported by this model.'),
    'thinking',
  ],
  ['Gemini', G, hard, gemini('You can only set only one of thinking budget and thinking level.'), 'thinking'],
  ['Gemini', G, named, gemini('allowed_function_names is not supported for this model'), 'toolChoice'],
  [
    'Mistral',
    'mistral:magistral-medium-2509',
    { thinking: true },
    mistral('Reasoning prompt mode is not enabled for this model'),
    'thinking',
  ],
  [
    'Mistral',
    'mistral:magistral-medium-2509',
    { thinking: true },
    mistral('prompt_mode is not supported for this model'),
    'thinking',
  ],
  [
    'Mistral',
    'mistral:mistral-large-latest',
    { ...schema, tools },
    mistral('Cannot use json response type with tools'),
    'outputSchema',
  ],
  ['Mistral', M, { topP: 0.5 }, mistral('top_p must be 1 when using greedy sampling.'), 'topP'],
  [
    'Cohere',
    M,
    forced,
    {
      message:
        "unrecognized tool choice option 'any'. For proper usage, please refer to https://docs.cohere.com/reference/chat",
    },
    'toolChoice',
  ],
  [
    'Cohere',
    R,
    { tools },
    {
      message:
        "unknown field: parameter 'strict' is not a valid field. For proper usage, please refer to https://docs.cohere.com/reference/chat",
    },
    'strict',
  ],
  [
    'Cohere',
    'cohere:command-a-reasoning-08-2025',
    { thinking: true },
    { message: 'invalid request: thinking is not supported by this model' },
    'thinking',
  ],
  ['Groq', M, serial, openai('parallel tool calling is not supported for this model'), 'parallelToolCalls'],
  [
    'Together',
    M,
    schema,
    openai('Error parsing grammar: unsupported regex lookahead', { code: null }),
    'outputSchema',
  ],
  [
    'Fireworks',
    M,
    stops,
    openai("Extra inputs are not permitted, field: 'stop', value: ['END']"),
    'stopSequences',
  ],
  ['vLLM', M, schema, vllm('Failed to compile grammar: Invalid regex'), 'outputSchema'],
  ['vLLM', M, schema, vllm('Grammar error: Unknown format: uri'), 'outputSchema'],
  [
    'vLLM',
    M,
    { providerOptions: { chat_template_kwargs: { enable_thinking: true } } },
    vllm('chat_template is not supported for Mistral tokenizers.'),
    'thinking',
  ],
  [
    'SGLang',
    M,
    schema,
    {
      object: 'error',
      message: 'Invalid grammar request object: Failed to compile xgrammar grammar for json schema',
      type: 'BadRequestError',
      code: 400,
    },
    'outputSchema',
  ],
  [
    'llama.cpp',
    M,
    schema,
    {
      error: {
        code: 400,
        message: 'failed to initialize samplers: failed to parse grammar',
        type: 'invalid_request_error',
      },
    },
    'outputSchema',
  ],
  ['a gateway', M, { seed: 7 }, openai('Not supported by the model: `seed`'), 'seed'],
  ['LM Studio', M, {}, { error: "Unrecognized key(s) in object: 'stream_options'" }, 'usage'],
  [
    'LM Studio',
    M,
    hard,
    {
      error: {
        message: "Reasoning setting 'high' is not supported for this model. Supported settings: 'off', 'on'.",
        type: 'invalid_request',
      },
    },
    'thinking',
  ],
  [
    'OpenRouter',
    M,
    { providerOptions: { reasoning: { enabled: false } } },
    { error: { message: 'Reasoning is mandatory for this endpoint and cannot be disabled.', code: 400 } },
    'thinking',
  ],
  [
    'OpenRouter',
    M,
    { maxOutputTokens: 10, providerOptions: { reasoning: { effort: 'high', max_tokens: 5 } } },
    {
      error: {
        message: 'Only one of "reasoning.effort" and "reasoning.max_tokens" can be specified',
        code: 400,
      },
    },
    'thinking',
  ],
  [
    'DeepSeek',
    M,
    hard,
    openai(
      'Failed to deserialize the JSON body into the target type: reasoning_effort: unknown variant `minimal`, expected one of `high`, `max` at line 1 column 50',
    ),
    'thinking',
  ],
  [
    'DeepSeek',
    R,
    { tools },
    openai(
      'Invalid tools: strict function calling is only available with base_url https://api.deepseek.com/beta',
    ),
    'strict',
  ],
  [
    'Moonshot',
    M,
    { ...hard, providerOptions: { thinking: { type: 'enabled' } } },
    openai("cannot specify both 'thinking' and 'reasoning_effort'"),
    'thinking',
  ],
  ['Moonshot', M, named, openai('tool_choice specified is incompatible with thinking enabled'), 'toolChoice'],
  ['Z.ai', M, { topP: 0.3 }, { error: { code: '1214', message: 'top_p 参数不合法，请检查文档。' } }, 'topP'],
  ['Z.ai', M, stops, { error: { code: '1210', message: 'stop参数有误，请检查文档' } }, 'stopSequences'],
  [
    'Z.ai',
    M,
    forced,
    { error: { message: 'Tool choice must be auto', code: 400, metadata: { provider_name: 'Z.AI' } } },
    'toolChoice',
  ],
  [
    'DashScope',
    M,
    forced,
    aliyun('tool_choice is one of the strings that should be ["none", "auto"]'),
    'toolChoice',
  ],
  [
    'MiniMax',
    C,
    schema,
    claude('invalid params, output_config.format.json_schema not supported'),
    'outputSchema',
  ],
  [
    'xAI',
    R,
    { providerOptions: { store: false } },
    { code: '400', error: 'Argument not supported: include' },
    'thinking',
  ],
  [
    'xAI',
    R,
    hard,
    {
      code: 'invalid-argument',
      error: 'Model grok-4-1-fast-reasoning does not support parameter reasoningEffort.',
    },
    'thinking',
  ],
  [
    'Cerebras',
    R,
    { tools },
    cerebras('Tools with strict=True are not supported by this model', 'tools'),
    'strict',
  ],
  [
    'Cerebras',
    M,
    schema,
    cerebras("Unsupported JSON schema fields: {'minItems', 'items'}", 'response_format'),
    'outputSchema',
  ],
  [
    'Cerebras',
    M,
    hard,
    cerebras(
      "1 validation error for ChatCompletionServerRequest\nreasoning_effort\n Input should be 'low' or 'medium' [type=enum, input_value='high', input_type=str]\n For further information visit https://errors.pydantic.dev/2.8/v/enum",
      'validation_error',
    ),
    'thinking',
  ],
  [
    'Perplexity',
    sonar,
    stops,
    { error: { message: '["At body -> stop: Extra inputs are not permitted"]', type: 'bad_request' } },
    'stopSequences',
  ],
  [
    'Perplexity',
    sonar,
    forced,
    { error: { message: '["At body -> tool_choice: Extra inputs are not permitted"]', code: 400 } },
    'toolChoice',
  ],
  [
    'LiteLLM',
    R,
    { tools },
    openai(
      'litellm.BadRequestError: BedrockException - {"message":"tools.0.custom.strict: Extra inputs are not permitted"}',
    ),
    'strict',
  ],
  [
    'NVIDIA',
    M,
    { providerOptions: { thinking: { type: 'enabled' } } },
    vllm('Validation: Unsupported parameter(s): thinking'),
    'thinking',
  ],
]

describe('a refusal that users report', () => {
  it.each(refusals)(
    'costs one request, and then none: %s, %s, %j, %j',
    async (_, model, request, body, setting) => {
      const [provider = ''] = model.split(':')
      const server = await loopback((_, nth) => (nth === 0 ? { status: 400, body } : answerOn(provider)))
      const { error, warnings } = await ask(model, server, request)
      expect(error).toBe('')
      expect(server.requests).toHaveLength(2)
      expect(warnings.filter(({ refusal }) => refusal !== undefined)).toMatchObject([{ setting }])
      await ask(model, server, request)
      expect(server.requests).toHaveLength(3)
    },
  )

  it.each([
    [{ tools, ...hard }, 'none'],
    [{ tools }, 'none'],
  ])('may want no thinking beside tools, and gets it with tools only: %j', async (request, effort) => {
    const refusal = openai(
      "Function tools with reasoning_effort are not supported for gpt-5.6-luna in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
      { param: 'reasoning_effort' },
    )
    const server = await loopback((_, nth) =>
      nth === 0 ? { status: 400, body: refusal } : answerOn('openai'),
    )
    const { error, warnings } = await ask(M, server, request)
    expect(error).toBe('')
    expect(warnings).toMatchObject([{ setting: 'thinking', change: 'replaced' }])
    expect(server.requests[1]?.body).toMatchObject({ reasoning_effort: effort })
    await ask(M, server, {})
    expect(server.requests[2]?.body).not.toHaveProperty('reasoning_effort')
  })

  it.each([
    ['ollama:gpt-oss:20b', 'invalid think value: "high" (must be "medium", "low", true, or false)', 'think'],
    [M, 'invalid reasoning value: \'high\' (must be "medium", "low", or "none")', 'reasoning_effort'],
  ])('gets the nearest effort that Ollama names: %s, %s', async (model, message, field) => {
    const [provider = ''] = model.split(':')
    const server = await loopback((_, nth) =>
      nth === 0 ? { status: 400, body: { error: message } } : answerOn(provider),
    )
    expect((await ask(model, server, hard)).error).toBe('')
    expect(server.requests[1]?.body).toMatchObject({ [field]: 'medium' })
  })

  it('names the longest answer that MiniMax gives', async () => {
    const body = claude('invalid params, max_tokens must be <= 524288 (2013)')
    const server = await loopback((_, nth) => (nth === 0 ? { status: 400, body } : answerOn('anthropic')))
    await ask(C, server, { maxOutputTokens: 900_000 })
    expect(server.requests[1]?.body).toMatchObject({ max_tokens: 524_288 })
  })

  it.each([
    [
      openai(
        'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1',
      ),
    ],
    [
      {
        code: 20015,
        message:
          'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1',
        data: null,
      },
    ],
  ])('may want a thinking that is not empty: %j', async (body) => {
    const server = await loopback((_, nth) => (nth === 0 ? { status: 400, body } : answerOn('openai')))
    const messages = [
      userMessage('Search.'),
      modelMessage([{ type: 'toolCall', id: 'c1', name: 'search', arguments: {} }]),
      userMessage([{ type: 'toolResult', id: 'c1', name: 'search', result: 'Nothing.' }]),
    ]
    const { error, warnings } = await ask(M, server, { messages, tools })
    expect(error).toBe('')
    expect(warnings).toMatchObject([{ setting: 'history', change: 'replaced' }])
    expect(server.requests[1]?.text).toContain('"reasoning_content":" "')
  })
})

describe('what users report that is no refusal of a setting', () => {
  it.each<[what: string, model: string, request: Partial<ModelRequest>, body: object]>([
    ['a top_p that is no share', M, { topP: 0 }, vllm('top_p must be in (0, 1], got 0.0.')],
    ['a temperature above the range', M, all, aliyun('Temperature should be in [0.0, 2.0)')],
    [
      'a temperature outside of the range',
      M,
      all,
      claude('invalid params, temperature must in (0, 1] (2013)'),
    ],
    ['a prompt that leaves no room', M, all, vllm('max_tokens must be at least 1, got -205.', 'max_tokens')],
    [
      'an answer that does not fit its schema',
      M,
      { ...schema, temperature: 0.2 },
      openai(
        "Generated JSON does not match the expected schema. Please adjust your prompt. See 'failed_generation' for more details.",
        { code: 'json_validate_failed', failed_generation: '{}' },
      ),
    ],
    [
      'a call that the model should not have made',
      M,
      all,
      openai(
        'litellm.BadRequestError: GroqException - {"error":{"message":"Tool choice is "none", but model called a tool","code":"tool_use_failed","failed_generation":"x"}}',
      ),
    ],
    [
      'a model whose name is full of settings',
      M,
      all,
      openai(
        "The requested model 'x/thinking-temperature' is not supported by any provider you have enabled.",
        {
          param: 'model',
          code: 'model_not_supported',
        },
      ),
    ],
    [
      'an account that may not stream',
      M,
      all,
      openai('Your organization must be verified to stream this model.', {
        param: 'stream',
        code: 'unsupported_value',
      }),
    ],
    [
      'a stop sequence that is empty',
      M,
      { stopSequences: [''] },
      vllm('stop cannot contain an empty string.'),
    ],
    ['a key', G, all, gemini('API key not valid. Please pass a valid API key.')],
    ['a template that takes one call', M, all, vllm('This model only supports single tool-calls at once!')],
    [
      'an answer that was cut off',
      M,
      all,
      openai('Could not finish the message because max_tokens or model output limit was reached.'),
    ],
    [
      'a schema of a tool whose property has the name of a setting',
      G,
      all,
      gemini(
        'Invalid value at \'tools[0].function_declarations[0].parameters.properties[0].value\' (type.googleapis.com/google.ai.generativelanguage.v1beta.Schema), "temperature"',
      ),
    ],
    [
      'an item without its thinking',
      R,
      { ...hard, tools },
      openai(
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
      ),
    ],
    [
      'parameters that no endpoint takes',
      M,
      all,
      {
        error: {
          message:
            'No endpoints found that can handle the requested parameters. To learn more about provider routing, visit: https://openrouter.ai/docs/guides/routing/provider-selection',
          code: 404,
        },
      },
    ],
  ])('ends the request at once: %s', async (_, model, request, body) => {
    const server = await loopback(() => ({ status: 400, body }))
    const { error, warnings } = await ask(model, server, request)
    expect(error).not.toBe('')
    expect(warnings.filter(({ refusal }) => refusal !== undefined)).toEqual([])
    expect(server.requests).toHaveLength(1)
  })
})
