// @ts-check
import { openTab } from './actions.js'
import { startAddress } from './address.js'
import { startBanner } from './banner.js'
import { startChart } from './chart.js'
import { startConversation } from './conversation.js'
import { byId } from './element.js'
import { startKeys } from './keys.js'
import { startContext, startTimeline, startTransitions } from './moments.js'
import { startPanes } from './panes.js'
import { startRecording } from './recording.js'
import { onChange, state } from './store.js'
import { startSubject } from './subject.js'
import { startTree } from './tree.js'
import { startUsage } from './usage.js'
import { startWire } from './wire.js'

const root = document.documentElement
const dark = matchMedia('(prefers-color-scheme: dark)')

const isDark = () => (root.dataset.theme === undefined ? dark.matches : root.dataset.theme === 'dark')

/** Shows the page in light or dark as the system is set, until a person chooses otherwise. */
const startTheme = () => {
  const kept = localStorage.getItem('statewire-theme')
  if (kept === 'light' || kept === 'dark') root.dataset.theme = kept
  byId('theme', HTMLButtonElement).addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark'
    localStorage.setItem('statewire-theme', root.dataset.theme)
  })
}

const menu = byId('menu', HTMLButtonElement)
const runs = byId('runs', HTMLElement)
const narrow = matchMedia('(max-width: 720px)')

/** @param {boolean} isOpen */
const openRuns = (isOpen) => {
  document.body.classList.toggle('runs-open', isOpen)
  menu.setAttribute('aria-expanded', String(isOpen))
  // A list that is not seen must not get the focus either.
  runs.inert = narrow.matches && !isOpen
}

/** Slides the list of runs in, on a small screen. */
const startDrawer = () => {
  menu.addEventListener('click', () => openRuns(menu.getAttribute('aria-expanded') !== 'true'))
  runs.addEventListener('click', ({ target }) => {
    if (target instanceof Element && target.closest('[role="treeitem"]') && !target.closest('.twist'))
      openRuns(false)
  })
  document.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || menu.getAttribute('aria-expanded') !== 'true') return
    openRuns(false)
    menu.focus()
  })
  narrow.addEventListener('change', () => openRuns(false))
  openRuns(false)
}

const bar = byId('tabs', HTMLElement)
const chartTab = byId('tab-chart', HTMLButtonElement)
const chart = byId('panel-chart', HTMLElement)
const all = [...bar.querySelectorAll('button')]

/** A wide window, in which the chart is beside the tabs and not one of them. */
const wide = matchMedia('(min-width: 1180px)')
const tabs = () => all.filter((tab) => !(wide.matches && tab === chartTab))

/** The tab that was brought into view. */
let lastTab = ''

const renderTabs = () => {
  chartTab.hidden = wide.matches
  for (const tab of all) {
    const isChosen = tab.id === `tab-${state.tab}`
    tab.setAttribute('aria-selected', String(isChosen))
    tab.tabIndex = isChosen ? 0 : -1
    if (isChosen && tab.id !== lastTab) tab.scrollIntoView({ block: 'nearest', inline: 'nearest' })
    if (isChosen) lastTab = tab.id
    const panel = byId(tab.getAttribute('aria-controls') ?? '', HTMLElement)
    panel.hidden = !isChosen
    // A panel scrolls, so the keyboard must reach it.
    panel.tabIndex = 0
  }
  chart.hidden = !wide.matches && state.tab !== 'chart'
  if (wide.matches) chart.removeAttribute('role')
  else chart.setAttribute('role', 'tabpanel')
}

/** @param {HTMLElement | undefined} tab */
const select = (tab) => {
  if (!tab) return
  openTab(tab.id.slice('tab-'.length))
  tab.focus()
}

bar.addEventListener('click', ({ target }) => {
  if (target instanceof Element) select(target.closest('button') ?? undefined)
})

bar.addEventListener('keydown', (event) => {
  const shown = tabs()
  const index = shown.findIndex((tab) => tab.id === `tab-${state.tab}`)
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  if (step === undefined) return
  event.preventDefault()
  select(shown.at((index + step) % shown.length))
})

wide.addEventListener('change', () => {
  if (wide.matches && state.tab === 'chart') openTab('conversation')
  renderTabs()
})

const more = byId('tabs-more', HTMLButtonElement)

/** Shows that there are more tabs than the row has room for. */
const markMore = () => {
  const left = bar.scrollWidth - bar.clientWidth - bar.scrollLeft
  more.hidden = left < 4
  bar.classList.toggle('cut-before', bar.scrollLeft > 3)
  bar.classList.toggle('cut-after', left > 3)
}

more.addEventListener('click', () => bar.scrollBy({ left: bar.clientWidth * 0.7, behavior: 'smooth' }))
bar.addEventListener('scroll', markMore)
new ResizeObserver(markMore).observe(bar)

const startTabs = () => {
  onChange(renderTabs)
  renderTabs()
}

startTheme()
startTabs()
startTree()
startDrawer()
startSubject()
startChart()
startBanner()
startConversation()
startTransitions()
startContext()
startUsage()
startWire()
startRecording()
startTimeline()
startPanes()
startKeys()
startAddress()
