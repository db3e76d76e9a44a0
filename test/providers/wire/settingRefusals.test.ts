import { describe, expect, it } from 'vitest'
import { modelMessage, userMessage } from '../../../src/messages/messages.ts'
import type { ModelRequest } from '../../../src/model/chatModel.ts'
import { loopback } from '../../loopback.ts'
import { answerOn, ask, claude, fastapi, gemini, openai, sse } from './refusingServer.ts'

const tool = (name = 'search') => ({ name, description: 'Searches.', inputSchema: { type: 'object' } })
const forced = { tools: [tool()], toolChoice: 'required' as const }
const schema = { outputSchema: { type: 'object', properties: { city: { type: 'string' } } } }
const sampled = { temperature: 0.2, topP: 0.9 }
const single = { tools: [tool()], parallelToolCalls: false }
const hard = { thinking: { effort: 'max' as const } }

type Case = [
  server: string,
  model: string,
  request: Partial<ModelRequest>,
  status: number,
  body: object,
  setting: string,
  gone: string,
]

/** The refusals of servers in their own words: what was asked, what they answer, and the field that is not sent again. */
const cases: Case[] = [
  [
    'OpenAI',
    'openai:my-model',
    sampled,
    400,
    openai("Unsupported parameter: 'temperature' is not supported with this model.", {
      param: 'temperature',
      code: 'unsupported_parameter',
    }),
    'temperature',
    'temperature',
  ],
  [
    'OpenAI',
    'openai:my-model',
    sampled,
    400,
    openai(
      "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
      { code: 'unsupported_value' },
    ),
    'temperature',
    'temperature',
  ],
  [
    'OpenAI',
    'openai:my-model',
    sampled,
    400,
    openai("Unsupported parameter: 'top_p' is not supported with this model."),
    'topP',
    'top_p',
  ],
  [
    'DeepSeek',
    'openai:my-reasoner',
    sampled,
    400,
    openai('deepseek-reasoner does not support the parameter `temperature`'),
    'temperature',
    'temperature',
  ],
  [
    'Moonshot',
    'openai:my-kimi',
    sampled,
    400,
    openai('invalid temperature: only 1 is allowed for this model'),
    'temperature',
    'temperature',
  ],
  [
    'Anthropic',
    'anthropic:claude-3-haiku',
    sampled,
    400,
    claude('`temperature` is deprecated for this model.'),
    'temperature',
    'temperature',
  ],
  [
    'Anthropic',
    'anthropic:claude-3-haiku',
    sampled,
    400,
    claude('`temperature` and `top_p` cannot both be specified for this model. Please use only one.'),
    'topP',
    'top_p',
  ],
  [
    'Anthropic',
    'anthropic:claude-3-haiku',
    sampled,
    400,
    claude(
      '`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode.',
    ),
    'topP',
    'top_p',
  ],
  [
    'Bedrock',
    'anthropic:claude-3-haiku',
    sampled,
    400,
    {
      message:
        'Malformed input request: extraneous key [top_p] is not permitted, please reformat your input and try again.',
    },
    'topP',
    'top_p',
  ],
  [
    'Gemini',
    'google:gemini-3-flash',
    { seed: 7 },
    400,
    gemini('Invalid JSON payload received. Unknown name "seed" at \'generation_config\': Cannot find field.'),
    'seed',
    'generationConfig.seed',
  ],
  ['Groq', 'openai:my-llama', { seed: 7 }, 400, openai("property 'seed' is unsupported"), 'seed', 'seed'],
  [
    'xAI',
    'openai:my-grok',
    { stopSequences: ['END'] },
    400,
    { code: 'Client specified an invalid argument', error: 'Argument not supported on this model: stop' },
    'stopSequences',
    'stop',
  ],
  [
    'OpenAI',
    'openai:my-model',
    { stopSequences: ['END'] },
    400,
    openai("Unsupported parameter: 'stop' is not supported with this model."),
    'stopSequences',
    'stop',
  ],
  [
    'OpenAI',
    'openai:my-model',
    { maxOutputTokens: 50 },
    400,
    openai(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ),
    'maxOutputTokens',
    'max_tokens',
  ],
  [
    'Azure',
    'openai:gpt-6-luna',
    { maxOutputTokens: 50 },
    400,
    openai('Unrecognized request argument supplied: max_completion_tokens'),
    'maxOutputTokens',
    'max_completion_tokens',
  ],
  [
    'vLLM',
    'openai:gpt-6-luna',
    { maxOutputTokens: 50 },
    422,
    fastapi('max_completion_tokens'),
    'maxOutputTokens',
    'max_completion_tokens',
  ],
  [
    'Azure',
    'openai:my-deployment',
    {},
    400,
    openai('Unrecognized request argument supplied: stream_options'),
    'usage',
    'stream_options',
  ],
  [
    'vLLM',
    'openai:my-qwen',
    {},
    400,
    {
      object: 'error',
      message:
        "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted', 'input': {'include_usage': True}}]",
      type: 'BadRequestError',
      code: 400,
    },
    'usage',
    'stream_options',
  ],
  ['a gateway', 'openai:my-model', {}, 422, fastapi('stream_options'), 'usage', 'stream_options'],
  [
    'OpenAI',
    'openai:my-model',
    single,
    400,
    openai("Unsupported parameter: 'parallel_tool_calls' is not supported with this model."),
    'parallelToolCalls',
    'parallel_tool_calls',
  ],
  [
    'Cerebras',
    'openai:my-glm',
    single,
    400,
    {
      message: 'parallel_tool_calls is not supported for this model',
      type: 'invalid_request_error',
      param: 'parallel_tool_calls',
      code: 'wrong_api_format',
    },
    'parallelToolCalls',
    'parallel_tool_calls',
  ],
  [
    'Bedrock',
    'anthropic:claude-3-haiku',
    single,
    400,
    {
      message:
        'Malformed input request: #/tool_choice: extraneous key [disable_parallel_tool_use] is not permitted, please reformat your input and try again.',
    },
    'parallelToolCalls',
    'tool_choice.disable_parallel_tool_use',
  ],
  [
    'DeepSeek',
    'openai:my-v4',
    forced,
    400,
    openai('Thinking mode does not support this tool_choice'),
    'toolChoice',
    'tool_choice',
  ],
  [
    'DeepSeek',
    'openai:my-v4',
    forced,
    400,
    openai('deepseek-reasoner does not support this tool_choice'),
    'toolChoice',
    'tool_choice',
  ],
  [
    'Moonshot',
    'openai:my-k2',
    forced,
    400,
    openai("tool_choice 'required' is incompatible with thinking enabled"),
    'toolChoice',
    'tool_choice',
  ],
  [
    'Anthropic',
    'anthropic:claude-3-haiku',
    forced,
    400,
    claude('Thinking may not be enabled when tool_choice forces tool use.'),
    'toolChoice',
    'tool_choice',
  ],
  [
    'OpenRouter',
    'openai:my-routed',
    forced,
    404,
    {
      error: {
        message:
          "No endpoints found that support the provided 'tool_choice' value. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing",
        code: 404,
      },
    },
    'toolChoice',
    'tool_choice',
  ],
  [
    'Alibaba',
    'openai:my-plus',
    forced,
    400,
    openai(
      '<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode',
    ),
    'toolChoice',
    'tool_choice',
  ],
  [
    'DeepSeek',
    'openai:my-chat',
    schema,
    400,
    openai('This response_format type is unavailable now'),
    'outputSchema',
    'response_format',
  ],
  [
    'DeepSeek',
    'openai:my-chat',
    schema,
    422,
    openai(
      'Failed to deserialize the JSON body into the target type: response_format: response_format.type `json_schema` is unavailable now at line 1 column 1193',
    ),
    'outputSchema',
    'response_format',
  ],
  [
    'Groq',
    'openai:my-llama3',
    schema,
    400,
    openai(
      'This model does not support response format `json_schema`. See supported models at https://console.groq.com/docs/structured-outputs#supported-models',
      { param: 'response_format' },
    ),
    'outputSchema',
    'response_format',
  ],
  [
    'Together',
    'openai:my-mixtral',
    schema,
    400,
    openai('response_format is not supported for this model'),
    'outputSchema',
    'response_format',
  ],
  [
    'OpenAI',
    'openai:gpt-4',
    schema,
    400,
    openai(
      "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more about supported models at the Structured Outputs guide",
    ),
    'outputSchema',
    'response_format',
  ],
  [
    'LM Studio',
    'openai:my-gguf',
    schema,
    400,
    { error: "'response_format.type' must be 'json_schema' or 'text'" },
    'outputSchema',
    'response_format',
  ],
  [
    'Anthropic',
    'anthropic:claude-sonnet-5-5',
    schema,
    400,
    claude(
      'The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce the number of strict tools.',
    ),
    'outputSchema',
    'output_config.format',
  ],
  [
    'Gemini',
    'google:gemini-3-flash',
    schema,
    400,
    gemini("Function calling with a response mime type: 'application/json' is unsupported"),
    'outputSchema',
    'generationConfig.responseMimeType',
  ],
  [
    'Cohere',
    'cohere:command-r',
    schema,
    422,
    { message: 'invalid request: response_format is not supported with this model' },
    'outputSchema',
    'response_format',
  ],
  [
    'xAI',
    'openai:grok-4',
    { thinking: { effort: 'high' } },
    400,
    { code: 'invalid-argument', error: 'Model grok-4-latest does not support parameter reasoningEffort.' },
    'thinking',
    'reasoning_effort',
  ],
  [
    'Mistral',
    'openai:gpt-5',
    { thinking: { effort: 'high' } },
    422,
    fastapi('reasoning_effort'),
    'thinking',
    'reasoning_effort',
  ],
  [
    'Fireworks',
    'openai:gpt-5',
    { thinking: { effort: 'high' } },
    400,
    {
      error: {
        object: 'error',
        type: 'invalid_request_error',
        message: "Extra inputs are not permitted, field: 'reasoning_effort', value: 'high'",
      },
    },
    'thinking',
    'reasoning_effort',
  ],
  [
    'Ollama',
    'ollama:qwen3:8b',
    { thinking: true },
    400,
    { error: '"qwen3:8b" does not support thinking' },
    'thinking',
    'think',
  ],
  [
    'Gemini',
    'google:gemini-3-flash',
    hard,
    400,
    gemini('Thinking level is not supported for this model.'),
    'thinking',
    'generationConfig.thinkingConfig.thinkingLevel',
  ],
  [
    'Gemini',
    'google:gemini-2.5-flash',
    { thinking: { budgetTokens: 512 } },
    400,
    gemini('Thinking budget is not supported for this model.'),
    'thinking',
    'generationConfig.thinkingConfig',
  ],
  [
    'Anthropic',
    'anthropic:claude-sonnet-5-5',
    { thinking: true },
    400,
    claude('adaptive thinking is not supported on this model'),
    'thinking',
    'thinking',
  ],
  [
    'OpenAI',
    'openai-responses:gpt-5',
    { thinking: true },
    400,
    openai(
      'Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com/settings/organization/general',
    ),
    'thinking',
    'reasoning.summary',
  ],
]

