// @ts-check

/** @import { ActorRow, AttemptRow, FeedMessage, HoldRow, MessageRow, MomentRow, PastMoment, QuestionRow, ToolRow, Watched } from '../protocol.ts' */

/** Everything that the page knows, and what the person has chosen. Views read it; only this file and `actions.js` write it. */
export const state = {
  /** @type {'connecting' | 'open' | 'lost' | 'recorded'} */
  connection: 'connecting',
  /** @type {Map<number, ActorRow>} */
  actors: new Map(),
  droppedRuns: 0,
  hasMoreStored: false,
  limits: { moments: 0, runs: 0 },
  /** The actor a person chose; null follows the newest run. @type {number | null} */
  chosen: null,
  /** The actor that is shown. @type {number | null} */
  watched: null,
  /** @type {MomentRow[]} */
  moments: [],
  /** A number that changes when the list of moments does more than grow. */
  generation: 0,
  droppedMoments: 0,
  /** @type {Map<string, number>} */
  droppedTaken: new Map(),
  /** The conversation before the run. @type {MessageRow[]} */
  history: [],
  /** @type {AttemptRow[]} */
  attempts: [],
  /** @type {Map<string, ToolRow>} */
  tools: new Map(),
  /** @type {QuestionRow[]} */
  questions: [],
  /** The wait for the policy of the run. @type {HoldRow | null} */
  hold: null,
  /** @type {NonNullable<Watched['usage']> | null} */
  usage: null,
  /** The moment that is looked at; null is live. @type {number | null} */
  pastSeq: null,
  /** The whole data of a moment, from the server. @type {PastMoment | null} */
  past: null,
  tab: 'conversation',
  /** The request that the wire shows; null for the last one. @type {number | null} */
  call: null,
  /** The runs that are listed: those with these words, and with this status. */
  wanted: { text: '', status: '' },
  /** A sentence about the last wish that could not be met. */
  notice: '',
}

/** @type {Set<() => void>} */
const views = new Set()
let isDue = false

/** @param {() => void} render called before the next frame after any change */
export const onChange = (render) => {
  views.add(render)
}

export const changed = () => {
  if (isDue) return
  isDue = true
  requestAnimationFrame(() => {
    isDue = false
    for (const render of views) render()
  })
}

/** The actor that is shown. */
export const actor = () => (state.watched === null ? undefined : state.actors.get(state.watched))

/** The run that an actor belongs to. @param {number | null} id */
export const rootOf = (id) => {
  let actor = id === null ? undefined : state.actors.get(id)
  while (actor?.parent != null) actor = state.actors.get(actor.parent)
  return actor
}

/** The place of the moment that is shown in the list. */
export const shownIndex = () => {
  if (state.pastSeq === null) return state.moments.length - 1
  const index = state.moments.findLastIndex(({ seq }) => seq <= (state.pastSeq ?? 0))
  return Math.max(0, index)
}

/** @returns {MomentRow | undefined} */
export const shownMoment = () => state.moments[shownIndex()]

/** The attempts that are shown: all, or those up to the moment with the last one cut. */
export const shownAttempts = () => {
  const [last, text, thinking] = shownMoment()?.progress ?? [-1, 0, 0]
  if (state.pastSeq === null) return state.attempts
  return state.attempts
    .slice(0, last + 1)
    .map((attempt) =>
      attempt.index === last
        ? { ...attempt, text: attempt.text.slice(0, text), thinking: attempt.thinking.slice(0, thinking) }
        : attempt,
    )
}

/** @param {FeedMessage} message */
export const apply = (message) => {
  if (message.isFirst) {
    state.actors = new Map()
    state.watched = null
  }
  if (message.limits) state.limits = message.limits
  if (message.droppedRuns !== undefined) state.droppedRuns = message.droppedRuns
  if (message.hasMoreStored !== undefined) state.hasMoreStored = message.hasMoreStored
  for (const row of message.actors ?? []) state.actors.set(row.id, row)
  for (const id of message.gone ?? []) state.actors.delete(id)
  if (message.watched) applyWatched(message.watched)
  changed()
}

/** @param {Watched} watched */
const applyWatched = (watched) => {
  if (watched.isFirst) forget(watched.id)
  if (watched.dropped) {
    state.droppedMoments = watched.dropped.moments
    state.droppedTaken = new Map(watched.dropped.taken)
  }
  for (const moment of watched.moments ?? []) {
    if (state.moments.at(-1)?.seq === moment.seq) state.moments.pop()
    state.moments.push(moment)
  }
  if (watched.dropped && !watched.isFirst) {
    state.moments.splice(0, Math.max(0, state.moments.length - state.limits.moments))
    state.generation += 1
  }
  for (const attempt of watched.attempts ?? []) {
    const known = state.attempts[attempt.index]
    state.attempts[attempt.index] = {
      ...attempt,
      asked: attempt.asked ?? known?.asked ?? [],
      text: (known?.text ?? '') + attempt.text,
      thinking: (known?.thinking ?? '') + attempt.thinking,
    }
  }
  if (watched.history) state.history = watched.history
  for (const tool of watched.tools ?? []) state.tools.set(tool.callId, tool)
  if (watched.questions) state.questions = watched.questions
  if (watched.hold !== undefined) state.hold = watched.hold
  if (watched.usage !== undefined) state.usage = watched.usage
}

/** The actor that was shown last. @type {number | null} */
let shownBefore = null

/** @param {number} id the actor that is shown from now on */
const forget = (id) => {
  // A new connection shows the same actor: a person who looks at the past stays there. So does one who comes from a link.
  if (shownBefore !== null && shownBefore !== id) state.pastSeq = null
  shownBefore = id
  state.watched = id
  state.moments = []
  state.generation += 1
  state.droppedMoments = 0
  state.droppedTaken = new Map()
  state.history = []
  state.attempts = []
  state.tools = new Map()
  state.questions = []
  state.hold = null
  state.usage = null
  state.past = null
}
