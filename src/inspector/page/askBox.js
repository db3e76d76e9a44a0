// @ts-check
import { isLive, tryForm } from './again.js'
import { element, setText } from './element.js'
import { actor, onChange, state } from './store.js'

const title = element('h3')
const place = element('div', { class: 'ask', hidden: true }, title)

/** @type {number | null} */
let shownFor = null

const render = () => {
  const shown = actor()
  const isOver = shown !== undefined && shown.endedAt !== null
  const isPast = state.pastSeq !== null
  place.hidden = shown?.canAsk !== true || !(isOver || isPast)
  if (place.hidden || !shown) return
  setText(title, isPast ? 'Ask from this moment' : 'Ask the next question')
  if (shownFor === shown.id) return
  shownFor = shown.id
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
  place.replaceChildren(title, form)
}

/** The box at the end of a conversation: it begins a new run of the same agent. */
export const startAskBox = () => {
  onChange(render)
  return place
}
