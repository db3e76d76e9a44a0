// @ts-check
import { fetchMoment } from './actions.js'
import { ConversationView, loadedRun } from './ConversationView.js'
import { byId, element, setText } from './element.js'
import { actor, changed, onChange, shownAttempts, state } from './store.js'
import { startStrip } from './strip.js'
import { isLive, tryForm } from './tryAgain.js'

const panel = byId('panel-conversation', HTMLElement)
const view = new ConversationView()
const askTitle = element('h3')
const ask = element('div', { class: 'ask', hidden: true }, askTitle)
const other = element('div', { class: 'other', hidden: true })
const heading = element('h3', { class: 'column', hidden: true })
const own = element('div', { class: 'own' }, heading, view.element, ask)
const scroll = element(
  'div',
  { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Conversation' },
  other,
  own,
)
const strip = startStrip(scroll, view)
panel.append(strip, scroll)

let shownOf = state.attempts
let isAtEnd = true
/** @type {number | null} */
let lastPast = null

const render = () => {
  if (state.tab !== 'conversation') return
  if (shownOf !== state.attempts) {
    shownOf = state.attempts
    view.clear()
    isAtEnd = true
  }
  const isPast = state.pastSeq !== null
  if (isPast) fetchMoment()
  const { past } = state
  // The calls of a past moment arrive a little later than the slider moves.
  const tools = isPast && past ? new Map(past.tools.map((row) => [row.callId, row])) : state.tools
  view.show({
    actor: actor(),
    history: state.history,
    attempts: shownAttempts(),
    tools,
    usage: state.usage,
    isPast,
  })
  compare()
  renderAsk()
  if (isAtEnd && (!isPast || lastPast !== state.pastSeq)) scroll.scrollTop = scroll.scrollHeight
  lastPast = state.pastSeq
}

/** @type {number | null} */
let askedOf = null

/** Shows the box at the end of a conversation, which starts a new run of the same agent. */
const renderAsk = () => {
  const shown = actor()
  const isOver = shown !== undefined && shown.endedAt !== null
  const isPast = state.pastSeq !== null
  ask.hidden = shown?.canAsk !== true || !(isOver || isPast)
  if (ask.hidden || !shown) return
  setText(askTitle, isPast ? 'Ask from this moment' : 'Ask the next question')
  if (askedOf === shown.id) return
  askedOf = shown.id
  const { form } = tryForm({
    label: 'The next question',
    send: 'Ask',
    hasModel: isLive(shown.id),
    hint: 'This starts a new run, with this conversation as its history.',
    toCommand: (prompt) => ({
      actor: shown.id,
      type: 'again',
      prompt,
      ...(state.pastSeq !== null && { seq: state.pastSeq }),
    }),
  })
  ask.replaceChildren(askTitle, form)
}

const compareButton = byId('compare', HTMLButtonElement)
let isComparing = false
/** @type {{ id: number, run: ReturnType<typeof loadedRun> } | null} */
let left = null

const renderCompare = () => {
  const from = actor()?.from ?? null
  compareButton.hidden = from === null || !state.actors.has(from)
  if (compareButton.hidden) isComparing = false
  compareButton.setAttribute('aria-pressed', String(isComparing))
  document.body.classList.toggle('comparing', isComparing)
}

/** Shows the run that this one was started again from beside it, with the first difference marked. */
const compare = () => {
  const from = actor()?.from ?? null
  other.hidden = !isComparing || from === null
  heading.hidden = other.hidden
  setText(heading, `This run: ${actor()?.title ?? ''}`)
  if (other.hidden || from === null) {
    markFirst(view.element, null)
    return
  }
  if (left?.id !== from) {
    left = { id: from, run: loadedRun(from, 1) }
    const title = state.actors.get(from)?.title ?? ''
    other.replaceChildren(element('h3', { class: 'column' }, `Before: ${title}`), left.run.element)
  }
  left.run.refresh()
  const [a, b] = [stepsIn(left.run.element), stepsIn(view.element)]
  const index = a.findIndex((step, place) => step.text !== b[place]?.text)
  const first = index === -1 && a.length === b.length ? null : index === -1 ? a.length : index
  markFirst(left.run.element, first)
  markFirst(view.element, first)
}

/** The texts that are compared: questions, answers, calls and results. @param {HTMLElement} conversation */
const stepsIn = (conversation) =>
  [...conversation.querySelectorAll('.bubble, .answer > .flow.text, .card > .card-body')]
    .filter((node) => !node.closest('.nested-run') && !node.closest('.void') && node.textContent !== '')
    .map((node) => ({ node, text: node.textContent ?? '' }))

/** @param {HTMLElement} conversation @param {number | null} index */
const markFirst = (conversation, index) => {
  const node = index === null ? undefined : stepsIn(conversation)[index]?.node
  for (const marked of conversation.querySelectorAll('.differs'))
    if (marked !== node) marked.classList.remove('differs')
  node?.classList.add('differs')
}

// Pictures and forms make the conversation longer, too.
new ResizeObserver(() => {
  if (isAtEnd) scroll.scrollTop = scroll.scrollHeight
}).observe(own)

scroll.addEventListener('scroll', () => {
  isAtEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 40
})

compareButton.addEventListener('click', () => {
  isComparing = !isComparing
  changed()
})

/** Starts the conversation, and the button that compares it with the run that it was started from. */
export const startConversation = () => {
  onChange(renderCompare)
  onChange(render)
}
