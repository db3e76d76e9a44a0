import { isJsonObject, type JsonValue, ownValue } from '../../messages/json.ts'
import { hidden } from '../../transport/redact.ts'

/** Where two bodies differ, one line each, and no more lines than asked for. */
export const differences = (
  recorded: JsonValue | undefined,
  now: JsonValue | undefined,
  most: number,
  place = '',
): string[] => {
  if (Array.isArray(recorded) && Array.isArray(now)) {
    const length = Math.max(recorded.length, now.length)
    return inside(
      Array.from({ length }, (_, at) => [`${place}[${at}]`, recorded[at], now[at]]),
      most,
    )
  }
  if (isJsonObject(recorded) && isJsonObject(now)) {
    const keys = [...new Set([...Object.keys(recorded), ...Object.keys(now)])]
    return inside(
      keys.map((key) => [
        place === '' ? key : `${place}.${key}`,
        ownValue(recorded, key),
        ownValue(now, key),
      ]),
      most,
    )
  }
  if (isSame(recorded, now)) return []
  const [was, is] = excerpts(recorded, now)
  return [`${shortPlace(place)}: recorded ${was}, now ${is}`]
}

type Pair = [place: string, recorded: JsonValue | undefined, now: JsonValue | undefined]

const inside = (pairs: readonly Pair[], most: number): string[] => {
  const lines: string[] = []
  for (const [place, recorded, now] of pairs) {
    if (lines.length >= most) break
    lines.push(...differences(recorded, now, most - lines.length, place))
  }
  return lines
}

const isSame = (recorded: JsonValue | undefined, now: JsonValue | undefined): boolean =>
  recorded === now ||
  (typeof recorded === 'string' && typeof now === 'string' && fitsAround(recorded.split(hidden), now))

/** The key was there when the tape was made and need not be now: where it was hidden, anything fits. */
const fitsAround = (pieces: readonly string[], text: string): boolean => {
  const [first = '', ...rest] = pieces
  const last = rest.pop()
  if (last === undefined || !text.startsWith(first)) return false
  let at = first.length
  for (const piece of rest) {
    const found = text.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}

const longest = 60

/** Of long texts, the place where they part. */
const excerpts = (recorded: JsonValue | undefined, now: JsonValue | undefined): [string, string] => {
  if (typeof recorded !== 'string' || typeof now !== 'string') return [shown(recorded), shown(now)]
  let same = 0
  while (same < recorded.length && recorded[same] === now[same]) same += 1
  const start = Math.max(recorded.length, now.length) > longest ? Math.max(0, same - longest / 3) : 0
  return [shown(recorded, start), shown(now, start)]
}

const shown = (value: JsonValue | undefined, start = 0): string => {
  if (value === undefined) return 'nothing'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const part = `${start > 0 ? '…' : ''}${text.slice(start, start + longest)}${text.length > start + longest ? '…' : ''}`
  return typeof value === 'string' ? JSON.stringify(part) : part
}

const shortPlace = (place: string): string => {
  if (place === '') return 'the body'
  return place.length > 2 * longest ? `…${place.slice(-2 * longest)}` : place
}
