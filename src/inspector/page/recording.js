// @ts-check
import { chooseAddressed, isRecorded, openRecording } from './actions.js'
import { byId, element } from './element.js'
import { onChange, state } from './store.js'

const links = byId('export', HTMLElement)
const page = byId('export-page', HTMLAnchorElement)
const data = byId('export-data', HTMLAnchorElement)
const opener = byId('open-file', HTMLButtonElement)
const problem = byId('file-problem', HTMLElement)

/** Size above which a file cannot be a recording. */
const largest = 200 * 1024 * 1024

/** @param {File} file */
const open = async (file) => {
  problem.textContent = ''
  const content = file.size > largest ? undefined : parsedJson(await file.text())
  if (!openRecording(content)) {
    problem.textContent = 'This file is not a run that the inspector exported as JSON.'
    return
  }
  state.pastSeq = null
  chooseAddressed(null)
}

/** @param {string} text */
const parsedJson = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const render = () => {
  document.documentElement.classList.toggle('recorded', isRecorded())
  links.hidden = isRecorded() || state.watched === null
  page.href = `export?actor=${state.watched}&as=html`
  data.href = `export?actor=${state.watched}&as=json`
}

/** Starts the menu that exports a run as a file, and the button that opens one. */
export const startRecording = () => {
  const input = element('input', { type: 'file', accept: '.json,application/json', hidden: true })
  input.addEventListener('change', () => {
    const [file] = input.files ?? []
    if (file) open(file)
    input.value = ''
  })
  opener.after(input)
  opener.addEventListener('click', () => input.click())
  document.addEventListener('dragover', (event) => event.preventDefault())
  document.addEventListener('drop', (event) => {
    event.preventDefault()
    const [file] = event.dataTransfer?.files ?? []
    if (file) open(file)
  })
  links.addEventListener('click', ({ target }) => {
    if (target instanceof HTMLAnchorElement) links.removeAttribute('open')
  })
  links.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape') return
    links.removeAttribute('open')
    links.querySelector('summary')?.focus()
  })
  onChange(render)
}
