// @ts-check
import { AttemptView } from './AttemptView.js'
import { fetchRun } from './actions.js'
import { arrange, element, setText } from './element.js'
import { dollars, duration, number, plural } from './format.js'
import { historyView } from './messageView.js'
import { changed, state } from './store.js'
import { ToolCard } from './ToolCard.js'

/** @import { ActorRow, AttemptRow, MessageRow, ToolRow, Watched } from '../protocol.ts' */
/** @typedef {Watched['usage']} Usage */
/**
 * @typedef {{
 *   actor: ActorRow | undefined, history: MessageRow[], attempts: AttemptRow[], tools: ReadonlyMap<string, ToolRow>,
 *   usage: Usage, isPast: boolean,
 * }} Conversation
 */

/**
 * A run as a conversation: the question, then step by step the answers of the model and the results of its calls. Views
 * that exist are updated, not made again: a text grows in place.
 */
export class ConversationView {
  element = element('div', { class: 'conversation' })
  /** @type {AttemptView[]} */
  views = []
  #depth
  #history = element('div')
  #early = element('div', { class: 'early', hidden: true })
  #earlyNote = element('p', { class: 'meta' }, 'Calls from before this process continued the run')
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

  /** Empties the view for another run. */
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
      const card = this.#cards.get(row.callId) ?? new ToolCard(row, (id) => nestedRun(id, this.#depth + 1))
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
    ? 'This actor does not ask a model itself. The actors below it in the list may.'
    : 'This actor does not ask a model, so it has no conversation. See Transitions and Context.'
}

/** @type {Partial<Record<ActorRow['status'], string>>} */
const titles = {
  done: 'Complete',
  failed: 'Failed',
  aborted: 'Aborted',
  stopped: 'Stopped',
  paused: 'Paused: waiting for a decision',
  abandoned: 'Abandoned',
}

/**
 * The end of a run, and what it took; null while it continues.
 *
 * @param {ActorRow} actor
 * @param {Usage} usage
 * @param {AttemptRow[]} attempts
 */
const outcomeOf = (actor, usage, attempts) => {
  const title = titles[actor.status]
  if (title === undefined || attempts.length === 0) return null
  const steps = new Set(attempts.map(({ owner, step }) => `${owner} ${step}`)).size
  const { inputTokens, outputTokens, cost } = usage ?? {}
  const facts = [
    actor.endedAt === null ? '' : duration(actor.endedAt - actor.createdAt),
    plural(steps, 'step'),
    inputTokens === undefined ? '' : `${number(inputTokens)} tokens in`,
    outputTokens === undefined ? '' : `${number(outputTokens)} out`,
    cost === undefined ? '' : dollars(cost),
  ]
  return { title, problem: actor.failure, facts: facts.filter(Boolean).join(' · ') }
}

/** Depth of conversations inside each other; deeper ones have a link only. */
const deepest = 3
/** Time between two fetches of a run that continues. */
const pauseMs = 250

/**
 * The conversation of another run inside this one, folded. It is fetched when it is opened, and again while it changes.
 *
 * @param {number} id
 * @param {number} depth
 */
const nestedRun = (id, depth) => {
  const name = state.actors.get(id)?.name ?? 'the agent'
  const inner = element('div')
  const made = element(
    'details',
    { class: 'nested-run', hidden: depth > deepest },
    element('summary', {}, `Conversation of ${name}`),
    inner,
  )
  const loaded = loadedRun(id, depth)
  const refresh = () => {
    if (made.open) loaded.refresh()
  }
  made.addEventListener('toggle', () => {
    if (made.open) inner.append(loaded.element)
    refresh()
  })
  return { element: made, refresh }
}

/**
 * The conversation of any run, fetched from the server.
 *
 * @param {number} id
 * @param {number} depth
 */
export const loadedRun = (id, depth) => {
  const view = new ConversationView(depth)
  let shown = ''
  let isLoading = false
  const refresh = async () => {
    const actor = state.actors.get(id)
    const key = `${actor?.status} ${actor?.state} ${actor?.reads}`
    // A run that is no longer kept stays as it is shown.
    if (isLoading || !actor || key === shown) return
    isLoading = true
    shown = key
    const run = await fetchRun(id)
    setTimeout(() => {
      isLoading = false
      changed()
    }, pauseMs)
    if (!run) return
    view.show({
      actor,
      history: run.history ?? [],
      attempts: (run.attempts ?? []).map((attempt) => ({ ...attempt, asked: attempt.asked ?? [] })),
      tools: new Map((run.tools ?? []).map((tool) => [tool.callId, tool])),
      usage: run.usage ?? null,
      isPast: false,
    })
  }
  return { element: view.element, view, refresh }
}
