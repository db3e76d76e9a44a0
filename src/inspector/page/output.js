// @ts-check
import { arrange, byId, element, setText } from './element.js'
import { duration, number, plural } from './format.js'
import { actor, onChange, shownAttempts, state } from './store.js'
import { TextFlow } from './TextFlow.js'

/** @import { AttemptRow, CompactionRow } from '../wire.ts' */

const panel = byId('panel-output', HTMLElement)

/** @type {ReturnType<typeof makeBlock>[]} */
let blocks = []
let blocksOf = state.attempts
let isAtEnd = true

const prompt = element('div', { class: 'prompt' })
const list = element('div', { class: 'attempts' })
const nothing = element('p', { class: 'nothing' })
panel.append(prompt, list, nothing)

const makeBlock = () => {
  const heading = element('h3')
  const meta = element('span', { class: 'meta' })
  const thinking = new TextFlow('thinking')
  const summary = element('summary', {}, 'Thinking')
  const thought = element('details', { class: 'thought', open: true }, summary, thinking.element)
  const text = new TextFlow('text')
  const drafts = element('div', { class: 'drafts' })
  const failure = element('p', { class: 'problem' })
  const compaction = element('div', { class: 'compaction' })
  const block = element(
    'section',
    {},
    compaction,
    element('header', {}, heading, meta),
    thought,
    text.element,
    drafts,
    failure,
  )
  return { block, compaction, heading, meta, thought, thinking, text, drafts, failure }
}

const reasons = {
  full: 'the conversation was about to be too long',
  overflow: 'the provider refused the conversation as too long',
  command: 'somebody asked for it',
}

/** A thin line with its numbers; what a summary says is folded. @param {CompactionRow} row */
const compactionLine = ({ kind, tokensBefore, tokensAfter, reason, summary }) => {
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

/** @param {ReturnType<typeof makeBlock>} made @param {AttemptRow} attempt */
const renderBlock = (made, attempt) => {
  const { startedAt, firstChunkAt, endedAt, isVoid } = attempt
  const number = attempt.attempt > 0 ? `, try ${attempt.attempt + 1}` : ''
  if (attempt.compaction && !made.compaction.hasChildNodes())
    made.compaction.append(compactionLine(attempt.compaction))
  setText(made.heading, `Step ${attempt.step}${number}${isVoid ? ' (discarded)' : ''}`)
  const isRunning = endedAt === null
  const facts = isRunning
    ? [firstChunkAt === null ? 'asked, no answer yet' : 'streaming', plural(attempt.chunks, 'chunk')]
    : [
        startedAt === null ? '' : duration(endedAt - startedAt),
        plural(attempt.chunks, 'chunk'),
        attempt.finish,
      ]
  setText(made.meta, facts.filter(Boolean).join(' · '))
  made.block.className = [isVoid ? 'void' : '', isRunning ? 'running' : ''].join(' ')
  made.thought.hidden = attempt.thinking === ''
  made.thinking.show(attempt.thinking)
  made.text.show(attempt.text)
  const drafts = attempt.drafts.map(({ name, arguments: text }) => `${name || 'a tool'}(${text}`).join('\n')
  setText(made.drafts, drafts)
  setText(made.failure, attempt.failure)
}

const render = () => {
  if (state.tab !== 'output') return
  if (blocksOf !== state.attempts) {
    blocksOf = state.attempts
    blocks = []
    list.replaceChildren()
    isAtEnd = true
  }
  const attempts = shownAttempts()
  const shown = actor()
  setText(prompt, shown?.title ?? '')
  while (blocks.length < attempts.length) blocks.push(makeBlock())
  attempts.forEach((attempt, index) => {
    const made = blocks[index]
    if (made) renderBlock(made, attempt)
  })
  arrange(
    list,
    blocks.slice(0, attempts.length).map(({ block }) => block),
  )
  setText(
    nothing,
    attempts.length > 0 ? '' : 'No model was asked yet. Only actors that ask a model have text.',
  )
  if (isAtEnd) panel.scrollTop = panel.scrollHeight
}

panel.addEventListener('scroll', () => {
  isAtEnd = panel.scrollHeight - panel.scrollTop - panel.clientHeight < 40
})

export const startOutput = () => onChange(render)
