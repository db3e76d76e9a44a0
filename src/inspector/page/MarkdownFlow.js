// @ts-check
import { element } from './element.js'
import { Attr, parser, parser_end, parser_write, Token } from './markdown.js'

/** Characters that are parsed in one piece, and most that the parser may hold back: looking at them again would cost more with each. */
const longestPiece = 256
/** Depth of elements inside each other; deeper ones are not made. */
const deepest = 12

/**
 * A growing text of a model as Markdown. Only what is new is parsed, so a chunk of a long text costs no more. Nothing of the text
 * becomes markup or is loaded: pictures are links, and links lead to the web or to an address for mail only.
 */
export class MarkdownFlow {
  #length = 0
  #isEnded = false
  /** The open elements, the innermost last. @type {HTMLElement[]} */
  #open
  #renderer = {
    data: undefined,
    /** @param {undefined} _ @param {number} token */
    add_token: (_, token) => this.#begin(token),
    end_token: () => {
      if (this.#open.length > 1) this.#open.pop()
    },
    /** @param {undefined} _ @param {string} text */
    add_text: (_, text) => this.#innermost.append(text),
    /** @param {undefined} _ @param {number} attribute @param {string} value */
    set_attr: (_, attribute, value) => this.#set(attribute, value),
  }
  #parser = parser(this.#renderer)

  /** @param {'text' | 'thinking'} kind */
  constructor(kind) {
    this.element = element('div', { class: `flow ${kind}` })
    this.#open = [this.element]
  }

  /**
   * @param {string} text the whole of it, which begins with what is shown, or is shorter
   * @param {boolean} isWhole false while more of it may come
   */
  show(text, isWhole) {
    if (text.length === this.#length && isWhole === this.#isEnded) return
    if (text.length < this.#length || this.#isEnded) this.clear()
    for (let at = this.#length; at < text.length; at += longestPiece) {
      parser_write(this.#parser, text.slice(at, Math.min(at + longestPiece, text.length)))
      if (this.#parser.pending.length > longestPiece || this.#parser.len > deepest) this.#restart()
    }
    this.#length = text.length
    if (isWhole) this.#end()
  }

  clear() {
    this.element.replaceChildren()
    this.#length = 0
    this.#isEnded = false
    this.#open = [this.element]
    this.#parser = parser(this.#renderer)
  }

  get #innermost() {
    return this.#open.at(-1) ?? this.element
  }

  /** Begins again, in a new paragraph: marks that are open for so long are not meant as marks. */
  #restart() {
    this.#end()
    this.#isEnded = false
    this.#open = [this.element]
    this.#parser = parser(this.#renderer)
  }

  #end() {
    const { pending } = this.#parser
    // The address of a link that is not closed, or marks without an end, are text.
    if (pending.startsWith('](') || pending.length > longestPiece) {
      this.#innermost.append(pending)
      this.#parser.pending = ''
    }
    parser_end(this.#parser)
    this.#isEnded = true
  }

  /** @param {number} token */
  #begin(token) {
    const parent = this.#innermost
    if (this.#open.length > deepest) this.#open.push(parent)
    else this.#open.push(elementFor(token, parent))
  }

  /** @param {number} attribute @param {string} value */
  #set(attribute, value) {
    const target = this.#innermost
    if (attribute === Attr.Href || attribute === Attr.Src) {
      if (!safeLink.test(value)) return
      target.setAttribute('href', value)
      target.setAttribute('target', '_blank')
      target.setAttribute('rel', 'noopener noreferrer')
    } else if (attribute === Attr.Lang) target.dataset.language = value.slice(0, 30)
    else if (attribute === Attr.Checked) target.textContent = '☑ '
    else if (attribute === Attr.Start && target instanceof HTMLOListElement) target.start = Number(value) || 1
  }
}

const safeLink = /^(?:https?:\/\/|mailto:)/i

/** The names of the elements of tokens that have no more to them. @type {Readonly<Record<number, keyof HTMLElementTagNameMap>>} */
const tags = {
  [Token.Paragraph]: 'p',
  [Token.Blockquote]: 'blockquote',
  [Token.Line_Break]: 'br',
  [Token.Rule]: 'hr',
  [Token.Italic_Ast]: 'em',
  [Token.Italic_Und]: 'em',
  [Token.Strong_Ast]: 'strong',
  [Token.Strong_Und]: 'strong',
  [Token.Strike]: 's',
  [Token.Code_Inline]: 'code',
  [Token.Equation_Inline]: 'code',
  [Token.Link]: 'a',
  [Token.Raw_URL]: 'a',
  [Token.Image]: 'a',
  [Token.List_Unordered]: 'ul',
  [Token.List_Ordered]: 'ol',
  [Token.List_Item]: 'li',
}

/** Adds the element of a token, and returns the place for its content. @param {number} token @param {HTMLElement} parent @returns {HTMLElement} */
const elementFor = (token, parent) => {
  const tag = tags[token]
  if (tag) return add(parent, element(tag))
  switch (token) {
    case Token.Code_Block:
    case Token.Code_Fence:
    case Token.Equation_Block:
      return add(add(parent, element('pre')), element('code'))
    case Token.Checkbox:
      return add(parent, element('span', {}, '☐ '))
    case Token.Table:
      return add(
        add(parent, element('div', { class: 'table', tabindex: '0', role: 'region', 'aria-label': 'Table' })),
        element('table'),
      )
    case Token.Table_Row: {
      const part = parent.children[parent.childElementCount === 0 ? 0 : 1]
      const name = parent.childElementCount === 0 ? 'thead' : 'tbody'
      return add(part instanceof HTMLElement ? part : add(parent, element(name)), element('tr'))
    }
    case Token.Table_Cell:
      return add(
        parent,
        parent.parentElement?.tagName === 'THEAD' ? element('th', { scope: 'col' }) : element('td'),
      )
    default:
      return add(parent, element('h4', { class: 'title' }))
  }
}

/** @template {HTMLElement} T @param {HTMLElement} parent @param {T} child */
const add = (parent, child) => {
  parent.append(child)
  return child
}
