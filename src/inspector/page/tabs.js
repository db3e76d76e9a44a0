// @ts-check
import { openTab } from './actions.js'
import { byId } from './element.js'
import { onChange, state } from './store.js'

const bar = byId('tabs', HTMLElement)
const tabs = [...bar.querySelectorAll('button')]

const render = () => {
  for (const tab of tabs) {
    const isChosen = tab.id === `tab-${state.tab}`
    tab.setAttribute('aria-selected', String(isChosen))
    tab.tabIndex = isChosen ? 0 : -1
    const panel = byId(tab.getAttribute('aria-controls') ?? '', HTMLElement)
    panel.hidden = !isChosen
    // It scrolls, so the keyboard must get there.
    panel.tabIndex = 0
  }
}

/** @param {HTMLElement | undefined} tab */
const open = (tab) => {
  if (!tab) return
  openTab(tab.id.slice('tab-'.length))
  tab.focus()
}

bar.addEventListener('click', ({ target }) => {
  if (target instanceof Element) open(target.closest('button') ?? undefined)
})

bar.addEventListener('keydown', (event) => {
  const index = tabs.findIndex((tab) => tab.id === `tab-${state.tab}`)
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  if (step === undefined) return
  event.preventDefault()
  open(tabs.at((index + step) % tabs.length))
})

export const startTabs = () => {
  onChange(render)
  render()
}
