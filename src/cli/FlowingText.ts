import type { Paint } from './terminalText.ts'
import { displayWidth, isWide } from './terminalText.ts'

/** The length at which a word is shown that does not end. */
const longestWord = 400
/** The narrowest terminal for which lines are broken here. */
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

  /** Takes a piece, and returns what is to be written now. */
  push(piece: string): string {
    for (const sign of piece) this.#take(sign)
    return this.#written()
  }

  /** Returns what was held back. */
  flush(): string {
    this.#endWord()
    this.#shown += this.#spaces
    this.#column += this.#spaces.length
    this.#spaces = ''
    return this.#written()
  }

  /** Begins a line, because something else has ended the last one. */
  startLine(): void {
    this.#column = 0
    this.#line = this.#line.next()
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

type Shade = (text: string) => string

const asItIs: Shade = (text) => text
/** The deepest indentation that the rest of a broken line gets, too. */
const deepest = 12

/** The colours of one line of Markdown, word by word. Its markup stays, so that copied text is what the model wrote. */
class MarkdownLine {
  readonly #paint: Paint
  /** True inside a block of code. */
  #isCode: boolean
  #isFence = false
  #isBegun = false
  #shade: Shade = asItIs
  #isBold = false
  #isInlineCode = false
  /** The indentation of the lines that follow when this one is broken. */
  indent = 0
  mayBreak = true

  constructor(paint: Paint, isCode = false) {
    this.#paint = paint
    this.#isCode = isCode
  }

  next(): MarkdownLine {
    return new MarkdownLine(this.#paint, this.#isCode !== this.#isFence)
  }

  paint(spaces: string, word: string): string {
    if (!this.#isBegun) this.#begin(spaces, word)
    this.#isBegun = true
    return this.#isCode || this.#isFence ? this.#shade(word) : this.#inline(word)
  }

  /** The first word shows what kind of line it is. */
  #begin(spaces: string, word: string): void {
    const { bold, cyan, dim } = this.#paint
    this.#isFence = /^(?:```|~~~)/.test(word)
    this.mayBreak = !this.#isCode && !this.#isFence && !word.startsWith('|')
    if (this.#isFence) this.#shade = dim
    else if (this.#isCode) this.#shade = cyan
    else if (/^#{1,6}$/.test(word)) this.#shade = bold
    else if (word.startsWith('>')) this.#shade = dim
    const isItem = /^(?:[-*+•]|\d{1,3}[.)])$/.test(word)
    const indent = displayWidth(spaces) + (isItem ? displayWidth(word) + 1 : 0)
    this.indent = indent > deepest ? 0 : indent
  }

  /** Paints `code` and **bold**, which may continue in the next word. */
  #inline(word: string): string {
    let painted = ''
    let before = ''
    for (const [token] of word.matchAll(/`|\*\*|[^`*]+|\*/g)) {
      const isOpen = this.#isInlineCode || this.#isBold
      if (token === '`') this.#isInlineCode = !this.#isInlineCode
      // Two stars in the middle of something are a power.
      else if (token === '**' && !this.#isInlineCode && (this.#isBold || !/[\p{L}\d]$/u.test(before)))
        this.#isBold = !this.#isBold
      // A closing sign has the colour of what it closes.
      before = token
      painted += isOpen || this.#isInlineCode || this.#isBold ? this.#shadeOf(token)(token) : token
    }
    return this.#shade(painted)
  }

  #shadeOf(token: string): Shade {
    return this.#isInlineCode || token === '`' ? this.#paint.cyan : this.#paint.bold
  }
}
