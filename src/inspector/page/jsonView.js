// @ts-check
import { element, setText } from './element.js'
import { number, plural, size, timeOfDay } from './format.js'

/** @import { JsonValue } from '../../messages/json.ts' */
/** @typedef {{ openTo?: number, changed?: ReadonlySet<string>, opened?: Map<string, boolean>, words?: string, kept?: { words: string, isOpen: boolean } }} JsonOptions `kept`: the search of a person, from one value to the next */

/** Length above which a text begins closed. */
const longText = 160
/** Characters of JSON above which a value has a search and the other tools. */
const bigValue = 600

/**
 * A JSON value. A big one has a line above it: its size, a search, and buttons that open all of it and copy it.
 *
 * @param {JsonValue} value
 * @param {JsonOptions} [options]
 */
export const jsonView = (value, { kept = { words: '', isOpen: false }, ...options } = {}) => {
  const text = writtenOut(value)
  if (text.length <= bigValue) return treeOf(value, options)
  const place = element('div')
  const found = element('span', { class: 'meta', role: 'status' })
  const draw = () => {
    kept.words = search.value
    const words = search.value.trim().toLowerCase()
    const all = kept.isOpen ? { openTo: Number.POSITIVE_INFINITY, opened: new Map() } : {}
    place.replaceChildren(treeOf(value, { ...options, ...all, words }))
    setText(found, words === '' ? size(text.length) : `${plural(countOf(value, words), 'place')} found`)
    setText(toggle, kept.isOpen ? 'Close all' : 'Open all')
  }
  const search = element('input', {
    type: 'search',
    placeholder: 'Search',
    'aria-label': 'Search this value',
  })
  search.value = kept.words
  search.addEventListener('input', draw)
  search.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || search.value === '') return
    event.stopPropagation()
    search.value = ''
    draw()
  })
  const toggle = element('button', { type: 'button', class: 'quiet small' }, 'Open all')
  toggle.addEventListener('click', () => {
    kept.isOpen = !kept.isOpen
    draw()
  })
  const copy = element('button', { type: 'button', class: 'quiet small' }, 'Copy')
  copy.addEventListener('click', async () => {
    const done = await navigator.clipboard.writeText(JSON.stringify(value, null, 2)).then(
      () => 'Copied',
      () => 'Not allowed',
    )
    setText(copy, done)
    setTimeout(() => setText(copy, 'Copy'), 2_000)
  })
  draw()
  return element(
    'div',
    { class: 'big' },
    element('div', { class: 'json-tools' }, found, search, toggle, copy),
    place,
  )
}

/** The JSON of a value; empty for one that is nested too deeply for the browser. @param {JsonValue} value */
const writtenOut = (value) => {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return ''
  }
}

/**
 * A JSON value whose nested parts can be opened and closed. With words to look for, only what has them is shown, and open.
 *
 * @param {JsonValue} value
 * @param {JsonOptions} options
 */
