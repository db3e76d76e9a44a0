/** Refusals that earlier tables missed, in the words of servers of all kinds: what is learnt, for what, and what is not. */
import { describe, expect, it } from 'vitest'
import { modelMessage, userMessage } from '../../../src/messages/messages.ts'
import type { ModelRequest } from '../../../src/model/chatModel.ts'
import { loopback } from '../../loopback.ts'
import { answerOn, ask, claude, gemini, openai, sse } from './refusingServer.ts'

const tool = (name = 'search') => ({ name, description: 'Searches.', inputSchema: { type: 'object' } })
const forced = { tools: [tool()], toolChoice: 'required' as const }
const named = { tools: [tool()], toolChoice: { tool: 'search' } }
const schema = { outputSchema: { type: 'object', properties: { city: { type: 'string' } } } }
const other = { outputSchema: { type: 'object', properties: { land: { type: 'string' } } } }
const warm = { temperature: 0.2 }
const hard = { thinking: { effort: 'high' as const } }
const serial = { tools: [tool()], parallelToolCalls: false }
const vllm = (message: string) => ({
  object: 'error',
  message,
  type: 'BadRequestError',
  param: null,
  code: 400,
})
const vllm2 = (message: string, param: string | null = null) => ({
  error: { message, type: 'BadRequestError', param, code: 400 },
})

const M = 'openai:my-model'

type Case = [
  server: string,
  model: string,
  request: Partial<ModelRequest>,
  body: object,
  setting: string,
  status?: number,
]

