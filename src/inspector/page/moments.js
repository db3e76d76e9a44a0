// @ts-check
import { fetchMoment, goTo } from './actions.js'
import { byId, element, setText } from './element.js'
import { eventName, number, offset, plural } from './format.js'
import { jsonView } from './jsonView.js'
import { actor, onChange, shownIndex, shownMoment, state } from './store.js'

/** @import { Change, MomentRow } from '../protocol.ts' */
/** @typedef {{ moments: MomentRow[], row: HTMLElement, key: string }} Group */

const panel = byId('panel-transitions', HTMLElement)
const dropped = element('p', { class: 'note' })
const list = element('ol', { class: 'moments' })
panel.append(dropped, list)

/** @type {Group[]} */
let groups = []
let generation = -1
let seen = 0
let isAtEnd = true
/** @type {number | undefined} */
let lastShown

const renderTransitions = () => {
  if (state.tab !== 'transitions') return
  if (generation !== state.generation) {
    generation = state.generation
    groups = []
    seen = 0
    list.replaceChildren()
  }
  addMoments()
  const kept = number(state.limits.moments)
  const lost = plural(state.droppedMoments, 'earlier moment')
  const notes = [
    state.moments[0]?.event === 'stored'
      ? 'The states of a stored run, each time the store was read. Its transitions are not stored.'
      : '',
    state.droppedMoments > 0 ? `${lost} no longer kept: only the last ${kept} moments are.` : '',
  ]
  setText(dropped, notes.filter(Boolean).join(' '))
  const shown = state.pastSeq === null ? undefined : shownMoment()
  let isLater = false
  for (const { moments, row } of groups) {
    const isShown = shown !== undefined && moments.some(({ seq }) => seq === shown.seq)
    row.classList.toggle('shown', isShown)
    row.classList.toggle('later', isLater)
    if (isShown) isLater = true
  }
  if (shown === undefined && isAtEnd) panel.scrollTop = panel.scrollHeight
  if (shown && shown.seq !== lastShown) list.querySelector('.shown')?.scrollIntoView({ block: 'nearest' })
  lastShown = shown?.seq
}

/** Adds new moments. The last one may have grown, so its group is always updated. */
const addMoments = () => {
  const { moments } = state
  for (let index = Math.max(0, seen - 1); index < moments.length; index += 1) {
    const moment = moments[index]
    if (moment) addMoment(moment)
  }
  seen = moments.length
}

/** Adds a moment. Reads in a row share one line. @param {MomentRow} moment */
const addMoment = (moment) => {
  const last = groups.at(-1)
  const isStream = moment.reads > 0 && moment.path.length <= 1 && last?.moments[0]?.event === moment.event
  const isAgain = last?.moments.at(-1)?.seq === moment.seq
  if (last && (isAgain || (isStream && (last.moments[0]?.reads ?? 0) > 0))) {
    if (isAgain) last.moments.pop()
    last.moments.push(moment)
    const key = keyOf(last.moments)
    if (key === last.key) return
    last.key = key
    const row = makeRow(last.moments)
    last.row.replaceWith(row)
    last.row = row
    return
  }
  const group = { moments: [moment], row: makeRow([moment]), key: keyOf([moment]) }
  groups.push(group)
  list.append(group.row)
}

/** @param {MomentRow[]} moments */
const keyOf = (moments) => `${moments.length} ${moments.at(-1)?.reads} ${moments.at(-1)?.changes.length}`

/** @param {MomentRow[]} moments */
const makeRow = (moments) => {
  const [first] = moments
  const last = moments.at(-1)
  if (!first || !last) return element('li')
  const reads = moments.reduce((sum, each) => sum + each.reads, 0)
  const from = first.from === '' ? '' : `from ${first.from}`
  const head = element(
    'button',
    { type: 'button', click: () => goTo(last.seq === state.moments.at(-1)?.seq ? null : last.seq) },
    element('time', {}, offset(first.at - (actor()?.createdAt ?? first.at))),
    element('span', { class: 'event', title: first.event }, eventName(first.event)),
    element('span', { class: 'meta' }, reads > 1 ? plural(reads, 'chunk') : from),
  )
  const path = element('div', { class: 'path' })
  for (const name of first.path) if (name !== '') path.append(element('span', {}, name))
  return element('li', {}, head, path.childElementCount > 0 ? path : '', changesView(changesOf(moments)))
}

