// @ts-check
import { element } from './element.js'

/** Length after which a block ends with its line, or at a space if the line does not end for long. */
const blockLength = 1_500
const longestBlock = 6_000

/** A growing text of a model. Only its last block is rendered again for each chunk, so a chunk of a long text costs no more. */
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

const fence = /^ {0,3}(```|~~~)/
const heading = /^#{1,6} +(.*)$/
const item = /^( *)([-*+]|\d{1,9}[.)]) +(.*)$/
/** Code, bold and italic. No mark may be inside its own text, so the search never goes back. */
const marked = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*/g

/** @param {string} line @returns {(Node | string)[]} */
const inline = (line) => {
  /** @type {(Node | string)[]} */
  const made = []
  let from = 0
  for (const { 0: whole, 1: code, 2: bold, 3: italic, index } of line.matchAll(marked)) {
    made.push(line.slice(from, index))
    if (code !== undefined) made.push(element('code', {}, code))
    else if (bold !== undefined) made.push(element('strong', {}, bold))
    else made.push(element('em', {}, italic ?? ''))
    from = index + whole.length
  }
  return [...made, line.slice(from)]
}

/** @param {RegExpExecArray} found */
const listItem = ([, indent = '', mark = '', text = '']) => {
  const depth = Math.min(3, Math.floor(indent.length / 2))
  return element(
    'p',
    { class: `item depth-${depth}` },
    element('span', {}, /\d/.test(mark) ? mark : '•'),
    ' ',
    ...inline(text),
  )
}

/**
 * Renders what models write most: headings, lists, code, bold and italic. The rest is shown as it was written.
 *
 * @param {string} text
 * @param {boolean} isCode whether it begins inside a block of code
 * @returns {{ nodes: Node[], isCode: boolean }} and whether it ends there
 */
const markdown = (text, isCode) => {
  /** @type {Node[]} */
  const nodes = []
  /** @type {string[]} */
  let lines = []
  const close = () => {
    const whole = lines.join('\n')
    lines = []
    if (whole.trim() === '') return
    nodes.push(isCode ? element('pre', {}, element('code', {}, whole)) : element('p', {}, ...inline(whole)))
  }
  for (const line of text.split('\n')) {
    const title = isCode ? null : heading.exec(line)
    const entry = isCode || title ? null : item.exec(line)
    if (fence.test(line)) {
      close()
      isCode = !isCode
    } else if (title) {
      close()
      nodes.push(element('p', { class: 'title' }, ...inline(title[1] ?? '')))
    } else if (entry) {
      close()
      nodes.push(listItem(entry))
    } else if (!isCode && line.trim() === '') close()
    else lines.push(line)
  }
  close()
  return { nodes, isCode }
}
