// @ts-check
import { fetchMoment } from './actions.js'
import { startAskBox } from './askBox.js'
import { ConversationView } from './ConversationView.js'
import { compareWith } from './compare.js'
import { byId, element } from './element.js'
import { actor, onChange, shownAttempts, state } from './store.js'
import { startStrip } from './strip.js'

const panel = byId('panel-conversation', HTMLElement)
const view = new ConversationView()
const ask = startAskBox()
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
  // The calls as they were come a moment later than the slider.
  const tools = isPast && past ? new Map(past.tools.map((row) => [row.callId, row])) : state.tools
  view.show({
    actor: actor(),
    history: state.history,
    attempts: shownAttempts(),
    tools,
    usage: state.usage,
    isPast,
  })
  compareWith(other, heading, view)
  if (isAtEnd && (!isPast || lastPast !== state.pastSeq)) scroll.scrollTop = scroll.scrollHeight
  lastPast = state.pastSeq
}

// Pictures and forms make it longer, too.
new ResizeObserver(() => {
  if (isAtEnd) scroll.scrollTop = scroll.scrollHeight
}).observe(own)

scroll.addEventListener('scroll', () => {
  isAtEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 40
})

export const startConversation = () => onChange(render)
