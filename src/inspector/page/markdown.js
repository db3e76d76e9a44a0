// @ts-check
import { element } from './element.js'

/** What models write most: headings, lists, code, bold and italic. The rest is shown as it was written. */

const fence = /^ {0,3}(```|~~~)/
const heading = /^#{1,6} +(.*)$/
const item = /^( *)([-*+]|\d{1,9}[.)]) +(.*)$/
/** Nothing inside contains its own mark, so that the search never goes back. */
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
 * @param {string} text
 * @param {boolean} isCode whether it begins inside a block of code
 * @returns {{ nodes: Node[], isCode: boolean }} and whether it ends there
 */
export const markdown = (text, isCode) => {
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
