// @ts-check
import { element, setText } from './element.js'
import { number, plural, size } from './format.js'
import { jsonView } from './jsonView.js'

/** @import { JsonValue } from '../../messages/json.ts' */
/** @import { ExchangeContent, ExchangeRow, RawRow } from '../protocol.ts' */

/** An HTTP request and its answer. */
export class ExchangeView {
  #title = element('h4', {})
  #address = element('code', { class: 'address' })
  #facts = element('dl', { class: 'facts' })
  #curl = element(
    'button',
    { type: 'button', click: () => this.#copy(this.#curl, this.#command()) },
    'Copy as curl',
  )
  #copyBody = element(
    'button',
    { type: 'button', click: () => this.#copy(this.#copyBody, this.#content?.body?.head ?? '') },
    'Copy body',
  )
  #note = element('span', { class: 'note', role: 'status' })
  #body = fold('Request body')
  #events = new RawEvents()
  block = element(
    'div',
    { class: 'exchange' },
    this.#title,
    this.#address,
    element('div', { class: 'buttons' }, this.#curl, this.#copyBody, this.#note),
    this.#facts,
    this.#body,
    this.#events.block,
  )
  /** @type {ExchangeRow | undefined} */
  #row
  /** @type {ExchangeContent | undefined} */
  #content
  #keyVariable = ''
  #drawnBody = ''

  /** @param {string} title @param {ExchangeRow} row @param {ExchangeContent | undefined} content @param {string} keyVariable */
  update(title, row, content, keyVariable) {
    this.#row = row
    this.#content = content
    this.#keyVariable = keyVariable
    setText(this.#title, title)
    this.#title.hidden = title === ''
    setText(this.#address, `${row.method} ${row.url}`)
    this.#facts.replaceChildren(...headFacts(row))
    const body = content?.body
    const isWhole = body?.missing === 0
    this.#curl.disabled = this.#copyBody.disabled = !isWhole
    this.#curl.title =
      isWhole || !content ? '' : 'The body is too long: only its beginning and its end are kept.'
    const key = body ? `${body.head.length} ${body.tail.length}` : ''
    this.#body.hidden = !body
    if (body && key !== this.#drawnBody) {
      this.#drawnBody = key
      const parsed = isWhole ? parsedJson(body.head) : undefined
      const shown =
        parsed === undefined
          ? element(
              'pre',
              {},
              body.head,
              ...(isWhole ? [] : [gap(`${number(body.missing)} characters are not kept`)]),
              body.tail,
            )
          : element('div', { class: 'json' }, jsonView(parsed, { openTo: 1 }))
      this.#body.replaceChildren(
        element('summary', {}, `Request body, ${size(body.head.length + body.missing + body.tail.length)}`),
        shown,
      )
    }
    this.#events.update(row, content)
  }

  #command() {
    return this.#row ? curl(this.#row, this.#content?.body?.head ?? '', this.#keyVariable) : ''
  }

  /** @param {HTMLButtonElement} button @param {string} text */
  async #copy(button, text) {
    const done = await navigator.clipboard.writeText(text).then(
      () => 'Copied.',
      () => 'The browser does not allow copying.',
    )
    setText(this.#note, done)
    setTimeout(() => setText(this.#note, ''), 2_000)
    button.focus()
  }
}

/** @param {ExchangeRow} row */
const headFacts = ({ status, headers }) =>
  [
    fact('Status', status === null ? 'no answer yet' : String(status)),
    ...Object.entries(headers).map(([name, value]) => fact(name, value)),
  ].flat()

/** @param {string} name @param {string} value */
export const fact = (name, value) => (value === '' ? [] : [element('dt', {}, name), element('dd', {}, value)])

/** @param {string} title @param {HTMLElement[]} content */
export const fold = (title, ...content) =>
  element('details', { hidden: true }, element('summary', {}, title), ...content)

/** @param {string} text */
const gap = (text) => element('span', { class: 'gap' }, text)

/** @param {string} text @returns {JsonValue | undefined} */
const parsedJson = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The events of an answer as they arrived, with a search. */
class RawEvents {
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
        content?.isSpelled ? 'The model wrote out a credential: its texts are hidden.' : '',
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

/** Headers of no use when a request is tried by hand. */
const left = new Set(['user-agent', 'accept-encoding'])
/** Headers that carry the key of a provider. */
const keyHeaders = new Set(['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'])

/**
 * A request as a command for a shell. Variables replace credentials.
 *
 * @param {Pick<ExchangeRow, 'method' | 'url' | 'sentHeaders'>} request
 * @param {string} body
 * @param {string} keyVariable
 */
const curl = ({ method, url, sentHeaders }, body, keyVariable) => {
  const key = keyVariable || 'API_KEY'
  const headers = Object.entries(sentHeaders)
    .filter(([name]) => !left.has(name))
    .map(([name, value]) => `-H ${quoted(`${name}: ${value}`, keyHeaders.has(name) ? key : variable(name))}`)
  return [
    `curl -N -X ${method} ${quoted(url, key)}`,
    ...headers,
    // A body may begin with an @, which would name a file.
    ...(body === '' ? [] : [`--data-raw ${plain(body)}`]),
  ].join(' \\\n  ')
}

/** @param {string} name */
const variable = (name) => name.toUpperCase().replace(/\W/g, '_')

/** @param {string} text */
const plain = (text) => `'${text.replaceAll("'", `'\\''`)}'`

/** @param {string} text @param {string} variable replaces a credential */
const quoted = (text, variable) =>
  text.includes('***')
    ? `"${text.replace(/[\\"$`]/g, String.raw`\$&`).replaceAll('***', `$${variable}`)}"`
    : plain(text)
