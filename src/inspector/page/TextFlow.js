// @ts-check
import { element } from './element.js'

/** A block longer than this is closed at the next end of a line, or at the next space when there is none for long. */
const blockLength = 2_000
const longestBlock = 8_000

/**
 * Text that grows. It is kept in blocks, because a browser lays out a block anew for each letter that joins it: thousands
 * of chunks then cost the same each.
 */
export class TextFlow {
  /** @param {string} kind */
  constructor(kind) {
    this.element = element('div', { class: `flow ${kind}` })
    this.length = 0
    /** @type {Text | undefined} */
    this.last = undefined
  }

  /** @param {string} text the whole of it, which begins with what is shown, or is shorter */
  show(text) {
    if (text.length === this.length) return
    if (text.length < this.length) this.clear()
    this.#append(text.slice(this.length))
    this.length = text.length
  }

  clear() {
    this.element.replaceChildren()
    this.last = undefined
    this.length = 0
  }

  /** @param {string} added */
  #append(added) {
    let rest = added
    while (rest !== '') {
      const end = this.#endOfBlock(rest)
      this.#open().appendData(end === -1 ? rest : rest.slice(0, end))
      if (end === -1) return
      this.last = undefined
      rest = rest.slice(rest[end] === '\n' ? end + 1 : end)
    }
  }

  /** @param {string} text */
  #endOfBlock(text) {
    const { length } = this.#open()
    const line = text.indexOf('\n', Math.max(0, blockLength - length))
    if (line !== -1) return line
    return length + text.length > longestBlock ? text.indexOf(' ', Math.max(0, longestBlock - length)) : -1
  }

  #open() {
    if (!this.last) {
      this.last = document.createTextNode('')
      this.element.append(element('div', {}, this.last))
    }
    return this.last
  }
}
