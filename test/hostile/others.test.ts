import { describe, expect, test } from 'vitest'
import { defineProvider, openaiChat } from '../../providers/index.ts'
import { registerProvider } from '../../src/index.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { callChunk, chatEvents, chunk, mistral, openai, usageChunk } from './chatWire.ts'
import { callsRun, farewell, lastTurn, loop, modelError, once, run, time, weather } from './hostileRun.ts'
import { inBytes } from './hostileServer.ts'
import {
  cohere,
  cohereEnd,
  coherePiece,
  cohereStart,
  cohereText,
  ollama,
  ollamaCall,
  ollamaEnd,
  ollamaLine,
} from './otherWires.ts'
import {
  assistantOf,
  callOslo,
  oslo,
  reasoningContent,
  reasoningEvents,
  thinkingParts,
  thought,
} from './thinkingHabits.ts'
import { answer, objects, sse } from './wire.ts'

// What single vendors do on wires they share with others, or on their own: rows 87 to 96 of the list of wire failures.
// Of row 90 the retry is ours and the text that failed is in the error; it is not fed back to the model.

describe('mistral', () => {
  const chunks = [
    thought('Where is '),
    thought('Oslo?', { closed: true }),
    chunk({ content: 'Let me ' }),
    chunk({ content: [{ type: 'text', text: 'look.' }] }),
    callOslo,
  ]

  test('thinking_parts: content that is a text here and a list there is both read', async () => {
    const outcome = await loop(mistral, chatEvents(chunks, 'tool_calls'))

    expect(callsRun(outcome)).toEqual([weather('Oslo')])
    expect(outcome.result.output).toBe(`Let me look.\n${farewell}`)
    expect(outcome.result.metadata.thinking).toBe('Where is Oslo?')
  })

  test('thinking_replay: thinking goes back as thinking, in its place, never as text', async () => {
    const outcome = await loop(mistral, chatEvents(chunks, 'tool_calls'))

    expect(assistantOf(outcome.bodies[1])?.content).toEqual([
      { type: 'thinking', thinking: [{ type: 'text', text: 'Where is Oslo?' }], closed: true },
      { type: 'text', text: 'Let me look.' },
    ])
  })

  test('thinking_parts: a compatible server may send them as well', thinkingParts)
})

describe('cohere', () => {
  const plan = (text: string): JsonObject => ({
    type: 'tool-plan-delta',
    delta: { message: { tool_plan: text } },
  })
  const planned = sse(
    cohereStart,
    plan('I will look '),
    plan('it up.'),
    coherePiece('tool-call-start', 0, { ...oslo, args: '' }),
    coherePiece('tool-call-delta', 0, { args: oslo.args }),
    cohereEnd('TOOL_CALL'),
  )

  test('tool_plan: the plan is shown, is not the answer, and goes back as the plan', async () => {
    const outcome = await loop(cohere, planned)

    expect(callsRun(outcome)).toEqual([weather('Oslo')])
    expect(outcome.result.output).toBe(farewell)
    expect(outcome.result.metadata.toolPlan).toBe('I will look it up.')
    expect(assistantOf(outcome.bodies[1])).toMatchObject({ tool_plan: 'I will look it up.' })
  })

  test.each([
    ['required', 'REQUIRED'],
    ['none', 'NONE'],
    ['auto', undefined],
  ] as const)('tool_choice: %s is said in the only words the API has', async (toolChoice, word) => {
    const outcome = await once(cohere, sse(cohereStart, ...cohereText(farewell), cohereEnd('COMPLETE')), {
      toolChoice,
    })

    expect(outcome.bodies[0]?.tool_choice).toBe(word)
  })

  test.each(['ERROR', 'TIMEOUT'])('finish %s: is an error, and no call before it runs', async (word) => {
    const outcome = await once(cohere, [...planned.slice(0, -1), ...sse(cohereEnd(word))])

    expect(modelError(outcome)).toMatchObject({ code: word, retryable: true })
    expect(outcome.ran).toEqual([])
    expect(outcome.result.rawFinishReason).toBe(word)
  })
})

test('groq tool_use_failed: a call that the server could not parse is tried again', async () => {
  const error = {
    message: 'Failed to call a function.',
    code: 'tool_use_failed',
    failed_generation: '<function',
  }
  const options = { model: 'groq:m', retry: { maxRetries: 1, initialDelayMs: 1 } }
  const outcome = await run(openai, [answer(openai, sse({ error })), lastTurn(openai)], options)

  expect(outcome.bodies).toHaveLength(2)
  expect(outcome.result.output).toBe(farewell)
})

