import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { bedrock } from '../../providers/values/bedrock.ts'
import { arrayAt, objectAt, stringAt } from '../../providers/wire/json.ts'
import {
  Agent,
  type AgentOptions,
  Chat,
  dataPart,
  modelMessage,
  type SendOptions,
  tool,
  userMessage,
} from '../../src/index.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { Thinking, ToolChoice } from '../../src/model/chatModel.ts'
import { codeExecution, webSearch } from '../../src/model/serverTools.ts'
import { type Loopback, loopback } from '../loopback.ts'
import { type ConverseEvent, converseStream, eventStreamType, exceptionFrame } from './eventStream.ts'
import { signatureOf } from './signature.ts'

// Models on Bedrock that are not Claude: Converse's own bodies and events, in the frames of AWS.

const credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
}

beforeEach(() => {
  vi.stubEnv('AWS_BEARER_TOKEN_BEDROCK', undefined)
  vi.stubEnv('AWS_REGION', 'eu-central-1')
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const start: ConverseEvent = ['messageStart', { role: 'assistant' }]
const delta = (contentBlockIndex: number, content: object): ConverseEvent => [
  'contentBlockDelta',
  { contentBlockIndex, delta: content },
]
const text = (index: number, words: string) => delta(index, { text: words })
const thought = (index: number, reasoning: object) => delta(index, { reasoningContent: reasoning })
const stop = (contentBlockIndex: number): ConverseEvent => ['contentBlockStop', { contentBlockIndex }]
const call = (index: number, toolUseId: string, name: string, ...pieces: string[]): ConverseEvent[] => [
  ['contentBlockStart', { contentBlockIndex: index, start: { toolUse: { toolUseId, name } } }],
  ...pieces.map((input) => delta(index, { toolUse: { input } })),
  stop(index),
]
const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
const end = (stopReason: string, counts: object = usage): ConverseEvent[] => [
  ['messageStop', { stopReason }],
  ['metadata', { usage: counts, metrics: { latencyMs: 300 } }],
]
const hello = [start, text(0, 'Hel'), text(0, 'lo'), stop(0), ...end('end_turn')]

/** A server that answers with these streams, one after the other. */
const serverWith = (...answers: ConverseEvent[][]): Promise<Loopback> =>
  loopback((_, nth) => ({
    headers: eventStreamType,
    body: converseStream(...(answers[nth] ?? answers.at(-1) ?? [])),
  }))

const nova = 'us.amazon.nova-2-lite-v1:0'
const agentAt = ({ url }: Loopback, model = nova, options: AgentOptions = {}) =>
  new Agent(`bedrock:${model}`, { baseUrl: url, apiKey: 'a-key', retry: { maxRetries: 0 }, ...options })

/** The second message of a request: the first answer of the model. */
const messageOf = ({ requests }: Loopback, nth: number) => arrayAt(requests[nth]?.body, 'messages')?.[1]

const weather = tool({
  name: 'get_weather',
  description: 'Weather',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `sunny in ${city}`,
})

describe('a model', () => {
  test.each([
    [nova, 'bedrock-converse'],
    ['openai.gpt-oss-120b-1:0', 'bedrock-converse'],
    ['meta.llama3-3-70b-instruct-v1:0', 'bedrock-converse'],
    ['arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-pro-v1:0', 'bedrock-converse'],
    ['arn:aws:bedrock:us-east-1:123456789012:imported-model/abc', 'bedrock-converse'],
    ['global.anthropic.claude-sonnet-5-5', 'anthropic'],
    ['arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc', 'anthropic'],
  ])('%s speaks %s', (model, protocol) => {
    expect(bedrock(model).protocol).toBe(protocol)
  })

  test('whose name says nothing speaks the protocol of the one that it is like', () => {
    const arn = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc'
    const made = bedrock(arn, { profile: { like: nova } })
    expect(made).toMatchObject({ protocol: 'bedrock-converse', profile: { window: 1_000_000 } })
  })

  test('has the sizes of Bedrock, and of its vendor where Bedrock says nothing', () => {
    expect(bedrock('qwen.qwen3-32b-v1:0').profile).toMatchObject({ window: 32_768, maxOutput: 16_384 })
    expect(bedrock('meta.llama3-1-8b-instruct-v1:0').profile).toMatchObject({
      window: 128_000,
      nativeSchema: false,
      thinking: false,
    })
    expect(bedrock('us.openai.gpt-6-luna').profile).toMatchObject({
      thinking: true,
      attachments: { images: true, pdf: false },
    })
  })
})

describe('a request', () => {
  test('has the model in its path, and every setting in its place', async () => {
    const server = await serverWith(hello)
    const { output, usage, warnings } = await agentAt(server, nova, {
      system: 'Be brief.',
      maxOutputTokens: 50,
      temperature: 0.5,
      topP: 0.9,
      stopSequences: ['END'],
      tools: [weather],
      toolChoice: 'auto',
      cache: 'off',
    }).send('Hi')
    expect({ output, warnings }).toEqual({ output: 'Hello', warnings: undefined })
    expect(usage).toEqual({ inputTokens: 10, outputTokens: 5, totalTokens: 15 })
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      path: `/model/${encodeURIComponent(nova)}/converse-stream`,
      headers: { authorization: 'Bearer a-key' },
    })
    expect(server.requests[0]?.body).toEqual({
      messages: [{ role: 'user', content: [{ text: 'Hi' }] }],
      system: [{ text: 'Be brief.' }],
      inferenceConfig: { maxTokens: 50, temperature: 0.5, topP: 0.9, stopSequences: ['END'] },
      toolConfig: {
        tools: [
          {
            toolSpec: {
              name: 'get_weather',
              description: 'Weather',
              inputSchema: { json: expect.objectContaining({ type: 'object', required: ['city'] }) },
            },
          },
        ],
        toolChoice: { auto: {} },
      },
    })
  })

  test('is signed like every other of AWS', async () => {
    const server = await serverWith(hello)
    await agentAt(server, nova, { apiKey: credentials }).send('Grüezi')
    const [request] = server.requests
    if (!request) throw new Error('Nothing was asked.')
    const { signature, expected } = signatureOf(request, credentials.secretAccessKey)
    expect(signature).toBe(expected)
  })

  test.each<[ToolChoice, JsonObject]>([
    ['required', { any: {} }],
    [{ tool: 'get_weather' }, { tool: { name: 'get_weather' } }],
  ])('makes the model call a tool: %o', async (toolChoice, expected) => {
    const server = await serverWith(hello)
    await agentAt(server, nova, { tools: [weather], toolChoice }).send('Hi')
    expect(server.requests[0]?.body.toolConfig).toMatchObject({ toolChoice: expected })
  })

  test('warns of settings that the API does not have', async () => {
    const server = await serverWith(hello)
    const { warnings } = await agentAt(server, nova, {
      tools: [weather],
      seed: 7,
      parallelToolCalls: false,
    }).send('Hi')
    expect(warnings?.map(({ setting }) => setting)).toEqual(['seed', 'parallelToolCalls'])
  })

  test.each<[string, Thinking, JsonObject | undefined]>([
    [nova, { effort: 'low' }, { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'low' } }],
    [nova, true, { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' } }],
    [nova, false, { reasoningConfig: { type: 'disabled' } }],
    ['openai.gpt-oss-120b-1:0', { effort: 'max' }, { reasoning_effort: 'high' }],
    ['openai.gpt-oss-120b-1:0', false, { reasoning_effort: 'low' }],
    ['us.openai.gpt-6-luna', { effort: 'high' }, { reasoning: { effort: 'high' } }],
    ['deepseek.v3.2', { effort: 'high' }, undefined],
  ])('has the words of %s for thinking %o', async (model, thinking, expected) => {
    const server = await serverWith(hello)
    const { warnings = [] } = await agentAt(server, model, { thinking }).send('Hi')
    expect(server.requests[0]?.body.additionalModelRequestFields).toEqual(expected)
    expect(warnings.some(({ setting }) => setting === 'thinking')).toBe(
      expected === undefined || model.includes('gpt-oss'),
    )
  })

  test('leaves Nova’s sampling to Nova where it thinks hard, and says so', async () => {
    const server = await serverWith(hello)
    const { warnings } = await agentAt(server, nova, {
      thinking: { effort: 'high' },
      temperature: 0.2,
      maxOutputTokens: 100,
    }).send('Hi')
    expect(server.requests[0]?.body).not.toHaveProperty('inferenceConfig')
    expect(warnings?.map(({ setting }) => setting)).toEqual(['temperature', 'maxOutputTokens'])
  })

  test('marks Nova’s cache at the end of each request, and no other model’s', async () => {
    const history = [userMessage('One'), modelMessage('Two')]
    const server = await serverWith(hello)
    await agentAt(server, nova, { system: 'Be brief.' }).send('Three', { history })
    const point = { cachePoint: { type: 'default' } }
    expect(server.requests[0]?.body).toMatchObject({
      system: [{ text: 'Be brief.' }, point],
      messages: [
        { content: [{ text: 'One' }, point] },
        { content: [{ text: 'Two' }] },
        { content: [{ text: 'Three' }, point] },
      ],
    })
    await agentAt(server, 'deepseek.v3.2', { system: 'Be brief.' }).send('Three', { history })
    expect(server.requests[1]?.text).not.toContain('cachePoint')
  })

  test('carries images, documents and videos by their bytes', async () => {
    const server = await serverWith(hello)
    const bytes = new Uint8Array([1, 2, 3])
    await agentAt(server, nova, { cache: 'off' }).send('', {
      attachments: [
        dataPart('image/jpeg', bytes),
        dataPart('application/pdf', bytes, 'Q3: "report"_v2.pdf'),
        dataPart('video/mp4', bytes),
      ],
    })
    const source = { bytes: 'AQID' }
    expect(server.requests[0]?.body.messages).toEqual([
      {
        role: 'user',
        content: [
          { image: { format: 'jpeg', source } },
          { document: { format: 'pdf', name: 'Q3 report v2', source } },
          { video: { format: 'mp4', source } },
          { text: 'See the document.' },
        ],
      },
    ])
  })

  test('has the tools that Amazon runs, for Nova alone', async () => {
    const serverTools = [webSearch(), codeExecution()]
    const server = await serverWith(hello)
    await agentAt(server, nova, { serverTools }).send('Hi')
    expect(server.requests[0]?.body.toolConfig).toEqual({
      tools: [{ systemTool: { name: 'nova_grounding' } }, { systemTool: { name: 'nova_code_interpreter' } }],
    })
    await expect(agentAt(server, 'deepseek.v3.2', { serverTools }).send('Hi')).rejects.toThrow('webSearch')
  })
})

describe('a typed answer', () => {
  const schema = z.object({ n: z.number() })

  test('has its schema as a text, where the model takes one', async () => {
    const server = await serverWith([start, text(0, '{"n":'), text(0, '3}'), stop(0), ...end('end_turn')])
    const { output } = await agentAt(server, 'qwen.qwen3-32b-v1:0').sendFor('A number', schema)
    expect(output).toEqual({ n: 3 })
    const format = objectAt(objectAt(server.requests[0]?.body, 'outputConfig'), 'textFormat')
    const schemaText = stringAt(objectAt(objectAt(format, 'structure'), 'jsonSchema'), 'schema')
    expect(format).toMatchObject({ type: 'json_schema' })
    expect(JSON.parse(schemaText ?? '')).toMatchObject({ required: ['n'] })
  })

  test('comes through a tool elsewhere', async () => {
    const server = await serverWith([start, ...call(0, 't1', 'return_result', '{"n":3}'), ...end('tool_use')])
    const { output } = await agentAt(server, nova).sendFor('A number', schema)
    expect(output).toEqual({ n: 3 })
    expect(server.requests[0]?.body).not.toHaveProperty('outputConfig')
  })
})

describe('a loop with tools', () => {
  test('sends calls, results and failures back in the blocks of Converse', async () => {
    const failing = tool({
      name: 'fail',
      description: '',
      execute: () => {
        throw new Error('broken')
      },
    })
    const server = await serverWith(
      [
        start,
        text(0, 'Let me look.'),
        stop(0),
        ...call(1, 'tooluse_1', 'get_weather', '', '{"ci', 'ty":"Oslo"}'),
        ...call(2, 'tooluse_2', 'fail'),
        ...end('tool_use'),
      ],
      hello,
    )
    const { output } = await agentAt(server, nova, { tools: [weather, failing], cache: 'off' }).send('Oslo?')
    expect(output).toBe('Let me look.\nHello')
    expect(server.requests[1]?.body.messages).toEqual([
      { role: 'user', content: [{ text: 'Oslo?' }] },
      {
        role: 'assistant',
        content: [
          { text: 'Let me look.' },
          { toolUse: { toolUseId: 'tooluse_1', name: 'get_weather', input: { city: 'Oslo' } } },
          { toolUse: { toolUseId: 'tooluse_2', name: 'fail', input: {} } },
        ],
      },
      {
        role: 'user',
        content: [
          { toolResult: { toolUseId: 'tooluse_1', content: [{ text: 'sunny in Oslo' }] } },
          {
            toolResult: {
              toolUseId: 'tooluse_2',
              content: [{ text: expect.stringContaining('broken') }],
              status: 'error',
            },
          },
        ],
      },
    ])
  })

  test('has no status of a result for models that refuse one, and the ids that Mistral takes', async () => {
    const model = 'mistral.mistral-large-3-675b-instruct'
    const server = await serverWith(
      [start, ...call(0, 'tooluse_1', 'no_tool', '{}'), ...end('tool_use')],
      hello,
    )
    await agentAt(server, model, { tools: [weather] }).send('Oslo?')
    const sent = server.requests[1]?.text ?? ''
    expect(sent).not.toContain('"status"')
    const ids = [...sent.matchAll(/"toolUseId":"([^"]*)"/g)].map(([, id = '']) => id)
    expect(ids).toHaveLength(2)
    expect(new Set(ids).size).toBe(1)
    expect(ids[0]).toMatch(/^[a-zA-Z0-9]{9}$/)
  })

  test('has no blocks of tools in a request without tools: the API would refuse them', async () => {
    const server = await serverWith(
      [start, ...call(0, 't1', 'get_weather', '{"city":"Oslo"}'), ...end('tool_use')],
      hello,
    )
    const { messages } = await agentAt(server, nova, { tools: [weather] }).send('Oslo?')
    await agentAt(server, nova).send('And now?', { history: messages })
    const body = server.requests[2]?.body
    expect(body).not.toHaveProperty('toolConfig')
    expect(server.requests[2]?.text).not.toMatch(/toolUse|toolResult/)
    expect(server.requests[2]?.text).toContain('[result of get_weather: sunny in Oslo]')
  })

  test('does not run a call that the tokens cut', async () => {
    const server = await serverWith(
      [
        start,
        [
          'contentBlockStart',
          { contentBlockIndex: 0, start: { toolUse: { toolUseId: 't', name: 'get_weather' } } },
        ],
        ...end('max_tokens'),
      ],
      hello,
    )
    const { messages } = await agentAt(server, nova, { tools: [weather] }).send('Oslo?')
    const results = messages.flatMap(({ parts }) => parts.filter(({ type }) => type === 'toolResult'))
    expect(results).toMatchObject([{ isError: true }])
  })
})

describe('reasoning', () => {
  test('is thinking, and goes back signed, encrypted and in its place, to the model that made it', async () => {
    const server = await serverWith(
      [
        start,
        thought(0, { text: 'I wo' }),
        thought(0, { text: 'nder' }),
        thought(0, { signature: 'c2ln' }),
        stop(0),
        thought(1, { redactedContent: 'AQI=' }),
        thought(1, { redactedContent: 'Aw==' }),
        stop(1),
        text(2, 'Looking.'),
        stop(2),
        ...call(3, 't1', 'get_weather', '{"city":"Oslo"}'),
        ...end('tool_use'),
      ],
      hello,
    )
    const agent = agentAt(server, 'us.openai.gpt-6-luna', { tools: [weather] })
    const { output, metadata, messages } = await agent.send('Oslo?')
    expect({ output, thinking: metadata.thinking }).toEqual({
      output: 'Looking.\nHello',
      thinking: 'I wonder',
    })
    const answer = {
      role: 'assistant',
      content: [
        { reasoningContent: { reasoningText: { text: 'I wonder', signature: 'c2ln' } } },
        { reasoningContent: { redactedContent: 'AQID' } },
        { text: 'Looking.' },
        { toolUse: { toolUseId: 't1', name: 'get_weather', input: { city: 'Oslo' } } },
      ],
    }
    expect(messageOf(server, 1)).toEqual(answer)
    // Another model reads none of it.
    await agentAt(server, 'deepseek.v3.2', { tools: [weather] }).send('And now?', { history: messages })
    expect(server.requests[2]?.text).not.toContain('reasoningContent')
    // Stored and continued later, it is the same.
    const stored = JSON.parse(JSON.stringify(messages))
    await agent.send('And now?', { history: stored })
    expect(messageOf(server, 3)).toEqual(answer)
  })

  test('without a signature goes back with the calls that it led to, and nowhere else', async () => {
    const server = await serverWith(
      [
        start,
        thought(0, { text: 'Hmm' }),
        stop(0),
        ...call(1, 't1', 'get_weather', '{"city":"Oslo"}'),
        ...end('tool_use'),
      ],
      [start, thought(0, { text: 'So' }), stop(0), text(1, 'Sunny.'), stop(1), ...end('end_turn')],
    )
    const agent = agentAt(server, 'deepseek.v3.2', { tools: [weather] })
    const { messages } = await agent.send('Oslo?')
    await agent.send('And now?', { history: messages })
    const sent = server.requests[2]?.text ?? ''
    expect(sent).toContain('{"reasoningContent":{"reasoningText":{"text":"Hmm"}}}')
    expect(sent).not.toContain('"So"')
  })

  test('is left out of an answer that was edited since', async () => {
    const server = await serverWith(
      [
        start,
        thought(0, { text: 'Hmm' }),
        thought(0, { signature: 's' }),
        stop(0),
        text(1, 'Secret.'),
        stop(1),
        ...end('end_turn'),
      ],
      hello,
    )
    const agent = agentAt(server, 'us.openai.gpt-6-luna')
    const { messages } = await agent.send('Hi')
    const edited = messages.map((message) =>
      message.role === 'model'
        ? { ...message, parts: [{ type: 'text' as const, text: 'Changed' }] }
        : message,
    )
    await agent.send('Again', { history: edited })
    expect(server.requests[1]?.text).not.toMatch(/reasoningContent|Secret/)
  })
})

describe('the end of an answer', () => {
  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['guardrail_intervened', 'contentFilter'],
    ['content_filtered', 'contentFilter'],
    ['a_new_word', 'unspecified'],
  ])('%s is %s', async (word, finishReason) => {
    const server = await serverWith([start, text(0, 'Hello'), stop(0), ...end(word)])
    expect(await agentAt(server).send('Hi')).toMatchObject({
      output: 'Hello',
      finishReason,
      rawFinishReason: word,
    })
  })

  test.each(['malformed_tool_use', 'malformed_model_output'])(
    '%s is an error that another try may help',
    async (word) => {
      const server = await serverWith([start, ...end(word)], hello)
      const agent = agentAt(server, nova, { retry: { maxRetries: 1, initialDelayMs: 1 } })
      expect((await agent.send('Hi')).output).toBe('Hello')
    },
  )

  test('because the window is full is an overflow', async () => {
    const server = await serverWith([start, text(0, 'Hel'), ...end('model_context_window_exceeded')])
    await expect(agentAt(server).send('Hi')).rejects.toMatchObject({ code: 'context_overflow' })
  })

  test('counts what was read from the cache and written to it as input', async () => {
    const counts = { ...usage, totalTokens: 115, cacheReadInputTokens: 70, cacheWriteInputTokens: 30 }
    const server = await serverWith([start, text(0, 'Hi'), ...end('end_turn', counts)])
    expect((await agentAt(server).send('Hi')).usage).toEqual({
      inputTokens: 110,
      outputTokens: 5,
      totalTokens: 115,
      cachedInputTokens: 70,
      cacheWriteTokens: 30,
    })
  })

  test('may come without counts, or after them', async () => {
    const [word, counts] = end('end_turn') as [ConverseEvent, ConverseEvent]
    for (const events of [[word], [counts, word]]) {
      const server = await serverWith([start, text(0, 'Hello'), stop(0), ...events])
      expect((await agentAt(server).send('Hi')).output).toBe('Hello')
    }
  })

  test('that never comes is truncated, wherever the stream is cut', async () => {
    const whole = converseStream(...hello.slice(0, -2))
    for (const length of [0, 5, 60, whole.length - 1, whole.length]) {
      const server = await loopback(() => ({ headers: eventStreamType, body: whole.subarray(0, length) }))
      await expect(agentAt(server).send('Hi')).rejects.toMatchObject({ code: 'truncated' })
    }
  })
})

