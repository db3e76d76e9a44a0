// @ts-check
import { fetchRun } from './actions.js'
import { ConversationView } from './ConversationView.js'
import { element } from './element.js'
import { changed, state } from './store.js'

/** Conversations inside each other; deeper ones have a link only. */
const deepest = 3
/** Between two looks at a run that goes on. */
const pauseMs = 250

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
    const key = `${actor?.status} ${actor?.state} ${actor?.reads}`
    // A run that is no longer kept stays as it was shown.
    if (isLoading || !actor || key === shown) return
    isLoading = true
    shown = key
    const run = await fetchRun(id)
    setTimeout(() => {
      isLoading = false
      changed()
    }, pauseMs)
    if (!run) return
    view.show({
      actor,
      history: run.history ?? [],
      attempts: (run.attempts ?? []).map((attempt) => ({ ...attempt, asked: attempt.asked ?? [] })),
      tools: new Map((run.tools ?? []).map((tool) => [tool.callId, tool])),
      usage: run.usage ?? null,
      isPast: false,
    })
  }
  return { element: view.element, view, refresh }
}