const at = (body: unknown, path: string): unknown =>
  path.split('.').reduce((value, key) => Object(value)[key], body)

describe('a setting that a server refuses', () => {
  it.each(cases)(
    'costs one request, not the run: %s, %s',
    async (_, model, request, status, body, setting, gone) => {
      const [provider = ''] = model.split(':')
      const server = await loopback((_, nth) => (nth === 0 ? { status, body } : answerOn(provider)))
      const first = await ask(model, server, request)
      expect(first.error).toBe('')
      expect(server.requests).toHaveLength(2)
      expect(at(server.requests[0]?.body, gone)).toBeDefined()
      expect(at(server.requests[1]?.body, gone)).toBeUndefined()
      const refused = first.warnings.filter(({ refusal }) => refusal !== undefined)
      expect(refused).toMatchObject([{ setting, provider }])

      // The next request does not ask for it at all, and still says so.
      const second = await ask(model, server, request)
      expect(server.requests).toHaveLength(3)
      expect(at(server.requests[2]?.body, gone)).toBeUndefined()
      expect(second.warnings.some((warning) => warning.setting === setting && warning.refusal)).toBe(true)
    },
  )

  it('moves the longest answer to the other name', async () => {
    const server = await loopback((_, nth) =>
      nth === 0
        ? {
            status: 400,
            body: openai(
              "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            ),
          }
        : answerOn('openai'),
    )
    await ask('openai:my-model', server, { maxOutputTokens: 50 })
    expect(server.requests[1]?.body).toMatchObject({ max_completion_tokens: 50 })
  })

  it.each([
    [
      "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'low', 'medium', and 'high'.",
      'high',
    ],
    ["reasoning_effort: Input should be 'none' or 'low'", 'low'],
    ['reasoning_effort must be one of `none`, `default`', undefined],
  ])('gets the nearest effort that the server names: %s', async (message, sent) => {
    const server = await loopback((_, nth) =>
      nth === 0 ? { status: 400, body: openai(message) } : answerOn('openai'),
    )
    const { error } = await ask('openai:gpt-5', server, {
      thinking: { effort: 'high' },
      providerOptions: { reasoning_effort: 'xhigh' },
    })
    expect(error).toBe('')
    expect(server.requests[1]?.body.reasoning_effort).toBe(sent)
  })

  it('gets the server’s own limit for an answer that may be too long', async () => {
    const server = await loopback((_, nth) =>
      nth === 0
        ? {
            status: 400,
            body: claude(
              'max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-x',
            ),
          }
        : answerOn('anthropic'),
    )
    await ask('anthropic:claude-sonnet-5-5', server, { maxOutputTokens: 128_000 })
    expect(server.requests[1]?.body.max_tokens).toBe(64_000)
  })

  it('may be several, one after the other', async () => {
    const server = await loopback(({ body }) => {
      const refused = ['temperature', 'top_p', 'seed'].find((field) => field in body)
      return refused
        ? { status: 400, body: openai(`Unsupported parameter: '${refused}' is not supported.`) }
        : answerOn('openai')
    })
    const { error, warnings } = await ask('openai:my-model', server, { ...sampled, seed: 1 })
    expect(error).toBe('')
    expect(server.requests).toHaveLength(4)
    expect(warnings.map(({ setting }) => setting).toSorted()).toEqual(['seed', 'temperature', 'topP'])
  })

  it.each([
    [
      'Function name was my.tool but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64.',
    ],
    [
      "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    ],
    ["tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"],
    [
      'GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name. Must start with a letter or an underscore.',
    ],
  ])('may be the name of a tool, which the agent still gets as its own: %s', async (message) => {
    const call = { id: 'c', function: { name: 'my_tool', arguments: '{}' } }
    const server = await loopback((_, nth) =>
      nth === 0
        ? { status: 400, body: openai(message) }
        : {
            body: `${sse({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...call }] }, finish_reason: 'tool_calls' }] })}data: [DONE]\n\n`,
          },
    )
    const { deltas } = await ask('openai:my-model', server, {
      tools: [tool('my.tool'), tool('other')],
      toolChoice: { tool: 'my.tool' },
    })
    expect(server.requests[1]?.body).toMatchObject({
      tools: [{ function: { name: 'my_tool' } }, { function: { name: 'other' } }],
      tool_choice: { function: { name: 'my_tool' } },
    })
    expect(deltas).toContainEqual({ type: 'toolCall', call: expect.objectContaining({ name: 'my.tool' }) })
  })

  it('may be the thinking of another conversation, whose blocks alone are left out', async () => {
    const thought = (signature: string) => ({
      ...modelMessage('Yes.'),
      metadata: {
        anthropic: {
          provider: 'anthropic',
          blocks: [{ type: 'thinking', thinking: '…', signature }, { text: 4 }],
        },
      },
    })
    const server = await loopback(({ text }) =>
      text.includes('stale')
        ? {
            status: 400,
            body: claude(
              'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.',
            ),
          }
        : answerOn('anthropic'),
    )
    const messages = [userMessage('A?'), thought('stale-1'), userMessage('B?')]
    const model = 'anthropic:claude-sonnet-5-5'
    const { error, warnings } = await ask(model, server, { messages })
    expect(error).toBe('')
    expect(warnings).toMatchObject([{ setting: 'history', change: 'omitted' }])
    await ask(model, server, { messages: [...messages, thought('fresh'), userMessage('C?')] })
    expect(server.requests).toHaveLength(3)
    expect(server.requests[2]?.text).toContain('fresh')
    expect(server.requests[2]?.text).not.toContain('stale')
  })
})

describe('an error that is not about a setting', () => {
  it.each([
    [
      'a value out of range',
      400,
      openai("Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 7 instead."),
    ],
    [
      'a model that does not exist',
      404,
      openai('The model `x` does not exist or you do not have access to it.'),
    ],
    ['a key', 401, openai('Incorrect API key provided. The temperature is not supported.')],
    ['a rate limit', 429, openai('Rate limit reached. temperature is not supported.')],
    ['tools that are not supported', 400, openai('This model does not support tool calling')],
  ])('ends the request at once: %s', async (_, status, body) => {
    const server = await loopback(() => ({ status, body }))
    const { error, warnings } = await ask('openai:my-model', server, { temperature: 7, tools: [tool()] })
    expect(error).not.toBe('')
    expect(server.requests).toHaveLength(1)
    expect(warnings).toEqual([])
  })

  it('is not learnt where the request fails without the setting, too', async () => {
    const server = await loopback(() => ({
      status: 400,
      body: openai("Unsupported parameter: 'temperature'"),
    }))
    await ask('openai:my-model', server, { temperature: 0.5 })
    await ask('openai:my-model', server, { temperature: 0.5 })
    expect(server.requests.map(({ body }) => 'temperature' in body)).toEqual([true, false, true, false])
  })
})
