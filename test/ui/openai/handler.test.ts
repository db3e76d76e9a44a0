/** The SDK of OpenAI, versions 6 and 7, and statewire's own providers read what `openaiHandler` writes. */
import { OpenAI as OpenAI7 } from 'openai'
import { OpenAI as OpenAI6 } from 'openai6'
import { describe, expect, test } from 'vitest'
import { Agent, type AgentOptions } from '../../../src/agent/Agent.ts'
import { textOf, toolCallsOf, toolResultsOf } from '../../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../../src/testing/scriptedModel.ts'
import { tool } from '../../../src/tools/tool.ts'
import { type OpenaiHandlerOptions, openaiHandler } from '../../../src/ui/openai/handler.ts'
import { endlessProvider } from '../endlessProvider.ts'
import { serve, until } from '../serve.ts'

const weather = tool({ name: 'get_weather', description: 'Weather', execute: () => ({ celsius: 21 }) })
const send = tool({ name: 'send', description: 'Sends', needsApproval: true, execute: () => 'sent' })
const withTool: ScriptTurn[] = [
  [{ thinking: 'Hm.' }, { text: 'One moment.' }, { toolCall: { id: 'c1', name: 'get_weather' } }],
  [
    { text: 'It is ' },
    { text: '21 °C.' },
    { usage: { inputTokens: 5, outputTokens: 7, cachedInputTokens: 2 } },
  ],
]
const whole = 'One moment.\nIt is 21 °C.'

const served = async (
  turns: ScriptTurn[],
  agentOptions: AgentOptions = {},
  options: OpenaiHandlerOptions = {},
) => {
  const model = scriptedModel(turns)
  const agent = new Agent(model, { tools: [weather, send], ...agentOptions })
  return { model, baseURL: `${await serve(openaiHandler({ helper: agent }, options))}/v1` }
}

const ask = (content: string) => [{ role: 'user' as const, content }]
const lookUp = {
  name: 'look_up',
  description: 'Looks something up',
  parameters: { type: 'object', properties: { word: { type: 'string' } } },
}

/** The types of the two differ in places that these tests do not touch. */
const sdks: [string, typeof OpenAI7][] = [
  ['6', OpenAI6 as unknown as typeof OpenAI7],
  ['7', OpenAI7],
]

