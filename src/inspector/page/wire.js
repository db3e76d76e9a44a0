// @ts-check
import { actorKey, ask, openTab } from './actions.js'
import { byId, element, setText } from './element.js'
import { duration } from './format.js'
import { actor, onChange, shownMoment, state } from './store.js'
import { CallView } from './wireCall.js'

/** @import { WireCallRow, WireView } from '../protocol.ts' */

const panel = byId('panel-wire', HTMLElement)
const list = element('div', { class: 'wire' })
const note = element('p', { class: 'nothing' })
panel.append(note, list)

/** Least time between two requests, however fast the run is. */
const pauseMs = 400

/** @type {WireView} */
let view = { calls: [], forgotten: 0 }
let shownFor = ''
let drawn = ''
let isAsking = false
/** The state of the page when it asked last. */
let asked = ''
/** The call that is shown. @type {number | null} */
let chosen = null
/** The call that the address named last. @type {number | null} */
let addressed = null
/** @type {Map<number, CallView>} */
let views = new Map()

const render = () => {
  const shown = actor()
  if (state.tab !== 'wire' || !shown) return
  if (shownFor !== actorKey(shown.id)) {
    shownFor = actorKey(shown.id)
    view = { calls: [], forgotten: 0 }
    views = new Map()
    chosen = null
    asked = drawn = ''
  }
  load(shown.id)
  draw(shown.run !== '')
}

/** @param {number} id */
const load = async (id) => {
  const last = state.attempts.at(-1)
  const name = actorKey(id)
  const known = `${name} ${state.moments.at(-1)?.seq} ${state.attempts.length} ${last?.chunks} ${last?.endedAt}`
  if (isAsking || asked === known) return
  asked = known
  isAsking = true
  try {
    const response = await ask(`wire?actor=${id}`)
    if (response.ok && shownFor === name) view = await response.json()
  } catch {
    // The line on top says that the process does not respond.
  }
  render()
  await new Promise((resolve) => setTimeout(resolve, pauseMs))
  isAsking = false
  render()
}

/** @param {boolean} isStored */
const draw = (isStored) => {
  const now = state.pastSeq === null ? Infinity : (shownMoment()?.at ?? 0)
  const calls = view.calls.filter(({ at }) => at <= now)
  if (state.call !== addressed && (state.call === null || calls.some(({ id }) => id === state.call))) {
    addressed = state.call
    chosen = state.call ?? chosen
  }
  if (!calls.some(({ id }) => id === chosen)) chosen = calls.at(-1)?.id ?? null
  const open = chosen === null ? undefined : views.get(chosen)
  const looks = calls.map(({ id, endedAt, isDropped, exchanges }) => [
    id,
    endedAt,
    isDropped,
    exchanges.at(-1)?.status,
  ])
  const key = JSON.stringify([shownFor, chosen, looks])
  if (key === drawn) {
    open?.update(calls)
    return
  }
  drawn = key
  setText(note, noteOn(calls, isStored))
  const focused = document.activeElement
  list.replaceChildren(...stepsOf(calls).map(step))
  if (focused instanceof HTMLElement && focused !== document.activeElement) focusAgain(focused)
}

/** Gives the focus back to an element that was moved and lost it. @param {HTMLElement} focused */
const focusAgain = (focused) => {
  const { call } = focused.dataset
  const again = call === undefined ? focused : list.querySelector(`[data-call="${Number(call)}"]`)
  if (again instanceof HTMLElement && list.contains(again)) again.focus()
}

/** @param {WireCallRow[]} calls @param {boolean} isStored */
const noteOn = (calls, isStored) => {
  if (calls.length === 0 && isStored)
    return 'No request of this run was made while this inspector watched its process. Requests are not stored.'
  if (calls.length === 0) return 'No model has been asked yet.'
  if (view.forgotten > 0) return `The ${view.forgotten} oldest model calls are not kept.`
  return calls.some(({ isDropped }) => isDropped)
    ? 'This run has sent a lot: the bodies and events of its oldest calls are not kept.'
    : ''
}

/**
 * Groups calls that belong together: the tries of one step, or one summary.
 *
 * @param {WireCallRow[]} calls
 */
const stepsOf = (calls) => {
  /** @type {WireCallRow[][]} */
  const steps = []
  for (const call of calls) {
    const [before] = steps.at(-1) ?? []
    const isSame = before?.step === call.step && before.isSummary === call.isSummary
    if (isSame) steps.at(-1)?.push(call)
    else steps.push([call])
  }
  return steps
}

/** @param {WireCallRow[]} calls */
const step = (calls) => {
  const [first] = calls
  const heading = first?.isSummary ? 'Summary' : `Step ${first?.step}`
  const open = calls.find(({ id }) => id === chosen)
  return element(
    'section',
    { 'aria-label': heading },
    element('h3', {}, heading),
    element('div', { class: 'calls' }, ...calls.map((call, index) => tryButton(call, index, calls))),
    ...(open ? [viewOf(open, calls).block] : []),
  )
}

/** @param {WireCallRow} call @param {number} index @param {WireCallRow[]} calls */
const tryButton = (call, index, calls) => {
  const { id, model, at, endedAt, failure, exchanges } = call
  const status = exchanges.at(-1)?.status
  const words = [
    calls.length > 1 ? `try ${index + 1}` : '',
    status ? String(status) : '',
    endedAt === null ? 'running' : duration(endedAt - at),
  ]
  return element(
    'button',
    {
      type: 'button',
      class: failure === '' ? 'call-choice' : 'call-choice failed',
      'data-call': String(id),
      'aria-expanded': String(id === chosen),
      click: () => {
        chosen = addressed = id
        openTab('wire', id)
        render()
      },
    },
    element('span', { class: 'model' }, model || 'a model'),
    element('span', { class: 'meta' }, words.filter(Boolean).join(' · ')),
  )
}

/** @param {WireCallRow} call @param {WireCallRow[]} calls */
const viewOf = (call, calls) => {
  const known = views.get(call.id) ?? new CallView(state.watched ?? 0, call)
  views.set(call.id, known)
  known.update(calls)
  return known
}

export const startWire = () => onChange(render)
