import { fromBase64 } from '../../src/messages/base64.ts'
import type { EmbeddingsTarget } from './protocol.ts'

/**
 * A vector in base64: 32-bit floats as OpenAI sends them, or bytes. Empty if it is neither. Bytes were asked for
 * (`output_dtype`, `encoding_format`), or are the server's habit (Perplexity), and then only the numbers show it.
 */
export const base64Vector = (base64: string, target: EmbeddingsTarget | undefined): number[] => {
  const bytes = fromBase64(base64)
  const { providerOptions = {}, dimensions } = target ?? {}
  const wish = `${providerOptions.output_dtype ?? ''} ${providerOptions.encoding_format ?? ''}`
  if (/uint8|ubinary/.test(wish)) return [...bytes]
  if (/int8|binary/.test(wish) || bytes.length === dimensions) return signed(bytes)
  if (bytes.length % 4 !== 0) return []
  const floats = floatsIn(bytes)
  return floats.every(isPlausible) ? floats : signed(bytes)
}

const signed = (bytes: Uint8Array): number[] => [
  ...new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length),
]

const floatsIn = (bytes: Uint8Array): number[] => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return Array.from({ length: bytes.length / 4 }, (_, nth) => view.getFloat32(nth * 4, true))
}

/** Four small bytes, read as a float, are next to nothing, or a number of thirty digits if the last is negative. */
const isPlausible = (value: number): boolean =>
  value === 0 || (Math.abs(value) > 1e-20 && Math.abs(value) < 1e9)
