// @ts-check
import { byId, element } from './element.js'
import { dollars, duration, number, plural } from './format.js'
import { actor, onChange, shownAttempts, shownMoment, state } from './store.js'

/** @import { AttemptRow, ToolRow } from '../protocol.ts' */
/** @typedef {{ name: string, kind: string, from: number, first: number | null, to: number, note: string }} Bar */

const panel = byId('panel-usage', HTMLElement)
let drawn = ''

const render = () => {
  if (state.tab !== 'usage') return
  const shown = actor()
  if (!shown) return
  const now =
    state.pastSeq === null
      ? Math.min(Date.now(), shown.endedAt ?? Date.now())
      : (shownMoment()?.at ?? Date.now())
  const attempts = shownAttempts()
  const tools = [...state.tools.values()].filter(({ startedAt }) => startedAt !== null && startedAt <= now)
  const key = JSON.stringify([
    state.watched,
    state.pastSeq,
    state.usage,
    attempts.map(({ text: _, thinking: __, ...row }) => row),
    tools,
    shown.endedAt === null && now,
  ])
  if (key === drawn) return
  drawn = key
  if (attempts.length === 0 && !state.usage) {
    panel.replaceChildren(element('p', { class: 'nothing' }, 'No model has been asked yet.'))
    return
  }
  const timed = [
    ...attempts.flatMap((each) => attemptBar(each, now)),
    ...tools.map((each) => toolBar(each, now)),
  ]
  const known = attempts.filter(({ startedAt }) => startedAt !== null)
  const missing = attempts.length - known.length
  panel.replaceChildren(
    ...(timed.length === 0 ? [] : [element('h3', {}, 'Timing'), bars(timed, now)]),
    element('h3', {}, 'Tokens'),
    tokens(known),
    ...(missing > 0 ? [element('p', { class: 'note' }, missingNote(missing, known.length))] : []),
  )
}

/** @param {number} missing @param {number} known */
const missingNote = (missing, known) =>
  known === 0
    ? 'Another process asked the model: the times and tokens of each step are not stored.'
    : `Another process made the first ${plural(missing, 'step')}: their times and tokens are not stored.`

/** @param {AttemptRow} attempt @param {number} now @returns {Bar[]} */
const attemptBar = ({ step, attempt, startedAt, firstChunkAt, endedAt }, now) => {
  if (startedAt === null) return []
  const to = Math.min(endedAt ?? now, now)
  const first = firstChunkAt !== null && firstChunkAt <= now ? firstChunkAt : null
  const waited = first === null ? '' : `first chunk after ${duration(first - startedAt)}`
  const name = stepName({ step, attempt })
  const note = [duration(to - startedAt), waited].filter(Boolean).join(', ')
  return [{ name, kind: 'model', from: startedAt, first, to, note }]
}

/** @param {Pick<AttemptRow, 'step' | 'attempt'>} attempt */
const stepName = ({ step, attempt }) => `Step ${step}${attempt > 0 ? `, try ${attempt + 1}` : ''}`

/** @param {ToolRow} tool @param {number} now @returns {Bar} */
const toolBar = ({ name, startedAt, endedAt }, now) => {
  const from = startedAt ?? now
  const to = Math.min(endedAt ?? now, now)
  return { name, kind: 'tool', from, first: null, to, note: duration(to - from) }
}

/** Everything that took time, as bars on one scale. @param {Bar[]} all @param {number} now */
const bars = (all, now) => {
  const start = Math.min(...all.map(({ from }) => from))
  const span = Math.max(1, Math.max(now, ...all.map(({ to }) => to)) - start)
  /** @param {number} at */
  const part = (at) => `${(100 * (at - start)) / span}%`
  const rows = all
    .sort((a, b) => a.from - b.from)
    .map(({ name, kind, from, first, to, note }) => {
      const bar = element('span', { class: `bar ${kind}` })
      bar.style.setProperty('--from', part(from))
      bar.style.setProperty('--first', part(first ?? to))
      bar.style.setProperty('--to', part(to))
      return element(
        'li',
        {},
        element('span', { class: 'name' }, name),
        element('span', { class: 'meta' }, note),
        bar,
      )
    })
  return element('ul', { class: 'bars' }, ...rows)
}

/** @param {AttemptRow[]} attempts */
const tokens = (attempts) => {
  const total = state.pastSeq === null ? state.usage : null
  const hasCost = [total, ...attempts.map(({ usage }) => usage)].some((usage) => usage?.cost !== undefined)
  /** @param {string} name @param {AttemptRow['usage']} usage @param {string} finish */
  const row = (name, usage, finish) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, name),
      ...[usage?.inputTokens, usage?.cachedInputTokens, usage?.outputTokens, usage?.reasoningTokens].map(
        (count) => element('td', {}, count === undefined ? '–' : number(count)),
      ),
      ...(hasCost ? [element('td', {}, usage?.cost === undefined ? '–' : dollars(usage.cost))] : []),
      element('td', { class: 'word' }, finish),
    )
  const head = ['Step', 'In', 'Cached', 'Out', 'Thinking', ...(hasCost ? ['Cost'] : []), 'Ended'].map(
    (name) => element('th', { scope: 'col' }, name),
  )
  return element(
    'table',
    { class: hasCost ? 'wide' : '' },
    element('thead', {}, element('tr', {}, ...head)),
    element(
      'tbody',
      {},
      ...attempts.map((each) => row(stepName(each), each.usage, each.isVoid ? 'discarded' : each.finish)),
    ),
    ...(total ? [element('tfoot', {}, row('Total', total, ''))] : []),
  )
}

export const startUsage = () => onChange(render)
