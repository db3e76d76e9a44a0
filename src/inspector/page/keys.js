// @ts-check
import { goTo, openTab } from './actions.js'
import { byId } from './element.js'
import { isFull, showFull } from './panes.js'
import { changed, shownIndex, state } from './store.js'
import { chooseNext } from './tree.js'

const help = byId('keys', HTMLDialogElement)
const find = byId('find', HTMLInputElement)

/** Goes to the moment before or after. @param {number} by */
const step = (by) => {
  const at = shownIndex() + by
  const last = state.moments.length - 1
  if (at >= 0 && at <= last) goTo(at === last ? null : (state.moments[at]?.seq ?? null))
}

/** Opens the list of runs on a small screen, and gives its search the focus. */
const search = () => {
  const menu = byId('menu', HTMLButtonElement)
  if (menu.offsetParent !== null && menu.getAttribute('aria-expanded') !== 'true') menu.click()
  find.focus()
  find.select()
}

/** @type {Readonly<Record<string, () => void>>} */
const actions = {
  '/': search,
  j: () => chooseNext(1),
  k: () => chooseNext(-1),
  '[': () => step(-1),
  ']': () => step(1),
  l: () => goTo(null),
  f: () => {
    if (state.tab !== 'chart' && byId('tab-chart', HTMLButtonElement).offsetParent !== null) openTab('chart')
    showFull(!isFull())
  },
  '?': () => help.showModal(),
}

/** Shows a tab by its place. @param {number} place */
const tabAt = (place) => {
  const tabs = [...document.querySelectorAll('#tabs button')].filter(
    (tab) => tab instanceof HTMLElement && !tab.hidden,
  )
  const tab = tabs[place]
  if (tab) openTab(tab.id.slice('tab-'.length))
}

/** @param {KeyboardEvent} event */
const press = (event) => {
  const { key, target } = event
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return
  if (key === 'Escape') return leave(target)
  // Letters that are typed somewhere belong there.
  if (target instanceof HTMLElement && target.matches('input:not([type=range]), textarea, select')) return
  const action = Object.hasOwn(actions, key) ? actions[key] : undefined
  if (action) action()
  else if (/^[1-6]$/.test(key)) tabAt(Number(key) - 1)
  else return
  event.preventDefault()
}

/** @param {EventTarget | null} target */
const leave = (target) => {
  if (target === find) {
    find.value = ''
    state.wanted = { ...state.wanted, text: '' }
    find.blur()
    changed()
  } else if (isFull()) showFull(false)
}

/** Starts the keys that work everywhere on the page. */
export const startKeys = () => {
  document.addEventListener('keydown', press)
  byId('help', HTMLButtonElement).addEventListener('click', () => help.showModal())
}
