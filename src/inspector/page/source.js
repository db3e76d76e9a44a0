// @ts-check

/** @import { FeedMessage } from '../wire.ts' */
/** @import { Recording } from '../wireView.ts' */

/** Where the page gets everything from: a file, or else the process that it watches. @type {Recording | null} */
let recording = null
let opened = 0

export const isRecorded = () => recording !== null

/** An actor by a name that is its own: those of a file are counted from 1, too. @param {number} id */
export const nameOf = (id) => `${opened}/${id}`

/**
 * From now on, a file is what is shown.
 *
 * @param {unknown} data
 * @returns {boolean} whether it is one that can be shown
 */
export const openRecording = (data) => {
  const { statewire, version, actors, watched, answers } = /** @type {Partial<Recording>} */ (Object(data))
  const isOne = statewire === 'recording' && version === 1 && Array.isArray(actors) && watched && answers
  if (!isOne) return false
  recording = /** @type {Recording} */ (data)
  opened += 1
  return true
}

/**
 * Asks for what is too much to be told without being asked.
 *
 * @param {string} path
 * @returns {Promise<Response>}
 */
export const ask = async (path) => {
  if (!recording) return fetch(path)
  if (!Object.hasOwn(recording.answers, path)) return new Response('It is not in the file.', { status: 404 })
  const found = recording.answers[path]
  return new Response(typeof found === 'string' ? found : JSON.stringify(found))
}

/**
 * Listens to what is told of an actor; null is the newest run.
 *
 * @param {number | null} actor
 * @param {(message: FeedMessage) => void} onMessage
 * @param {() => void} onLost
 * @returns {() => void} ends it
 */
export const listen = (actor, onMessage, onLost) => {
  if (recording) {
    const { actors, limits, watched } = recording
    const id = actor ?? actors.find(({ parent }) => parent === null)?.id ?? 0
    const told = watched[id]
    onMessage({ isFirst: true, limits, actors, ...(told && { watched: { ...told, isFirst: true } }) })
    return () => {}
  }
  const source = new EventSource(actor === null ? 'events' : `events?actor=${actor}`)
  source.onmessage = ({ data }) => onMessage(JSON.parse(data))
  source.onerror = onLost
  return () => source.close()
}

/**
 * Where a worker's script is. A page that is a file has it inside.
 *
 * @param {string} name
 */
export const workerUrl = (name) => {
  const inside = document.getElementById(`worker-${name}`)?.textContent
  return inside ? URL.createObjectURL(new Blob([inside], { type: 'text/javascript' })) : name
}

const embedded = document.getElementById('recording')
if (embedded) openRecording(JSON.parse(embedded.textContent ?? ''))
