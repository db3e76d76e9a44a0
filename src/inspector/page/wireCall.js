// @ts-check
import { ask } from './actions.js'
import { element, setText } from './element.js'
import { ExchangeView, fact, fold } from './exchange.js'
import { dollars, duration, number } from './format.js'
import { jsonView } from './jsonView.js'
import { changed, state } from './store.js'

/** @import { WireCallRow, WireContent } from '../protocol.ts' */
/** @import { JsonValue } from '../../messages/json.ts' */

/** Time after which a call that still runs is fetched again. */
const pauseMs = 1_000

/** A call of a model. Its large parts are fetched when it is first shown. */
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
      // The line on top says that the process does not respond.
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

/** @param {HTMLDetailsElement} block @param {JsonValue} value */
const fill = (block, value) => {
  const isEmpty = !Array.isArray(value) || value.length === 0
  block.hidden = isEmpty
  if (isEmpty || block.childElementCount > 1) return
  block.append(element('div', { class: 'json' }, jsonView(value, { openTo: 2 })))
}
