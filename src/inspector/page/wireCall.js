// @ts-check
import { curl } from './curl.js'
import { element, setText } from './element.js'
import { dollars, duration, number } from './format.js'
import { jsonView } from './jsonView.js'
import { RawEvents } from './rawEvents.js'
import { ask } from './source.js'
import { changed, state } from './store.js'

/** @import { ExchangeContent, ExchangeRow, WireCallRow, WireContent } from '../wireView.ts' */
/** @import { JsonValue } from '../../messages/json.ts' */

/** A call that still runs is looked at again after this time. */
const pauseMs = 1_000

/** Everything about one call of a model. What is large is fetched when it is first shown. */
export class CallView {
  block = element('div', { class: 'call' })
  #facts = element('dl', { class: 'facts' })
  #failure = element('p', { class: 'problem' })
  #prompt = element('pre', {})
  #system = fold('System prompt', this.#prompt)
  #tools = fold('Tools')
  #messages = fold('Request')
  #list = element('div', {})
  /** @type {ExchangeView[]} */
  #exchanges = []
  #actor
  /** @type {WireCallRow} */
  #row
  /** @type {WireContent | null} */
  #content = null
  #fetched = ''
  #isAsking = false

  /** @param {number} actor @param {WireCallRow} row */
  constructor(actor, row) {
    this.#actor = actor
    this.#row = row
    this.block.append(this.#facts, this.#failure, this.#system, this.#tools, this.#messages, this.#list)
  }

  /** @param {WireCallRow[]} calls this one is among them */
  update(calls) {
    this.#row = calls.find(({ id }) => id === this.#row.id) ?? this.#row
    const { failure } = this.#row
    this.#facts.replaceChildren(...factsOf(this.#row))
    setText(this.#failure, failure)
    this.#failure.hidden = failure === ''
    this.#load()
    this.#draw()
  }

  async #load() {
    const { id, endedAt, isDropped, exchanges } = this.#row
    const known = JSON.stringify([
      endedAt,
      isDropped,
      exchanges.map(({ events, status }) => [events, status]),
    ])
    if (this.#isAsking || this.#fetched === known) return
    this.#fetched = known
    this.#isAsking = true
    try {
      const response = await ask(`call?actor=${this.#actor}&call=${id}`)
      if (response.ok) this.#content = await response.json()
    } catch {
      // The line on top says that the process does not answer.
    }
    this.#draw()
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    this.#isAsking = false
    changed()
  }

  #draw() {
    const content = this.#content
    this.#system.hidden = !content?.system
    setText(this.#prompt, content?.system ?? '')
    fill(this.#tools, content?.tools ?? [])
    fill(this.#messages, content?.messages ?? [])
    for (const [index, row] of this.#row.exchanges.entries()) {
      const known = this.#exchanges[index] ?? new ExchangeView()
      this.#exchanges[index] = known
      if (known.block.parentNode !== this.#list) this.#list.append(known.block)
      const title = this.#row.exchanges.length > 1 ? `Request ${index + 1}` : ''
      known.update(title, row, content?.exchanges[index], this.#row.keyVariable)
    }
  }
}

/** One HTTP request and its answer. */
class ExchangeView {
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
  #said = element('span', { class: 'note', role: 'status' })
  #body = fold('Request body')
  #events = new RawEvents()
  block = element(
    'div',
    { class: 'exchange' },
    this.#title,
    this.#address,
    element('div', { class: 'buttons' }, this.#curl, this.#copyBody, this.#said),
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
    this.#curl.title = isWhole || !content ? '' : 'The body is too long: it is not kept as a whole.'
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
    setText(this.#said, done)
    setTimeout(() => setText(this.#said, ''), 2_000)
    button.focus()
  }
}

/** @param {WireCallRow} row */
const factsOf = ({ provider, protocol, model, settings, at, endedAt, attempt, exchanges }) => {
  const row = attempt === null ? undefined : state.attempts[attempt]
  const usage = row?.usage
  const head = exchanges.at(-1)?.headAt ?? null
  const first = row?.firstChunkAt ?? null
  const times = [
    endedAt === null ? 'running' : duration(endedAt - at),
    head === null ? '' : `answered after ${duration(head - at)}`,
    first === null ? '' : `first chunk after ${duration(first - at)}`,
  ]
  const tokens = [
    usage?.inputTokens === undefined ? '' : `${number(usage.inputTokens)} in`,
    usage?.cachedInputTokens === undefined ? '' : `${number(usage.cachedInputTokens)} of them cached`,
    usage?.cacheWriteTokens ? `${number(usage.cacheWriteTokens)} written to the cache` : '',
    usage?.outputTokens === undefined ? '' : `${number(usage.outputTokens)} out`,
  ]
  const given = Object.entries(Object(settings)).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
  return [
    fact('Model', [model, provider, protocol === provider ? '' : protocol].filter(Boolean).join(' · ')),
    fact('Time', times.filter(Boolean).join(', ')),
    fact('Tokens', tokens.filter(Boolean).join(', ')),
    fact('Cost', usage?.cost === undefined ? '' : dollars(usage.cost)),
    fact('Settings', given.join(', ')),
    fact('Ended', row?.finish ?? ''),
  ].flat()
}

/** @param {ExchangeRow} row */
const headFacts = ({ status, headers }) =>
  [
    fact('Status', status === null ? 'no answer yet' : String(status)),
    ...Object.entries(headers).map(([name, value]) => fact(name, value)),
  ].flat()

/** @param {string} name @param {string} value */
const fact = (name, value) => (value === '' ? [] : [element('dt', {}, name), element('dd', {}, value)])

/** @param {string} title @param {HTMLElement[]} content */
const fold = (title, ...content) =>
  element('details', { hidden: true }, element('summary', {}, title), ...content)

/** @param {HTMLDetailsElement} block @param {JsonValue} value */
const fill = (block, value) => {
  const isEmpty = !Array.isArray(value) || value.length === 0
  block.hidden = isEmpty
  if (isEmpty || block.childElementCount > 1) return
  block.append(element('div', { class: 'json' }, jsonView(value, { openTo: 2 })))
}

/** @param {string} text */
export const gap = (text) => element('span', { class: 'gap' }, text)

/** @param {number} characters */
const size = (characters) =>
  characters < 1_024 ? `${number(characters)} characters` : `${number(Math.round(characters / 1_024))} KiB`

/** @param {string} text @returns {JsonValue | undefined} */
const parsedJson = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
