import { describe, expect, it } from 'vitest'
import { anthropic, anthropicProfile } from '../../providers/anthropic/index.ts'
import { Agent, modelMessage, tool, userMessage } from '../../src/index.ts'
import { loopback, type Reply } from '../loopback.ts'

const chunk = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason }] })}\n\n`

const hello = `${chunk({ content: 'Hello' })}${chunk({}, 'stop')}data: [DONE]\n\n`

const quick = { maxRetries: 1, initialDelayMs: 1, maxDelayMs: 1 }

describe('another try', () => {
  it.each<[string, Reply]>([
    ['a model of Bedrock that failed (424)', { status: 424, body: { message: 'The model failed.' } }],
    ['a Groq at its capacity (498)', { status: 498, body: { error: { message: 'Capacity exceeded.' } } }],
    [
      'a call that Groq could not read (tool_use_failed)',
      {
        status: 400,
        body: {
          error: {
            message: 'Failed to call a function. Tool choice is not valid.',
            type: 'invalid_request_error',
            code: 'tool_use_failed',
            failed_generation: '<function=look>',
          },
        },
      },
    ],
  ])('is worth it after %s', async (_, failure) => {
    const server = await loopback((_, nth) => (nth === 0 ? failure : { body: hello }))
    const agent = new Agent('groq:openai/gpt-oss-120b', { apiKey: 'key', baseUrl: server.url, retry: quick })
    const { output, warnings } = await agent.send('Hi')
    expect(output).toBe('Hello')
    expect(warnings).toBeUndefined()
    expect(server.requests).toHaveLength(2)
  })
})

it('does not take an empty 400 for a conversation that is too long', async () => {
  const server = await loopback(() => ({ status: 400, body: '' }))
  const agent = new Agent('groq:openai/gpt-oss-120b', {
    apiKey: 'key',
    baseUrl: server.url,
    compaction: {},
  })
  const history = [userMessage('One'), modelMessage('Two'), userMessage('Three'), modelMessage('Four')]
  await expect(agent.send('Hi', { history })).rejects.toMatchObject({ name: 'ModelError', status: 400 })
  expect(server.requests).toHaveLength(1)
})

describe('a context that Ollama has loaded too short', () => {
  const refusal = { status: 400, body: { error: 'the input length exceeds the context length' } }

  it('is an error that says how to have more of it, and never a conversation without its beginning', async () => {
    const server = await loopback(() => refusal)
    const agent = new Agent('ollama:qwen3:8b', { baseUrl: server.url })
    await expect(agent.send('Hi')).rejects.toMatchObject({
      code: 'context_overflow',
      message: expect.stringContaining('profile: { numCtx: 32768 }'),
    })
    expect(server.requests[0]?.body).toMatchObject({ truncate: false, shift: false })
  })

  it('is asked for by numCtx, which is then the window that compaction looks at', async () => {
    const server = await loopback(() => refusal)
    const agent = new Agent('ollama:qwen3:8b', { baseUrl: server.url, profile: { numCtx: 32_768 } })
    expect(agent.model.profile.window).toBe(32_768)
    await agent.send('Hi').catch(() => {})
    expect(server.requests[0]?.body.options).toEqual({ num_ctx: 32_768 })
  })
})

it('never sends half a character, wherever it came from', async () => {
  const half = tool({ name: 'half', description: '', execute: () => 'a\ud83d \\ud83d 😀' })
  const call = { index: 0, id: 'c1', function: { name: 'half', arguments: '{"\\ud83d":1}' } }
  const server = await loopback((_, nth) => ({
    body: nth === 0 ? `${chunk({ tool_calls: [call] })}${chunk({}, 'tool_calls')}` : hello,
  }))
  await new Agent('groq:openai/gpt-oss-120b', { apiKey: 'key', baseUrl: server.url, tools: [half] }).send(
    'cut \ude00',
  )
  const sent = server.requests[1]?.text ?? ''
  expect(sent).toContain('cut \ufffd')
  expect(sent).toContain('a\ufffd \\\\ud83d 😀')
  // An escape after an even number of backslashes: a half that is left.
  expect(/(?<!\\)(?:\\\\)*\\ud[89a-f]/i.test(sent.replaceAll('\\\\', ''))).toBe(false)
})

it('reads an image of 40 million characters', async () => {
  const data = 'A'.repeat(40_000_000)
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }
  const server = await loopback(() => ({ body: `${chunk({ images: [image] })}${chunk({}, 'stop')}` }))
  const { messages } = await new Agent('openrouter:google/gemini-3-pro-image', {
    apiKey: 'key',
    baseUrl: server.url,
  }).send('Paint')
  const [part] = messages.at(-1)?.parts ?? []
  expect(part).toMatchObject({ type: 'data', mimeType: 'image/png' })
  expect(part?.type === 'data' && part.data.length).toBe(data.length)
})

it('sends an image that a model made back to it', async () => {
  const server = await loopback(() => ({ body: hello }))
  const history = [
    userMessage('Paint'),
    modelMessage([{ type: 'data', mimeType: 'image/png', data: 'AAAA' }]),
  ]
  await new Agent('openrouter:google/gemini-3-pro-image', { apiKey: 'key', baseUrl: server.url }).send(
    'Bluer',
    {
      history,
    },
  )
  expect(server.requests[0]?.body.messages).toMatchObject([
    { role: 'user' },
    {
      role: 'assistant',
      content: null,
      images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
    },
    { role: 'user' },
  ])
})

it('maps a long history of Claude in linear time', () => {
  const messages = Array.from({ length: 40_000 }, (_, nth) => userMessage(`Message ${nth}`))
  const before = process.cpuUsage()
  const { body } = anthropic.request(
    { messages },
    { provider: 'anthropic', model: 'claude-sonnet-5-5', profile: anthropicProfile('claude-sonnet-5-5') },
  )
  const { user } = process.cpuUsage(before)
  expect(body.messages).toHaveLength(1)
  // Linear work takes a tenth of a second; what is quadratic took 50.
  expect(user / 1e6).toBeLessThan(10)
})
