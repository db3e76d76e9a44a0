// @ts-check
import { state } from './store.js'

/** @import { ActorRow } from '../wire.ts' */
/** @typedef {{ actor: ActorRow, level: number, count: number, children: Branch[] }} Branch */

/** Runs that a person opened or closed; others are open while they are shown. @type {Map<number, boolean>} */
const opened = new Map()

/** Runs, the newest first, each with its actors. Helpers of the same name that come and go are one line. */
export const branches = () => {
  const children = Map.groupBy(state.actors.values(), ({ parent }) => parent)
  /**
   * @param {number | null} parent
   * @param {number} level
   * @returns {Branch[]}
   */
  const below = (parent, level) => {
    /** @type {Map<string, Branch>} */
    const helpers = new Map()
    return (children.get(parent) ?? []).flatMap((actor) => {
      const branch = { actor, level, count: 1, children: below(actor.id, level + 1) }
      const isHelper =
        actor.kind === 'other' && parent !== null && branch.children.length === 0 && actor.title === ''
      if (!isHelper) return branch
      const same = helpers.get(actor.name)
      if (!same) {
        helpers.set(actor.name, branch)
        return branch
      }
      same.actor = actor
      same.count += 1
      return []
    })
  }
  return below(null, 1).sort((a, b) => b.actor.createdAt - a.actor.createdAt || b.actor.id - a.actor.id)
}

/** @param {Branch} branch */
export const isOpen = ({ actor, level }) =>
  opened.get(actor.id) ?? (level > 1 || rootOf(state.watched) === actor.id)

/** @param {Branch} branch @param {boolean} to */
export const setOpen = ({ actor }, to) => {
  opened.set(actor.id, to)
}

/** @param {number | null} id */
const rootOf = (id) => {
  let actor = id === null ? undefined : state.actors.get(id)
  while (actor?.parent != null) actor = state.actors.get(actor.parent)
  return actor?.id
}

/** What is not inside something closed, from top to bottom. @param {Branch[]} list @returns {Branch[]} */
export const visible = (list) =>
  list.flatMap((branch) => [branch, ...(isOpen(branch) ? visible(branch.children) : [])])