describe('an error', () => {
  test.each([
    ['throttlingException', true],
    ['modelStreamErrorException', true],
    ['internalServerException', true],
    ['serviceUnavailableException', true],
    ['modelTimeoutException', true],
    ['validationException', false],
  ])('%s inside the stream keeps its name and what was said before it', async (code, retryable) => {
    const body = Buffer.concat([converseStream(start, text(0, 'half')), exceptionFrame(code, 'Too much.')])
    const server = await loopback(() => ({ headers: eventStreamType, body }))
    await expect(agentAt(server).send('Hi')).rejects.toMatchObject({
      name: 'ModelError',
      code,
      retryable,
      message: expect.stringContaining('Too much.'),
      partial: { output: 'half' },
    })
  })

  test('of a request that is too long is an overflow', async () => {
    const server = await loopback(() => ({
      status: 400,
      body: { message: 'Input is too long for requested model.' },
    }))
    await expect(agentAt(server).send('Hi')).rejects.toMatchObject({ code: 'context_overflow' })
  })

  test('about a setting costs one request: the setting is left out', async () => {
    const refusal = {
      status: 400,
      body: {
        message: "This model doesn't support the temperature field. Remove temperature and try again.",
      },
    }
    const server = await loopback((_, nth) =>
      nth === 0 ? refusal : { headers: eventStreamType, body: converseStream(...hello) },
    )
    const { output, warnings } = await agentAt(server, 'writer.palmyra-x5-v1:0', { temperature: 0.1 }).send(
      'Hi',
    )
    expect(output).toBe('Hello')
    expect(warnings).toMatchObject([{ setting: 'temperature', refusal: refusal.body.message }])
    expect(server.requests[1]?.body).not.toHaveProperty('inferenceConfig')
  })
})

