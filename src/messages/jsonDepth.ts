/**
 * The deepest nesting, deeper than any real answer. A recursive walk, such as that of `JSON.stringify`, overflows the
 * stack some thousand levels down.
 */
export const deepestJson = 256

export const tooDeep = `nests deeper than ${deepestJson} levels`

/** Checks whether a JSON text is nested too deeply to be worked with. Costs nothing for short texts. */
export const isTooDeep = (text: string): boolean => {
  if (text.length <= 2 * deepestJson) return false
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at)
    if (char === quote) at = endOfString(text, at)
    else if (char === openBrace || char === openBracket) depth += 1
    else if (char === closeBrace || char === closeBracket) depth -= 1
    if (depth > deepestJson) return true
  }
  return false
}

/** The end of the string that begins here. */
const endOfString = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes += 1
    if (backslashes % 2 === 0) return end
  }
  return text.length
}

const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
