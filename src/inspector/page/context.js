// @ts-check
import { fetchMoment } from './actions.js'
import { byId, element, setText } from './element.js'
import { jsonView } from './jsonView.js'
import { onChange, shownMoment, state } from './store.js'

const panel = byId('panel-context', HTMLElement)
const content = element('div', { class: 'json' })
const nothing = element('p', { class: 'nothing' })
panel.append(content, nothing)

/** What a person opened stays open from moment to moment. @type {Map<string, boolean>} */
const opened = new Map()
/** @type {typeof state.past} */
let shown = null

const render = () => {
  if (state.tab !== 'context') return
  fetchMoment()
  const { past } = state
  if (past === shown) return
  shown = past
  content.replaceChildren()
  setText(nothing, past ? '' : 'Nothing to show yet.')
  if (!past) return
  const changed = new Set(shownMoment()?.changes.flatMap(({ path }) => path.split(', ')))
  /** @param {string} title @param {import('../../messages/json.ts').JsonValue} value @param {ReadonlySet<string>} [marked] */
  const add = (title, value, marked) => {
    if (value === '⟨undefined⟩') return
    const view = jsonView(value, { openTo: 1, opened, ...(marked && { changed: marked }) })
    content.append(element('h3', {}, title), view)
  }
  add('Event', past.event)
  add('Context', past.context, changed)
  add('Output', past.output)
  add('Error', past.error)
}

export const startContext = () => onChange(render)