const cases: Case[] = [
  [
    'vLLM',
    M,
    { thinking: { effort: 'xhigh' } },
    vllm2(
      "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': 'xhigh', 'ctx': {'expected': \"'low', 'medium' or 'high'\"}}\n\n  File \"/usr/local/lib/python3.12/dist-packages/vllm/entrypoints/openai/api_server.py\", line 710, in create_chat_completion\n    @router.post(\n",
    ),
    'thinking',
  ],
  ['vLLM', M, schema, vllm2('Grammar error: Unimplemented keys: ["propertyNames"]'), 'outputSchema'],
  [
    'vLLM',
    M,
    serial,
    vllm2('Only `parallel_tool_calls=True` is supported', 'parallel_tool_calls'),
    'parallelToolCalls',
  ],
  [
    'vLLM',
    'vllm:Qwen/Qwen3-8B',
    { thinking: false },
    vllm(
      "[{'type': 'extra_forbidden', 'loc': ('body', 'chat_template_kwargs'), 'msg': 'Extra inputs are not permitted'}]",
    ),
    'thinking',
  ],
  [
    'llama.cpp',
    M,
    schema,
    {
      error: {
        code: 400,
        message: 'Either "json_schema" or "grammar" can be specified, but not both',
        type: 'invalid_request_error',
      },
    },
    'outputSchema',
  ],
  [
    'llama.cpp',
    M,
    serial,
    { error: { code: 500, message: 'Unsupported param: parallel_tool_calls', type: 'server_error' } },
    'parallelToolCalls',
    500,
  ],
  [
    'llama.cpp',
    M,
    named,
    {
      error: {
        code: 400,
        message: 'Invalid tool_choice: {"type":"function"}',
        type: 'invalid_request_error',
      },
    },
    'toolChoice',
  ],
  [
    'llama.cpp',
    M,
    schema,
    { error: { code: 400, message: 'Failed to parse grammar', type: 'invalid_request_error' } },
    'outputSchema',
  ],
  [
    'LM Studio',
    M,
    hard,
    {
      error: {
        message: "Invalid discriminator value. Expected 'off' | 'on'",
        type: 'invalid_request_error',
        param: 'reasoning.effort',
      },
    },
    'thinking',
  ],
  [
    'SGLang',
    M,
    { ...schema, tools: [tool()] },
    {
      object: 'error',
      message:
        "response_format 'json_schema' cannot be used together with tools when tool_choice is active. Set tool_choice to 'none' or remove response_format.",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
    'outputSchema',
  ],
  [
    'LiteLLM',
    M,
    warm,
    openai(
      'litellm.BadRequestError: AnthropicException - {"type":"error","error":{"type":"invalid_request_error","message":"`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"}}',
    ),
    'temperature',
  ],
  [
    'Azure',
    M,
    schema,
    openai(
      'response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later',
    ),
    'outputSchema',
  ],
  [
    'Azure',
    M,
    hard,
    {
      error: {
        code: 'unknown_parameter',
        message: 'Unknown parameter: `reasoning_effort`',
        param: 'reasoning_effort',
      },
    },
    'thinking',
  ],
  [
    'Bedrock',
    'anthropic:claude-sonnet-4-5',
    warm,
    {
      message:
        'Malformed input request: #: extraneous key [temperature] is not permitted, please reformat your input and try again.',
    },
    'temperature',
  ],
  [
    'Bedrock',
    M,
    { tools: [tool('my.tool')] },
    {
      message:
        "1 validation error detected: Value 'my.tool' at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
    },
    'tools',
  ],
  [
    'Vertex',
    'google:gemini-2.5-flash',
    { ...schema, tools: [tool()] },
    gemini('Unable to submit request because controlled generation is not supported with function calling.'),
    'outputSchema',
  ],
  [
    'Gemini',
    'google:gemini-3-flash',
    schema,
    gemini(
      'Invalid JSON payload received. Unknown name "additionalProperties" at \'generation_config.response_schema\': Cannot find field.',
    ),
    'outputSchema',
  ],
  [
    'Gemini',
    'google:gemini-3-flash',
    schema,
    gemini(
      'GenerateContentRequest.generation_config.response_schema.properties[foo].properties: should be non-empty for OBJECT type',
    ),
    'outputSchema',
  ],
  [
    'Gemini',
    'google:gemini-3-flash',
    schema,
    gemini('A schema in GenerationConfig in the request exceeds the maximum allowed nesting depth.'),
    'outputSchema',
  ],
  [
    'Gemini',
    M,
    serial,
    [gemini('Invalid JSON payload received. Unknown name "parallel_tool_calls": Cannot find field.')],
    'parallelToolCalls',
  ],
  [
    'Gemini',
    'google:gemini-3-flash',
    { tools: [tool('my/tool')] },
    gemini(
      'GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.',
    ),
    'tools',
  ],
  [
    'Together',
    M,
    schema,
    {
      id: 'x',
      error: {
        message: 'Model my-model does not support JSON mode / response_format of type json_schema',
        type: 'invalid_request_error',
        param: 'response_format',
        code: 'invalid_request_error',
      },
    },
    'outputSchema',
  ],
  [
    'Together',
    M,
    hard,
    {
      error: {
        message: 'Input validation error',
        type: 'invalid_request_error',
        param: 'reasoning_effort',
        code: null,
      },
    },
    'thinking',
  ],
  [
    'Fireworks',
    M,
    { ...schema, tools: [tool()] },
    openai('You cannot specify response format and function call at the same time'),
    'outputSchema',
  ],
  [
    'Cerebras',
    M,
    serial,
    {
      message: 'parallel_tool_calls=False is not supported by this model.',
      type: 'invalid_request_error',
      param: 'parallel_tool_calls',
      code: 'wrong_api_format',
    },
    'parallelToolCalls',
  ],
  [
    'Cerebras',
    M,
    { ...schema, tools: [tool()] },
    {
      message: '"tools" is incompatible with "response_format"',
      type: 'invalid_request_error',
      param: 'tools',
      code: 'wrong_api_format',
    },
    'outputSchema',
  ],
  [
    'Cerebras',
    M,
    schema,
    {
      message:
        "Object fields require at least one of: 'properties' or 'anyOf' with a list of possible properties.",
      type: 'invalid_request_error',
      param: 'response_format',
      code: 'wrong_api_format',
    },
    'outputSchema',
  ],
  [
    'Cerebras',
    M,
    hard,
    {
      message:
        "reasoning_effort: Reasoning effort 'high' is not supported by this model. Supported values: none",
      type: 'invalid_request_error',
      param: 'reasoning_effort',
      code: 'wrong_api_format',
    },
    'thinking',
  ],
  [
    'DeepSeek',
    M,
    schema,
    openai(
      'Failed to deserialize the JSON body into the target type: response_format: unknown variant `json_schema`, expected `text` or `json_object` at line 1 column 200',
    ),
    'outputSchema',
  ],
  [
    'DeepSeek',
    M,
    named,
    openai(
      'Failed to deserialize the JSON body into the target type: tool_choice: data did not match any variant of untagged enum ChatCompletionToolChoice at line 1 column 500',
    ),
    'toolChoice',
  ],
  ['Moonshot', M, { topP: 0.5 }, openai('invalid top_p: only 0.95 is allowed for this model'), 'topP'],
  ['Z.ai', M, forced, { error: { code: '1210', message: 'tool_choice 参数仅支持 auto' } }, 'toolChoice'],
  ['Z.ai', M, warm, { error: { code: '1214', message: '不支持当前temperature值' } }, 'temperature'],
  [
    'MiniMax',
    M,
    forced,
    {
      id: 'x',
      base_resp: { status_code: 2013, status_msg: 'invalid params, tool_choice required is not supported' },
    },
    'toolChoice',
    200,
  ],
  [
    'MiniMax',
    M,
    schema,
    {
      type: 'error',
      error: {
        type: 'bad_request_error',
        message: 'invalid params, response_format only supports MiniMax-Text-01 (2013)',
        http_code: '400',
      },
      request_id: 'r',
    },
    'outputSchema',
  ],
  [
    'DashScope',
    'openai:qwen3-8b',
    { thinking: true },
    openai(
      '<400> InternalError.Algo.InvalidParameter: The value of the enable_thinking parameter is restricted to False.',
    ),
    'thinking',
  ],
  [
    'DashScope',
    M,
    schema,
    openai(
      '<400> InternalError.Algo.InvalidParameter: Json mode response is not supported when enable_thinking is true',
    ),
    'outputSchema',
  ],
  [
    'xAI',
    M,
    { stopSequences: ['x'] },
    { code: 'Client specified an invalid argument', error: 'Argument not supported on this model: stop' },
    'stopSequences',
  ],
  [
    'OpenRouter',
    M,
    serial,
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: {
          raw: '{"error":{"message":"Unknown parameter: \'parallel_tool_calls\'.","type":"invalid_request_error"}}',
          provider_name: 'Azure',
        },
      },
    },
    'parallelToolCalls',
  ],
  [
    'OpenRouter',
    M,
    forced,
    {
      error: {
        message:
          "No endpoints found that support the provided 'tool_choice' value. To learn more about provider routing, visit: https://openrouter.ai/docs/guides/routing/provider-selection",
        code: 404,
      },
    },
    'toolChoice',
    404,
  ],
  [
    'Mistral',
    M,
    { seed: 1 },
    {
      object: 'error',
      message: {
        detail: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'seed'],
            msg: 'Extra inputs are not permitted',
            input: 1,
            url: 'https://errors.pydantic.dev/2.10/v/extra_forbidden',
          },
        ],
      },
      type: 'invalid_request_error',
      param: null,
      code: null,
      raw_status_code: 422,
    },
    'seed',
    422,
  ],
  [
    'Hugging Face',
    M,
    forced,
    { error: 'Input validation error: `tool_choice` is not supported' },
    'toolChoice',
    422,
  ],
  [
    'Cloudflare',
    M,
    named,
    {
      errors: [
        {
          message: "AiError: Bad input: Error: Type mismatch of '/tool_choice', 'object' not in 'string'",
          code: 5006,
        },
      ],
      success: false,
      result: {},
      messages: [],
    },
    'toolChoice',
  ],
  [
    'Databricks',
    M,
    serial,
    { error_code: 'BAD_REQUEST', message: 'Bad request: json: unknown field "parallel_tool_calls"\n' },
    'parallelToolCalls',
  ],
  [
    'SambaNova',
    M,
    { seed: 2 },
    {
      error: {
        code: null,
        message: 'Extra parameters [seed] are not permitted',
        param: null,
        type: 'invalid_request_error',
      },
    },
    'seed',
  ],
  [
    'NVIDIA',
    M,
    forced,
    {
      object: 'error',
      message: 'tool_choice "required" not implemented',
      type: 'NotImplementedError',
      code: 501,
    },
    'toolChoice',
    501,
  ],
  [
    'Anthropic',
    'anthropic:claude-sonnet-5-5',
    schema,
    claude(
      "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
    ),
    'outputSchema',
  ],
  [
    'Anthropic',
    'anthropic:claude-sonnet-5-5',
    serial,
    claude('tool_choice.auto.disable_parallel_tool_use: Extra inputs are not permitted'),
    'parallelToolCalls',
  ],
  ['Ollama', 'ollama:x', schema, { error: 'invalid JSON schema in format' }, 'outputSchema'],
]

