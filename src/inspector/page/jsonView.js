// @ts-check
import { element } from './element.js'
import { timeOfDay } from './format.js'

/** @import { JsonValue } from '../../messages/json.ts' */

/** Length above which a text begins closed. */
const longText = 160

/**
 * A JSON value whose nested parts can be opened and closed.
 *
 * @param {JsonValue} value
 * @param {{ openTo?: number, changed?: ReadonlySet<string>, opened?: Map<string, boolean> }} [options]
 */
export const jsonView = (value, { openTo = 2, changed = new Set(), opened = new Map() } = {}) => {
  /** @param {JsonValue} value @param {string} path @param {number} depth @returns {Node} */
  const view = (value, path, depth) => {
    if (typeof value === 'string') return textView(value, path)
    if (typeof value !== 'object' || value === null) return scalarView(value)
    const entries = Object.entries(value)
    if (entries.length === 0)
      return element('span', { class: 'remark' }, Array.isArray(value) ? 'empty list' : 'empty')
    const list = element('dl')
    const fill = () => {
      if (list.childElementCount > 0) return
      for (const [key, each] of entries) {
        const below = path === '' ? key : Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`
        const isNew = [...changed].some(
          (one) => one === below || one.startsWith(`${below}.`) || one.startsWith(`${below}[`),
        )
        list.append(
          element('dt', { class: isNew ? 'changed' : '' }, key),
          element('dd', {}, view(each, below, depth + 1)),
        )
      }
    }
    if (path === '') {
      fill()
      return list
    }
    return folded(path, opened.get(path) ?? depth < openTo, sizeOf(value), list, fill)
  }

  /** @param {string} text @param {string} path */
  const textView = (text, path) => {
    if (/^⟨.*⟩$/s.test(text)) return element('span', { class: 'remark' }, text.slice(1, -1))
    if (text.length <= longText) return element('span', { class: 'string' }, text === '' ? '""' : text)
    const whole = element('span', { class: 'string' })
    const fill = () => {
      if (whole.textContent === '') whole.textContent = text
    }
    return folded(path, opened.get(path) ?? false, `${text.slice(0, 90)}…`, whole, fill)
  }

  /** @param {string} path @param {boolean} isOpen @param {string} summary @param {HTMLElement} content @param {() => void} fill */
  const folded = (path, isOpen, summary, content, fill) => {
    const made = element('details', { open: isOpen }, element('summary', {}, summary), content)
    if (isOpen) fill()
    made.addEventListener('toggle', () => {
      if (made.open) fill()
      if (made.open !== isOpen || opened.has(path)) opened.set(path, made.open)
    })
    return made
  }

  return view(value, '', 0)
}

/** A simple value. A number that can only be a time of these decades is shown as the time of day. @param {number | boolean | null} value */
const scalarView = (value) => {
  const isTime = typeof value === 'number' && value > 1e12 && value < 4e12
  const text = isTime ? timeOfDay(value) : String(value)
  return element('span', { class: 'scalar', title: isTime ? String(value) : '' }, text)
}

/** @param {JsonValue[] | { [key: string]: JsonValue }} value */
const sizeOf = (value) => {
  if (Array.isArray(value)) return `${value.length} ${value.length === 1 ? 'item' : 'items'}`
  const keys = Object.keys(value)
  const shown = keys.slice(0, 4).join(', ')
  return keys.length > 4 ? `${shown}, …` : shown
}
