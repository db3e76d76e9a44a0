/** Every request of a conversation begins with the bytes of the one before, and is withMarker where the next will look. */
import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'
import type { ChatCompletionStreamRequest$Outbound } from '@mistralai/mistralai/models/components'
import type { ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions'
import type { ResponseCreateParamsStreaming } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openaiChat } from '../../../providers/openai-chat/index.ts'
import { Agent, tool } from '../../../src/index.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/messages/json.ts'
import {
  type ChatMessage,
  dataPart,
  modelMessage,
  systemMessage,
  userMessage,
} from '../../../src/messages/messages.ts'
import type { ModelRequest, PromptCache, ToolSpec } from '../../../src/model/chatModel.ts'
import { loopback } from '../../loopback.ts'
import { last, start, stop, text, thinking, toolUse } from '../anthropic/wire.ts'
import { everyProtocol, protocolNames } from '../everyProtocol.ts'
import { plainProfile } from '../openai-chat/plainProfile.ts'

const weather: ToolSpec = {
  name: 'get_weather',
  description: 'Weather',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const search: ToolSpec = { ...weather, name: 'search' }

/** Blocks in the order of Anthropic's prefix: tools, system, messages. */
const blocksOf = (body: JsonObject): JsonObject[] =>
  [
    ...listOf(body.tools),
    ...listOf(body.system),
    ...listOf(body.messages).flatMap(({ role, content }) =>
      listOf(content).map((block) => ({ ...block, role: role ?? null })),
    ),
  ].filter(isJsonObject)

const listOf = (value: JsonValue | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : []

const isMarked = (block: JsonObject): boolean => block.cache_control !== undefined

/** A block as the cache compares it: the marker itself does not count. */
const bytesOf = ({ cache_control: _, ...block }: JsonObject): string => JSON.stringify(block)

describe('a loop of sixty steps with Anthropic', () => {
  const answer = (step: number): string => {
    const calls = step % 10 === 4 ? 12 : 1 + (step % 3)
    const blocks = [
      ...thinking(0, `thought ${step}`, `signature-${step}`),
      ...(step % 4 === 0 ? text(1, `Step ${step}.`) : []),
    ]
    const first = step % 4 === 0 ? 2 : 1
    const uses = Array.from({ length: calls }, (_, nth) =>
      toolUse(first + nth, `toolu_${step}_${nth}`, 'look', `{"b":${nth},"a":"${step}"}`),
    )
    const events =
      step === 60
        ? [start, ...text(0, 'Done.'), stop('end_turn'), last]
        : [start, ...blocks, ...uses.flat(), stop('tool_use'), last]
    return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  }

  const run = async () => {
    const { url, requests } = await loopback((_, nth) => ({ body: answer(nth) }))
    const look = tool({
      name: 'look',
      description: 'Looks',
      input: z.object({ a: z.string(), b: z.number() }),
      execute: ({ a, b }) => (b === 1 ? '' : { seen: `${a}/${b}`.repeat(20) }),
    })
    const agent = new Agent('anthropic:claude-sonnet-4-5', {
      baseUrl: url,
      apiKey: 'key',
      system: 'Be brief.',
      tools: [look],
      thinking: true,
      maxSteps: 100,
    })
    const { output } = await agent.send('Go')
    expect(output).toContain('Done.')
    return requests.map(({ body }) => body)
  }

  it('sends prefixes that are byte for byte those of the request before, up to its last marker', async () => {
    const bodies = await run()
    expect(bodies).toHaveLength(61)
    for (const [at, body] of bodies.entries()) {
      const blocks = blocksOf(body)
      const withMarker = blocks.filter(isMarked)
      expect(withMarker.length, `markers of request ${at}`).toBe(at === 0 ? 3 : 4)
      expect(blocks.findLastIndex(isMarked), 'the last block is withMarker').toBe(blocks.length - 1)
      for (const { type } of withMarker) expect(type ?? 'tool').not.toMatch(/thinking/)
      const before = bodies[at - 1]
      if (!before) continue
      const written = blocksOf(before)
      const end = written.findLastIndex(isMarked) + 1
      expect(blocks.slice(0, end).map(bytesOf)).toEqual(written.slice(0, end).map(bytesOf))
      // An entry is found at a marker, or at most twenty blocks before one.
      expect(isMarked(blocks[end - 1] ?? {}), `request ${at} is withMarker where ${at - 1} ended`).toBe(true)
      for (const key of ['model', 'max_tokens', 'thinking', 'tool_choice']) {
        expect(JSON.stringify(body[key])).toBe(JSON.stringify(before[key]))
      }
    }
  })
})

describe.each(protocolNames)('sixty steps of %s', (name) => {
  const rounds = Array.from({ length: 60 }, (_, step): ChatMessage[] => {
    const ids = Array.from({ length: 1 + (step % 3) }, (_, nth) => `a${step}b${nth}`.padEnd(9, 'x'))
    return [
      modelMessage([
        ...(step % 2 ? [{ type: 'text' as const, text: `Step ${step}. ` }] : []),
        ...ids.map((id) => ({ type: 'toolCall' as const, id, name: 'search', arguments: { b: step, a: 1 } })),
      ]),
      userMessage(
        ids.map((id, nth) => ({
          type: 'toolResult' as const,
          id,
          name: 'search',
          result: nth === 1 ? '' : `found ${step}`,
          ...(step % 20 === 7 && { parts: [dataPart('image/png', 'AAAA')] }),
          ...(step % 20 === 9 && { isError: true }),
        })),
      ),
    ]
  })
  const tools = [weather, search]

  it('grow at the end only', () => {
    const bodyAfter = (steps: number): JsonObject =>
      everyProtocol[name]({
        messages: [systemMessage('Be brief.'), userMessage('Go'), ...rounds.slice(0, steps).flat()],
        tools,
      })
    let before = bodyAfter(0)
    for (let step = 1; step <= 60; step++) {
      const body = bodyAfter(step)
      const key = ['messages', 'input', 'contents'].find((candidate) => candidate in body) ?? ''
      const { [key]: history, ...rest } = body
      const { [key]: historyBefore, ...restBefore } = before
      const grown = listOf(history).map((item) => JSON.stringify(item))
      const known = listOf(historyBefore).map((item) => JSON.stringify(item))
      expect(grown.slice(0, known.length)).toEqual(known)
      expect(grown.length).toBeGreaterThan(known.length)
      expect(JSON.stringify(rest)).toBe(JSON.stringify(restBefore))
      before = body
    }
  })
})

describe('markers for Anthropic', () => {
  const ask = (request: Partial<ModelRequest>): JsonObject =>
    everyProtocol.anthropic({ messages: [userMessage('hi')], cache: 'auto', ...request })
  const count = (body: JsonObject): number => JSON.stringify(body).split('"cache_control"').length - 1

  it('are on the last tool, the system prompt, the last message and the end of the request before', () => {
    const marker = { type: 'ephemeral' } as const
    const golden: Partial<MessageCreateParamsStreaming> = {
      system: [{ type: 'text', text: 'Be brief.', cache_control: marker }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'one' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'two' }] },
        { role: 'user', content: [{ type: 'text', text: 'three', cache_control: marker }] },
        { role: 'assistant', content: [{ type: 'text', text: 'four' }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'five' },
            {
              type: 'image',
              source: { type: 'base64', media_type: 'image/png', data: 'AAAA' },
              cache_control: marker,
            },
          ],
        },
      ],
      tools: [
        {
          name: 'get_weather',
          description: 'Weather',
          input_schema: { ...weather.inputSchema, type: 'object' },
        },
        {
          name: 'search',
          description: 'Weather',
          input_schema: { ...weather.inputSchema, type: 'object' },
          cache_control: marker,
        },
      ],
    }
    const messages = [
      systemMessage('Be brief.'),
      userMessage('one'),
      modelMessage('two'),
      userMessage('three'),
      modelMessage('four'),
      userMessage([{ type: 'text', text: 'five' }, dataPart('image/png', 'AAAA')]),
    ]
    expect(ask({ messages, tools: [weather, search] })).toMatchObject(golden)
    expect(count(ask({ messages, tools: [weather, search] }))).toBe(4)
  })

  it('say how long, where that is more than the usual five minutes', () => {
    const markerOf = (cache: PromptCache) =>
      listOf(listOf(ask({ cache }).messages)[0]?.content)[0]?.cache_control
    expect(markerOf({ ttl: '1h' })).toEqual({ type: 'ephemeral', ttl: '1h' })
    expect(markerOf({ ttl: '5m' })).toEqual({ type: 'ephemeral' })
    expect(markerOf({ key: 'mine' })).toEqual({ type: 'ephemeral' })
    expect(markerOf('off')).toBeUndefined()
  })

  it.each([
    ['for the whole request', { cache_control: { type: 'ephemeral' } }],
    ['on a tool', { tools: [{ type: 'web_search_20250305', name: 'web_search', cache_control: {} }] }],
    ['on a system block', { system: [{ type: 'text', text: 'a', cache_control: {} }] }],
  ])('are the user’s alone where the provider options bring one %s', (_, providerOptions) => {
    expect(count(ask({ providerOptions, tools: [weather] }))).toBe(1)
  })

  it('follow the provider options: the last tool is withMarker wherever it came from', () => {
    const providerOptions = {
      tools: [
        { type: 'web_search_20250305', name: 'web_search' },
        { name: 'later', input_schema: { type: 'object' }, defer_loading: true },
      ],
    }
    expect(ask({ providerOptions, tools: [weather] }).tools).toMatchObject([
      { name: 'get_weather' },
      { name: 'web_search', cache_control: { type: 'ephemeral' } },
      { name: 'later' },
    ])
    expect(count(ask({ providerOptions, tools: [weather] }))).toBe(2)
  })

  it('leave a paused answer as it came', () => {
    const blocks = [{ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }]
    const paused = { ...modelMessage([]), metadata: { anthropic: { provider: 'anthropic', blocks } } }
    expect(ask({ messages: [userMessage('hi'), paused] }).messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] },
      { role: 'assistant', content: blocks },
    ])
  })

  it('are never put on empty texts or thinking that the provider options bring', () => {
    const system = [
      { type: 'text', text: 'a' },
      { type: 'text', text: ' ' },
    ]
    const content = [
      { type: 'text', text: 'b' },
      { type: 'thinking', thinking: 'c', signature: 'd' },
    ]
    const body = ask({ providerOptions: { system, messages: [{ role: 'user', content }] } })
    expect(body).toMatchObject({
      system: [{ text: 'a', cache_control: {} }, { text: ' ' }],
      messages: [{ content: [{ text: 'b', cache_control: {} }, { type: 'thinking' }] }],
    })
    expect(count(body)).toBe(2)
  })
})