describe('a refused setting', () => {
  it.each(cases)(
    'costs one request, and then none: %s, %s, %j, %j',
    async (_, model, request, body, setting, status = 400) => {
      const [provider = ''] = model.split(':')
      const server = await loopback((_, nth) => (nth === 0 ? { status, body } : answerOn(provider)))
      const { error, warnings } = await ask(model, server, request)
      expect(error).toBe('')
      expect(server.requests).toHaveLength(2)
      expect(warnings.filter(({ refusal }) => refusal !== undefined)).toMatchObject([{ setting }])
      await ask(model, server, request)
      expect(server.requests).toHaveLength(3)
    },
  )

  it('may be named in a stream whose answer has an id already, which is not that of the answer', async () => {
    const refusal = openai("Unsupported parameter: 'temperature' is not supported with this model.")
    const server = await loopback((_, nth) =>
      nth === 0
        ? { body: sse({ id: 'failed', choices: [] }, { id: 'failed', choices: [], ...refusal }) }
        : answerOn('openai'),
    )
    const { error, deltas } = await ask(M, server, warm)
    expect(error).toBe('')
    expect(server.requests).toHaveLength(2)
    expect(deltas.filter(({ type }) => type === 'response')).toEqual([])
  })
})

it.each([
  [
    'google:gemini-3-flash',
    gemini(
      'Invalid JSON payload received. Unknown name "additionalProperties" at \'generation_config.response_schema\': Cannot find field.',
    ),
  ],
  [
    'google:gemini-3-flash',
    gemini(
      'GenerateContentRequest.generation_config.response_schema.properties[foo].properties: should be non-empty for OBJECT type',
    ),
  ],
  [
    M,
    {
      message:
        "Object fields require at least one of: 'properties' or 'anyOf' with a list of possible properties.",
      param: 'response_format',
    },
  ],
])('a schema that a server cannot use says nothing about the next one: %s, %j', async (model, body) => {
  const [provider = ''] = model.split(':')
  const server = await loopback((_, nth) => (nth === 0 ? { status: 400, body } : answerOn(provider)))
  await ask(model, server, schema)
  const { warnings } = await ask(model, server, other)
  expect(warnings).toEqual([])
  expect((await ask(model, server, schema)).warnings).toHaveLength(1)
})

