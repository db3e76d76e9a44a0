// @ts-check
import { goTo } from './actions.js'
import { arrange, element, setText } from './element.js'
import { duration } from './format.js'
import { actor, onChange, shownMoment, state } from './store.js'

/** @import { MomentRow } from '../protocol.ts' */
/** @import { ConversationView } from './ConversationView.js' */
/** @typedef {{ name: string, first: MomentRow, last: MomentRow, until: number }} Stay a time in one state */

/** Most stays that are shown; of a very long run, the last ones. */
const mostStays = 300

/** Colours for states whose chart does not show what is done in them, in the order in which the states come. */
const otherColours = ['streaming', 'working', 'compacting', 'asking']

/**
 * The states that a run has been in, as a thin line beside the conversation. A click goes to that moment, and scrolling
 * marks the states of the step that is read.
 *
 * @param {HTMLElement} scroll
 * @param {ConversationView} view
 */
export const startStrip = (scroll, view) => {
  const list = element('ol', { class: 'strip', 'aria-label': 'States' })
  /** @type {{ item: HTMLElement, button: HTMLButtonElement, name: HTMLElement, time: HTMLElement }[]} */
  let items = []

  /** The item that the Tab key reaches; the arrow keys move on from there. */
  let current = 0

  const makeItem = () => {
    const name = element('span', { class: 'stay-name' })
    const time = element('span', { class: 'stay-time' })
    const button = element('button', { type: 'button' }, name, time)
    return { item: element('li', {}, button), button, name, time }
  }

  const render = () => {
    if (state.tab !== 'conversation') return
    const stays = staysOf(state.moments).slice(-mostStays)
    while (items.length < stays.length) items.push(makeItem())
    items = items.slice(0, Math.max(stays.length, 1))
    const shown = shownMoment()
    stays.forEach((stay, index) => {
      const made = items[index]
      if (!made) return
      const isLast = index === stays.length - 1
      const isOpen = isLast && actor()?.endedAt === null
      const ms = (isOpen ? Date.now() : stay.until) - stay.first.at
      const isHere =
        state.pastSeq !== null &&
        shown !== undefined &&
        shown.seq >= stay.first.seq &&
        shown.seq <= stay.last.seq
      made.item.dataset.activity = colourOf(stay)
      made.item.classList.toggle('here', isHere)
      made.item.classList.toggle('now', isOpen)
      made.item.style.flexGrow = String(Math.round(Math.sqrt(Math.max(1, ms))))
      made.item.dataset.attempt = String(stay.last.progress[0])
      setText(made.name, shortName(stay))
      setText(made.time, ms < 100 ? '' : duration(ms))
      made.button.title = `${stay.name}, ${duration(ms)}`
      made.button.tabIndex = index === Math.min(current, stays.length - 1) ? 0 : -1
      made.button.setAttribute('aria-current', isHere ? 'true' : 'false')
      made.button.onclick = () => {
        goTo(isLast ? null : stay.last.seq)
        const target =
          stay.last.progress[0] < 0
            ? view.element
            : (view.views[stay.last.progress[0]]?.element ?? view.element)
        requestAnimationFrame(() => target.scrollIntoView({ block: 'nearest' }))
      }
    })
    arrange(
      list,
      items.slice(0, stays.length).map(({ item }) => item),
    )
    list.hidden = stays.length === 0
    mark()
  }

  /** Marks the states of the step that is being read. */
  const mark = () => {
    const top = scroll.getBoundingClientRect().top + scroll.clientHeight / 3
    const isAtEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 4
    const read = isAtEnd
      ? view.views.length - 1
      : view.views.findLastIndex(
          ({ element }) => element.isConnected && element.getBoundingClientRect().top <= top,
        )
    for (const { item } of items) item.classList.toggle('read', item.dataset.attempt === String(read))
  }

  let isDue = false
  scroll.addEventListener('scroll', () => {
    if (isDue) return
    isDue = true
    requestAnimationFrame(() => {
      isDue = false
      mark()
    })
  })
  list.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const from = items.findIndex(({ button }) => button === event.target)
    const next = step === undefined ? undefined : items[from + step]
    if (!next?.item.isConnected) return
    event.preventDefault()
    current = from + (step ?? 0)
    render()
    next.button.focus()
  })
  onChange(render)
  return list
}

/** The states in which the actor rested, and for how long. States that it only passes through are left out. @param {MomentRow[]} moments */
const staysOf = (moments) => {
  /** @type {Stay[]} */
  const stays = []
  for (const moment of moments) {
    const name = moment.path.at(-1) ?? ''
    const last = stays.at(-1)
    if (last) last.until = moment.at
    if (name === '') continue
    if (last?.name === name && last.last.progress[0] === moment.progress[0]) last.last = moment
    else stays.push({ name, first: moment, last: moment, until: moment.at })
  }
  const end = actor()?.endedAt
  const last = stays.at(-1)
  if (last && end) last.until = Math.max(last.until, Math.min(end, last.until))
  return stays
}

/** @type {Map<string, string>} */
const given = new Map()

/** @param {Stay} stay */
const colourOf = ({ name, last }) => {
  if (last.activity) return last.activity
  const colour = given.get(name) ?? otherColours[given.size % otherColours.length] ?? ''
  given.set(name, colour)
  return colour
}

/** The innermost state. While tools run, the outermost one says more. @param {Stay} stay */
const shortName = ({ name, last }) => name.split('.').at(last.activity === 'working' ? 0 : -1) ?? ''
