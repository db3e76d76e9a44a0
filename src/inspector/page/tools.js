// @ts-check
import { choose, fetchMoment } from './actions.js'
import { decision } from './decision.js'
import { arrange, byId, element, setText } from './element.js'
import { duration } from './format.js'
import { jsonView } from './jsonView.js'
import { actor, onChange, state } from './store.js'

/** @import { QuestionRow, ToolRow } from '../wire.ts' */

const panel = byId('panel-tools', HTMLElement)
const badge = byId('tools-badge', HTMLElement)
const list = element('div', { class: 'cards' })
const nothing = element('p', { class: 'nothing' })
panel.append(list, nothing)

/** @type {Map<string, { row: ToolRow, isPast: boolean, card: HTMLElement, time: HTMLElement }>} */
let cards = new Map()
let cardsOf = state.tools
/** Questions at limits, by call id. @type {Map<string, { key: string, card: HTMLElement }>} */
const questions = new Map()

const words = {
  pending: 'waits for approval',
  waiting: 'not started',
  running: 'running',
  done: 'done',
  failed: 'error',
}

const rows = () =>
  state.pastSeq === null
    ? [...state.tools.values()]
    : state.past?.seq === state.pastSeq
      ? state.past.tools
      : null

const render = () => {
  const live = [...state.tools.values()]
  const pending = live.filter(({ status }) => status === 'pending').length + state.questions.length
  setText(badge, live.length + pending === 0 ? '' : String(pending || live.length))
  badge.classList.toggle('urgent', pending > 0)
  badge.title = pending > 0 ? `${pending} waiting for a decision` : ''
  if (state.tab !== 'tools') return
  if (state.pastSeq !== null) fetchMoment()
  if (cardsOf !== state.tools) {
    cardsOf = state.tools
    cards = new Map()
    questions.clear()
  }
  const shown = rows()
  if (!shown) return
  const asked = state.pastSeq === null ? state.questions : []
  arrange(list, [...asked.map(questionFor), ...shown.map(cardFor)])
  setText(nothing, shown.length + asked.length > 0 ? '' : 'No tool was called.')
}

/** A run that stands at a limit. The same question may come again, at another limit. @param {QuestionRow} row */
const questionFor = (row) => {
  const status = state.actors.get(row.owner)?.status
  const key = JSON.stringify([row, status])
  const known = questions.get(row.callId)
  if (known?.key === key) return known.card
  const head = element('header', {}, element('h3', {}, `${row.text} Go on?`))
  const buttons = decision(row, { yes: 'Go on', no: 'Stop' })
  const card = element('article', { class: 'card pending question' }, head, buttons)
  questions.set(row.callId, { key, card })
  return card
}

/** @param {ToolRow} row */
const cardFor = (row) => {
  const isPast = state.pastSeq !== null
  const known = cards.get(row.callId)
  const isSame =
    known &&
    known.isPast === isPast &&
    (known.row === row || JSON.stringify(known.row) === JSON.stringify(row))
  const made = isSame ? known : { row, isPast, ...makeCard(row, isPast) }
  cards.set(row.callId, made)
  setText(made.time, timeOf(row, isPast))
  return made.card
}

/** @param {ToolRow} row @param {boolean} isPast */
const timeOf = ({ startedAt, endedAt, status }, isPast) => {
  if (startedAt === null) return ''
  if (endedAt !== null) return duration(endedAt - startedAt)
  return status === 'running' && !isPast && actor()?.endedAt === null ? duration(Date.now() - startedAt) : ''
}

/** @param {ToolRow} row @param {boolean} isPast */
const makeCard = (row, isPast) => {
  const time = element('span', { class: 'meta' })
  const head = element(
    'header',
    {},
    element('h3', {}, row.name),
    element('span', { class: `status ${row.status}` }, words[row.status]),
    time,
  )
  const card = element('article', { class: `card ${row.status}` }, head, element('h4', {}, 'Arguments'))
  card.append(element('div', { class: 'json' }, jsonView(row.arguments)))
  if (row.result !== null) {
    card.append(element('h4', {}, row.status === 'failed' ? 'Error' : 'Result'), resultOf(row.result))
  }
  const { child } = row
  if (child !== null) {
    const open = () => choose(child)
    card.append(
      element('button', { type: 'button', class: 'link', click: open }, 'Show the run of this agent'),
    )
  }
  if (row.status === 'pending' && row.isInDoubt) {
    const doubt = 'It was running when its process ended: whether it took effect is not known.'
    card.append(element('p', { class: 'note' }, doubt))
  }
  if (row.status === 'pending') card.append(isPast ? '' : approval(row))
  return { card, time }
}

/** @param {string} result */
const resultOf = (result) => {
  try {
    const value = JSON.parse(result)
    if (typeof value === 'object') return element('div', { class: 'json' }, jsonView(value))
  } catch {
    // Not every result is JSON.
  }
  return element('pre', {}, result)
}

/** @param {ToolRow} row */
const approval = (row) => {
  const reason = element('input', {
    type: 'text',
    placeholder: 'Reason to reject',
    'aria-label': `Reason to reject ${row.name}`,
  })
  return decision(row, { yes: 'Approve', no: 'Reject', reason })
}

export const startTools = () => onChange(render)
