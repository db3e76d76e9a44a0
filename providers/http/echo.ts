import type { ModelRequest } from '../../src/model/chatModel.ts'

// Servers repeat in their errors what a user wrote: "Cannot answer: Why is temperature not supported?" says nothing about
// the temperature of the request.

/** The number of words in a row that a server does not share with a user by chance. */
const longEnough = 5
/** A whole message of a user may be shorter. */
const shortMessage = 3
const mostWords = 400
const mostOfMessage = 20_000
const mostOfAll = 100_000

const quotes = /"([^"]+)"|'([^']+)'|`([^`]+)`|“([^”]+)”|«([^»]+)»/g

/** The words of a server without those that it repeats of the conversation. The name of a field is one word, and stays. */
export const withoutEcho = (message: string, request: ModelRequest): string => {
  const texts = textsOf(request).map(wordsIn)
  const written = ` ${texts.map((words) => words.join(' ')).join(' | ')} `
  const isWritten = (words: readonly string[]) => written.includes(` ${words.join(' ')} `)
  const own = message.replace(/\\[nrt"']/g, ' ').replace(quotes, (part, ...found: (string | undefined)[]) => {
    const words = wordsIn(found.slice(0, 5).find((inner) => typeof inner === 'string') ?? '')
    return words.length > 1 && isWritten(words) ? '' : part
  })
  const found = [...own.matchAll(/[\p{L}\p{N}_]+/gu)].slice(0, mostWords)
  const words = found.map(([word]) => word.toLowerCase())
  const short = texts.filter(({ length }) => length >= shortMessage && length < longEnough)
  const echoed = new Set<number>()
  words.forEach((_, from) => {
    const isAt = (text: readonly string[]) => text.every((word, index) => words[from + index] === word)
    const window = words.slice(from, from + longEnough)
    const length =
      window.length === longEnough && isWritten(window) ? longEnough : (short.find(isAt)?.length ?? 0)
    for (let index = from; index < from + length; index += 1) echoed.add(index)
  })
  return found
    .map(({ 0: word, index }, nth) => {
      const end = found[nth + 1]?.index ?? own.length
      return echoed.has(nth) ? ' ' : own.slice(nth === 0 ? 0 : index, end) || word
    })
    .join('')
}

const wordsIn = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []

/** The texts of the conversation, the newest first. */
const textsOf = ({ messages }: ModelRequest): string[] => {
  const texts: string[] = []
  let left = mostOfAll
  for (const { parts } of messages.toReversed()) {
    for (const part of parts) {
      if (left <= 0) return texts
      const text = part.type === 'text' ? part.text : part.type === 'toolResult' ? part.result : ''
      texts.push(text.slice(0, Math.min(left, mostOfMessage)))
      left -= text.length
    }
  }
  return texts
}
