// With what every JavaScript platform has, so that the library also runs where there is no Buffer.

export const toBase64 = (bytes: Uint8Array): string => {
  let binary = ''
  // A call takes only so many arguments.
  for (let start = 0; start < bytes.length; start += 8192) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 8192))
  }
  return btoa(binary)
}

/** Decodes base64, in the URL alphabet as well; other characters are skipped. */
export const fromBase64 = (base64: string): Uint8Array => {
  const digits = base64
    .replace(/-/g, '+')
    .replace(/_/g, '/')
    .replace(/[^A-Za-z0-9+/]/g, '')
  // A single digit at the end holds no whole byte.
  const binary = atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits)
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}

/** Joins texts that are base64, each by itself: the bytes are joined, not the characters. */
export const joinBase64 = (pieces: readonly string[]): string => {
  const bytes = pieces.map(fromBase64)
  const all = new Uint8Array(bytes.reduce((size, piece) => size + piece.length, 0))
  let at = 0
  for (const piece of bytes) {
    all.set(piece, at)
    at += piece.length
  }
  return toBase64(all)
}

export const textFromBase64 = (base64: string): string => new TextDecoder().decode(fromBase64(base64))