const shortList = 4

/** @param {Change[]} changes */
const changesView = (changes) => {
  const list = element('ul', { class: 'changes' }, ...changes.slice(0, shortList).map(changeView))
  const rest = changes.slice(shortList)
  if (rest.length === 0) return list
  const more = element('button', { type: 'button', class: 'link' }, `${plural(rest.length, 'more change')}`)
  more.addEventListener('click', () => more.parentElement?.replaceWith(...rest.map(changeView)))
  list.append(element('li', { class: 'change' }, more))
  return list
}

/** The changes of reads in a row: the first value and the last. @param {MomentRow[]} moments */
const changesOf = (moments) => {
  if (moments.length === 1) return moments[0]?.changes ?? []
  /** @type {Map<string, Change>} */
  const merged = new Map()
  for (const change of moments.flatMap(({ changes }) => changes)) {
    const known = merged.get(change.path)
    const grown = /^[+−]\d+ characters$/
    if (known?.after && change.after && grown.test(known.after) && grown.test(change.after)) {
      const sum = Number.parseInt(known.after, 10) + Number.parseInt(change.after, 10)
      merged.set(change.path, { ...known, after: `+${sum} characters` })
    } else if (!known || (change.after && grown.test(change.after))) merged.set(change.path, change)
    else merged.set(change.path, { ...change, ...(known.before !== undefined && { before: known.before }) })
  }
  return [...merged.values()]
}

/** A change, with the old value if there is room for both. @param {Change} change */
const changeView = ({ path, before, after }) => {
  const isShort = before === undefined || after === undefined || before.length + after.length < 32
  const key = element('span', { class: 'key', title: path }, path)
  const made = element('li', { class: 'change', title: [before, after].filter(Boolean).join('  →  ') }, key)
  if (before !== undefined && isShort) made.append(element('span', { class: 'before' }, before))
  if (after !== undefined)
    made.append(element('span', { class: before && isShort ? 'after to' : 'after' }, after))
  return made
}

panel.addEventListener('scroll', () => {
  isAtEnd = panel.scrollHeight - panel.scrollTop - panel.clientHeight < 40
})

export const startTransitions = () => onChange(renderTransitions)

const content = element('div', { class: 'json' })
const nothing = element('p', { class: 'nothing' })
byId('panel-context', HTMLElement).append(content, nothing)

/** The parts that a person opened or closed stay so from moment to moment. @type {Map<string, boolean>} */
const opened = new Map()
/** The searches of a person, by the part that they are in. @type {Map<string, { words: string, isOpen: boolean }>} */
const searches = new Map()
/** @type {typeof state.past} */
let shownPast = null

const renderContext = () => {
  if (state.tab !== 'context') return
  fetchMoment()
  const { past } = state
  // A person who types a search is not disturbed by the next moment.
  const isTyping =
    document.activeElement instanceof HTMLInputElement && content.contains(document.activeElement)
  if (past === shownPast || isTyping) return
  shownPast = past
  content.replaceChildren()
  setText(nothing, past ? '' : 'Nothing to show yet.')
  if (!past) return
  const changed = new Set(shownMoment()?.changes.flatMap(({ path }) => path.split(', ')))
  /** @param {string} title @param {import('../../messages/json.ts').JsonValue} value @param {ReadonlySet<string>} [marked] */
  const add = (title, value, marked) => {
    if (value === '⟨undefined⟩') return
    const kept = searches.get(title) ?? { words: '', isOpen: false }
    searches.set(title, kept)
    const view = jsonView(value, { openTo: 1, opened, kept, ...(marked && { changed: marked }) })
    content.append(element('h3', {}, title), view)
  }
  add('Event', past.event)
  add('Context', past.context, changed)
  add('Output', past.output)
  add('Error', past.error)
}

export const startContext = () => onChange(renderContext)

const slider = byId('slider', HTMLInputElement)
const label = byId('moment', HTMLElement)
const live = byId('live', HTMLButtonElement)

const renderTimeline = () => {
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

export const startTimeline = () => onChange(renderTimeline)
