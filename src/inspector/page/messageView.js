// @ts-check
import { element } from './element.js'
import { plural } from './format.js'

/** @import { ImageRow, MessageRow } from '../wire.ts' */

/** @param {ImageRow[]} images @param {string} alt */
export const imagesView = (images, alt) =>
  images.map(({ mimeType, data }) =>
    element('img', { src: `data:${mimeType};base64,${data}`, alt, loading: 'lazy' }),
  )

/** What a person said. @param {MessageRow} message */
export const saidView = ({ text, images, notes }) => {
  const bubble = element('div', { class: 'bubble' }, text)
  bubble.append(...imagesView(images, 'Attached by the user'))
  for (const note of notes) bubble.append(element('p', { class: 'meta' }, note))
  return bubble
}

const names = { system: 'System', user: 'User', model: 'Model' }

/** The conversation before a run, folded. @param {MessageRow[]} history */
export const historyView = (history) => {
  const list = element('div', { class: 'older' })
  const made = element(
    'details',
    { class: 'before' },
    element('summary', {}, plural(history.length, 'earlier message')),
    list,
  )
  made.addEventListener('toggle', () => {
    if (list.hasChildNodes()) return
    for (const { role, text, notes } of history) {
      const lines = notes.map((note) => element('p', { class: 'meta' }, note))
      list.append(element('div', { class: role }, element('h4', {}, names[role]), text, ...lines))
    }
  })
  return made
}
