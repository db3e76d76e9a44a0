// @ts-check
import { byId } from './element.js'

const root = document.documentElement
const dark = matchMedia('(prefers-color-scheme: dark)')

const isDark = () => (root.dataset.theme === undefined ? dark.matches : root.dataset.theme === 'dark')

/** Light or dark by the system's setting, until a person decides otherwise. */
export const startTheme = () => {
  const kept = localStorage.getItem('statewire-theme')
  if (kept === 'light' || kept === 'dark') root.dataset.theme = kept
  byId('theme', HTMLButtonElement).addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark'
    localStorage.setItem('statewire-theme', root.dataset.theme)
  })
}
