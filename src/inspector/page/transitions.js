// @ts-check
import { goTo } from './actions.js'
import { byId, element, setText } from './element.js'
import { eventName, number, offset, plural } from './format.js'
import { actor, onChange, shownMoment, state } from './store.js'

/** @import { Change, MomentRow } from '../wire.ts' */
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

const render = () => {
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
    actor()?.run
      ? 'A stored run: where it stood each time it was looked at. Its transitions are not stored.'
      : '',
    state.droppedMoments > 0 ? `${lost} no longer kept: only the last ${kept} are.` : '',
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

/** The last moment may have grown, so its group is always looked at again. */
const addMoments = () => {
  const { moments } = state
  for (let index = Math.max(0, seen - 1); index < moments.length; index += 1) {
    const moment = moments[index]
    if (moment) addMoment(moment)
  }
  seen = moments.length
}

/** Reads in a row are one line, however many moments they are. @param {MomentRow} moment */
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

/** Of reads in a row: what was first and what came out. @param {MomentRow[]} moments */
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

/** The old value only where there is room for both. @param {Change} change */
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

export const startTransitions = () => onChange(render)
