/** Refusals in the words of real servers: which of them cost a request, and which are about something else. */
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../../src/model/chatModel.ts'
import { loopback } from '../../loopback.ts'
import { answerOn, ask, claude, gemini, openai } from './refusingServer.ts'

const tool = (name = 'search') => ({ name, description: 'Searches.', inputSchema: { type: 'object' } })
const forced = { tools: [tool()], toolChoice: 'required' as const }
const schema = { outputSchema: { type: 'object', properties: { city: { type: 'string' } } } }
const warm = { temperature: 0.2 }
const hard = { thinking: { effort: 'high' as const } }

const at = (body: unknown, path: string): unknown =>
  path.split('.').reduce((value, key) => Object(value)[key], body)

const detail = (...loc: (string | number)[]) => ({
  detail: [{ type: 'extra_forbidden', loc, msg: 'Extra inputs are not permitted', input: true }],
})

type Case = [
  server: string,
  model: string,
  request: Partial<ModelRequest>,
  body: object,
  setting: string,
  field: string,
]

const cases: Case[] = [
  [
    'Azure',
    'openai:gpt-5',
    hard,
    openai("Invalid value: 'high'. Supported values are: 'low', 'medium'.", { param: 'reasoning_effort' }),
    'thinking',
    'reasoning_effort',
  ],
  [
    'Azure',
    'openai-responses:gpt-5',
    hard,
    openai(
      "Unsupported value: 'high' is not supported with the 'gpt-5' model. Supported values are: 'low' and 'medium'.",
      { param: 'reasoning.effort' },
    ),
    'thinking',
    'reasoning.effort',
  ],
  [
    'Azure',
    'openai:gpt-5',
    hard,
    openai("Unknown parameter: 'reasoning_effort'.", {
      param: 'reasoning_effort',
      code: 'unknown_parameter',
    }),
    'thinking',
    'reasoning_effort',
  ],
  [
    'Azure',
    'openai:my-model',
    {},
    openai('Validation error at #/stream_options: Extra inputs are not permitted'),
    'usage',
    'stream_options',
  ],
  [
    'Azure Mistral',
    'openai:my-model',
    {},
    {
      error: {
        code: 'Invalid input',
        message: JSON.stringify(detail('body', 'stream_options', 'include_usage')),
        status: 422,
      },
    },
    'usage',
    'stream_options',
  ],
  [
    'Azure',
    'openai:gpt-6-luna',
    { maxOutputTokens: 50 },
    openai(
      'Validation error at #/max_completion_tokens: Extra inputs are not permitted\nValidation error at #/store: Extra inputs are not permitted',
    ),
    'maxOutputTokens',
    'max_completion_tokens',
  ],
  [
    'a gateway',
    'anthropic:claude-sonnet-5-5',
    { messages: [] },
    claude('messages.0.content.0.text.cache_control: Extra inputs are not permitted'),
    'cache',
    'messages.0.content.0.cache_control',
  ],
  [
    'Bedrock',
    'openai:my-grok',
    warm,
    { message: "This model doesn't support the temperature field. Remove temperature and try again." },
    'temperature',
    'temperature',
  ],
  [
    'Bedrock',
    'openai:my-nova',
    forced,
    {
      message:
        "This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any and try again.",
    },
    'toolChoice',
    'tool_choice',
  ],
  [
    'Bedrock',
    'openai:my-nova',
    { stopSequences: ['END'] },
    { message: "This model doesn't support the stopSequences field. Remove stopSequences and try again." },
    'stopSequences',
    'stop',
  ],
  [
    'Bedrock',
    'openai:my-claude',
    { temperature: 0.2, topP: 0.9 },
    {
      message:
        'The model returned the following errors: `temperature` and `top_p` cannot both be specified for this model. Please use only one.',
    },
    'topP',
    'top_p',
  ],
  [
    'LiteLLM',
    'openai:my-gpt',
    warm,
    openai(
      "litellm.UnsupportedParamsError: gpt-5 models (including gpt-5-codex) don't support temperature=0.2. Only temperature=1 is supported. For gpt-5.1, temperature is supported when reasoning_effort='none'. To drop unsupported params set `litellm.drop_params = True`",
    ),
    'temperature',
    'temperature',
  ],
  [
    'LiteLLM',
    'openai:gpt-5',
    hard,
    openai(
      "litellm.UnsupportedParamsError: azure does not support parameters: ['reasoning_effort'], for model=gpt-5.",
    ),
    'thinking',
    'reasoning_effort',
  ],
  [
    'LiteLLM',
    'openai:my-model',
    forced,
    openai(
      "litellm.UnsupportedParamsError: Bedrock doesn't support tool_choice=any. Supported tool_choice values=['auto', json object].",
    ),
    'toolChoice',
    'tool_choice',
  ],
  [
    'Groq',
    'openai:my-llama',
    schema,
    openai("'response_format.type' : value is not one of the allowed values ['text','json_object']"),
    'outputSchema',
    'response_format',
  ],
  [
    'Groq',
    'openai:my-llama',
    { ...schema, tools: [tool()] },
    openai('json mode cannot be combined with tool/function calling'),
    'outputSchema',
    'response_format',
  ],
  [
    'Fireworks',
    'openai:my-model',
    schema,
    openai("JSON Schema not supported: could not understand the instance `{'required': ['criteria']}`."),
    'outputSchema',
    'response_format',
  ],
  [
    'a gateway',
    'openai:my-model',
    schema,
    openai('Invalid input', { param: 'response_format' }),
    'outputSchema',
    'response_format',
  ],
  [
    'a gateway',
    'openai:my-model',
    schema,
    openai(JSON.stringify(openai('Invalid input', { param: 'response_format' }))),
    'outputSchema',
    'response_format',
  ],
  [
    'vLLM',
    'openai:my-qwen',
    forced,
    openai('`tool_choice` must either be a named tool, "auto", or "none".'),
    'toolChoice',
    'tool_choice',
  ],
  [
    'vLLM',
    'openai:my-qwen',
    schema,
    {
      object: 'error',
      message: 'The provided JSON schema contains features not supported by xgrammar.',
      type: 'BadRequestError',
      code: 400,
    },
    'outputSchema',
    'response_format',
  ],
  [
    'llama.cpp',
    'openai:my-gguf',
    { ...schema, tools: [tool()] },
    {
      error: {
        code: 400,
        message: 'Cannot use custom grammar constraints with tools.',
        type: 'invalid_request_error',
      },
    },
    'outputSchema',
    'response_format',
  ],
  [
    'llama.cpp',
    'openai:my-gguf',
    schema,
    {
      error: {
        code: 400,
        message: 'JSON schema conversion failed:\nUnrecognized schema: {"not":{}}',
        type: 'invalid_request_error',
      },
    },
    'outputSchema',
    'response_format',
  ],
  [
    'llama.cpp',
    'openai:my-gguf',
    schema,
    {
      error: {
        code: 400,
        message: 'response_format type must be one of "text" or "json_object", but got: json_schema',
        type: 'invalid_request_error',
      },
    },
    'outputSchema',
    'response_format',
  ],
  [
    'LM Studio',
    'openai:my-gguf',
    { tools: [tool()], toolChoice: { tool: 'search' } },
    { error: "Invalid tool_choice type: 'object'. Supported string values: none, auto, required" },
    'toolChoice',
    'tool_choice',
  ],
  [
    'Together',
    'openai:my-model',
    { seed: 7 },
    openai('Input validation error: unknown field `seed`'),
    'seed',
    'seed',
  ],
  [
    'a server in Go',
    'openai:my-model',
    {},
    openai('json: unknown field "stream_options"'),
    'usage',
    'stream_options',
  ],
  [
    'a server in Go',
    'openai:my-model',
    { stopSequences: ['END'] },
    openai('json: cannot unmarshal array into Go struct field ChatCompletionRequest.stop of type string'),
    'stopSequences',
    'stop',
  ],
  [
    'NVIDIA',
    'openai:my-model',
    { tools: [tool()], parallelToolCalls: false },
    openai('Unsupported parameter(s): `parallel_tool_calls`'),
    'parallelToolCalls',
    'parallel_tool_calls',
  ],
  [
    'Mistral',
    'openai:gpt-5',
    hard,
    openai("reasoning_effort 'high' is not supported for this model. Supported values: ['none', 'low']"),
    'thinking',
    'reasoning_effort',
  ],
  [
    'OpenAI',
    'openai-responses:gpt-5',
    { thinking: { effort: 'low' } },
    openai("The following tools cannot be used with reasoning.effort 'low': web_search."),
    'thinking',
    'reasoning.effort',
  ],
  [
    'OpenAI',
    'openai-responses:gpt-5',
    { providerOptions: { store: false } },
    openai('Encrypted content is not supported with this model.', { param: 'include' }),
    'thinking',
    'include',
  ],
  [
    'Vertex',
    'google:gemini-2.5-flash',
    { thinking: { budgetTokens: 512 } },
    gemini(
      "Unable to submit request because Thinking can't be disabled for this model. Remove 'thinking_config.thinking_budget' from your request and try again.. Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/gemini",
    ),
    'thinking',
    'generationConfig.thinkingConfig',
  ],
  [
    'Vertex',
    'google:gemini-2.5-flash',
    { thinking: { budgetTokens: 512 } },
    gemini(
      'Unable to submit request because Thinking_config.include_thoughts is only enabled when thinking is enabled.. Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/gemini',
    ),
    'thinking',
    'generationConfig.thinkingConfig',
  ],
  [
    'Gemini',
    'google:gemini-2.5-flash',
    { thinking: { budgetTokens: 512 } },
    gemini('Budget 512 is invalid. This model only works in thinking mode.'),
    'thinking',
    'generationConfig.thinkingConfig',
  ],
  [
    'Gemini',
    'google:gemini-3-flash',
    forced,
    gemini('Forced function calling (mode = ANY) is not supported for this model.'),
    'toolChoice',
    'toolConfig',
  ],
  [
    'Anthropic',
    'anthropic:claude-sonnet-5-5',
    hard,
    claude('output_config: Extra inputs are not permitted'),
    'thinking',
    'output_config.effort',
  ],
  [
    'Bedrock',
    'anthropic:claude-sonnet-5-5',
    hard,
    claude('This model does not support the effort parameter.'),
    'thinking',
    'output_config.effort',
  ],
  [
    'a gateway',
    'anthropic:claude-sonnet-5-5',
    hard,
    claude('thinking.adaptive.block_binding: Extra inputs are not permitted'),
    'history',
    'thinking.block_binding',
  ],
  [
    'Bedrock',
    'anthropic:claude-sonnet-5-5',
    hard,
    { message: 'invalid beta flag' },
    'history',
    'thinking.block_binding',
  ],
  [
    'Vertex',
    'anthropic:claude-sonnet-5-5',
    hard,
    claude(
      'Unexpected value(s) `thinking-binding-controls-2026-08-01` for the `anthropic-beta` header. Please consult our documentation at docs.anthropic.com or try again without the header.',
    ),
    'history',
    'thinking.block_binding',
  ],
  [
    'Ollama',
    'ollama:gpt-oss:20b',
    hard,
    { error: 'invalid think value: "high" (must be "medium", "low", true, or false)' },
    'thinking',
    'think',
  ],
  [
    'Ollama',
    'ollama:gpt-oss:20b',
    hard,
    { error: 'think value "high" is not supported for this model' },
    'thinking',
    'think',
  ],
  [
    'Moonshot',
    'openai:my-kimi',
    { tools: [tool()], toolChoice: { tool: 'search' } },
    openai("tool_choice 'specified' is incompatible with thinking enabled"),
    'toolChoice',
    'tool_choice',
  ],
  [
    'Z.ai',
    'openai:my-glm',
    forced,
    { error: { code: '1210', message: 'API 调用参数有误，请检查文档。 tool_choice only supports auto' } },
    'toolChoice',
    'tool_choice',
  ],
  [
    'Perplexity',
    'openai:my-sonar',
    { stopSequences: ['END'] },
    openai('[\'Parameter "stop" is not supported\']'),
    'stopSequences',
    'stop',
  ],
  [
    'xAI',
    'openai:my-grok',
    { stopSequences: ['END'] },
    {
      code: 'Client specified an invalid argument',
      error: 'Model grok-4-0709 does not support parameter stop.',
    },
    'stopSequences',
    'stop',
  ],
  [
    'Anthropic',
    'anthropic:claude-sonnet-4-5',
    { thinking: { budgetTokens: 2000 } },
    claude(
      'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block. To avoid this requirement, disable `thinking`.',
    ),
    'thinking',
    'thinking',
  ],
  [
    'Anthropic',
    'anthropic:claude-sonnet-4-5',
    { thinking: { budgetTokens: 2000 }, ...schema },
    claude(
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    ),
    'thinking',
    'thinking',
  ],
  [
    'a gateway',
    'openai:my-model',
    { tools: [tool('my.tool')] },
    openai(
      '[{"type":"string_pattern_mismatch","loc":["body","tools",0,"function","name"],"msg":"String should match pattern"}]',
    ),
    'tools',
    'tools',
  ],
]

