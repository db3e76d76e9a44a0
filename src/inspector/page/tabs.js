// @ts-check
import { openTab } from './actions.js'
import { byId } from './element.js'
import { onChange, state } from './store.js'

const bar = byId('tabs', HTMLElement)
const chartTab = byId('tab-chart', HTMLButtonElement)
const chart = byId('panel-chart', HTMLElement)
const all = [...bar.querySelectorAll('button')]

/** Where there is room, the chart is beside the tabs, and is none. */
const wide = matchMedia('(min-width: 1180px)')
const tabs = () => all.filter((tab) => !(wide.matches && tab === chartTab))

const render = () => {
  chartTab.hidden = wide.matches
  for (const tab of all) {
    const isChosen = tab.id === `tab-${state.tab}`
    tab.setAttribute('aria-selected', String(isChosen))
    tab.tabIndex = isChosen ? 0 : -1
    const panel = byId(tab.getAttribute('aria-controls') ?? '', HTMLElement)
    panel.hidden = !isChosen
    // It scrolls, so the keyboard must get there.
    panel.tabIndex = 0
  }
  chart.hidden = !wide.matches && state.tab !== 'chart'
  if (wide.matches) chart.removeAttribute('role')
  else chart.setAttribute('role', 'tabpanel')
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
  const shown = tabs()
  const index = shown.findIndex((tab) => tab.id === `tab-${state.tab}`)
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  if (step === undefined) return
  event.preventDefault()
  open(shown.at((index + step) % shown.length))
})

wide.addEventListener('change', () => {
  if (wide.matches && state.tab === 'chart') openTab('conversation')
  render()
})

export const startTabs = () => {
  onChange(render)
  render()
}
