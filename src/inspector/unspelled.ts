import { parsedJson } from '../transport/textFraming.ts'
import type { RawRow } from './wireView.ts'

/**
 * A model may spell a credential that it was shown, one token after the other: no event shows it, but together they do.
 * The texts that grow from event to event are put together by their place in the JSON; where a credential comes out, the
 * pieces are taken out of every event.
 */
export const unspelled = (
  rows: readonly RawRow[],
  hide: (text: string) => string,
): { rows: RawRow[]; isSpelled: boolean } => {
  const parsed = rows.map(({ data }) => parsedJson(data))
  const texts = new Map<string, string[]>()
  for (const value of parsed) {
    visit(value, '', (path, text) => {
      const known = texts.get(path)
      if (known) known.push(text)
      else texts.set(path, [text])
      return undefined
    })
  }
  const spelling = new Set<string>()
  for (const [path, pieces] of texts) {
    const whole = pieces.join('')
    if (pieces.length > 1 && hide(whole) !== whole) spelling.add(path)
  }
  if (spelling.size === 0) return { rows: [...rows], isSpelled: false }
  const safe = rows.map((row, index) => {
    const value = parsed[index]
    let isTouched = false
    const shown = visit(value, '', (path) => {
      isTouched ||= spelling.has(path)
      return spelling.has(path) ? '***' : undefined
    })
    return isTouched ? { ...row, data: JSON.stringify(shown) } : row
  })
  return { rows: safe, isSpelled: true }
}

/** Shows every text of a value; gives the value with those that were replaced. */
const visit = (
  value: unknown,
  path: string,
  see: (path: string, text: string) => string | undefined,
): unknown => {
  if (typeof value === 'string') return see(path, value) ?? value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((each, index) => visit(each, `${path}.${index}`, see))
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, visit(each, `${path}.${key}`, see)]),
  )
}