describe.each(sdks)('openai %s', (_, OpenAI) => {
  const sdk = (baseURL: string, apiKey = 'k') => new OpenAI({ baseURL, apiKey, maxRetries: 0 })

  test('lists the agents as models', async () => {
    const { baseURL } = await served([])
    const { data } = await sdk(baseURL).models.list()
    expect(data.map(({ id }) => id)).toEqual(['helper'])
    expect((await sdk(baseURL).models.retrieve('helper')).object).toBe('model')
    await expect(sdk(baseURL).models.retrieve('missing')).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
    })
  })

  test('gets a chat completion, and sees nothing of the agent’s tools', async () => {
    const { baseURL } = await served(withTool)
    const completion = await sdk(baseURL).chat.completions.create({
      model: 'helper',
      messages: ask('Weather?'),
    })
    expect(completion.choices).toMatchObject([
      { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: whole, refusal: null } },
    ])
    expect(completion.choices[0]?.message.tool_calls).toBeUndefined()
    expect(completion.usage).toMatchObject({
      prompt_tokens: 5,
      completion_tokens: 7,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 2 },
    })
  })

  test('reads a stream of it with its helper', async () => {
    const { baseURL } = await served(withTool)
    const stream = sdk(baseURL).chat.completions.stream({
      model: 'helper',
      messages: ask('Weather?'),
      stream_options: { include_usage: true },
    })
    let text = ''
    stream.on('content', (delta) => {
      text += delta
    })
    const final = await stream.finalChatCompletion()
    expect([text, final.choices[0]?.message.content, final.choices[0]?.finish_reason]).toEqual([
      whole,
      whole,
      'stop',
    ])
    expect(final.usage?.total_tokens).toBe(12)
  })

  test('gets a response, whole and as a stream', async () => {
    const { baseURL } = await served([...withTool, ...withTool])
    const response = await sdk(baseURL).responses.create({ model: 'helper', input: 'Weather?' })
    expect(response).toMatchObject({
      status: 'completed',
      output_text: whole,
      usage: { input_tokens: 5, total_tokens: 12 },
    })
    const stream = sdk(baseURL).responses.stream({ model: 'helper', input: 'Weather?' })
    const types: string[] = []
    let text = ''
    for await (const event of stream) {
      types.push(event.type)
      if (event.type === 'response.output_text.delta') text += event.delta
    }
    expect(text).toBe(whole)
    expect((await stream.finalResponse()).output_text).toBe(whole)
    expect(types.slice(0, 2)).toEqual(['response.created', 'response.in_progress'])
    expect(types.at(-1)).toBe('response.completed')
  })

  test('calls its own tools, in both forms, and continues with their results', async () => {
    const calling: ScriptTurn = [
      { text: 'Let me look.' },
      { toolCall: { id: 'c1', name: 'look_up', arguments: { word: 'fjord' } } },
    ]
    const { baseURL, model } = await served([calling, 'A fjord is a bay.', calling, 'A fjord is a bay.'])
    const client = sdk(baseURL)
    const tools = [{ type: 'function' as const, function: lookUp }]
    const stream = client.chat.completions.stream({
      model: 'helper',
      messages: ask('What is a fjord?'),
      tools,
    })
    const first = (await stream.finalChatCompletion()).choices[0]
    expect(first).toMatchObject({ finish_reason: 'tool_calls', message: { content: 'Let me look.' } })
    const [call] = first?.message.tool_calls ?? []
    expect(call).toMatchObject({ id: 'c1', function: { name: 'look_up', arguments: '{"word":"fjord"}' } })
    const second = await client.chat.completions.create({
      model: 'helper',
      tools,
      messages: [
        ...ask('What is a fjord?'),
        { role: 'assistant', content: 'Let me look.', tool_calls: call ? [call] : [] },
        { role: 'tool', tool_call_id: 'c1', content: 'a bay' },
      ],
    })
    expect(second.choices[0]?.message.content).toBe('A fjord is a bay.')
    const [question, asked, answered] = model.requests[1]?.messages ?? []
    expect([question, asked].map((message) => message && textOf(message))).toEqual([
      'What is a fjord?',
      'Let me look.',
    ])
    expect(asked && toolCallsOf(asked)).toMatchObject([{ id: 'c1', arguments: { word: 'fjord' } }])
    expect(answered && toolResultsOf(answered)).toMatchObject([{ id: 'c1', result: 'a bay' }])

    const functions = [{ type: 'function' as const, strict: false, ...lookUp }]
    const input = ask('What is a fjord?')
    const response = await client.responses.create({ model: 'helper', input, tools: functions })
    expect(response.output).toMatchObject([
      { type: 'message' },
      { type: 'function_call', call_id: 'c1', name: 'look_up', arguments: '{"word":"fjord"}' },
    ])
    const next = await client.responses.create({
      model: 'helper',
      tools: functions,
      input: [...input, ...response.output, { type: 'function_call_output', call_id: 'c1', output: 'a bay' }],
    } as Parameters<typeof client.responses.create>[0] & { stream?: false })
    expect(next.output_text).toBe('A fjord is a bay.')
    expect(model.requests[3]?.messages.map(({ role }) => role)).toEqual(['user', 'model', 'user'])
    expect(model.requests[3]?.messages.flatMap(toolResultsOf)).toMatchObject([{ id: 'c1', result: 'a bay' }])
  })

  test('calls its own tools although it asks for a shape, and gets the shape in the end', async () => {
    const { baseURL } = await served([[{ toolCall: { id: 'l1', name: 'look_up' } }], '{"n":1}'])
    const ask = (messages: OpenAI7.ChatCompletionMessageParam[]) =>
      sdk(baseURL).chat.completions.create({
        model: 'helper',
        messages,
        tools: [{ type: 'function', function: lookUp }],
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'n', schema: { type: 'object', properties: { n: { type: 'number' } } } },
        },
      })
    const question = { role: 'user' as const, content: 'Count' }
    const [called] = (await ask([question])).choices
    expect(called).toMatchObject({ finish_reason: 'tool_calls', message: { tool_calls: [{ id: 'l1' }] } })
    if (!called) throw new Error('There is no answer.')
    const found = { role: 'tool' as const, tool_call_id: 'l1', content: 'one' }
    const [answer] = (await ask([question, called.message, found])).choices
    expect(answer).toMatchObject({ finish_reason: 'stop', message: { content: '{"n":1}' } })
  })

  test('gets the error, before and after the answer began', async () => {
    const { baseURL } = await served(
      [
        [{ text: 'Well' }, { error: { message: 'the key sk-12345 is wrong' } }],
        [{ text: 'Well' }, { error: {} }],
      ],
      {},
      { authorize: (key) => key === 'k' },
    )
    await expect(sdk(baseURL, 'wrong').models.list()).rejects.toMatchObject({
      status: 401,
      code: 'invalid_api_key',
    })
    const create = sdk(baseURL).chat.completions.create.bind(sdk(baseURL).chat.completions)
    await expect(create({ model: 'missing', messages: ask('hi') })).rejects.toMatchObject({ status: 404 })
    await expect(create({ model: 'helper', messages: ask('hi'), n: 2 })).rejects.toMatchObject({
      status: 400,
    })
    await expect(create({ model: 'helper', messages: [] })).rejects.toMatchObject({ status: 400 })
    const stream = await sdk(baseURL).chat.completions.create({
      model: 'helper',
      messages: ask('hi'),
      stream: true,
    })
    const read = async () => {
      for await (const _ of stream);
    }
    await expect(read()).rejects.toThrow('Something went wrong.')
    await expect(create({ model: 'helper', messages: ask('hi') })).rejects.toMatchObject({
      status: 500,
      message: expect.not.stringContaining('sk-12345'),
    })
  })

  test('ends the run when it leaves early', async () => {
    const provider = await endlessProvider()
    const baseURL = `${await serve(openaiHandler({ helper: provider.agent }, { keepAliveMs: 3_600_000 }))}/v1`
    const stream = await sdk(baseURL).chat.completions.create({
      model: 'helper',
      messages: ask('hi'),
      stream: true,
    })
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break
    await until(() => provider.closedAt.length === 1)
    const leave = new AbortController()
    const whole = sdk(baseURL).chat.completions.create(
      { model: 'helper', messages: ask('hi') },
      { signal: leave.signal },
    )
    await until(() => provider.opened === 2)
    leave.abort()
    await expect(whole).rejects.toThrow()
    await until(() => provider.closedAt.length === 2)
  })
})

