// @ts-check
import { choose, command } from './actions.js'
import { arrange, byId, element } from './element.js'
import { clock, plural } from './format.js'
import { jsonView } from './jsonView.js'
import { onChange, rootOf, state } from './store.js'
import { objectIn } from './tryAgain.js'

/** @import { JsonObject, JsonValue } from '../../messages/json.ts' */
/** @import { ActorRow, Command, HoldRow, QuestionRow } from '../protocol.ts' */

const place = byId('banner', HTMLElement)

/** @type {Map<string, { key: string, made: HTMLElement }>} */
let made = new Map()

const render = () => {
  const waiting = otherRuns()
  const shown = state.questions.map((row) => kept(row.callId, [row, statusOf(row)], () => questionView(row)))
  const { hold } = state
  if (hold) shown.unshift(kept('hold', [hold, state.watched], () => holdView(hold)))
  if (waiting.length > 0) {
    const names = waiting.map(({ id, title, name }) => [id, title, name])
    shown.push(kept('others', [names], () => othersView(waiting)))
  }
  const wanted = new Set([
    ...state.questions.map(({ callId }) => callId),
    'others',
    ...(hold ? ['hold'] : []),
  ])
  made = new Map([...made].filter(([id]) => wanted.has(id)))
  arrange(place, shown)
}

/** @param {QuestionRow} row */
const statusOf = ({ owner }) => state.actors.get(owner)?.status

/** Replaces only what differs: a reason that is being typed stays. @param {string} id @param {unknown} about @param {() => HTMLElement} make */
const kept = (id, about, make) => {
  const key = JSON.stringify(about)
  const known = made.get(id)
  if (known?.key === key) return known.made
  const fresh = { key, made: make() }
  made.set(id, fresh)
  return fresh.made
}

/** Runs that wait, without the one that is shown: it asks for the runs below it, too. */
const otherRuns = () => {
  const waiting = [...state.actors.values()].filter(({ status }) => status === 'waiting')
  const roots = new Set(waiting.map(({ id }) => rootOf(id)))
  if (state.questions.length > 0) roots.delete(rootOf(state.watched))
  return [...roots].flatMap((row) => (row && row.id !== state.watched ? [row] : []))
}

/** The policy holds the run: nothing begins until its check has ended. @param {HoldRow} hold */
const holdView = ({ state: held, checks, since }) => {
  const running = checks.length > 0 ? ` while ${checks.join(', ')} ${checks.length > 1 ? 'run' : 'runs'}` : ''
  return element(
    'section',
    { class: 'waits hold', role: 'status' },
    element(
      'p',
      {},
      'The policy holds this run in the state ',
      element('strong', {}, held),
      `${running}, since ${clock(since)}.`,
    ),
  )
}

/** @param {QuestionRow} row */
const questionView = (row) => {
  const box = element('section', { class: 'waits', role: 'alert', 'aria-label': 'A decision is needed' })
  if (row.kind === 'limit') {
    box.append(element('h3', {}, `${row.text} Go on?`), decision(row, { yes: 'Go on', no: 'Stop' }))
    return box
  }
  const name = element('code', {}, row.name)
  const given = element(
    'div',
    { class: `json waits-arguments${isShort(row.arguments) ? ' short' : ''}` },
    jsonView(row.arguments, { openTo: 1 }),
  )
  if (row.kind === 'answer') {
    box.append(element('h3', {}, name, ' waits for its result'), given, answerView(row))
    return box
  }
  const doubt = 'It was running when its process ended: it may have taken effect.'
  const title = row.isInDoubt ? ['Run ', name, ' again?'] : ['Allow ', name, '?']
  const words = row.isInDoubt ? { yes: 'Run again', no: 'Take as failed' } : { yes: 'Approve', no: 'Reject' }
  const reason = element('input', {
    type: 'text',
    placeholder: 'Reason, for the model',
    'aria-label': `Reason to reject ${row.name}`,
  })
  const { field, edit, edited } = editable(row, given)
  box.append(
    element('h3', {}, ...title),
    field,
    ...(row.isInDoubt ? [element('p', { class: 'note' }, doubt)] : []),
    decision(row, { ...words, reason, edit, edited }),
  )
  return box
}

/** Recognises arguments that fit into one line: few values without a structure. @param {JsonValue} given */
const isShort = (given) => {
  const values = Object.values(given ?? {})
  return values.every((each) => typeof each !== 'object') && JSON.stringify(given).length < 100
}

