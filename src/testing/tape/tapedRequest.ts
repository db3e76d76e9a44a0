import { Secrets } from '../../../providers/http/credentials.ts'
import { ConfigurationError } from '../../messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../messages/json.ts'
import { isTooDeep, tooDeep } from '../../messages/jsonDepth.ts'
import { redact } from '../../transport/redact.ts'
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

/** What of a request is kept and compared. No header is, and nothing that looks like a key. */
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

/** The same value with all its texts changed. */
const withTexts = (value: JsonValue, change: (text: string) => string): JsonValue => {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => withTexts(item, change))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [change(key), withTexts(item, change)]),
  )
}
