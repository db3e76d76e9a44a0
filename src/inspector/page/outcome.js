// @ts-check
import { dollars, duration, number, plural } from './format.js'

/** @import { ActorRow, AttemptRow } from '../wire.ts' */
/** @typedef {import('./store.js').state['usage']} Usage */

/** @type {Partial<Record<ActorRow['status'], string>>} */
const titles = {
  done: 'Complete',
  failed: 'Failed',
  aborted: 'Aborted',
  stopped: 'Stopped',
  paused: 'Paused: it waits for a decision',
  abandoned: 'Given up',
}

/**
 * How a run ended, and what it took; null while it goes on.
 *
 * @param {ActorRow} actor
 * @param {Usage} usage
 * @param {AttemptRow[]} attempts
 */
export const outcomeOf = (actor, usage, attempts) => {
  const title = titles[actor.status]
  if (title === undefined || attempts.length === 0) return null
  const steps = new Set(attempts.map(({ owner, step }) => `${owner} ${step}`)).size
  const { inputTokens, outputTokens, cost } = usage ?? {}
  const facts = [
    actor.endedAt === null ? '' : duration(actor.endedAt - actor.createdAt),
    plural(steps, 'step'),
    inputTokens === undefined ? '' : `${number(inputTokens)} tokens in`,
    outputTokens === undefined ? '' : `${number(outputTokens)} out`,
    cost === undefined ? '' : dollars(cost),
  ]
  return { title, problem: actor.failure, facts: facts.filter(Boolean).join(' · ') }
}