describe('a setting that a server refuses in its own words', () => {
  it.each(cases)('costs one request: %s, %s, %j, %j', async (_, model, request, body, setting, field) => {
    const [provider = ''] = model.split(':')
    const server = await loopback((_, nth) => (nth === 0 ? { status: 400, body } : answerOn(provider)))
    const { messages: _messages, ...settings } = request
    const { error, warnings } = await ask(model, server, settings)
    expect(error).toBe('')
    expect(server.requests).toHaveLength(2)
    expect(at(server.requests[0]?.body, field)).toBeDefined()
    expect(at(server.requests[1]?.body, field)).not.toEqual(at(server.requests[0]?.body, field))
    expect(warnings.filter(({ refusal }) => refusal !== undefined)).toMatchObject([{ setting }])
  })

  it.each([
    ['Invalid max_tokens value, the valid range of max_tokens is [1, 8192]', 8192],
    ['<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]', 8192],
    [
      'too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model - received 100000.',
      4096,
    ],
    [
      'Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive). Update the value and try again.',
      65536,
    ],
    [
      'max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.',
      16384,
    ],
  ])('gets the longest answer that the server names: %s', async (message, limit) => {
    const server = await loopback((_, nth) =>
      nth === 0 ? { status: 400, body: openai(message) } : answerOn('openai'),
    )
    await ask('openai:my-model', server, { maxOutputTokens: 100_000 })
    expect(server.requests[1]?.body).toMatchObject({ max_tokens: limit })
  })
})

