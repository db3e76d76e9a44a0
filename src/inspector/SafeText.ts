import { redact } from '../transport/redact.ts'

/** A word longer than this is not a credential. */
const longestWord = 4_096

/**
 * Text that comes in pieces, made safe to show: a secret may be cut anywhere, so the last word is held back until it is
 * whole. What was shown is never taken back.
 */
export class SafeText {
  /** What may be shown, in the pieces in which it became known. */
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

  /** Nothing more belongs to the last word. */
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

/** Where the last word begins. Credentials are printable ASCII; one follows `Bearer` after a space. */
const endOfWords = (text: string): number => {
  let start = text.length
  while (start > 0 && isPrintable(text.charCodeAt(start - 1))) start -= 1
  const before = text.slice(Math.max(0, start - 20), start)
  return start - (/bearer\s*$/i.exec(before)?.[0].length ?? 0)
}

const isPrintable = (code: number): boolean => code > 0x20 && code < 0x7f