/** The field for the result of a call that comes from outside: a program gives it, or a person. @param {QuestionRow} row */
const answerView = (row) => {
  const result = element('input', {
    type: 'text',
    placeholder: 'Result',
    'aria-label': `Result of ${row.name}`,
  })
  return decision(row, { yes: 'Answer', no: 'Reject', result })
}

/** The arguments of a call, which a person may change before it runs. @param {QuestionRow} row @param {HTMLElement} given */
const editable = (row, given) => {
  const field = element('div', {}, given)
  /** @type {HTMLTextAreaElement | undefined} */
  let text
  const open = () => {
    text = element('textarea', {
      class: 'code',
      'aria-label': `Arguments of ${row.name}`,
      spellcheck: 'false',
    })
    text.value = JSON.stringify(row.arguments, null, 2)
    text.rows = Math.min(10, text.value.split('\n').length)
    field.replaceChildren(text)
    edit.hidden = true
    text.focus()
  }
  const edit = element('button', { type: 'button', class: 'quiet', click: open }, 'Edit arguments')
  return {
    field,
    edit,
    edited: () => text && (objectIn(text.value) ?? 'The arguments must be a JSON object.'),
  }
}

/** @param {ActorRow[]} waiting */
const othersView = (waiting) => {
  const [first] = waiting
  const rest = waiting.length > 1 ? ` and ${plural(waiting.length - 1, 'other run')}` : ''
  const name = first?.title || first?.name || ''
  const go = () => first && choose(first.id)
  return element(
    'section',
    { class: 'waits elsewhere', role: 'status' },
    element(
      'p',
      {},
      element('strong', {}, name.slice(0, 80)),
      `${rest} ${rest ? 'wait' : 'waits'} for a decision.`,
    ),
    element('button', { type: 'button', click: go }, 'Go there'),
  )
}

/**
 * @typedef {{
 *   yes: string, no: string, reason?: HTMLInputElement, edit?: HTMLElement, edited?: () => JsonObject | string | undefined,
 *   result?: HTMLInputElement,
 * }} Controls `edited` returns other arguments, or a sentence if they cannot be read; `result` is the field for the result of an
 *   external tool
 */

/**
 * The buttons of a decision that a run waits for.
 *
 * @param {{ owner: number, callId: string, question: string | null }} asked
 * @param {Controls} controls
 */
const decision = (asked, controls) => {
  const { yes, no, reason, edit, result } = controls
  if (!['active', 'waiting'].includes(state.actors.get(asked.owner)?.status ?? '')) {
    return element(
      'p',
      { class: 'note' },
      'The run is paused. Decide with agent.resume(), or in the process that runs it.',
    )
  }
  const problem = element('p', { class: 'problem', role: 'status' })
  /** @param {boolean} isApproved */
  const decide = async (isApproved) => {
    const wanted = commandFor(asked, controls, isApproved)
    if (typeof wanted === 'string') {
      problem.textContent = wanted
      return
    }
    for (const control of form.querySelectorAll('button')) control.disabled = true
    const { isDone, text } = await command(wanted)
    problem.textContent = text
    problem.className = isDone ? 'note' : 'problem'
    for (const control of form.querySelectorAll('button')) control.disabled = isDone
  }
  /** @param {HTMLInputElement | undefined} field @param {boolean} isApproved */
  const onEnter = (field, isApproved) =>
    field?.addEventListener('keydown', ({ key }) => {
      if (key === 'Enter') decide(isApproved)
    })
  onEnter(reason, false)
  onEnter(result, true)
  const reject = element('button', { type: 'button', class: 'danger', click: () => decide(false) }, no)
  const form = element(
    'div',
    { class: 'decision' },
    ...(result ? [result] : []),
    element('button', { type: 'button', class: 'primary', click: () => decide(true) }, yes),
    ...(edit ? [edit] : []),
    element('span', { class: 'no' }, ...(reason ? [reason] : []), reject),
    problem,
  )
  return form
}

/**
 * @param {{ owner: number, callId: string, question: string | null }} asked
 * @param {Controls} controls
 * @param {boolean} isApproved
 * @returns {Command | string}
 */
const commandFor = ({ owner: actor, callId, question }, { reason, edited, result }, isApproved) => {
  const about = { callId, ...(question !== null && { question }) }
  if (isApproved && result) return { actor, type: 'tool.answer', ...about, result: result.value }
  if (!isApproved) return { actor, type: 'tool.reject', ...about, reason: reason?.value ?? '' }
  const other = edited?.()
  return typeof other === 'string'
    ? other
    : { actor, type: 'tool.approve', ...about, ...(other && { arguments: other }) }
}

/** Starts the banner above everything else: the decisions that runs wait for. */
export const startBanner = () => onChange(render)
