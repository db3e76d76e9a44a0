// @ts-check
import { choose, showOlder } from './actions.js'
import { arrange, byId, element, setText } from './element.js'
import { clock, dollars, duration, number, plural, tokens } from './format.js'
import { changed, onChange, rootOf, state } from './store.js'

/** @import { ActorRow } from '../protocol.ts' */
/** @typedef {{ actor: ActorRow, level: number, count: number, children: Branch[] }} Branch */

const tree = byId('tree', HTMLElement)
const follow = byId('follow', HTMLButtonElement)
const forgotten = byId('forgotten', HTMLElement)
const find = byId('find', HTMLInputElement)
const status = byId('status', HTMLSelectElement)
const found = byId('found', HTMLElement)
const older = byId('older', HTMLButtonElement)

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
  const item = element('div', { role: 'treeitem' }, twist, dot, name, count, time, more)
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
  made.name.title = [actor.title || actor.name, actor.failure].filter(Boolean).join('\n')
  item.classList.toggle('failed', actor.status === 'failed')
  setText(made.more, level === 1 ? factsOf(branch) : '')
  setText(made.count, count > 1 ? `×${count}` : '')
  const lasted = (actor.endedAt ?? Date.now()) - actor.createdAt
  setText(made.time, actor.status === 'created' ? '' : duration(lasted))
  return item
}

/** @param {Branch} branch */
const factsOf = ({ actor }) => {
  const isRunning = actor.status === 'active' || actor.status === 'waiting'
  const { cost } = actor.usage ?? {}
  const facts = [
    clock(actor.createdAt),
    isRunning ? actor.state : actor.status,
    actor.model || (actor.run === '' ? '' : actor.name),
    tokens(actor.usage),
    cost === undefined ? '' : dollars(cost),
  ]
  return facts.filter(Boolean).join(' · ')
}

const render = () => {
  const all = branches()
  const shown = visible(all)
  if (!shown.some(({ actor }) => actor.id === current)) current = state.watched ?? shown[0]?.actor.id ?? null
  arrange(tree, shown.map(renderItem))
  for (const id of items.keys()) if (!state.actors.has(id)) items.delete(id)
  follow.setAttribute('aria-pressed', String(state.chosen === null))
  const lost = plural(state.droppedRuns, 'older run')
  const kept = number(state.limits.runs)
  const notes = [
    state.droppedRuns > 0 ? `${lost} no longer kept: only the last ${kept} finished runs are.` : '',
  ]
  setText(forgotten, notes.filter(Boolean).join(' '))
  const isWanted = state.wanted.text !== '' || state.wanted.status !== ''
  setText(found, isWanted ? `${number(all.length)} of ${plural(runsInAll(), 'run')}` : '')
  older.hidden = !state.hasMoreStored
  setText(older, isWanted ? 'Search older runs' : 'Show older runs')
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

const runsInAll = () => [...state.actors.values()].filter(({ parent }) => parent === null).length

/** Shows the run below the one that is shown, or above it. @param {number} by */
export const chooseNext = (by) => {
  const runs = branches()
  const at = runs.findIndex(({ actor }) => actor.id === rootOf(state.watched)?.id)
  const next = runs[at === -1 ? 0 : at + by]
  if (!next) return
  current = next.actor.id
  choose(next.actor.id)
  items.get(next.actor.id)?.item.scrollIntoView({ block: 'nearest' })
}

const search = () => {
  state.wanted = { text: find.value, status: status.value }
  changed()
}

/** Starts the tree. It also counts the seconds of running actors. */
export const startTree = () => {
  find.addEventListener('input', search)
  find.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter' && state.hasMoreStored && branches().length === 0) showOlder()
  })
  status.addEventListener('change', search)
  older.addEventListener('click', async () => {
    older.disabled = true
    await showOlder()
    older.disabled = false
  })
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
  return below(null, 1)
    .filter(({ actor }) => isWanted(actor))
    .sort((a, b) => b.actor.createdAt - a.actor.createdAt || b.actor.id - a.actor.id)
}

/** Says whether a run has the words and the status that a person looks for. @param {ActorRow} actor */
const isWanted = (actor) => {
  const { text, status } = state.wanted
  if (status !== '' && statusGroups[actor.status] !== status) return false
  const words = [actor.title, actor.name, actor.run, actor.model, actor.state, actor.status, actor.failure]
  return words.join('\n').toLowerCase().includes(text.trim().toLowerCase())
}

/** The choices of the filter that a status belongs to. @type {Readonly<Record<ActorRow['status'], string>>} */
const statusGroups = {
  created: 'active',
  active: 'active',
  waiting: 'waiting',
  paused: 'waiting',
  done: 'done',
  failed: 'failed',
  abandoned: 'failed',
  aborted: 'aborted',
  stopped: 'aborted',
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
