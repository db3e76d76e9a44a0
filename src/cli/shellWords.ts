import { UsageError } from './exit.ts'

/** The words of a command, as a shell would split it. Quotes and backslashes hold together; nothing else has a meaning. */
export const shellWords = (command: string): string[] => {
  const words: string[] = []
  let word: string | undefined
  // A quoted text, an escaped character, white space, or anything else.
  for (const [token] of command.matchAll(/"(?:\\[\s\S]|[^"\\])*"|'[^']*'|\\[\s\S]|\s+|[^\s"'\\]+|[\s\S]/g)) {
    if (/^\s/.test(token)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + meaningOf(token, command)
  }
  return word === undefined ? words : [...words, word]
}

const meaningOf = (token: string, command: string): string => {
  if (token === '"' || token === "'") throw new UsageError(`--mcp: a ${token} is not closed in: ${command}`)
  if (token.startsWith("'")) return token.slice(1, -1)
  if (token.startsWith('"')) return token.slice(1, -1).replace(/\\(["\\])/g, '$1')
  return token.length === 2 && token.startsWith('\\') ? token.slice(1) : token
}