describe('markers for Claude behind OpenRouter', () => {
  const ask = (messages: ChatMessage[], cache: PromptCache = 'auto'): JsonObject =>
    openaiChat.request(
      { messages, cache },
      {
        provider: 'openrouter',
        model: 'anthropic/claude-sonnet-5',
        profile: { ...plainProfile, promptCache: 'markers' },
      },
    ).body

  it('are on the system prompt, the last message and the end of the request before', () => {
    const withMarker = (words: string) => [
      { type: 'text', text: words, cache_control: { type: 'ephemeral' } },
    ]
    const calls = modelMessage([{ type: 'toolCall', id: 'c', name: 'f', arguments: {} }])
    const results = userMessage([{ type: 'toolResult', id: 'c', name: 'f', result: 'r' }])
    const body = ask([systemMessage('s'), userMessage('u'), calls, results])
    expect(body.messages).toMatchObject([
      { role: 'system', content: withMarker('s') },
      { role: 'user', content: withMarker('u') },
      { role: 'assistant', content: null },
      { role: 'tool', content: withMarker('r') },
    ])
    expect(body).not.toHaveProperty('prompt_cache_key')
    expect(JSON.stringify(ask([userMessage('u')], 'off'))).not.toContain('cache_control')
  })

  it('leave a message as it was sent when they go', () => {
    const calls = (id: string) => modelMessage([{ type: 'toolCall', id, name: 'f', arguments: {} }])
    const results = (id: string) => userMessage([{ type: 'toolResult', id, name: 'f', result: 'r' }])
    const messages = [userMessage('u'), calls('a'), results('a'), calls('b'), results('b'), modelMessage('x')]
    const sent = [1, 3, 5, 6].map((length) => {
      const { messages: wire } = ask([...messages.slice(0, length), userMessage('v')])
      return JSON.stringify(wire).replace(/,"cache_control":\{[^}]*\}/g, '')
    })
    sent.reduce((before, after) => {
      expect(after.startsWith(before.slice(0, before.lastIndexOf('{"role":"user"')))).toBe(true)
      return after
    })
  })

  it('leave empty results and pictures unmarked', () => {
    const empty = userMessage([{ type: 'toolResult', id: 'c', name: 'f', result: '' }])
    expect(
      ask([userMessage([dataPart('image/png', 'AAAA')]), modelMessage('a'), empty]).messages,
    ).toMatchObject([{ content: [{ type: 'image_url' }] }, {}, { content: '' }])
  })
})