describe('odd habits', () => {
  test('an answer in one piece of JSON is read, with all that is in it', async () => {
    const server = await loopback(() => ({
      body: {
        output: {
          message: {
            role: 'assistant',
            content: [
              { reasoningContent: { reasoningText: { text: 'Hmm', signature: 's' } } },
              { text: 'Looking.' },
              { toolUse: { toolUseId: 't1', name: 'get_weather', input: { city: 'Oslo' } } },
            ],
          },
        },
        stopReason: 'tool_use',
        usage,
      },
    }))
    const called: object[] = []
    const run = agentAt(server, nova, { tools: [weather], maxSteps: 1 }).start('Oslo?')
    run.on('tool.call', ({ call }) => called.push(call))
    const { output, metadata } = await run.result
    expect({ output, thinking: metadata.thinking }).toEqual({ output: 'Looking.', thinking: 'Hmm' })
    expect(called).toMatchObject([{ name: 'get_weather', arguments: { city: 'Oslo' } }])
  })

  test('blocks without a start, an empty piece, an unknown event and an unknown block are read over', async () => {
    const server = await serverWith([
      ['initial-response', {}],
      start,
      ['aNewEvent', { contentBlockIndex: 0, something: true }],
      ['contentBlockStart', { contentBlockIndex: 0, start: {} }],
      text(0, ''),
      delta(0, { aNewDelta: { text: 'no' } }),
      text(0, 'Hello'),
      stop(0),
      stop(7),
      ...end('end_turn'),
    ])
    expect((await agentAt(server).send('Hi')).output).toBe('Hello')
  })

  test('calls of one id at two places are two calls', async () => {
    const server = await serverWith(
      [
        start,
        ...call(0, 'same', 'get_weather', '{"city":"Oslo"}'),
        ...call(1, 'same', 'get_weather', '{"city":"Rome"}'),
        ...end('end_turn'),
      ],
      hello,
    )
    await agentAt(server, nova, { tools: [weather] }).send('Oslo and Rome?')
    const sent = server.requests[1]?.text ?? ''
    expect(sent).toContain('sunny in Oslo')
    expect(sent).toContain('sunny in Rome')
  })

  test('the tools that Amazon ran are reported, and are not calls of the agent', async () => {
    const server = await serverWith([
      start,
      [
        'contentBlockStart',
        {
          contentBlockIndex: 0,
          start: { toolUse: { toolUseId: 's1', name: 'nova_grounding', type: 'server_tool_use' } },
        },
      ],
      delta(0, { toolUse: { input: '{"query":"Oslo"}' } }),
      stop(0),
      text(1, 'Sunny.'),
      delta(1, { citation: { location: { web: { url: 'https://example.com' } } } }),
      stop(1),
      ...end('end_turn'),
    ])
    const { output, metadata } = await agentAt(server).send('Oslo?')
    expect(output).toBe('Sunny.')
    expect(metadata).toMatchObject({
      serverTools: [{ name: 'nova_grounding', input: '{"query":"Oslo"}' }],
      citations: [{ location: { web: { url: 'https://example.com' } } }],
    })
  })
})

test('a request that must not call tools has other tools and another history, and says so', async () => {
  const weather = tool({
    name: 'weather',
    input: z.object({}),
    description: 'The weather.',
    execute: () => 'Sunny.',
  })
  const server = await serverWith(
    [start, ...call(0, 'c1', 'weather', '{}'), ...end('tool_use')],
    hello,
    hello,
  )
  const chat = new Chat(agentAt(server, nova, { tools: [weather] }))
  await chat.send('Weather?')
  const changed: unknown[] = []
  const onStart: SendOptions['onStart'] = (run) =>
    void run.on('prefix', (event) => changed.push(event.changed))
  await chat.send('Thanks.', { toolChoice: 'none', onStart })
  await chat.send('Thanks again.', { toolChoice: 'none', onStart })
  expect(server.requests.map(({ body }) => 'toolConfig' in body)).toEqual([true, true, false, false])
  expect(changed).toEqual([['tools', 'history']])
})