const treeOf = (value, { openTo = 2, changed = new Set(), opened = new Map(), words = '' }) => {
  /** The values that have the words inside. @type {WeakMap<object, boolean>} */
  const known = new WeakMap()
  /** @param {JsonValue} value @returns {boolean} */
  const isFound = (value) => {
    if (typeof value !== 'object' || value === null) return has(String(value), words)
    const before = known.get(value)
    if (before !== undefined) return before
    const found = Object.entries(value).some(([key, each]) => isNamed(value, key, words) || isFound(each))
    known.set(value, found)
    return found
  }

  /** @param {JsonValue} value @param {string} path @param {number} depth @param {boolean} isAll shows all of it, because its name has the words @returns {Node} */
  const view = (value, path, depth, isAll) => {
    if (typeof value === 'string') return textView(value, path)
    if (typeof value !== 'object' || value === null) return scalarView(value, words)
    const entries = Object.entries(value)
    if (entries.length === 0)
      return element('span', { class: 'remark' }, Array.isArray(value) ? 'empty list' : 'empty')
    const list = element('dl')
    const fill = () => {
      if (list.childElementCount > 0) return
      for (const [key, each] of entries) {
        const isKey = words !== '' && isNamed(value, key, words)
        if (words !== '' && !isAll && !isKey && !isFound(each)) continue
        const below = path === '' ? key : Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`
        const isNew = [...changed].some(
          (one) => one === below || one.startsWith(`${below}.`) || one.startsWith(`${below}[`),
        )
        list.append(
          element('dt', { class: isNew ? 'changed' : '' }, ...withMarks(key, isKey ? words : '')),
          element('dd', {}, view(each, below, depth + 1, isAll || isKey)),
        )
      }
    }
    if (path === '') {
      fill()
      return list
    }
    const isOpen = words === '' ? (opened.get(path) ?? depth < openTo) : isFound(value)
    return folded(path, isOpen, sizeOf(value), list, fill)
  }

  /** @param {string} text @param {string} path */
  const textView = (text, path) => {
    if (/^⟨.*⟩$/s.test(text)) return element('span', { class: 'remark' }, text.slice(1, -1))
    if (text.length <= longText)
      return element('span', { class: 'string' }, ...(text === '' ? ['""'] : withMarks(text, words)))
    const whole = element('span', { class: 'string' })
    const fill = () => {
      if (whole.textContent === '') whole.append(...withMarks(text, words))
    }
    const isOpen = words === '' ? (opened.get(path) ?? openTo === Number.POSITIVE_INFINITY) : has(text, words)
    return folded(path, isOpen, `${text.slice(0, 90)}…`, whole, fill)
  }

  /** @param {string} path @param {boolean} isOpen @param {string} summary @param {HTMLElement} content @param {() => void} fill */
  const folded = (path, isOpen, summary, content, fill) => {
    const made = element('details', { open: isOpen }, element('summary', {}, summary), content)
    if (isOpen) fill()
    made.addEventListener('toggle', () => {
      if (made.open) fill()
      if (words === '' && (made.open !== isOpen || opened.has(path))) opened.set(path, made.open)
    })
    return made
  }

  return view(value, '', 0, false)
}

/** @param {string} text @param {string} words */
const has = (text, words) => text.toLowerCase().includes(words)

/** The places of a list have numbers, which no one looks for. @param {object} value @param {string} key @param {string} words */
const isNamed = (value, key, words) => !Array.isArray(value) && has(key, words)

/** The number of names and values that have the words. @param {JsonValue} value @param {string} words @returns {number} */
const countOf = (value, words) => {
  if (typeof value !== 'object' || value === null) return has(String(value), words) ? 1 : 0
  return Object.entries(value).reduce(
    (sum, [key, each]) => sum + (isNamed(value, key, words) ? 1 : 0) + countOf(each, words),
    0,
  )
}

/** Most places that are marked in one text. */
const mostMarks = 100

/** A text with the words marked. @param {string} text @param {string} words @returns {(Node | string)[]} */
const withMarks = (text, words) => {
  if (words === '') return [text]
  const lower = text.toLowerCase()
  /** @type {(Node | string)[]} */
  const made = []
  let from = 0
  for (
    let at = lower.indexOf(words);
    at !== -1 && made.length < 2 * mostMarks;
    at = lower.indexOf(words, from)
  ) {
    made.push(text.slice(from, at), element('mark', {}, text.slice(at, at + words.length)))
    from = at + words.length
  }
  return [...made, text.slice(from)]
}

/** A simple value. A number that can only be a time of these decades is shown as the time of day. @param {number | boolean | null} value @param {string} words */
const scalarView = (value, words) => {
  const isTime = typeof value === 'number' && value > 1e12 && value < 4e12
  const text = isTime ? timeOfDay(value) : String(value)
  return element('span', { class: 'scalar', title: isTime ? String(value) : '' }, ...withMarks(text, words))
}

/** @param {JsonValue[] | { [key: string]: JsonValue }} value */
const sizeOf = (value) => {
  if (Array.isArray(value)) return `${number(value.length)} ${value.length === 1 ? 'item' : 'items'}`
  const keys = Object.keys(value)
  const shown = keys.slice(0, 4).join(', ')
  return keys.length > 4 ? `${shown}, …` : shown
}