describe.each(['openai-chat', 'openai-responses', 'mistral'] as const)('the cache key of %s', (name) => {
  type Keyed = Pick<
    ChatCompletionCreateParamsStreaming &
      ResponseCreateParamsStreaming &
      ChatCompletionStreamRequest$Outbound,
    'prompt_cache_key'
  >
  const keyOf = (request: Partial<ModelRequest>): Keyed['prompt_cache_key'] => {
    const body = everyProtocol[name]({ messages: [userMessage('hi')], cache: 'auto', ...request })
    const { prompt_cache_key: key } = body
    if (key !== undefined && typeof key !== 'string') throw new Error('The key is not a string.')
    return key
  }

  it('stays the same while a conversation grows', () => {
    const system = systemMessage('Be brief.')
    const first = keyOf({ messages: [system, userMessage('a')], tools: [weather] })
    const later = keyOf({
      messages: [system, userMessage('a'), modelMessage('b'), userMessage('c')],
      tools: [weather],
    })
    expect(first).toMatch(/^[0-9a-f]{16}$/)
    expect(later).toBe(first)
  })

  it('differs with the system prompt and with the tools', () => {
    const keys = [
      keyOf({}),
      keyOf({ tools: [weather] }),
      keyOf({ tools: [search] }),
      keyOf({ tools: [weather, search] }),
      keyOf({ messages: [systemMessage('a'), userMessage('hi')] }),
      keyOf({ messages: [systemMessage('b'), userMessage('hi')] }),
    ]
    expect(new Set(keys).size).toBe(keys.length)
  })

  it('is the given one, which is shortened in a stable way where it is too long', () => {
    expect(keyOf({ cache: { key: 'conversation-7' } })).toBe('conversation-7')
    const long = 'x'.repeat(65)
    expect(keyOf({ cache: { key: long } })).toHaveLength(16)
    expect(keyOf({ cache: { key: long } })).toBe(keyOf({ cache: { key: long } }))
    expect(keyOf({ cache: { key: `${long}y` } })).not.toBe(keyOf({ cache: { key: long } }))
  })

  it('is not sent when caching is off', () => {
    expect(keyOf({ cache: 'off' })).toBeUndefined()
  })
})

