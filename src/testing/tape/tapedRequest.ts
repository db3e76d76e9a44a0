import { Secrets } from '../../../providers/http/credentials.ts'
import { ConfigurationError } from '../../messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../messages/json.ts'
import { isTooDeep, tooDeep } from '../../messages/jsonDepth.ts'
import { hidden, redact } from '../../transport/redact.ts'
import type { TapedRequest } from './tape.ts'

/** Changes the body of a request before it is kept or compared. */
export type Scrub = (body: JsonObject) => JsonValue

/** A request as `fetch` got it, with its body read. */
export type Outgoing = { url: string; init: RequestInit; text: string; secrets: readonly string[] }

/** Local servers take any word for a key (`ollama`, `none`), and such a word may be anywhere. */
const shortestKey = 8

export const readRequest = async (
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
): Promise<Outgoing> => {
  const request = new Request(input, init)
  const { method, url, headers, redirect } = request
  const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
  const text = await request.text()
  const { list } = new Secrets(new URL(url), Object.fromEntries(headers))
  return {
    url,
    init: { method, headers, redirect, ...(signal && { signal }), ...(text !== '' && { body: text }) },
    text,
    secrets: list.filter((secret) => secret.length >= shortestKey),
  }
}

/** The part of a request that is kept and compared: no header, and nothing that looks like a key. */
export const tapedRequest = (
  { url, init, text, secrets }: Outgoing,
  scrub: Scrub | undefined,
): TapedRequest => {
  const { pathname, search } = new URL(url)
  const number = new Map<string, number>()
  const clean = (piece: string): string =>
    redact(piece, secrets).replace(ownId, (id) => {
      if (!number.has(id)) number.set(id, number.size + 1)
      return `<id ${number.get(id)}>`
    })
  return {
    method: init.method ?? 'GET',
    path: clean(pathname + search),
    body: withTexts(scrubbed(bodyOf(text), scrub), clean),
  }
}

/** The ids that statewire makes are new in every run; what counts is where the same one occurs again. */
const ownId = /\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b/g

const bodyOf = (text: string): JsonValue => {
  if (text === '') return null
  if (isTooDeep(text))
    throw new ConfigurationError(`A cassette cannot store this request: its body ${tooDeep}.`)
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const scrubbed = (body: JsonValue, scrub: Scrub | undefined): JsonValue => {
  if (!scrub || !isJsonObject(body)) return body
  const changed: JsonValue | undefined = scrub(body)
  if (changed === undefined) throw new ConfigurationError('scrub of a cassette must return the body.')
  return JSON.parse(JSON.stringify(changed))
}

/** A copy of a value with all its strings changed. */
const withTexts = (value: JsonValue, change: (text: string) => string): JsonValue => {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => withTexts(item, change))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [change(key), withTexts(item, change)]),
  )
}

/** The places where two bodies differ, one line each, and at most `most` lines. */
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

/** Excerpts of long texts around the place where they differ. */
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
