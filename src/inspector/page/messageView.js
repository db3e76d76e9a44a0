// @ts-check
import { element } from './element.js'
import { number, plural } from './format.js'

/** @import { CompactionRow, ImageRow, MessageRow, VerdictRow } from '../protocol.ts' */

/** @param {ImageRow[]} images @param {string} alt */
export const imagesView = (images, alt) =>
  images.map(({ mimeType, data }) =>
    element('img', { src: `data:${mimeType};base64,${data}`, alt, loading: 'lazy' }),
  )

/** A message of a person. @param {MessageRow} message */
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

/** The words for a verdict, by what it is on. */
const verdictWords = {
  Prompt: {
    pass: 'The policy accepted the prompt',
    ask: 'The policy asks about the prompt',
    refuse: 'The policy refused the prompt',
  },
  Calls: {
    pass: 'The policy allowed the call',
    ask: 'The policy asks a person',
    refuse: 'The policy refused the call',
  },
  Results: {
    pass: 'The policy passed the result on',
    ask: 'The policy asks about the result',
    refuse: 'The policy withheld the result',
  },
  Tasks: {
    pass: 'The policy passed the result of a background agent on',
    ask: 'The policy asks about the result of a background agent',
    refuse: 'The policy withheld the result of a background agent',
  },
  Answer: {
    pass: 'The policy accepted the answer',
    ask: 'The policy asks about the answer',
    refuse: 'The policy refused the answer',
  },
}

/** A verdict of the policy, with its reason. @param {VerdictRow} row */
export const verdictView = ({ gate, verdict, state, reason }) =>
  element(
    'p',
    { class: `verdict ${verdict}` },
    `${verdictWords[gate][verdict]}${state === '' ? '' : ` in the state ${state}`}${reason === '' ? '' : `: ${reason}`}`,
  )

const reasons = {
  full: 'the conversation was about to become too long',
  overflow: 'the provider refused the conversation because it was too long',
  command: 'a person asked for it',
}

/** A compaction as a thin line with its numbers. The summary is folded. @param {CompactionRow} row */
export const compactionLine = ({ kind, tokensBefore, tokensAfter, reason, summary }) => {
  const done = kind === 'cleared' ? 'Old tool results were cleared' : 'Older messages were summarised'
  const line = `Compacted, ${number(tokensBefore)} → ${number(tokensAfter)} tokens`
  const why = `${done} for the model: ${reasons[reason] ?? reason}.`
  return summary === ''
    ? element('p', { class: 'line', title: why }, line)
    : element(
        'details',
        {},
        element('summary', { class: 'line', title: why }, line),
        element('div', { class: 'words' }, summary),
      )
}
