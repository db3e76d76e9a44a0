// @ts-check
import { goTo } from './actions.js'
import { byId, setText } from './element.js'
import { eventName, number, offset, plural } from './format.js'
import { actor, onChange, shownIndex, state } from './store.js'

const slider = byId('slider', HTMLInputElement)
const label = byId('moment', HTMLElement)
const live = byId('live', HTMLButtonElement)

const render = () => {
  const { moments, pastSeq } = state
  const index = shownIndex()
  const moment = moments[index]
  slider.max = String(Math.max(0, moments.length - 1))
  if (Number(slider.value) !== index) slider.value = String(Math.max(0, index))
  slider.disabled = moments.length < 2
  slider.style.setProperty('--done', `${moments.length < 2 ? 100 : (100 * index) / (moments.length - 1)}%`)
  live.setAttribute('aria-pressed', String(pastSeq === null))
  document.body.classList.toggle('past', pastSeq !== null)
  if (!moment) return
  const what = moment.reads > 0 ? plural(moment.reads, 'chunk') : eventName(moment.event)
  const text = `${number(index + 1)} of ${number(moments.length)}  ·  ${offset(moment.at - (actor()?.createdAt ?? moment.at))} s  ·  ${what}`
  setText(label, text)
  slider.setAttribute('aria-valuetext', text)
}

slider.addEventListener('input', () => {
  const index = Number(slider.value)
  const moment = state.moments[index]
  // Pushed to the end, the slider is live again.
  goTo(index === state.moments.length - 1 ? null : (moment?.seq ?? null))
})

live.addEventListener('click', () => goTo(null))

export const startTimeline = () => onChange(render)
