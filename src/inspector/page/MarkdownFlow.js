// @ts-check
import { element } from './element.js'
import { markdown } from './markdown.js'

/** A block longer than this ends with its line, or at a space when the line has no end for long. */
const blockLength = 1_500
const longestBlock = 6_000

/** Text of a model that grows. Only its last block is rendered again for each chunk, so that a chunk of a long text costs no more. */
export class MarkdownFlow {
  #length = 0
  #source = ''
  #isCode = false
  /** @type {HTMLElement | undefined} */
  #block

  /** @param {'text' | 'thinking'} kind */
  constructor(kind) {
    this.element = element('div', { class: `flow ${kind}` })
  }

  /** @param {string} text the whole of it, which begins with what is shown, or is shorter */
  show(text) {
    if (text.length === this.#length) return
    if (text.length < this.#length) this.clear()
    let rest = this.#source + text.slice(this.#length)
    this.#length = text.length
    for (let end = endOfBlock(rest); end !== -1; end = endOfBlock(rest)) {
      this.#isCode = this.#write(rest.slice(0, end))
      this.#block = undefined
      rest = rest.slice(end)
    }
    this.#source = rest
    if (rest !== '') this.#write(rest)
  }

  clear() {
    this.element.replaceChildren()
    this.#block = undefined
    this.#source = ''
    this.#isCode = false
    this.#length = 0
  }

  /** @param {string} source */
  #write(source) {
    const { nodes, isCode } = markdown(source, this.#isCode)
    if (!this.#block) {
      this.#block = element('div')
      this.element.append(this.#block)
    }
    this.#block.replaceChildren(...nodes)
    return isCode
  }
}

/** @param {string} text */
const endOfBlock = (text) => {
  const line = text.indexOf('\n', blockLength)
  if (line !== -1) return line + 1
  if (text.length <= longestBlock) return -1
  return Math.max(text.lastIndexOf(' ', longestBlock), blockLength)
}