describe('OpenAI itself', () => {
  it.each(['openai:gpt-4.1', 'openai-responses:gpt-5.1'])('gets a cache key from %s', async (model) => {
    let body: JsonObject = {}
    const agent = new Agent(model, {
      apiKey: 'key',
      retry: { maxRetries: 0 },
      connection: {
        fetch: async (_, init) => {
          body = JSON.parse(String(init?.body))
          return new Response('{"error":{"message":"no"}}', { status: 400 })
        },
      },
    })
    await expect(agent.send('hi')).rejects.toThrow('no')
    expect(body.prompt_cache_key).toMatch(/^[0-9a-f]{16}$/)
  })
})

describe('servers whose fields are not known', () => {
  it.each([
    ['openai:qwen3', '/chat/completions'],
    ['openai-responses:qwen3', '/responses'],
  ])('get no cache key from %s', async (model, path) => {
    const { url, requests } = await loopback(() => ({ status: 400, body: { error: { message: 'no' } } }))
    const agent = new Agent(model, { baseUrl: url, retry: { maxRetries: 0 } })
    await expect(agent.send('hi')).rejects.toThrow('no')
    expect(requests[0]?.path).toBe(path)
    expect(requests[0]?.body).not.toHaveProperty('prompt_cache_key')
  })
})
