import type { Delta } from '../../src/model/delta.ts'

const opening = '<think>'
const closing = '</think>'
/** More blank space than this before an answer is part of the answer. */
const longestBlank = 64

/**
 * Takes a leading `<think>…</think>` out of a text that comes in pieces.
 *
 * Only a block at the very start counts, so that a tag the model merely writes about stays text. At most a tag's
 * length is held back, and a piece costs only its own length.
 */
export class ThinkSplitter {
  #state: 'start' | 'thinking' | 'gap' | 'text' = 'start'
  #held = ''
  readonly #isOpened: boolean

  constructor(isOpened: boolean) {
    this.#isOpened = isOpened
  }

  split(piece: string): Delta[] {
    const deltas: Delta[] = []
    let rest = this.#held + piece
    this.#held = ''
    if (this.#state === 'start') rest = this.#start(rest)
    if (this.#state === 'thinking') rest = this.#thinking(rest, deltas)
    if (this.#state === 'gap') {
      rest = rest.trimStart()
      if (rest !== '') this.#state = 'text'
    }
    if (rest !== '') deltas.push({ type: 'text', text: rest })
    return deltas
  }

  /** Gives what was held back: it turned out not to be a tag. */
  flush(): Delta[] {
    const text = this.#held
    this.#held = ''
    if (text === '') return []
    const isThinking = this.#state === 'thinking' || this.#isOpened
    return [{ type: isThinking ? 'thinking' : 'text', text }]
  }

  #start(text: string): string {
    const begun = text.trimStart()
    if (begun.startsWith(opening)) {
      this.#state = 'thinking'
      return begun.slice(opening.length)
    }
    if (opening.startsWith(begun) && text.length - begun.length <= longestBlank) {
      this.#held = text
      return ''
    }
    this.#state = this.#isOpened ? 'thinking' : 'text'
    return text
  }

  #thinking(text: string, deltas: Delta[]): string {
    const end = text.indexOf(closing)
    const until = end === -1 ? text.length - tagStart(text) : end
    if (until > 0) deltas.push({ type: 'thinking', text: text.slice(0, until) })
    if (end === -1) {
      this.#held = text.slice(until)
      return ''
    }
    this.#state = 'gap'
    return text.slice(end + closing.length)
  }
}

/** The number of characters at the end of a text that may begin the closing tag. */
const tagStart = (text: string): number => {
  for (let length = Math.min(closing.length - 1, text.length); length > 0; length--) {
    if (closing.startsWith(text.slice(text.length - length))) return length
  }
  return 0
}