describe('openrouter', () => {
  const model = 'openrouter:google/gemini-3-flash'
  const detail = (more: JsonObject): JsonObject =>
    chunk({ reasoning_details: [{ format: 'f', index: 0, ...more }] })

  test('reasoning_details: texts are joined, signatures join their block, all goes back untouched', async () => {
    const events = chatEvents(
      [
        detail({ type: 'reasoning.text', text: 'Where is ' }),
        detail({ type: 'reasoning.text', text: 'Oslo?' }),
        detail({ type: 'reasoning.text', signature: 'sig+/==' }),
        detail({ type: 'reasoning.encrypted', data: 'enc+/==', id: 'tool_1', index: 1 }),
        callOslo,
      ],
      'tool_calls',
    )
    const outcome = await loop(openai, events, { model })

    expect(callsRun(outcome)).toEqual([weather('Oslo')])
    expect(outcome.result.metadata.thinking).toBe('Where is Oslo?')
    expect(assistantOf(outcome.bodies[1])?.reasoning_details).toEqual([
      { type: 'reasoning.text', format: 'f', index: 0, text: 'Where is Oslo?', signature: 'sig+/==' },
      { type: 'reasoning.encrypted', format: 'f', index: 1, data: 'enc+/==', id: 'tool_1' },
    ])
    const later = await run(openai, [lastTurn(openai)], { history: outcome.result.messages, prompt: 'And?' })
    expect(JSON.stringify(later.bodies[0])).not.toContain('sig+')
  })

  test('upstream_error: an error on an ordinary chunk is an error, and its usage still counts', async () => {
    const failed = { ...chunk({ content: '' }, 'error'), error: { code: 502, message: 'Upstream is gone.' } }
    const outcome = await once(openai, sse(chunk({ content: 'So far' }), failed, usageChunk, '[DONE]'), {
      model,
    })

    expect(modelError(outcome)).toMatchObject({ message: 'Upstream is gone.', status: 502, retryable: true })
    expect(outcome.result).toMatchObject({ output: 'So far', rawFinishReason: 'error' })
    expect(outcome.result.usage).toMatchObject({ inputTokens: 10, outputTokens: 5 })
  })
})

describe('reasoning_content', () => {
  test.each(['openai:m', 'mistral:m'])('%s: is thinking, not text', reasoningContent)

  test('mistral:m: is not sent to a server that refuses fields it does not know', async () => {
    const outcome = await loop(openai, reasoningEvents, { model: 'mistral:m' })
    expect(assistantOf(outcome.bodies[1])).not.toHaveProperty('reasoning_content')
  })

  const field = (name: string) => chatEvents([chunk({ [name]: 'Where?' }), callOslo], 'tool_calls')
  const servers = [
    'openai:m',
    'groq:openai/gpt-oss-120b',
    'together:openai/gpt-oss-120b',
    'fireworks:m',
    'nvidia:m',
  ]

  test.each(
    servers.flatMap((model) => ['reasoning', 'reasoning_content'].map((name) => [model, name] as const)),
  )('%s: %s goes back beside the calls it led to, under the name it came with', async (model, name) => {
    const outcome = await loop(openai, field(name), { model })
    expect(assistantOf(outcome.bodies[1])).toMatchObject({ [name]: 'Where?', content: null })
    const others = ['reasoning', 'reasoning_content', 'reasoning_details'].filter((each) => each !== name)
    for (const other of others) expect(assistantOf(outcome.bodies[1])).not.toHaveProperty(other)
  })

  test('goes to no other model, and not after the turn is over', async () => {
    const { result } = await loop(openai, field('reasoning'))
    const history = result.messages
    const other = await run(openai, [lastTurn(openai)], { history, prompt: 'And?', model: 'openai:m2' })
    expect(JSON.stringify(other.bodies[0])).not.toContain('Where?')
    const spoken = await once(
      openai,
      chatEvents([chunk({ reasoning: 'Hm.' }), chunk({ content: farewell })], 'stop'),
    )
    const later = await run(openai, [lastTurn(openai)], { history: spoken.result.messages, prompt: 'And?' })
    expect(JSON.stringify(later.bodies[0])).not.toContain('Hm.')
  })

  test('details of any gateway go back untouched, such as the signature of a Gemini behind it', async () => {
    const details = [
      { type: 'reasoning.encrypted', data: 'sig+/==', id: 'tool_1', format: 'google-gemini-v1', index: 0 },
    ]
    const events = chatEvents(
      [chunk({ reasoning: 'Where?', reasoning_details: details }), callOslo],
      'tool_calls',
    )
    const outcome = await loop(openai, events)
    expect(assistantOf(outcome.bodies[1])?.reasoning_details).toEqual(details)
    expect(assistantOf(outcome.bodies[1])).not.toHaveProperty('reasoning')
  })

  test.each(['deepseek-reasoner', 'kimi-k2-thinking'])(
    '%s: goes back beside the calls it led to',
    async (model) => {
      const outcome = await loop(openai, reasoningEvents, { model: `openai:${model}` })

      expect(assistantOf(outcome.bodies[1])).toMatchObject({ reasoning_content: 'Where?', content: null })
    },
  )
})

