import type { ModelPrices } from '../../src/model/prices.ts'

/**
 * The prices of a model, from the list of its provider. Only exact names count, and names with a date behind them: a price
 * of the wrong model is worse than none.
 */
export const pricesOf = (list: string | undefined, model: string): ModelPrices | undefined => {
  if (list === undefined) return undefined
  const prices = pricesIn(list)
  const name = model.toLowerCase()
  return prices.get(name) ?? prices.get(name.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2})$/, ''))
}

const read = new Map<string, ReadonlyMap<string, ModelPrices>>()

/** Read when it is first needed: most programs use one provider. */
const pricesIn = (list: string): ReadonlyMap<string, ModelPrices> => {
  const known = read.get(list)
  if (known) return known
  const prices = new Map(
    list
      .trim()
      .split('\n')
      .map((line): [string, ModelPrices] => {
        const [name = '', ...numbers] = line.trim().split(' ')
        return [name.toLowerCase(), priceOf(numbers)]
      }),
  )
  read.set(list, prices)
  return prices
}

const priceOf = ([input, output, cached, written, tokens, ...more]: string[]): ModelPrices => ({
  input: Number(input),
  output: Number(output),
  ...(isKnown(cached) && { cached: Number(cached) }),
  ...(isKnown(written) && { written: Number(written) }),
  ...(isKnown(tokens) && { above: { tokens: Number(tokens), ...priceOf(more) } }),
})

const isKnown = (text: string | undefined): boolean => text !== undefined && text !== '-'
