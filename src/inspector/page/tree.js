// @ts-check
import { choose } from './actions.js'
import { arrange, byId, element, setText } from './element.js'
import { duration, number, plural } from './format.js'
import { changed, onChange, rootOf, state } from './store.js'

/** @import { ActorRow } from '../protocol.ts' */
/** @typedef {{ actor: ActorRow, level: number, count: number, children: Branch[] }} Branch */

const tree = byId('tree', HTMLElement)
const follow = byId('follow', HTMLButtonElement)
const forgotten = byId('forgotten', HTMLElement)

/** The item that the Tab key reaches. @type {number | null} */
let current = null

/** @type {Map<number, ReturnType<typeof makeItem>>} */
const items = new Map()

/** @param {number} id */
const makeItem = (id) => {
  const twist = element('span', { class: 'twist', 'aria-hidden': 'true' })
  const dot = element('span', { class: 'dot' })
  const name = element('span', { class: 'name' })
  const more = element('span', { class: 'more' })
  const count = element('span', { class: 'count' })
  const time = element('span', { class: 'time' })
  const item = element('div', { role: 'treeitem' }, twist, dot, name, more, count, time)
  item.addEventListener('click', () => select(id))
  twist.addEventListener('click', (event) => {
    const branch = visible(branches()).find(({ actor }) => actor.id === id)
    if (!branch || branch.children.length === 0) return
    event.stopPropagation()
    setOpen(branch, !isOpen(branch))
    changed()
  })
  return { item, dot, name, more, count, time }
}

/** @param {Branch} branch */
const renderItem = (branch) => {
  const { actor, level, count, children } = branch
  const made = items.get(actor.id) ?? makeItem(actor.id)
  items.set(actor.id, made)
  const { item } = made
  item.className = `level-${Math.min(level, 6)}`
  item.setAttribute('aria-level', String(level))
  item.setAttribute('aria-selected', String(state.watched === actor.id))
  if (children.length > 0) item.setAttribute('aria-expanded', String(isOpen(branch)))
  else item.removeAttribute('aria-expanded')
  item.tabIndex = current === actor.id ? 0 : -1
  made.dot.className = `dot ${actor.status.replace(' ', '-')}`
  made.dot.title = actor.status
  setText(made.name, actor.title || actor.name)
  made.name.title = actor.title || actor.name
  setText(made.more, level === 1 ? factsOf(branch) : '')
  setText(made.count, count > 1 ? `×${count}` : '')
  const lasted = (actor.endedAt ?? Date.now()) - actor.createdAt
  setText(made.time, actor.status === 'created' ? '' : duration(lasted))
  return item
}

/** @param {Branch} branch */
const factsOf = ({ actor }) => {
  const isRunning = actor.status === 'active' || actor.status === 'waiting'
  const facts = [
    actor.run === '' ? '' : actor.name,
    isRunning ? actor.state : actor.status,
    actor.reads > 0 && actor.run === '' ? plural(actor.reads, 'chunk') : '',
  ]
  return facts.filter(Boolean).join(' · ')
}

const render = () => {
  const shown = visible(branches())
  if (!shown.some(({ actor }) => actor.id === current)) current = state.watched ?? shown[0]?.actor.id ?? null
  arrange(tree, shown.map(renderItem))
  for (const id of items.keys()) if (!state.actors.has(id)) items.delete(id)
  follow.setAttribute('aria-pressed', String(state.chosen === null))
  const lost = plural(state.droppedRuns, 'older run')
  const kept = number(state.limits.runs)
  const notes = [
    state.droppedRuns > 0 ? `${lost} no longer kept: only the last ${kept} finished runs are.` : '',
    state.hasMoreStored ? `Only the newest ${kept} stored runs are shown.` : '',
  ]
  setText(forgotten, notes.filter(Boolean).join(' '))
}

/** @param {number} id */
const select = (id) => {
  current = id
  choose(id)
  items.get(id)?.item.focus()
}

/** @param {Branch | undefined} target */
const move = (target) => {
  if (!target) return
  current = target.actor.id
  render()
  items.get(current)?.item.focus()
}

/** @param {Branch} branch @param {boolean} to */
const open = (branch, to) => {
  setOpen(branch, to)
  render()
}

/** @param {KeyboardEvent} event */
const press = (event) => {
  const shown = visible(branches())
  const index = shown.findIndex(({ actor }) => actor.id === current)
  const branch = shown[index]
  if (!branch) return
  const hasOpen = branch.children.length > 0 && isOpen(branch)
  switch (event.key) {
    case 'ArrowDown':
      move(shown[index + 1])
      break
    case 'ArrowUp':
      move(shown[index - 1])
      break
    case 'Home':
      move(shown[0])
      break
    case 'End':
      move(shown.at(-1))
      break
    case 'ArrowRight':
      if (hasOpen) move(branch.children[0])
      else if (branch.children.length > 0) open(branch, true)
      break
    case 'ArrowLeft':
      if (hasOpen) open(branch, false)
      else move(shown.find(({ actor }) => actor.id === branch.actor.parent))
      break
    case 'Enter':
    case ' ':
      select(branch.actor.id)
      break
    default:
      return
  }
  event.preventDefault()
}

/** Starts the tree. It also counts the seconds of running actors. */
export const startTree = () => {
  tree.addEventListener('keydown', press)
  follow.addEventListener('click', () => choose(null))
  onChange(render)
  setInterval(() => {
    if ([...state.actors.values()].some(({ endedAt }) => endedAt === null)) changed()
  }, 500)
}

/** Runs that a person opened or closed; any other is open while it is shown. @type {Map<number, boolean>} */
const opened = new Map()

/** Runs, the newest first, each with its actors. Short-lived actors of the same name share one line. */
const branches = () => {
  const children = Map.groupBy(state.actors.values(), ({ parent }) => parent)
  /**
   * @param {number | null} parent
   * @param {number} level
   * @returns {Branch[]}
   */
  const below = (parent, level) => {
    /** @type {Map<string, Branch>} */
    const short = new Map()
    return (children.get(parent) ?? []).flatMap((actor) => {
      const branch = { actor, level, count: 1, children: below(actor.id, level + 1) }
      const isShort =
        actor.kind === 'other' && parent !== null && branch.children.length === 0 && actor.title === ''
      if (!isShort) return branch
      const same = short.get(actor.name)
      if (!same) {
        short.set(actor.name, branch)
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
const isOpen = ({ actor, level }) =>
  opened.get(actor.id) ?? (level > 1 || rootOf(state.watched)?.id === actor.id)

/** @param {Branch} branch @param {boolean} to */
const setOpen = ({ actor }, to) => {
  opened.set(actor.id, to)
}

/** The lines that are not inside a closed one, from top to bottom. @param {Branch[]} list @returns {Branch[]} */
const visible = (list) =>
  list.flatMap((branch) => [branch, ...(isOpen(branch) ? visible(branch.children) : [])])
