// @ts-check
import { AttemptView } from './AttemptView.js'
import { arrange, element, setText } from './element.js'
import { historyView } from './messageView.js'
import { outcomeOf } from './outcome.js'
import { state } from './store.js'
import { ToolCard } from './toolCard.js'

/** @import { ActorRow, AttemptRow, MessageRow, ToolRow } from '../wire.ts' */
/** @typedef {import('./store.js').state['usage']} Usage */
/**
 * @typedef {{
 *   actor: ActorRow | undefined, history: MessageRow[], attempts: AttemptRow[], tools: ReadonlyMap<string, ToolRow>,
 *   usage: Usage, isPast: boolean,
 * }} Conversation
 */

/**
 * A run, read as a conversation: what was asked, then step by step what the model said and what its calls gave. What is
 * shown already is never made again: a text grows in place.
 */
export class ConversationView {
  element = element('div', { class: 'conversation' })
  /** @type {AttemptView[]} */
  views = []
  #depth
  #history = element('div')
  #early = element('div', { class: 'early', hidden: true })
  #earlyNote = element('p', { class: 'meta' }, 'Calls from before this process took the run over')
  #turns = element('div', { class: 'turns' })
  #nothing = element('p', { class: 'nothing' })
  outcome = element('div', { class: 'outcome', hidden: true })
  /** @type {Map<string, ToolCard>} */
  #cards = new Map()
  /** @type {MessageRow[] | undefined} */
  #historyOf

  /** @param {number} [depth] how deep it is inside other conversations */
  constructor(depth = 0) {
    this.#depth = depth
    this.element.append(this.#history, this.#early, this.#turns, this.#nothing, this.outcome)
  }

  /** Another run is shown from now on. */
  clear() {
    this.views = []
    this.#cards = new Map()
    this.#turns.replaceChildren()
    this.#early.replaceChildren()
  }

  /** @param {Conversation} conversation */
  show({ actor, history, attempts, tools, usage, isPast }) {
    if (history !== this.#historyOf) {
      this.#historyOf = history
      this.#history.replaceChildren(...(history.length > 0 ? [historyView(history)] : []))
    }
    const claimed = new Set(attempts.flatMap(({ calls }) => calls))
    const early = [...tools.values()].filter(({ callId }) => !claimed.has(callId))
    this.#early.hidden = early.length === 0
    if (early.length > 0) arrange(this.#early, [this.#earlyNote, ...this.#cardsFor(early, isPast)])
    while (this.views.length < attempts.length) this.views.push(new AttemptView(this.#depth))
    attempts.forEach((attempt, index) => {
      const rows = attempt.calls.flatMap((id) => tools.get(id) ?? [])
      this.views[index]?.show(attempt, attempts[index - 1], actor, this.#cardsFor(rows, isPast))
    })
    arrange(
      this.#turns,
      this.views.slice(0, attempts.length).map(({ element }) => element),
    )
    const isEmpty = attempts.length + early.length === 0
    setText(this.#nothing, isEmpty ? emptyText(actor) : '')
    const outcome = actor && !isPast ? outcomeOf(actor, usage, attempts) : null
    this.outcome.hidden = outcome === null
    if (outcome) {
      this.outcome.className = `outcome ${actor?.status}`
      const parts = [outcome.title, outcome.problem, outcome.facts]
      if (this.outcome.dataset.text !== parts.join('\n')) {
        this.outcome.dataset.text = parts.join('\n')
        this.outcome.replaceChildren(
          element('h3', {}, outcome.title),
          ...(outcome.problem === '' ? [] : [element('p', { class: 'problem' }, outcome.problem)]),
          element('p', { class: 'meta' }, outcome.facts),
        )
      }
    }
  }

  /** @param {ToolRow[]} rows @param {boolean} isPast */
  #cardsFor(rows, isPast) {
    return rows.map((row) => {
      const card = this.#cards.get(row.callId) ?? new ToolCard(row, this.#depth)
      this.#cards.set(row.callId, card)
      card.show(row, isPast)
      return card.element
    })
  }
}

/** @param {ActorRow | undefined} actor */
const emptyText = (actor) => {
  if (!actor) return ''
  if (actor.kind === 'agent') return 'The model has not been asked yet.'
  const kinds = [...state.actors.values()].some(({ parent }) => parent === actor.id)
  return kinds
    ? 'This actor asks no model itself. The actors below it, in the list of runs, may.'
    : 'This actor asks no model, so there is no conversation. See Transitions and Context.'
}