describe('the thinking of earlier answers', () => {
  const thought = {
    ...modelMessage([{ type: 'toolCall', id: 'c1', name: 'search', arguments: {} }]),
    metadata: {
      thinking: 'Hm.',
      'openai-chat': { provider: 'openai', model: 'my-model', reasoningField: 'reasoning_content' },
    },
  }
  const plain = modelMessage([{ type: 'toolCall', id: 'c1', name: 'search', arguments: {} }])
  const result = userMessage([{ type: 'toolResult', id: 'c1', name: 'search', result: 'Nothing.' }])
  const askAfter = async (answer: typeof plain, body: object) => {
    const server = await loopback((_, nth) => (nth === 0 ? { status: 400, body } : answerOn('openai')))
    const messages = [userMessage('Search.'), answer, result]
    const { error, warnings } = await ask(M, server, { messages, tools: [tool()] })
    expect(error).toBe('')
    expect(warnings).toMatchObject([{ setting: 'history' }])
    return server.requests.map(({ body }) => JSON.stringify(body).includes('reasoning_content'))
  }

  it.each([
    [
      {
        message:
          "messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported",
        param: 'validation_error',
        code: 'wrong_api_format',
      },
    ],
    [
      openai(
        "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
      ),
    ],
  ])('is left out where a server refuses it: %j', async (body) => {
    expect(await askAfter(thought, body)).toEqual([true, false])
  })

  it.each([
    [openai('The `reasoning_content` in the thinking mode must be passed back to the API.')],
    [
      openai(
        'Missing `reasoning_content` field in the assistant message at message index 1. For more information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls',
      ),
    ],
  ])('is sent empty where a server wants some: %j', async (body) => {
    expect(await askAfter(plain, body)).toEqual([false, true])
  })
})

it.each([
  [vllm('Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.')],
  [
    openai(
      "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40.",
    ),
  ],
])(
  'ids of calls that a server refuses become shorter ones, the same for call and result: %j',
  async (body) => {
    const server = await loopback((_, nth) => (nth === 0 ? { status: 400, body } : answerOn('openai')))
    const messages = [
      userMessage('Search.'),
      modelMessage([{ type: 'toolCall', id: 'call_abc', name: 'search', arguments: {} }]),
      userMessage([{ type: 'toolResult', id: 'call_abc', name: 'search', result: 'Nothing.' }]),
    ]
    const { error, warnings } = await ask(M, server, { messages, tools: [tool()] })
    expect(error).toBe('')
    expect(warnings).toMatchObject([{ setting: 'history', change: 'replaced' }])
    const ids = server.requests[1]?.text.match(/(?<="(?:tool_call_)?id":")[^"]+/g)
    expect(ids).toEqual([expect.stringMatching(/^[a-zA-Z0-9]{9}$/), ids?.[0]])
  },
)

