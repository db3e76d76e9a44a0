import { displayWidth } from './displayWidth.ts'
import type { Paint } from './paint.ts'

type Shade = (text: string) => string

const asItIs: Shade = (text) => text
/** Further in, nothing is indented when a line is broken. */
const deepest = 12

/** The colours of one line of Markdown, word by word. Its markup stays, so that copied text is what the model wrote. */
export class MarkdownLine {
  readonly #paint: Paint
  /** Inside a block of code, or at its fences. */
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

  /** `code` and **bold**, which may continue in the next word. */
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
