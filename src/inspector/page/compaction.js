// @ts-check
import { element } from './element.js'
import { number } from './format.js'

/** @import { CompactionRow } from '../wire.ts' */

const reasons = {
  full: 'the conversation was about to be too long',
  overflow: 'the provider refused the conversation as too long',
  command: 'a person asked for it',
}

/** A thin line with its numbers; what a summary says is folded. @param {CompactionRow} row */
export const compactionLine = ({ kind, tokensBefore, tokensAfter, reason, summary }) => {
  const done = kind === 'cleared' ? 'Old tool results were cleared' : 'Older messages were summed up'
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