const bound = 'Invalid `signature` in `thinking` block. The block is bound to a different conversation.'

it.each([
  [
    'openrouter:anthropic/claude-sonnet-5-5',
    {
      'openai-chat': {
        provider: 'openrouter',
        model: 'anthropic/claude-sonnet-5-5',
        reasoningDetails: [{ type: 'reasoning.text', text: 'Hm.', signature: 'stale' }],
      },
    },
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: JSON.stringify(claude(bound)) },
      },
    },
  ],
  [
    'openai-responses:gpt-6-luna',
    {
      'openai-responses': {
        provider: 'openai-responses',
        layout: [
          { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'stale' },
          { type: 'message', length: 4 },
        ],
      },
    },
    openai(
      'The encrypted content stale could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
      {
        code: 'invalid_encrypted_content',
      },
    ),
  ],
  [
    'google:gemini-3-flash',
    { google: { provider: 'google', parts: [{ text: 4, signature: 'stale' }] } },
    gemini('Corrupted thought signature.'),
  ],
])('signed thinking that %s does not take back is left out, and no other', async (model, data, body) => {
  const [provider = ''] = model.split(':')
  const server = await loopback(({ text }) =>
    text.includes('"stale"') ? { status: 400, body } : answerOn(provider),
  )
  const answer = { ...modelMessage('Yes.'), metadata: data }
  const fresh = JSON.parse(JSON.stringify(answer).replaceAll('stale', 'fresh'))
  const more = { providerOptions: provider === 'openai-responses' ? { store: false } : {} }
  const messages = [userMessage('A?'), answer, userMessage('B?')]
  const { error, warnings } = await ask(model, server, { messages, ...more })
  expect(error).toBe('')
  expect(warnings).toMatchObject([{ setting: 'history', change: 'omitted' }])
  await ask(model, server, { messages: [...messages, fresh, userMessage('C?')], ...more })
  expect(server.requests.map(({ text }) => /"(?:stale|fresh)"/.exec(text)?.[0])).toEqual([
    '"stale"',
    undefined,
    '"fresh"',
  ])
  expect(server.requests[2]?.text).toContain('Yes.')
})

describe('an error about something else', () => {
  it.each<[what: string, model: string, request: Partial<ModelRequest>, body: object]>([
    [
      'the schema of a tool, without its number',
      M,
      { ...schema, ...forced },
      openai(
        "Invalid request: tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.x': type is not defined>",
      ),
    ],
    [
      'roles that do not alternate',
      M,
      { ...warm, ...forced },
      vllm('Conversation roles must alternate user/assistant/user/assistant/...'),
    ],
    [
      'an answer that was begun',
      'anthropic:claude-sonnet-5-5',
      { ...hard, ...schema },
      claude(
        'This model does not support assistant message prefill. The conversation must end with a user message.',
      ),
    ],
    [
      'two limits that exclude each other',
      'anthropic:claude-sonnet-5-5',
      { maxOutputTokens: 10, ...hard },
      claude('max_tokens: must be greater than thinking.budget_tokens'),
    ],
    [
      'a word that json mode wants',
      M,
      { ...schema },
      openai(
        "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
        { param: 'messages' },
      ),
    ],
    ['another model', M, { ...hard }, openai('Unknown model: gpt-9-reasoning-high. It is not available.')],
    [
      'thinking that is missing from no answer',
      M,
      { ...hard },
      openai('The `reasoning_content` in the thinking mode must be passed back to the API.'),
    ],
    [
      'too many tools',
      M,
      { ...forced },
      openai(
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 150 instead.",
        { param: 'tools' },
      ),
    ],
    [
      'a file',
      M,
      { ...hard, ...schema },
      openai(
        "Invalid file data: 'file_id'. Expected a file ID that begins with 'file-'. Only PDF is supported.",
        { param: 'file_id' },
      ),
    ],
    [
      'a tool that a choice names',
      M,
      forced,
      openai("Tool choice 'search' not found in 'tools' parameter.", { param: 'tool_choice' }),
    ],
    [
      'a number that must be positive',
      M,
      { temperature: 0 },
      { error: 'Input validation error: `temperature` must be strictly positive', error_type: 'validation' },
    ],
  ])('ends the request at once: %s', async (_, model, request, body) => {
    const server = await loopback(() => ({ status: 400, body }))
    const { error } = await ask(model, server, request)
    expect(error).not.toBe('')
    expect(server.requests).toHaveLength(1)
  })
})
