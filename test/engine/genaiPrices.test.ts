/** The price of docs/long-runs.md, with the real package: what a provider says, priced by hand, is what the run costs. */
import { calcPrice } from '@pydantic/genai-prices'
import { expect, test } from 'vitest'
import { Agent, type AgentOptions } from '../../src/index.ts'
import { messageEnd, messageStart, textBlock } from '../hostile/anthropicWire.ts'
import { namedSse } from '../hostile/wire.ts'
import { loopback } from '../loopback.ts'

const price: AgentOptions['price'] = ({ provider, model }, usage) =>
  calcPrice(
    {
      input_tokens: usage.inputTokens,
      cache_read_tokens: usage.cachedInputTokens,
      cache_write_tokens: usage.cacheWriteTokens,
      output_tokens: usage.outputTokens,
    },
    model,
    { providerId: provider },
  )?.total_price

const model = 'claude-sonnet-4-5'

test('tokens that were read from a cache or written to one are counted once, at their own price', async () => {
  // On this wire, input is only what was neither read nor written.
  const counts = { input_tokens: 1000, cache_read_input_tokens: 20_000, cache_creation_input_tokens: 500 }
  const events = [messageStart({ ...counts, output_tokens: 1 }), ...textBlock(0, 'Hello.')]
  const { url } = await loopback(() => ({
    body: namedSse(...events, ...messageEnd('end_turn', { output_tokens: 80 })).join(''),
  }))
  const agent = new Agent(`anthropic:${model}`, { baseUrl: url, apiKey: 'key', price })
  const { usage } = await agent.send('Hello')
  expect(usage).toMatchObject({ inputTokens: 21_500, outputTokens: 80 })
  // US dollars for a million tokens, as the package has them.
  const { model_price } = calcPrice({ input_tokens: 1 }, model, { providerId: 'anthropic' }) ?? {}
  const perToken = (name: string): number => {
    const known = model_price?.[name]
    return (typeof known === 'number' ? known : (known?.base ?? Number.NaN)) / 1e6
  }
  const byHand =
    1000 * perToken('input_mtok') +
    20_000 * perToken('cache_read_mtok') +
    500 * perToken('cache_write_mtok') +
    80 * perToken('output_mtok')
  expect(usage?.cost).toBeCloseTo(byHand, 10)
})

test('the cost of a model that the package does not know is unknown', async () => {
  const { url } = await loopback(() => ({
    body: namedSse(messageStart(), ...textBlock(0, 'Hi.'), ...messageEnd('end_turn')).join(''),
  }))
  const agent = new Agent('anthropic:unknown-model', { baseUrl: url, apiKey: 'key', price })
  expect((await agent.send('Hello')).usage).not.toHaveProperty('cost')
})
