// @ts-check
import { byId } from './element.js'
import { changed } from './store.js'

const main = byId('main', HTMLElement)
const divider = byId('divider', HTMLElement)
const full = byId('chart-full', HTMLButtonElement)
const widthKey = 'statewire-chart-width'

/** The width of the chart in percent of the page, beside the list of runs. */
let width = 0

/** @param {number} percent 0 for the usual width */
const setWidth = (percent) => {
  width = percent === 0 ? 0 : Math.round(Math.min(75, Math.max(20, percent)))
  if (width === 0) main.style.removeProperty('--chart-width')
  else main.style.setProperty('--chart-width', `${width}%`)
  divider.setAttribute('aria-valuenow', String(width || 33))
  localStorage.setItem(widthKey, String(width))
}

/** @param {PointerEvent} start */
const drag = (start) => {
  if (start.button !== 0) return
  start.preventDefault()
  divider.setPointerCapture(start.pointerId)
  const move = (/** @type {PointerEvent} */ { clientX }) => {
    const { right, width: room } = main.getBoundingClientRect()
    setWidth((100 * (right - clientX)) / room)
  }
  divider.addEventListener('pointermove', move)
  divider.addEventListener('lostpointercapture', () => divider.removeEventListener('pointermove', move), {
    once: true,
  })
}

/** @param {KeyboardEvent} event */
const press = (event) => {
  const step = { ArrowLeft: 2, ArrowRight: -2 }[event.key]
  if (step === undefined) return
  event.preventDefault()
  setWidth((width || 33) + step)
}

export const isFull = () => document.body.classList.contains('chart-full')

/** Shows the chart alone, or beside the rest again. @param {boolean} to */
export const showFull = (to) => {
  document.body.classList.toggle('chart-full', to)
  full.setAttribute('aria-pressed', String(to))
  changed()
}

/** Starts the divider between the details and the chart, and the button that shows the chart alone. */
export const startPanes = () => {
  divider.addEventListener('pointerdown', drag)
  divider.addEventListener('keydown', press)
  divider.addEventListener('dblclick', () => setWidth(0))
  full.addEventListener('click', () => showFull(!isFull()))
  setWidth(Number(localStorage.getItem(widthKey)) || 0)
}
