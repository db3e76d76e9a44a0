// @ts-check
import { choose, command } from './actions.js'
import { element } from './element.js'
import { state } from './store.js'

/** @import { Again, MessageRow, ToolRow } from '../protocol.ts' */

/** The other model that was chosen last: it stays from one try to the next. */
let lastModel = ''

/**
 * A form with a text to change and to send, and another model for it.
 *
 * @param {{
 *   label: string, send: string, value?: string, isCode?: boolean, hint?: string, hasModel?: boolean,
 *   toCommand(text: string): Again | string, onCancel?: () => void,
 * }} options `toCommand` returns a sentence if the text cannot be sent
 */
export const tryForm = ({
  label,
  send,
  value = '',
  isCode = false,
  hint = '',
  hasModel = true,
  toCommand,
  onCancel,
}) => {
  const text = element('textarea', {
    'aria-label': label,
    placeholder: hint,
    rows: String(Math.min(12, Math.max(isCode ? 3 : 2, value.split('\n').length))),
    class: isCode ? 'code' : '',
    ...(isCode && { spellcheck: 'false' }),
  })
  text.value = value
  const model = element('input', {
    type: 'text',
    'aria-label': 'Another model',
    placeholder: 'Same model',
    title: 'Another model, such as anthropic:claude-sonnet-5-5',
    spellcheck: 'false',
    autocomplete: 'off',
  })
  model.value = lastModel
  model.hidden = !hasModel
  const problem = element('p', { class: 'problem', role: 'alert' })
  const button = element('button', { type: 'submit', class: 'primary' }, send)
  const cancel = onCancel ? [element('button', { type: 'button', click: onCancel }, 'Cancel')] : []
  const submit = async () => {
    const given = toCommand(text.value)
    if (typeof given === 'string') {
      problem.textContent = given
      return
    }
    if (hasModel) lastModel = model.value.trim()
    button.disabled = true
    const { isDone, text: note, actor } = await command({ ...given, ...(hasModel && { model: lastModel }) })
    button.disabled = false
    problem.textContent = note
    if (!isDone) return
    text.value = ''
    onCancel?.()
    // A page that follows the newest run gets there by itself.
    if (state.chosen !== null && actor !== undefined) choose(actor)
  }
  const form = element(
    'form',
    { class: 'try' },
    text,
    element('div', { class: 'try-row' }, model, ...cancel, button),
    problem,
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    submit()
  })
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && onCancel) onCancel()
    if (
      event.key === 'Enter' &&
      (event.ctrlKey || event.metaKey || (!isCode && !event.shiftKey && event.target === text))
    ) {
      event.preventDefault()
      submit()
    }
  })
  return { form, text }
}

/**
 * A quiet button that becomes a form, and the button again when it is done.
 *
 * @param {string} name
 * @param {Omit<Parameters<typeof tryForm>[0], 'onCancel'>} options
 */
const folded = (name, options) => {
  const place = element('div', { class: 'folded' })
  const close = () => {
    place.replaceChildren(button)
    place.classList.remove('open')
    button.focus()
  }
  const open = () => {
    const { form, text } = tryForm({ ...options, onCancel: close })
    place.replaceChildren(form)
    place.classList.add('open')
    text.focus()
  }
  const button = element('button', { type: 'button', class: 'quiet small', click: open }, name)
  place.append(button)
  return place
}

/** @param {number} actor @param {number} before the attempt that answers it @param {MessageRow} message */
export const messageForm = (actor, before, { text }) =>
  folded('Edit and run again', {
    label: 'Your message',
    send: 'Run again',
    value: text,
    hasModel: isLive(actor),
    toCommand: (prompt) => ({ actor, type: 'again', prompt, before }),
  })

/** A stored run keeps the model of its agent. @param {number} actor */
export const isLive = (actor) => state.actors.get(actor)?.run === ''

/** @param {number} actor @param {number} step */
export const stepButton = (actor, step) => {
  const fork = async () => {
    button.disabled = true
    const { text, actor: begun } = await command({ actor, type: 'again', step })
    button.disabled = false
    button.title = text
    if (state.chosen !== null && begun !== undefined) choose(begun)
  }
  const button = element(
    'button',
    { type: 'button', class: 'quiet small', click: fork },
    'Run again from here',
  )
  return button
}

/** @param {ToolRow} row */
export const argumentsForm = ({ owner, callId, name, arguments: given }) =>
  folded('Run again with other arguments', {
    label: `Arguments of ${name}`,
    send: 'Continue',
    value: JSON.stringify(given, null, 2),
    isCode: true,
    toCommand: (text) => {
      const parsed = objectIn(text)
      return parsed
        ? { actor: owner, type: 'again', callId, arguments: parsed }
        : 'The arguments must be a JSON object.'
    },
  })

/** @param {string} text @returns {import('../../messages/json.ts').JsonObject | null} */
export const objectIn = (text) => {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}
