// @ts-check
import { chooseAddressed } from './actions.js'
import { actor, changed, onChange, state } from './store.js'

// The address of the page says what it shows, behind the #: the run, the tab, the moment, and the request on the wire.

/** A reload in the same window follows the newest run again, if it did before. */
const followed = 'statewire-follows'

/** The address of what is shown. */
const addressNow = () => {
  const shown = actor()
  const parts = new URLSearchParams()
  if (shown?.run) parts.set('run', shown.run)
  else if (shown) parts.set('actor', String(shown.id))
  if (state.tab !== 'conversation') parts.set('tab', state.tab)
  if (state.pastSeq !== null) parts.set('moment', String(state.pastSeq))
  if (state.call !== null) parts.set('call', String(state.call))
  return `#${parts}`
}

/** @param {URLSearchParams} parts @param {string} name */
const numberIn = (parts, name) => (/^\d{1,12}$/.test(parts.get(name) ?? '') ? Number(parts.get(name)) : null)

/** Shows what the address says. @param {boolean} isReload */
const read = (isReload) => {
  const parts = new URLSearchParams(location.hash.slice(1))
  const tab = parts.get('tab') ?? 'conversation'
  state.tab = document.getElementById(`tab-${tab}`) ? tab : 'conversation'
  state.pastSeq = numberIn(parts, 'moment')
  state.call = numberIn(parts, 'call')
  const isFollowing = isReload && sessionStorage.getItem(followed) === location.hash && state.pastSeq === null
  chooseAddressed(isFollowing ? null : (parts.get('run') ?? numberIn(parts, 'actor')))
}

/** The place that was shown when the address was written last: going back leads to another run or tab, not to each moment. */
let shown = ''

const write = () => {
  if (!actor()) return
  const address = addressNow()
  const place = `${state.watched} ${state.tab}`
  sessionStorage.setItem(followed, state.chosen === null ? address : '')
  if (address === location.hash) {
    shown = place
    return
  }
  const isNew = shown !== '' && shown !== place
  shown = place
  history[isNew ? 'pushState' : 'replaceState'](null, '', address)
}

/** Starts with what the address says, and keeps the address up to date. */
export const startAddress = () => {
  addEventListener('popstate', () => {
    shown = ''
    read(false)
    changed()
  })
  read(true)
  onChange(write)
}
