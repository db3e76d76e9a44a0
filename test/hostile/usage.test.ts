import { describe, expect, test } from 'vitest'
import { defineProvider, openaiChat } from '../../providers/index.ts'
import { registerProvider } from '../../src/index.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { anthropic, close, grow, messageEnd, messageStart, open } from './anthropicWire.ts'
import { mistral, openai } from './chatWire.ts'
import { farewell, once } from './hostileRun.ts'
import { google, googleChunk } from './otherWires.ts'
import { completed, created, responses } from './responsesWire.ts'
import { bare, expectCounts, expected, stop, text, usage, usageHabits } from './usageHabits.ts'
import { namedSse, sse, type Wire } from './wire.ts'

// Token counts: rows 47 to 54 of the list of wire failures and the usage rows of its matrix. Each count is taken once.
// Not for us: 55 (a result sums the steps and the `step` event has each: an engine test), 56 (the fields are named by
// what the provider counts), 57 (an aborted answer without counts has no usage: nothing is guessed).

describe.each([openai, mistral])('$model', (wire) => {
  test.each(usageHabits)('%s', (_, events) => expectCounts(wire, events))

  test('no_usage: where nothing was counted there is no usage', async () => {
    const outcome = await once(wire, sse(text, stop, '[DONE]'))

    expect(outcome.result.usage).toBeUndefined()
  })

  test('odd_usage: counts that are no numbers are not counts', async () => {
    const odd = { prompt_tokens: '10', completion_tokens: null, total_tokens: {} }
    const outcome = await once(wire, sse(text, { ...stop, usage: odd }, '[DONE]'))

    expect(outcome.error).toBeUndefined()
    expect(outcome.result.usage).toBeUndefined()
  })
})

describe('groq:m', () => {
  const own = { ...stop, x_groq: { id: 'req_1', usage } }

  test('groq_twice: the same counts in two places are counted once', async () => {
    const events = sse(text, own, { ...bare, choices: [], usage }, '[DONE]')
    const outcome = await once(openai, events, { model: 'groq:m' })

    expect(outcome.result.usage).toEqual(expected)
  })

  test('groq_own: counts in x_groq alone are counts', async () => {
    const outcome = await once(openai, sse(text, own, '[DONE]'), { model: 'groq:m' })

    expect(outcome.result.usage).toEqual(expected)
  })
})

describe('stream_options', () => {
  const events = sse(text, stop, '[DONE]')
  const asked = async (model: string) => (await once(openai, events, { model })).bodies[0]?.stream_options

  test('asks OpenAI-compatible servers for usage', async () => {
    expect(await asked('openai:m')).toEqual({ include_usage: true })
  })

  test('rejects_stream_options: does not ask a vendor that refuses the question', async () => {
    const abilities = {
      tools: true,
      parallelTools: true,
      nativeSchema: true,
      schemaWithTools: true,
      thinking: false,
    }
    const attachments = { images: false, pdf: false, audio: false, links: false }
    const old = defineProvider({
      name: 'old-gateway',
      protocol: openaiChat,
      baseUrl: 'http://localhost',
      defaultModel: 'm',
      profile: () => ({ ...abilities, attachments, rejectsStreamOptions: true }),
    })
    registerProvider('old-gateway', old)

    expect(await asked('old-gateway:m')).toBeUndefined()
  })
})

const geminiCount = (candidatesTokenCount: number): JsonObject => ({
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount, totalTokenCount: 10 + candidatesTokenCount },
})

const others: [string, Wire, string[], object][] = [
  [
    'start_and_delta: counts at the start and at the end are merged by field, not added',
    anthropic,
    namedSse(
      messageStart({ input_tokens: 10, cache_read_input_tokens: 4, output_tokens: 1 }),
      open(0, { type: 'text', text: '' }),
      grow(0, { type: 'text_delta', text: farewell }),
      close(0),
      ...messageEnd('end_turn', { input_tokens: 10, output_tokens: 5 }),
    ),
    { inputTokens: 14, outputTokens: 5, totalTokens: 19, cachedInputTokens: 4 },
  ],
  [
    'running_totals: of totals that are repeated and grow, the last counts',
    google,
    sse(
      { ...googleChunk([{ text: 'It is' }]), ...geminiCount(1) },
      { ...googleChunk([{ text: ' 21 degrees.' }]), ...geminiCount(3) },
      { ...googleChunk([], 'STOP'), ...geminiCount(5) },
    ),
    expected,
  ],
  [
    'hidden_reasoning: reasoning that is billed and not shown is in the counts',
    responses,
    namedSse(
      ...created(),
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { type: 'reasoning', id: 'rs_1', summary: [] },
      },
      { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: farewell },
      completed([], {
        usage: { input_tokens: 10, output_tokens: 70, output_tokens_details: { reasoning_tokens: 64 } },
      }),
    ),
    { inputTokens: 10, outputTokens: 70, totalTokens: 80, reasoningTokens: 64 },
  ],
]

const oneMeaning: [string, Wire, string[], object][] = [
  [
    'Anthropic counts what was read from the cache and written to it beside the input',
    anthropic,
    namedSse(
      messageStart({
        input_tokens: 3,
        cache_read_input_tokens: 1000,
        cache_creation_input_tokens: 200,
        output_tokens: 1,
      }),
      open(0, { type: 'text', text: farewell }),
      close(0),
      ...messageEnd('end_turn', { output_tokens: 70, output_tokens_details: { thinking_tokens: 64 } }),
    ),
    {
      inputTokens: 1203,
      outputTokens: 70,
      totalTokens: 1273,
      cachedInputTokens: 1000,
      cacheWriteTokens: 200,
      reasoningTokens: 64,
    },
  ],
  [
    'Gemini counts its thoughts beside the answer, and what its tools fetched beside the prompt',
    google,
    sse({
      ...googleChunk([{ text: farewell }], 'STOP'),
      usageMetadata: {
        promptTokenCount: 25,
        cachedContentTokenCount: 20,
        toolUsePromptTokenCount: 1130,
        candidatesTokenCount: 49,
        thoughtsTokenCount: 38,
        totalTokenCount: 1242,
      },
    }),
    {
      inputTokens: 1155,
      outputTokens: 87,
      totalTokens: 1242,
      cachedInputTokens: 20,
      reasoningTokens: 38,
    },
  ],
  [
    'xAI counts its thoughts beside the answer, and only the total shows it',
    openai,
    sse(text, {
      ...stop,
      usage: {
        prompt_tokens: 32,
        completion_tokens: 9,
        total_tokens: 135,
        completion_tokens_details: { reasoning_tokens: 94 },
      },
    }),
    { inputTokens: 32, outputTokens: 103, totalTokens: 135, reasoningTokens: 94 },
  ],
  [
    'OpenRouter says what it cost, and what it wrote to the cache',
    openai,
    sse(text, {
      ...stop,
      usage: {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        cost: 0.00123,
        prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 6 },
      },
    }),
    { ...expected, cachedInputTokens: 4, cacheWriteTokens: 6, cost: 0.00123 },
  ],
]

test.each(oneMeaning)('one_meaning: %s', async (_, wire, events, counted) => {
  const outcome = await once(wire, events)

  expect(outcome.result.output).toBe(farewell)
  expect(outcome.result.usage).toEqual(counted)
})

test.each(others)('%s', async (_, wire, events, counted) => {
  const outcome = await once(wire, events)

  expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
  expect(outcome.result.usage).toEqual(counted)
  expect(outcome.result.metadata.thinking).toBeUndefined()
})
