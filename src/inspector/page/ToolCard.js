// @ts-check
import { choose } from './actions.js'
import { arrange, element, setText } from './element.js'
import { duration, plural } from './format.js'
import { jsonView } from './jsonView.js'
import { imagesView, verdictView } from './messageView.js'
import { state } from './store.js'
import { argumentsForm } from './tryAgain.js'

/** @import { JsonValue } from '../../messages/json.ts' */
/** @import { ToolRow } from '../protocol.ts' */
/** @typedef {(id: number) => { element: HTMLElement, refresh(): void }} NestedRun the conversation of a run, inside a card */

const words = {
  pending: 'waits for approval',
  waiting: 'not started',
  running: 'running',
  done: 'done',
  failed: 'error',
}

/** A call, below the answer that made it: its arguments, its progress and its result. */
export class ToolCard {
  element = element('article', { class: 'card' })
  #status = element('span', { class: 'status' })
  #time = element('span', { class: 'meta' })
  #body = element('div', { class: 'card-body' })
  #nested = element('div', { class: 'nested' })
  #actions = element('div', { class: 'card-actions' })
  #nestedRun
  /** @type {ReturnType<NestedRun> | undefined} */
  #run
  /** @type {ToolRow | undefined} */
  #row
  #key = ''

  /** @param {ToolRow} row @param {NestedRun} nestedRun shows the run of a sub-agent */
  constructor(row, nestedRun) {
    this.#nestedRun = nestedRun
    const head = element('header', {}, element('h3', {}, row.name), this.#status, this.#time)
    this.element.append(head, this.#body, this.#nested, this.#actions)
  }

  /** @param {ToolRow} row @param {boolean} isPast */
  show(row, isPast) {
    setText(this.#time, timeOf(row, isPast))
    this.#run?.refresh()
    if (row === this.#row && isPast === this.element.classList.contains('then')) return
    this.#row = row
    this.element.className = `card ${row.status}${isPast ? ' then' : ''}`
    this.#status.className = `status ${row.status}`
    setText(this.#status, row.isRejected ? 'rejected' : words[row.status])
    this.#showBody(row)
    this.#showNested(row)
    this.#showActions(row, isPast)
  }

  /** @param {ToolRow} row */
  #showBody(row) {
    // The calls of a past moment come without pictures.
    const live = state.tools.get(row.callId)
    const images = row.images.length > 0 || live?.owner !== row.owner ? row.images : live.images
    const shown = row.result === null ? [] : images
    const key = JSON.stringify([
      row.arguments,
      row.progress,
      row.result,
      row.isInDoubt,
      row.verdicts,
      shown.length,
    ])
    if (key === this.#key) return
    this.#key = key
    const parts = [line('Arguments', valueView(row.arguments))]
    if (row.verdicts.length > 0)
      parts.push(line('Policy', element('div', {}, ...row.verdicts.map(verdictView))))
    const last = row.progress.at(-1)
    if (last !== undefined && row.result === null) parts.push(line('Progress', progressView(last)))
    if (row.isInDoubt && row.result === null) parts.push(element('p', { class: 'note' }, doubt))
    if (row.result !== null) {
      const name = row.isRejected ? 'Rejected' : row.status === 'failed' ? 'Error' : 'Result'
      const result = element('div', { class: 'result' }, ...resultView(row.result))
      result.append(...imagesView(shown, `Result of ${row.name}`))
      if (row.stack !== null) result.append(stackView(row.stack))
      parts.push(line(name, result))
      if (row.progress.length > 0) parts.push(line('Progress', reportsView(row.progress)))
    }
    this.#body.replaceChildren(...parts)
  }

  /** @param {ToolRow} row */
  #showNested({ child }) {
    if (child === null || this.#run) return
    this.#run = this.#nestedRun(child)
    this.#nested.append(
      this.#run.element,
      element('button', { type: 'button', class: 'link', click: () => choose(child) }, 'Show this run alone'),
    )
  }

  /** @param {ToolRow} row @param {boolean} isPast */
  #showActions(row, isPast) {
    const canEdit = !isPast && row.result !== null && canEditArguments(row.owner)
    if (!canEdit) return arrange(this.#actions, [])
    if (this.#actions.hasChildNodes()) return
    this.#actions.append(argumentsForm(row))
  }
}

/** A live run can continue from a call; a stored run only from a step. @param {number} owner */
const canEditArguments = (owner) => {
  const actor = state.actors.get(owner)
  return actor?.canAsk === true && actor.run === ''
}

const doubt = 'It was running when its process ended: it may have taken effect.'

/** @param {string} name @param {Node} content */
const line = (name, content) =>
  element('div', { class: 'line' }, element('h4', {}, name), element('div', { class: 'line-value' }, content))

/** @param {JsonValue} value */
const valueView = (value) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0
    ? element('span', { class: 'meta' }, 'none')
    : element('div', { class: 'json' }, jsonView(value))

/** @param {JsonValue} value */
const progressView = (value) =>
  typeof value === 'string' ? element('span', { role: 'status' }, value) : valueView(value)

/** @param {JsonValue[]} reports */
const reportsView = (reports) =>
  element(
    'details',
    {},
    element('summary', {}, plural(reports.length, 'report')),
    ...reports.map((each) => element('div', {}, progressView(each))),
  )

/** @param {string} stack */
const stackView = (stack) =>
  element('details', {}, element('summary', {}, 'Stack'), element('pre', {}, stack))

/** @param {string} result */
const resultView = (result) => {
  if (result === '') return []
  try {
    const value = JSON.parse(result)
    if (typeof value === 'object' && value !== null) return [valueView(value)]
  } catch {
    // The result is not JSON.
  }
  return [element('pre', {}, result)]
}

/** @param {ToolRow} row @param {boolean} isPast */
const timeOf = ({ owner, startedAt, endedAt, status }, isPast) => {
  if (startedAt === null) return ''
  if (endedAt !== null) return duration(endedAt - startedAt)
  const isRunning = status === 'running' && !isPast && state.actors.get(owner)?.endedAt === null
  return isRunning ? duration(Date.now() - startedAt) : ''
}
