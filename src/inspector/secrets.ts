import { redact } from '../transport/redact.ts'
import { parsedJson } from '../transport/textFraming.ts'
import type { RawRow } from './protocol.ts'

/** JSON without secrets: everything that reaches a page goes through here. */
export const safeJson = (value: unknown, secrets: readonly string[]): string =>
  JSON.stringify(value, (_, each) => (typeof each === 'string' ? hideSecrets(each, secrets) : each))

/** The beginning of a text that may become a credential when the rest of it arrives. */
const unfinished = /\b(?:sk-|(?:rk|gsk|csk|pplx|nvapi|xai)[-_]|AIza)[-_A-Za-z0-9]*$/

/** Removes secrets from a text. A secret that only begins, at the end of a text that still grows, is removed, too. */
export const hideSecrets = (text: string, secrets: readonly string[]): string => {
  let safe = redact(text, secrets).replace(unfinished, '***')
  for (const secret of secrets) {
    const start = secret.length < 8 ? -1 : safe.lastIndexOf(secret.slice(0, 4))
    if (start !== -1 && secret.startsWith(safe.slice(start))) safe = `${safe.slice(0, start)}***`
  }
  return safe
}

/** A word longer than this is not a credential. */
const longestWord = 4_096

/**
 * Text that arrives in pieces, made safe to show. A secret may be cut anywhere, so the last word is held back until it is
 * whole: text that a page has shown cannot be taken back.
 */
export class SafeText {
  /** The text that may be shown, in the pieces in which it arrived. */
  readonly pieces: string[] = []
  length = 0
  #held = ''
  readonly #secrets: readonly string[]
  readonly #longest: number

  constructor(secrets: readonly string[], longest: number) {
    this.#secrets = secrets
    this.#longest = longest
  }

  add(text: string): void {
    const raw = this.#held + text
    const cut = raw.length > longestWord ? raw.length : endOfWords(raw)
    this.#held = raw.slice(cut)
    this.#show(raw.slice(0, cut))
  }

  /** Shows the last word: nothing more belongs to it. */
  end(): void {
    this.#show(this.#held)
    this.#held = ''
  }

  #show(raw: string): void {
    if (raw === '' || this.length >= this.#longest) return
    const safe = redact(raw, this.#secrets)
    const isFull = this.length + safe.length >= this.#longest
    const kept = isFull ? `${safe}\n⟨more text is not kept⟩` : safe
    this.length += kept.length
    this.pieces.push(kept)
  }
}

/** The place where the last word begins. Credentials are printable ASCII; one follows `Bearer` after a space. */
const endOfWords = (text: string): number => {
  let start = text.length
  while (start > 0 && isPrintable(text.charCodeAt(start - 1))) start -= 1
  const before = text.slice(Math.max(0, start - 20), start)
  return start - (/bearer\s*$/i.exec(before)?.[0].length ?? 0)
}

const isPrintable = (code: number): boolean => code > 0x20 && code < 0x7f

/**
 * Hides credentials that a model wrote one token after the other: no single event shows one, but together they do. The
 * texts that grow from event to event are joined by their place in the JSON; where a credential appears, its pieces are
 * removed from every event.
 */
export const hideSplitSecrets = (
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

/** Calls `see` with every text of a value, and returns the value with the texts that it replaced. */
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
