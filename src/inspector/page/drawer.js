// @ts-check
import { byId } from './element.js'

const menu = byId('menu', HTMLButtonElement)
const runs = byId('runs', HTMLElement)
const narrow = matchMedia('(max-width: 720px)')

/** @param {boolean} isOpen */
const set = (isOpen) => {
  document.body.classList.toggle('runs-open', isOpen)
  menu.setAttribute('aria-expanded', String(isOpen))
  // What is out of sight is out of reach, too.
  runs.inert = narrow.matches && !isOpen
}

/** On a small screen the list of runs slides in. */
export const startDrawer = () => {
  menu.addEventListener('click', () => set(menu.getAttribute('aria-expanded') !== 'true'))
  runs.addEventListener('click', ({ target }) => {
    if (target instanceof Element && target.closest('[role="treeitem"]') && !target.closest('.twist'))
      set(false)
  })
  document.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || menu.getAttribute('aria-expanded') !== 'true') return
    set(false)
    menu.focus()
  })
  narrow.addEventListener('change', () => set(false))
  set(false)
}
