// @ts-check
import { openTab } from './actions.js'
import { arrange, element, setText } from './element.js'
import { duration, plural } from './format.js'
import { MarkdownFlow } from './MarkdownFlow.js'
import { compactionLine, saidView, verdictView } from './messageView.js'
import { state } from './store.js'
import { messageForm, stepButton } from './tryAgain.js'

/** @import { ActorRow, AttemptRow } from '../protocol.ts' */

/** An answer of a model, with the messages before it and the cards of its calls. */
export class AttemptView {
  element = element('section', { class: 'turn' })
  #phase = element('p', { class: 'phase' })
  #before = element('div', { class: 'compaction' })
  #asked = element('div', { class: 'asked' })
  #heading = element('h3')
  #meta = element('span', { class: 'meta' })
  #thinking = new MarkdownFlow('thinking')
  #thought = element('summary')
  #thoughts
  #text = new MarkdownFlow('text')
  #drafts = element('div', { class: 'drafts' })
  #mark = element('p', { class: 'mark-line' })
  #wire = element('button', { type: 'button', class: 'link', hidden: true }, 'Show the request')
  #warnings = element('p', { class: 'warning-line' })
  #verdicts = element('div', { class: 'verdicts' })
  #answer
  #cards = element('div', { class: 'cards' })
  /** @type {AttemptRow | undefined} */
  #shown
  #depth

  /** @param {number} depth */
  constructor(depth) {
    this.#depth = depth
    this.#thoughts = element('details', { class: 'thought' }, this.#thought, this.#thinking.element)
    this.#answer = element(
      'div',
      { class: 'answer' },
      element('header', {}, this.#heading, this.#meta),
      this.#warnings,
      this.#thoughts,
      this.#text.element,
      this.#drafts,
      this.#mark,
      this.#wire,
      this.#verdicts,
    )
    this.element.append(this.#before, this.#phase, this.#asked, this.#answer, this.#cards)
  }

  /**
   * @param {AttemptRow} attempt
   * @param {AttemptRow | undefined} last the one before it
   * @param {ActorRow | undefined} actor
   * @param {HTMLElement[]} cards
   */
  show(attempt, last, actor, cards) {
    arrange(this.#cards, cards)
    const isPausing = attempt.failure !== '' && !attempt.isVoid && actor?.activity === 'pausing'
    // The conversation ends with the reason of the failure.
    const isLast = attempt.failure !== '' && actor?.failure.includes(attempt.failure) === true
    const mark = isLast ? '' : markOf(attempt, isPausing)
    if (attempt === this.#shown && mark === this.#mark.textContent) return
    if (!this.#shown) this.#begin(attempt, last, actor)
    this.#shown = attempt
    const { endedAt, isVoid, thinking, text } = attempt
    const isRunning = endedAt === null
    this.element.classList.toggle('void', isVoid)
    this.element.classList.toggle('running', isRunning)
    const again = attempt.attempt > 0 ? `, try ${attempt.attempt + 1}` : ''
    setText(this.#heading, `Step ${attempt.step}${again}${isVoid ? ' (discarded)' : ''}`)
    setText(this.#meta, factsOf(attempt).join(' · '))
    this.#thoughts.hidden = thinking === ''
    setText(this.#thought, isRunning && text === '' ? 'Thinking …' : 'Thinking')
    this.#thinking.show(thinking, !isRunning || text !== '')
    this.#text.show(text, !isRunning)
    this.#text.element.hidden = text === ''
    const drafts = attempt.drafts.map(({ name, arguments: written }) => `${name || 'a tool'}(${written}`)
    setText(this.#drafts, drafts.join('\n'))
    setText(this.#warnings, attempt.warnings.join('\n'))
    this.#mark.classList.toggle('again', isPausing)
    this.#verdicts.replaceChildren(...(attempt.verdicts ?? []).map(verdictView))
    setText(this.#mark, mark)
    const { call } = attempt
    this.#wire.hidden = mark === '' || call === null || this.#depth > 0
    this.#wire.onclick = () => openTab('wire', call?.id ?? null)
  }

  /** Shows what is known from the first moment. @param {AttemptRow} attempt @param {AttemptRow | undefined} last @param {ActorRow | undefined} actor */
  #begin(attempt, last, actor) {
    if (attempt.compaction) this.#before.append(compactionLine(attempt.compaction))
    const isOther = attempt.owner !== actor?.id && attempt.owner !== last?.owner
    const name = state.actors.get(attempt.owner)?.name ?? ''
    const isFallback = attempt.modelIndex > 0 && attempt.modelIndex !== last?.modelIndex
    const phases = [
      isOther && name !== '' ? name : '',
      isFallback ? `Fallback model ${attempt.modelIndex}` : '',
    ]
    setText(this.#phase, phases.filter(Boolean).join(' · '))
    const isStored = actor !== undefined && actor.run !== '' && actor.canAsk
    if (isStored && this.#depth === 0) this.#meta.after(stepButton(actor.id, attempt.step))
    const asked = attempt.asked ?? []
    const canEdit = this.#depth === 0 && actor?.canAsk === true && (attempt.owner === actor.id || !last)
    this.#asked.append(
      ...asked.map((message) => {
        const said = element('div', { class: 'said' }, saidView(message))
        if (canEdit && message === asked[0]) said.append(messageForm(actor.id, attempt.index, message))
        return said
      }),
    )
  }
}

/** @param {AttemptRow} attempt */
const factsOf = ({ startedAt, firstChunkAt, endedAt, chunks, usage, finish }) => {
  if (endedAt === null)
    return firstChunkAt === null ? ['waiting for the first word'] : ['streaming', plural(chunks, 'chunk')]
  const tokens = usage?.outputTokens === undefined ? '' : plural(usage.outputTokens, 'token')
  const time = startedAt === null ? '' : duration(endedAt - startedAt)
  return [time, tokens || (chunks > 0 && plural(chunks, 'chunk')), finish].filter(Boolean)
}

/** The reason why an answer does not count, or what happens next. @param {AttemptRow} attempt @param {boolean} isPausing */
const markOf = ({ failure, isVoid, call, text, calls }, isPausing) => {
  const status = call?.status && call.status >= 400 ? `Status ${call.status}. ` : ''
  const nothing = text === '' && calls.length === 0 ? 'The answer was empty.' : 'This answer was discarded.'
  const reason = failure === '' || /[.!?]$/.test(failure) ? failure : `${failure}.`
  if (isPausing) return `${status}${reason} The model is asked again after a pause.`
  if (isVoid) return `${status}${reason === '' ? nothing : reason} The model was asked again.`
  return failure === '' ? '' : `${status}${failure}`
}
