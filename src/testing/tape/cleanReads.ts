import { toBase64 } from '../../messages/base64.ts'
import { ConfigurationError } from '../../messages/errors.ts'
import { redact, withoutSecrets } from '../../transport/redact.ts'
import type { TapedRead } from './tape.ts'

export type RawRead = { ms: number; bytes: Uint8Array }

/** The reads as they are kept: with their edges, and without anything secret. */
export const cleanReads = (reads: readonly RawRead[], secrets: readonly string[]): TapedRead[] => {
  const whole = joined(reads)
  const text = textOf(whole)
  if (text === undefined) {
    // Frames have lengths and checksums: taking something out would break them.
    const letters = new TextDecoder('latin1').decode(whole)
    if (withoutSecrets(letters, secrets) !== letters)
      throw new ConfigurationError('A binary answer repeats the key: it cannot be stored on a tape.')
    return reads.map(({ ms, bytes }) => ({ ms, base64: toBase64(bytes) }))
  }
  const safe = cleanText(text, secrets)
  if (safe === text) return reads.map(asItCame)
  const each = reads.map(({ ms, bytes }) => ({ ms, text: cleanText(textOf(bytes) ?? '', secrets) }))
  // A key across two reads is only found in the whole, which is then stored as one read.
  const isWhole = each.map((read) => read.text).join('') === safe
  return isWhole ? each : [{ ms: reads.at(-1)?.ms ?? 0, text: safe }]
}

/** Piece by piece between the escapes of JSON, so that none of them is torn apart. */
export const cleanText = (text: string, secrets: readonly string[]): string =>
  withoutSecrets(text, secrets)
    .split(/(\\.)/s)
    .map((piece) => redact(piece, []))
    .join('')

const joined = (reads: readonly RawRead[]): Uint8Array => {
  const whole = new Uint8Array(reads.reduce((size, { bytes }) => size + bytes.length, 0))
  let at = 0
  for (const { bytes } of reads) {
    whole.set(bytes, at)
    at += bytes.length
  }
  return whole
}

/** An edge may lie inside of a character. */
const asItCame = ({ ms, bytes }: RawRead): TapedRead => {
  const text = textOf(bytes)
  return text === undefined ? { ms, base64: toBase64(bytes) } : { ms, text }
}

/** Undefined where the bytes are not UTF-8. */
const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
