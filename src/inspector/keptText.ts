/** A text that may be long: whole, or its beginning and its end. */
export type KeptText = { head: string; tail: string; missing: number }

/** No credential is longer. */
const longestWord = 4_096

/** Of a text that is too long, the middle is left out. Copies are made, because a slice would keep the whole alive. */
export const keptText = (text: string, most: number): KeptText => {
  if (text.length <= most) return { head: text, tail: '', missing: 0 }
  const head = withoutLastWord(text.slice(0, Math.floor(most * 0.75)))
  const tail = withoutFirstWord(text.slice(text.length - Math.floor(most * 0.25)))
  return { head: copyOf(head), tail: copyOf(tail), missing: text.length - head.length - tail.length }
}

export const lengthOf = ({ head, tail }: KeptText): number => head.length + tail.length

// Half a credential would not be recognised as one, so that nothing is cut in the middle of a word.
const withoutLastWord = (text: string): string => {
  const end = /[\s",][^\s",]*$/.exec(text.slice(-longestWord))
  return end ? text.slice(0, text.length - end[0].length + 1) : text.slice(0, -longestWord)
}

const withoutFirstWord = (text: string): string => {
  const start = text.slice(0, longestWord).search(/[\s",]/)
  return text.slice(start === -1 ? longestWord : start)
}

const copyOf = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le')
