// @ts-check
import { fetchRun } from './actions.js'
import { ConversationView } from './ConversationView.js'
import { element } from './element.js'
import { changed, state } from './store.js'

/** Conversations inside each other; deeper ones have a link only. */
const deepest = 3

/**
 * The conversation of another run inside this one, folded. It is fetched when it is opened, and again while it changes.
 *
 * @param {number} id
 * @param {number} depth
 */
export const nestedRun = (id, depth) => {
  const name = state.actors.get(id)?.name ?? 'the agent'
  const inner = element('div')
  const made = element(
    'details',
    { class: 'nested-run', hidden: depth > deepest },
    element('summary', {}, `Conversation of ${name}`),
    inner,
  )
  const loaded = loadedRun(id, depth)
  const refresh = () => {
    if (made.open) loaded.refresh()
  }
  made.addEventListener('toggle', () => {
    if (made.open) inner.append(loaded.element)
    refresh()
  })
  return { element: made, refresh }
}

/**
 * The conversation of any run, fetched by itself.
 *
 * @param {number} id
 * @param {number} depth
 */
export const loadedRun = (id, depth) => {
  const view = new ConversationView(depth)
  let shown = ''
  let isLoading = false
  const refresh = async () => {
    const actor = state.actors.get(id)
    const key = actor ? `${actor.status} ${actor.state} ${actor.reads}` : 'gone'
    if (isLoading || key === shown) return
    isLoading = true
    const run = await fetchRun(id)
    isLoading = false
    if (!run) return
    shown = key
    view.show({
      actor,
      history: run.history ?? [],
      attempts: (run.attempts ?? []).map((attempt) => ({ ...attempt, asked: attempt.asked ?? [] })),
      tools: new Map((run.tools ?? []).map((tool) => [tool.callId, tool])),
      usage: run.usage ?? null,
      isPast: false,
    })
    changed()
  }
  return { element: view.element, view, refresh }
}