it('a beta that a server refuses is not named again, in no header', async () => {
  const server = await loopback(({ headers }) =>
    'anthropic-beta' in headers ? { status: 400, body: claude('invalid beta flag') } : answerOn('anthropic'),
  )
  expect((await ask('anthropic:claude-sonnet-5-5', server, hard)).error).toBe('')
  expect(server.requests.map(({ headers }) => headers['anthropic-beta'] !== undefined)).toEqual([true, false])
  expect(server.requests[1]?.body).toMatchObject({ thinking: { type: 'adaptive' } })
})

const all: Partial<ModelRequest> = {
  ...warm,
  topP: 0.9,
  seed: 7,
  stopSequences: ['END'],
  maxOutputTokens: 500,
  thinking: { effort: 'high' },
  tools: [tool('get_temperature'), tool('stop')],
  toolChoice: 'required',
  parallelToolCalls: false,
}

describe('an error that only sounds like a refused setting', () => {
  it.each([
    [
      'a prompt against the rules',
      openai(
        'Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting',
        { code: 'invalid_prompt' },
      ),
    ],
    [
      'a prompt that a filter refused',
      openai(
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Invalid reasoning about temperature is not supported.",
        { param: 'prompt', code: 'content_filter' },
      ),
    ],
    [
      'a prompt that the server repeats',
      {
        detail: [
          {
            type: 'string_type',
            loc: ['body', 'messages', 0, 'content'],
            msg: 'Input should be a valid string',
            input: ['Why is temperature not supported?'],
          },
        ],
      },
    ],
    [
      'a prompt that the server repeats as text',
      openai(
        "[{'type': 'string_type', 'loc': ('body', 'messages', 0, 'content', 'str'), 'msg': 'Input should be a valid string', 'input': 'Is `temperature` unsupported? And seed?'}]",
      ),
    ],
    [
      'a place in the messages',
      openai("Invalid value: 'thinking'. Supported values are: 'text', 'image_url'.", {
        param: 'messages[0].content[0].type',
      }),
    ],
    ['a place in the conversation', claude('messages.1.content.0.text: unexpected temperature')],
    [
      'the schema of a tool',
      openai(
        "Invalid schema for function 'get_temperature': In context=('properties', 'stop'), 'additionalProperties' is required to be supplied and to be false.",
        { param: 'tools[0].function.parameters' },
      ),
    ],
    ['a model whose name says thinking', openai('Model my-thinking-model is not supported')],
    [
      'a model that is gone',
      openai(
        'The model `my-thinking-model` has been deprecated, learn more here: https://platform.openai.com/docs/deprecations',
      ),
    ],
    ['a modality', openai('This model does not support image inputs. Invalid image.')],
    [
      'tools',
      openai('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    ],
    [
      'tools that no endpoint takes',
      {
        error: {
          message:
            'No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing',
          code: 404,
        },
      },
    ],
    ['a wait', openai('The model is currently unavailable. Please stop and try again later.')],
    [
      'an image',
      gemini(
        'Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting',
      ),
    ],
  ])('ends the request at once: %s', async (_, body) => {
    const server = await loopback(() => ({ status: 400, body }))
    const { error } = await ask('openai:my-thinking-model', server, all)
    expect(error).not.toBe('')
    expect(server.requests).toHaveLength(1)
  })
})
