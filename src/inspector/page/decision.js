// @ts-check
import { command } from './actions.js'
import { element } from './element.js'
import { state } from './store.js'

/** @import { JsonObject } from '../../messages/json.ts' */
/** @import { Command } from '../wire.ts' */
/**
 * @typedef {{
 *   yes: string, no: string, reason?: HTMLInputElement, edit?: HTMLElement, edited?: () => JsonObject | string | undefined,
 *   result?: HTMLInputElement,
 * }} Controls `edited` gives other arguments, or a sentence where they cannot be read; `result` is the answer of an external
 *   tool
 */

/**
 * The buttons that decide on what a run waits for.
 *
 * @param {{ owner: number, callId: string }} asked
 * @param {Controls} controls
 */
export const decision = (asked, controls) => {
  const { yes, no, reason, edit, result } = controls
  if (!['active', 'waiting'].includes(state.actors.get(asked.owner)?.status ?? '')) {
    return element(
      'p',
      { class: 'note' },
      'The run is paused. Decide with agent.resume(), or in the process that has it.',
    )
  }
  const problem = element('p', { class: 'problem', role: 'status' })
  /** @param {boolean} isApproved */
  const decide = async (isApproved) => {
    const wanted = commandFor(asked, controls, isApproved)
    if (typeof wanted === 'string') {
      problem.textContent = wanted
      return
    }
    for (const control of form.querySelectorAll('button')) control.disabled = true
    const { isDone, text } = await command(wanted)
    problem.textContent = text
    problem.className = isDone ? 'note' : 'problem'
    for (const control of form.querySelectorAll('button')) control.disabled = isDone
  }
  /** @param {HTMLInputElement | undefined} field @param {boolean} isApproved */
  const onEnter = (field, isApproved) =>
    field?.addEventListener('keydown', ({ key }) => {
      if (key === 'Enter') decide(isApproved)
    })
  onEnter(reason, false)
  onEnter(result, true)
  const reject = element('button', { type: 'button', class: 'danger', click: () => decide(false) }, no)
  const form = element(
    'div',
    { class: 'decision' },
    ...(result ? [result] : []),
    element('button', { type: 'button', class: 'primary', click: () => decide(true) }, yes),
    ...(edit ? [edit] : []),
    element('span', { class: 'no' }, ...(reason ? [reason] : []), reject),
    problem,
  )
  return form
}

/**
 * @param {{ owner: number, callId: string }} asked
 * @param {Controls} controls
 * @param {boolean} isApproved
 * @returns {Command | string}
 */
const commandFor = ({ owner: actor, callId }, { reason, edited, result }, isApproved) => {
  if (isApproved && result) return { actor, type: 'tool.answer', callId, result: result.value }
  if (!isApproved) return { actor, type: 'tool.reject', callId, reason: reason?.value ?? '' }
  const other = edited?.()
  return typeof other === 'string'
    ? other
    : { actor, type: 'tool.approve', callId, ...(other && { arguments: other }) }
}
