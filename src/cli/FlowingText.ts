import { displayWidth, isWide } from './displayWidth.ts'
import { MarkdownLine } from './MarkdownLine.ts'
import type { Paint } from './paint.ts'

/** A word that does not end is shown once it is this long. */
const longestWord = 400
/** Where lines are shorter, the terminal may break them itself. */
const narrowest = 20

/**
 * Text that comes piece by piece, broken between words where the line of a terminal ends, with the colours of its
 * Markdown. No character is lost. A word is shown when it is complete.
 */
export class FlowingText {
  readonly #width: () => number
  #line: MarkdownLine
  #column = 0
  #spaces = ''
  #word = ''
  #shown = ''

  /** The width may change at any time; 0 if it is not known. */
  constructor(width: () => number, paint: Paint) {
    this.#width = width
    this.#line = new MarkdownLine(paint)
  }

  /** What is to be written now. */
  push(piece: string): string {
    for (const sign of piece) this.#take(sign)
    return this.#written()
  }

  /** What was held back. */
  flush(): string {
    this.#endWord()
    this.#shown += this.#spaces
    this.#column += this.#spaces.length
    this.#spaces = ''
    return this.#written()
  }

  /** Something else has ended the line. */
  startLine(): void {
    this.#column = 0
    this.#line = this.#line.next()
  }

  get isAtStart(): boolean {
    return this.#column === 0 && this.#word === '' && this.#spaces === ''
  }

  #take(sign: string): void {
    if (sign === '\n') {
      this.#endWord()
      this.#spaces = ''
      this.#shown += '\n'
      this.startLine()
    } else if (sign === ' ' || sign === '\t') {
      this.#endWord()
      this.#spaces += sign
    } else if (isWide(sign)) {
      this.#endWord()
      this.#word = sign
      this.#endWord()
    } else {
      this.#word += sign
      if (this.#word.length >= longestWord) this.#endWord()
    }
  }

  #endWord(): void {
    const word = this.#word
    if (word === '') return
    this.#word = ''
    const room = displayWidth(word)
    const painted = this.#line.paint(this.#spaces, word)
    const { indent, mayBreak } = this.#line
    const width = this.#width()
    const end = this.#column + this.#spaces.length + room
    if (mayBreak && width >= narrowest && end > width && this.#column > indent) {
      this.#shown += `\n${' '.repeat(indent)}${painted}`
      this.#column = indent + room
    } else {
      this.#shown += this.#spaces + painted
      this.#column = end
    }
    // The terminal breaks what is wider than the screen.
    if (width > 0 && this.#column > width) this.#column %= width
    this.#spaces = ''
  }

  #written(): string {
    const shown = this.#shown
    this.#shown = ''
    return shown
  }
}