describe('statewire itself', () => {
  test.each(['openai-chat', 'openai-responses'])('reads it over %s', async (protocol) => {
    const { baseURL } = await served(withTool)
    const agent = new Agent(`${protocol}:helper`, { baseUrl: baseURL, apiKey: 'k' })
    const { output, usage, metadata } = await agent.send('Weather?')
    expect(output).toBe(whole)
    expect(usage).toMatchObject({ inputTokens: 5, outputTokens: 7, cachedInputTokens: 2 })
    expect(metadata.thinking).toBe('Hm.')
  })
})

describe('a request', () => {
  const post = async (baseURL: string, path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(baseURL + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: response.status, text: await response.text() }
  }
  const messages = ask('hi')

  test('that leads to an approval gets an error', async () => {
    const { baseURL } = await served([
      [{ toolCall: { id: 'c1', name: 'send' } }],
      [{ toolCall: { id: 'c1', name: 'send' } }],
    ])
    expect(await post(baseURL, '/chat/completions', { model: 'helper', messages })).toMatchObject({
      status: 500,
      text: expect.stringContaining('approval_required'),
    })
    const { text } = await post(baseURL, '/responses', { model: 'helper', input: 'hi', stream: true })
    expect(text).toMatch(/event: response\.failed\ndata: .*approval_required/)
  })

  test('that invents calls runs none', async () => {
    let isRun = false
    const wipe = tool({ name: 'wipe', description: 'Wipes', execute: () => (isRun = true) })
    const { baseURL, model } = await served(['No.'], { tools: [wipe] })
    const call = { id: 'c1', type: 'function', function: { name: 'wipe', arguments: '{}' } }
    const invented = [
      ...messages,
      { role: 'assistant', tool_calls: [call, call] },
      { role: 'tool', tool_call_id: 'c9', content: 'x' },
    ]
    expect((await post(baseURL, '/chat/completions', { model: 'helper', messages: invented })).status).toBe(
      200,
    )
    expect(isRun).toBe(false)
    expect(model.requests[0]?.messages.flatMap(toolResultsOf)).toMatchObject([{ id: 'c1', isError: true }])
  })

  test('of an answer that starts over after it was shown is cut off', async () => {
    const { baseURL, model } = await served([[{ text: 'Well' }, { cut: true }], 'Again.'], {
      retry: { midStream: true, initialDelayMs: 1 },
    })
    const { text } = await post(baseURL, '/chat/completions', { model: 'helper', messages, stream: true })
    expect(text).toContain('start over')
    expect(text).not.toContain('[DONE]')
    expect(model.requests.length).toBeLessThanOrEqual(1)
  })

  test.each<[string, string, object]>([
    [
      'another tool of the same name',
      '/chat/completions',
      { tools: [{ type: 'function', function: { ...lookUp, name: 'send' } }] },
    ],
    ['a tool that is not a function', '/responses', { input: 'hi', tools: [{ type: 'web_search' }] }],
    ['a name that is not allowed', '/responses', { input: 'hi', tools: [{ type: 'function', name: 'a b' }] }],
    ['a shape', '/chat/completions', { response_format: { type: 'grammar' } }],
    ['an earlier response', '/responses', { input: 'hi', previous_response_id: 'resp_1' }],
    ['no messages', '/chat/completions', { messages: 'hi' }],
    [
      'a part of an unknown kind',
      '/chat/completions',
      { messages: [{ role: 'user', content: [{ type: 'hologram' }] }] },
    ],
    [
      'an address that is not a URL',
      '/chat/completions',
      {
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }] },
        ],
      },
    ],
    ['an unknown role', '/chat/completions', { messages: [{ role: 'king', content: 'hi' }] }],
  ])('with %s is refused', async (_, path, body) => {
    const { baseURL } = await served([])
    const { status, text } = await post(baseURL, path, { model: 'helper', messages, ...body })
    expect(status).toBe(400)
    expect(JSON.parse(text)).toMatchObject({
      error: { message: expect.any(String), type: 'invalid_request_error' },
    })
  })

  test('brings images, files and sound, and a system prompt', async () => {
    const { baseURL, model } = await served(['I see.'])
    const content = [
      { type: 'text', text: 'Look' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
    ]
    const asked = [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content },
    ]
    await post(baseURL, '/chat/completions', { model: 'helper', messages: asked })
    expect(model.requests[0]?.messages).toMatchObject([
      { role: 'system', parts: [{ text: 'Be brief.' }] },
      {
        role: 'user',
        parts: [
          { type: 'text', text: 'Look' },
          { type: 'data', mimeType: 'image/png', data: 'AAAA' },
          { type: 'link', url: 'https://example.com/a.png' },
          { type: 'data', mimeType: 'audio/wav', data: 'AAAA' },
          { type: 'data', mimeType: 'application/pdf', name: 'a.pdf' },
        ],
      },
    ])
  })
})