test('nvidia: is asked in the words NIM knows, and not for what it refuses', async () => {
  const options = { model: 'nvidia:m', maxOutputTokens: 500 }
  const outcome = await once(openai, openai.events({ text: farewell }), options)

  expect(outcome.bodies[0]).toMatchObject({ max_tokens: 500 })
  expect(outcome.bodies[0]).not.toHaveProperty('tool_choice')
  expect(JSON.stringify(outcome.bodies[0]?.tools)).not.toContain('strict')
})

describe('think tags', () => {
  const abilities = {
    tools: true,
    parallelTools: true,
    nativeSchema: true,
    schemaWithTools: true,
    thinking: true,
  }
  const attachments = { images: false, pdf: false, audio: false, links: false }
  const splitting = (name: string, splitThinkTags: boolean | 'opened') =>
    registerProvider(
      name,
      defineProvider({
        name,
        protocol: openaiChat,
        baseUrl: 'http://localhost',
        defaultModel: 'm',
        profile: () => ({ ...abilities, attachments, splitThinkTags }),
      }),
    )
  splitting('splits', true)
  splitting('splits-opened', 'opened')

  const said = async (model: string, text: string) => {
    const letters = [...text].map((letter) => chunk({ content: letter }))
    const { result } = await once(openai, chatEvents(letters, 'stop'), { model })
    return [result.metadata.thinking ?? '', result.output]
  }

  splitting('keeps', false)

  test.each([
    ['keeps', '<think>Hm.</think>Yes.', '', '<think>Hm.</think>Yes.'],
    ['openai', '<think>Hm.</think>Yes.', 'Hm.', 'Yes.'],
    ['openai', 'R1 writes <think>Hm.</think> first.', '', 'R1 writes <think>Hm.</think> first.'],
    ['splits', '<think>Hm.</think>\n\nYes.', 'Hm.', 'Yes.'],
    ['splits', 'Write <think> first.', '', 'Write <think> first.'],
    ['splits', '<thing>Yes.', '', '<thing>Yes.'],
    ['splits', '<think>a < b </thin </think>Yes.', 'a < b </thin ', 'Yes.'],
    ['splits-opened', 'Hm.</think>Yes.', 'Hm.', 'Yes.'],
  ])('%s: %j is separated letter by letter', async (provider, text, thinking, output) => {
    expect(await said(`${provider}:m`, text)).toEqual([thinking, output])
  })
})

describe('ollama', () => {
  const lines = [
    ollamaLine({ thinking: 'Where?' }),
    ollamaLine({ tool_calls: [ollamaCall({ name: 'get_weather', args: { city: 'Oslo' } })] }),
    ollamaLine({ tool_calls: [ollamaCall({ name: 'get_time', args: {} })] }),
    ollamaEnd('stop'),
  ]

  test('native: calls without ids run, and their arguments go back as objects', async () => {
    const outcome = await loop(ollama, lines, { providerOptions: { options: { num_ctx: 32_768 } } })

    expect(callsRun(outcome)).toEqual([weather('Oslo'), time])
    expect(objects(assistantOf(outcome.bodies[1])?.tool_calls).map((call) => call.function)).toEqual([
      { name: 'get_weather', arguments: { city: 'Oslo' } },
      { name: 'get_time', arguments: {} },
    ])
    const results = objects(outcome.bodies[1]?.messages).filter(({ role }) => role === 'tool')
    expect(results.map((result) => result.tool_name)).toEqual(['get_weather', 'get_time'])
    expect(outcome.bodies[0]?.options).toEqual({ num_ctx: 32_768 })
    expect(outcome.result.metadata.thinking).toBe('Where?')
  })

  test('compatible: the same calls go back with their arguments as text', async () => {
    const whole = callChunk({ index: 0, id: 'call_a', name: 'get_weather', args: '{"city":"Oslo"}' })
    const other = callChunk({ index: 0, id: 'call_b', name: 'get_time', args: '{}' })
    const outcome = await loop(openai, chatEvents([whole, other], 'tool_calls'), { model: 'ollama-openai:m' })

    expect(callsRun(outcome)).toEqual([weather('Oslo'), time])
    expect(objects(assistantOf(outcome.bodies[1])?.tool_calls).map((call) => call.function)).toEqual([
      { name: 'get_weather', arguments: '{"city":"Oslo"}' },
      { name: 'get_time', arguments: '{}' },
    ])
  })

  test('native: lines in single bytes are the same lines', async () => {
    const first = answer(ollama, [], 'clean', { body: inBytes(lines.join('')) })
    const outcome = await run(ollama, [first, lastTurn(ollama)])

    expect(callsRun(outcome)).toEqual([weather('Oslo'), time])
  })
})
