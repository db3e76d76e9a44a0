// @ts-check
import { ask, isRecorded, listen } from './source.js'
import { apply, changed, shownMoment, state } from './store.js'

/** @import { Command, PastMoment, Watched } from '../wire.ts' */

let stopListening = () => {}

/** Listens to the source; again when another actor is chosen, because a stream is about one. */
export const connect = () => {
  stopListening()
  stopListening = listen(
    state.chosen,
    (message) => {
      state.connection = isRecorded() ? 'recorded' : 'open'
      apply(message)
    },
    () => {
      state.connection = 'lost'
      changed()
    },
  )
}

/** @param {number | null} id null follows the newest run */
export const choose = (id) => {
  if (id === state.chosen) return
  state.chosen = id
  state.pastSeq = null
  connect()
  changed()
}

/** @param {number | null} seq null is live */
export const goTo = (seq) => {
  state.pastSeq = seq
  changed()
}

/** @param {string} tab */
export const openTab = (tab) => {
  state.tab = tab
  changed()
}

/**
 * @param {Command} command
 * @returns {Promise<{ isDone: boolean, text: string, actor?: number }>} with what there is to say, if anything, and the run that was begun
 */
export const command = async (command) => {
  if (isRecorded()) return { isDone: false, text: 'This is a recorded run: it can only be looked at.' }
  try {
    const response = await fetch('command', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(command),
    })
    if (!response.ok) return { isDone: false, text: await response.text() }
    const { note, actor } = await response.json()
    return { isDone: true, text: note, actor }
  } catch {
    return { isDone: false, text: 'The process does not answer.' }
  }
}

/** All that is known of another run than the one that is shown. @param {number} id @returns {Promise<Watched | null>} */
export const fetchRun = async (id) => {
  try {
    const response = await ask(`run?actor=${id}`)
    return response.ok ? await response.json() : null
  } catch {
    return null
  }
}

let isAsking = false
let asked = ''

/** Fetches what is shown but is too much to be told of every moment; one request at a time, and the last wish wins. */
export const fetchMoment = async () => {
  const moment = shownMoment()
  if (isAsking || !moment || state.watched === null) return
  const wish = `moment?actor=${state.watched}&seq=${moment.seq}`
  if (asked === `${wish} ${moment.reads}`) return
  asked = `${wish} ${moment.reads}`
  isAsking = true
  try {
    const response = await ask(wish)
    state.past = response.ok ? /** @type {PastMoment} */ (await response.json()) : null
  } catch {
    state.connection = 'lost'
  }
  changed()
  await new Promise((resolve) => setTimeout(resolve, 120))
  isAsking = false
  changed()
}
