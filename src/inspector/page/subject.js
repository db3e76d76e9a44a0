// @ts-check
import { command } from './actions.js'
import { byId, setText } from './element.js'
import { clock, dollars, duration, plural, tokens } from './format.js'
import { actor, onChange, shownIndex, shownMoment, state } from './store.js'

const main = byId('main', HTMLElement)
const empty = byId('empty', HTMLElement)
const title = byId('title', HTMLElement)
const facts = byId('facts', HTMLElement)
const failure = byId('failure', HTMLElement)
const abort = byId('abort', HTMLButtonElement)
const restart = byId('restart', HTMLButtonElement)
const connection = byId('connection', HTMLElement)
const notice = byId('notice', HTMLElement)

/** The answer to the last command, and the actor that it was for. @type {{ actor: number | null, text: string }} */
let reply = { actor: null, text: '' }

const words = {
  connecting: 'Connecting …',
  open: '',
  recorded: 'A recorded run',
  lost: 'Not connected: the process has ended, or is busy. The page shows the last state that it knows.',
}

const render = () => {
  const shown = actor()
  main.hidden = shown === undefined
  empty.hidden = shown !== undefined
  setText(connection, words[state.connection])
  connection.className = state.connection
  setText(notice, state.notice)
  if (!shown) return
  const isPast = state.pastSeq !== null
  const moment = shownMoment()
  const ended = shown.endedAt ?? Date.now()
  document.title = `${shown.title || shown.name} · statewire inspector`
  setText(title, shown.title || shown.name)
  title.title = title.textContent ?? ''
  const now = isPast ? (moment?.path.at(-1) ?? '') : shown.state
  const elapsed = (isPast ? (moment?.at ?? shown.createdAt) : ended) - shown.createdAt
  const reads = isPast ? readsUpTo(shownIndex()) : shown.reads
  const parts = [
    shown.title ? shown.name : '',
    shown.run === '' || shown.run === shown.title ? '' : `run ${shown.run}`,
    now,
    shown.model,
    clock(shown.createdAt),
    duration(elapsed),
    isPast ? '' : tokens(shown.usage),
    isPast || shown.usage?.cost === undefined ? '' : dollars(shown.usage.cost),
    reads > 0 ? plural(reads, 'chunk') : '',
  ]
  facts.replaceChildren(badge(isPast ? 'past' : shown.status), ...parts.filter(Boolean).map(part))
  // The conversation ends with it.
  const isElsewhere = isPast || (state.tab === 'conversation' && state.attempts.length > 0)
  setText(failure, (reply.actor === shown.id && reply.text) || (isElsewhere ? '' : shown.failure))
  abort.hidden = !shown.canAbort
  restart.hidden = !shown.canRestart
}

/** @param {number} index */
const readsUpTo = (index) => state.moments.slice(0, index + 1).reduce((sum, { reads }) => sum + reads, 0)

/** @param {string} status */
const badge = (status) => {
  const made = document.createElement('span')
  made.className = `status ${status.replace(' ', '-')}`
  made.textContent = status
  return made
}

/** @param {string} text */
const part = (text) => {
  const made = document.createElement('span')
  made.textContent = text
  return made
}

/** @param {HTMLButtonElement} button @param {'abort' | 'restart'} type */
const sendOnClick = (button, type) =>
  button.addEventListener('click', async () => {
    const id = state.watched
    if (id === null) return
    button.disabled = true
    reply = { actor: id, text: (await command({ actor: id, type })).text }
    button.disabled = false
    render()
  })

sendOnClick(abort, 'abort')
sendOnClick(restart, 'restart')

export const startSubject = () => onChange(render)
