// @ts-check
import { apply, changed, shownMoment, state } from './store.js'

/** @import { Command, FeedMessage, PastMoment, Recording, Watched } from '../protocol.ts' */

let stopListening = () => {}

/** The stored run that is shown, by its id, until its actor is known. @type {string | null} */
let chosenRun = null

/** Listens to the source; again when another actor is chosen, because a stream is about one actor. */
export const connect = () => {
  stopListening()
  stopListening = listen(
    chosenRun ?? state.chosen,
    (message) => {
      state.connection = isRecorded() ? 'recorded' : 'open'
      apply(message)
      if (chosenRun !== null && message.watched) state.chosen = message.watched.id
    },
    (isRefused) => {
      if (isRefused && (chosenRun ?? state.chosen) !== null) {
        choose(null)
        state.notice = 'The run of this address is not kept any more: this is the newest one.'
        return
      }
      state.connection = 'lost'
      changed()
    },
  )
}

/** @param {number | null} id null follows the newest run */
export const choose = (id) => {
  state.notice = ''
  if (id === state.chosen && chosenRun === null) return
  chosenRun = null
  state.chosen = id
  state.pastSeq = null
  state.call = null
  connect()
  changed()
}

/** Shows what an address names: an actor by its number, or a stored run by its id. @param {number | string | null} id */
export const chooseAddressed = (id) => {
  const isRun = typeof id === 'string'
  chosenRun = isRun ? id : null
  state.chosen = isRun ? null : id
  connect()
  changed()
}

/** Lists the next older stored runs that fit. */
export const showOlder = async () => {
  const { text, status } = state.wanted
  const response = await ask(`older?${new URLSearchParams({ text, status })}`).catch(() => undefined)
  if (response?.ok) state.hasMoreStored = (await response.json()).hasMore
  changed()
}

/** @param {number | null} seq null is live */
export const goTo = (seq) => {
  state.pastSeq = seq
  changed()
}

/** Shows a tab; of the wire, also a request. @param {string} tab @param {number | null} [call] */
export const openTab = (tab, call = null) => {
  state.tab = tab
  state.call = call
  changed()
}

/**
 * @param {Command} command
 * @returns {Promise<{ isDone: boolean, text: string, actor?: number }>} a note for the person, if any, and the run that was started
 */
export const command = async (command) => {
  if (isRecorded()) return { isDone: false, text: 'This run is a recording: it cannot be changed.' }
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
    return { isDone: false, text: 'The process does not respond.' }
  }
}

/** Fetches the conversation of another run than the one that is shown. @param {number} id @returns {Promise<Watched | null>} */
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

/** Fetches the whole data of the moment that is shown. There is one request at a time, and the last wish wins. */
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

/** The file that is shown; null if the page watches a process. @type {Recording | null} */
let recording = null
let opened = 0

export const isRecorded = () => recording !== null

/** A key for an actor that is unique among all files that were opened: each counts its actors from 1. @param {number} id */
export const actorKey = (id) => `${opened}/${id}`

/**
 * Shows a file from now on.
 *
 * @param {unknown} data
 * @returns {boolean} false if it is not a recording
 */
export const openRecording = (data) => {
  const { statewire, version, actors, watched, answers } = /** @type {Partial<Recording>} */ (Object(data))
  const isRecording =
    statewire === 'recording' && version === 1 && Array.isArray(actors) && watched && answers
  if (!isRecording) return false
  recording = /** @type {Recording} */ (data)
  opened += 1
  return true
}

/**
 * Fetches from the process or from the file.
 *
 * @param {string} path
 * @returns {Promise<Response>}
 */
export const ask = async (path) => {
  if (!recording) return fetch(path)
  if (!Object.hasOwn(recording.answers, path))
    return new Response('This is not in the file.', { status: 404 })
  const found = recording.answers[path]
  return new Response(typeof found === 'string' ? found : JSON.stringify(found))
}

/**
 * Listens to the messages about an actor, or a stored run by its id; null is the newest run.
 *
 * @param {number | string | null} actor
 * @param {(message: FeedMessage) => void} onMessage
 * @param {(isRefused: boolean) => void} onLost
 * @returns {() => void} ends it
 */
const listen = (actor, onMessage, onLost) => {
  if (recording) {
    const { actors, limits, watched } = recording
    const known = actors.find(({ id, run }) => id === actor || (run !== '' && run === actor))
    const id = known?.id ?? actors.find(({ parent }) => parent === null)?.id ?? 0
    const first = watched[id]
    onMessage({ isFirst: true, limits, actors, ...(first && { watched: { ...first, isFirst: true } }) })
    return () => {}
  }
  const what = typeof actor === 'string' ? { run: actor } : actor === null ? {} : { actor: String(actor) }
  const source = new EventSource(`events?${new URLSearchParams(what)}`)
  source.onmessage = ({ data }) => onMessage(JSON.parse(data))
  source.onerror = () => onLost(source.readyState === EventSource.CLOSED)
  return () => source.close()
}

/**
 * The address of a worker's script. An exported page has it inside.
 *
 * @param {string} name
 */
export const workerUrl = (name) => {
  const inside = document.getElementById(`worker-${name}`)?.textContent
  return inside ? URL.createObjectURL(new Blob([inside], { type: 'text/javascript' })) : name
}

const embedded = document.getElementById('recording')
if (embedded) openRecording(JSON.parse(embedded.textContent ?? ''))
