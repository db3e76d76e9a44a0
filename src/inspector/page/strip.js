// @ts-check
import { goTo } from './actions.js'
import { arrange, element, setText } from './element.js'
import { duration } from './format.js'
import { actor, onChange, shownMoment, state } from './store.js'

/** @import { MomentRow } from '../wire.ts' */
/** @import { ConversationView } from './ConversationView.js' */
/** @typedef {{ name: string, first: MomentRow, last: MomentRow, until: number }} Stay */

/** Stays in a state that are shown; of a very long run, the last ones. */
const mostStays = 300

/** Colours by state; machines of your own get one by the order in which their states come. */
const colours = new Map([
  ['Initialized', 'asked'],
  ['Requesting', 'asked'],
  ['Streaming', 'talks'],
  ['Interrupted', 'waits'],
  ['BackingOff', 'waits'],
  ['AwaitingApproval', 'waits'],
  ['AwaitingTools', 'waits'],
  ['Waiting', 'waits'],
  ['AtLimit', 'waits'],
  ['Working', 'works'],
  ['ToolExecution', 'works'],
  ['Compacting', 'thinks'],
  ['Summarising', 'thinks'],
  ['Halving', 'thinks'],
  ['Complete', 'good'],
  ['Failed', 'bad'],
  ['Aborted', 'left'],
])
/** Where the innermost state says too little. */
const shortNames = new Map([['ToolExecution.Working', 'ToolExecution']])

const others = ['talks', 'works', 'thinks', 'asked']

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

  /** The one that the Tab key comes to; the arrow keys go on from there. */
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
      made.item.dataset.colour = colourOf(stay.name)
      made.item.classList.toggle('here', isHere)
      made.item.classList.toggle('now', isOpen)
      made.item.style.flexGrow = String(Math.round(Math.sqrt(Math.max(1, ms))))
      made.item.dataset.attempt = String(stay.last.progress[0])
      setText(made.name, shortNames.get(stay.name) ?? stay.name.split('.').at(-1) ?? '')
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

/** Where the actor rested, and for how long. States that it only passes take no time. @param {MomentRow[]} moments */
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

/** @param {string} name */
const colourOf = (name) => {
  const keys = name.split('.').reverse()
  const known = keys.map((key) => colours.get(key)).find((colour) => colour !== undefined)
  if (known) return known
  const colour = given.get(name) ?? others[given.size % others.length] ?? 'talks'
  given.set(name, colour)
  return colour
}
