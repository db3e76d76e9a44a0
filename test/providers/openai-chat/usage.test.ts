import { describe, expect, it } from 'vitest'
import { openaiUsage } from '../../../providers/wire/decoder.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import type { Usage } from '../../../src/messages/result.ts'
import { decode, done, event, ofType, stop } from './chunks.ts'

const rows: [JsonObject | undefined, Usage | undefined][] = [
  [undefined, undefined],
  [{}, undefined],
  [{ prompt_tokens: '1', cost: null }, undefined],
  [{ prompt_tokens: 1 }, { inputTokens: 1 }],
  [{ input_tokens: 2 }, { inputTokens: 2 }],
  [{ prompt_tokens: 0, input_tokens: 2 }, { inputTokens: 0 }],
  [{ completion_tokens: 1 }, { outputTokens: 1 }],
  [{ output_tokens: 2 }, { outputTokens: 2 }],
  [{ completion_tokens: 0, output_tokens: 2 }, { outputTokens: 0 }],
  [{ total_tokens: 3 }, { totalTokens: 3 }],
  [{ prompt_tokens_details: { cached_tokens: 1 } }, { cachedInputTokens: 1 }],
  [{ input_tokens_details: { cached_tokens: 2 } }, { cachedInputTokens: 2 }],
  [{ prompt_cache_hit_tokens: 3 }, { cachedInputTokens: 3 }],
  [{ cached_tokens: 4 }, { cachedInputTokens: 4 }],
  [{ num_cached_tokens: 5 }, { cachedInputTokens: 5 }],
  [
    {
      prompt_tokens_details: { cached_tokens: 0 },
      input_tokens_details: { cached_tokens: 2 },
      prompt_cache_hit_tokens: 3,
      cached_tokens: 4,
      num_cached_tokens: 5,
    },
    { cachedInputTokens: 0 },
  ],
  [{ prompt_cache_hit_tokens: 0, cached_tokens: 4 }, { cachedInputTokens: 0 }],
  [{ cached_tokens: 0, num_cached_tokens: 5 }, { cachedInputTokens: 0 }],
  [{ prompt_tokens_details: { cache_write_tokens: 1 } }, { cacheWriteTokens: 1 }],
  [{ cache_creation_input_tokens: 2 }, { cacheWriteTokens: 2 }],
  [
    { prompt_tokens_details: { cache_write_tokens: 0 }, cache_creation_input_tokens: 2 },
    { cacheWriteTokens: 0 },
  ],
  [{ completion_tokens_details: { reasoning_tokens: 1 } }, { reasoningTokens: 1 }],
  [{ output_tokens_details: { reasoning_tokens: 2 } }, { reasoningTokens: 2 }],
  [{ reasoning_tokens: 3 }, { reasoningTokens: 3 }],
  [{ completion_tokens_details: { reasoning_tokens: 0 }, reasoning_tokens: 3 }, { reasoningTokens: 0 }],
  [{ cost: 0.25 }, { cost: 0.25 }],
]

it.each(rows)('the counts %j', (usage, expected) => {
  expect(openaiUsage(usage)).toStrictEqual(expected)
})

describe('the usage of a stream', () => {
  it.each([
    ['empty choices', { choices: [] }],
    ['null choices', { choices: null }],
    ['no choices', {}],
    ['a choice beside it', { choices: [{ index: 0, delta: {} }] }],
  ])('is read from a chunk with %s', (_, body) => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 3 },
    }
    expect(ofType(decode([stop, event({ ...body, usage }), done]), 'usage')).toEqual([
      {
        type: 'usage',
        usage: {
          inputTokens: 10,
          outputTokens: 5,
          totalTokens: 15,
          cachedInputTokens: 4,
          reasoningTokens: 3,
        },
      },
    ])
  })

  it('is read from the corner where Groq keeps it', () => {
    const groq = { choices: [], x_groq: { usage: { prompt_tokens: 1, completion_tokens: 2 } } }
    expect(ofType(decode([event(groq), stop]), 'usage')).toMatchObject([
      { usage: { inputTokens: 1, outputTokens: 2 } },
    ])
  })

  it('is read from the last choice, where Kimi keeps it', () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2, cached_tokens: 1 }
    const last = { usage: null, choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }] }
    expect(ofType(decode([event(last), done]), 'usage')).toMatchObject([
      { usage: { inputTokens: 1, outputTokens: 2, cachedInputTokens: 1 } },
    ])
  })

  it('is not invented from nulls', () => {
    expect(ofType(decode([event({ choices: [], usage: { prompt_tokens: null } }), stop]), 'usage')).toEqual(
      [],
    )
  })
})
