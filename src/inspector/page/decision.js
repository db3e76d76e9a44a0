// @ts-check
import { command } from './actions.js'
import { element } from './element.js'
import { state } from './store.js'

/** @import { JsonObject } from '../../messages/json.ts' */

/**
 * The buttons that decide on what a run waits for.
 *
 * @param {{ owner: number, callId: string }} asked
 * @param {{
 *   yes: string, no: string, reason?: HTMLInputElement, edit?: HTMLElement, edited?: () => JsonObject | string | undefined,
 * }} controls `edited` gives other arguments, or a sentence where they cannot be read
 */
export const decision = ({ owner, callId }, { yes, no, reason, edit, edited }) => {
  if (!['active', 'waiting'].includes(state.actors.get(owner)?.status ?? '')) {
    return element(
      'p',
      { class: 'note' },
      'The run is paused. Decide with agent.resume(), or in the process that has it.',
    )
  }
  const problem = element('p', { class: 'problem', role: 'status' })
  /** @param {boolean} isApproved */
  const decide = async (isApproved) => {
    const other = isApproved ? edited?.() : undefined
    if (typeof other === 'string') {
      problem.textContent = other
      return
    }
    for (const control of form.querySelectorAll('button')) control.disabled = true
    const { isDone, text } = await command(
      isApproved
        ? { actor: owner, type: 'tool.approve', callId, ...(other && { arguments: other }) }
        : { actor: owner, type: 'tool.reject', callId, reason: reason?.value ?? '' },
    )
    problem.textContent = text
    problem.className = isDone ? 'note' : 'problem'
    for (const control of form.querySelectorAll('button')) control.disabled = isDone
  }
  reason?.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') decide(false)
  })
  const form = element(
    'div',
    { class: 'decision' },
    element('button', { type: 'button', class: 'primary', click: () => decide(true) }, yes),
    ...(edit ? [edit] : []),
    element(
      'span',
      { class: 'no' },
      ...(reason ? [reason] : []),
      element('button', { type: 'button', class: 'danger', click: () => decide(false) }, no),
    ),
    problem,
  )
  return form
}
