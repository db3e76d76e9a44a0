// @ts-check
import { command } from './actions.js'
import { element } from './element.js'
import { state } from './store.js'

/**
 * The buttons that decide on what a run waits for.
 *
 * @param {{ owner: number, callId: string }} asked
 * @param {{ yes: string, no: string, reason?: HTMLInputElement }} controls
 */
export const decision = ({ owner, callId }, { yes, no, reason }) => {
  if (!['active', 'waiting'].includes(state.actors.get(owner)?.status ?? '')) {
    return element(
      'p',
      { class: 'note' },
      'The run was put away. Decide with agent.resume(), or in the process that has it.',
    )
  }
  const problem = element('p', { class: 'problem', role: 'alert' })
  /** @param {boolean} isApproved */
  const decide = async (isApproved) => {
    for (const control of form.querySelectorAll('button')) control.disabled = true
    const { isDone, text } = await command(
      isApproved
        ? { actor: owner, type: 'tool.approve', callId }
        : { actor: owner, type: 'tool.reject', callId, reason: reason?.value ?? '' },
    )
    problem.textContent = text
    problem.className = isDone ? 'note' : 'problem'
    for (const control of form.querySelectorAll('button')) control.disabled = isDone
  }
  const form = element(
    'div',
    { class: 'decision' },
    element('button', { type: 'button', class: 'primary', click: () => decide(true) }, yes),
    element('button', { type: 'button', class: 'danger', click: () => decide(false) }, no),
    ...(reason ? [reason] : []),
    problem,
  )
  return form
}
