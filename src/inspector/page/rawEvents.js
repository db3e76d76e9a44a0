// @ts-check
import { element, setText } from './element.js'
import { number, plural } from './format.js'

/** @import { ExchangeContent, ExchangeRow, RawRow } from '../wireView.ts' */

/** The events of an answer as they came, with a search. */
export class RawEvents {
  #summary = element('summary', {}, 'Raw events')
  #search = element('input', {
    type: 'search',
    placeholder: 'Search the events',
    'aria-label': 'Search the events',
    input: () => this.#draw(),
  })
  #found = element('span', { class: 'meta', role: 'status' })
  #note = element('p', { class: 'note' })
  #list = element('ol', {})
  block = element(
    'details',
    { class: 'events', toggle: () => this.#draw() },
    this.#summary,
    element('div', { class: 'search' }, this.#search, this.#found),
    this.#note,
    this.#list,
  )
  /** @type {ExchangeContent | undefined} */
  #content
  #drawn = ''

  /** @param {ExchangeRow} row @param {ExchangeContent | undefined} content */
  update({ events, size }, content) {
    setText(this.#summary, `Raw events, ${number(events)}`)
    this.#content = content
    setText(
      this.#note,
      [
        content?.missing
          ? `${plural(content.missing, 'event')} in the middle of ${number(size)} characters are not kept.`
          : '',
        content?.isSpelled ? 'The model spelled a credential: its texts are hidden.' : '',
      ]
        .join(' ')
        .trim(),
    )
    this.#draw()
  }

  #draw() {
    if (!this.block.open || !this.#content) return
    const { head, tail, missing } = this.#content
    const wanted = this.#search.value.toLowerCase()
    const key = `${head.length} ${tail.length} ${missing} ${wanted}`
    if (key === this.#drawn) return
    this.#drawn = key
    /** @param {RawRow} row */
    const isFound = ({ event, data }) => `${event} ${data}`.toLowerCase().includes(wanted)
    const first = head.filter(isFound)
    const last = tail.filter(isFound)
    this.#list.replaceChildren(
      ...first.map(line),
      ...(missing > 0 ? [element('li', { class: 'gap' }, `${plural(missing, 'event')} not kept`)] : []),
      ...last.map(line),
    )
    const all = head.length + tail.length
    setText(
      this.#found,
      wanted === '' ? '' : `${number(first.length + last.length)} of ${plural(all, 'event')}`,
    )
  }
}

/** @param {RawRow} row */
const line = ({ event, data }) =>
  element(
    'li',
    {},
    ...(event === '' ? [] : [element('span', { class: 'event' }, event)]),
    element('code', {}, data),
  )
