import type { ModelPrices } from '../../src/model/prices.ts'
import { priceLists } from './priceLists.ts'

/**
 * The list prices of a model of a provider. Only exact names count, and names with a date behind them: a price of the wrong
 * model is worse than none.
 */
export const pricesOf = (provider: string, model: string): ModelPrices | undefined => {
  const list = listOf(provider)
  const name = model.toLowerCase()
  return list.get(name) ?? list.get(name.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2})$/, ''))
}

const lists = new Map<string, ReadonlyMap<string, ModelPrices>>()

/** Read when it is first needed: most programs use one provider. */
const listOf = (provider: string): ReadonlyMap<string, ModelPrices> => {
  const known = lists.get(provider)
  if (known) return known
  const list = new Map(
    (priceLists.get(provider) ?? '')
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line): [string, ModelPrices] => {
        const [name = '', ...numbers] = line.trim().split(' ')
        return [name.toLowerCase(), pricesIn(numbers)]
      }),
  )
  lists.set(provider, list)
  return list
}

const pricesIn = ([input, output, cached, written, tokens, ...more]: string[]): ModelPrices => ({
  input: Number(input),
  output: Number(output),
  ...(isKnown(cached) && { cached: Number(cached) }),
  ...(isKnown(written) && { written: Number(written) }),
  ...(isKnown(tokens) && { above: { tokens: Number(tokens), ...pricesIn(more) } }),
})

const isKnown = (text: string | undefined): boolean => text !== undefined && text !== '-'
