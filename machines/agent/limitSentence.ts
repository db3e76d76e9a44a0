import { dollars } from '../../src/messages/dollars.ts'
import type { LimitReached } from './limits.ts'

/** A limit in a sentence for people: `The run has used 25 of 25 steps.` */
export const limitSentence = ({ limit, used, allowed }: LimitReached): string => {
  const amounts = `${used.toLocaleString('en-US')} of ${allowed.toLocaleString('en-US')}`
  switch (limit) {
    case 'cost':
      return `The run has cost ${dollars(used)} of ${dollars(allowed)}.`
    case 'toolCalls':
      return `The run has made ${amounts} tool calls.`
    case 'repeats':
      return 'The run keeps making the same calls with the same results.'
    case 'compactions':
      return 'The conversation does not fit: it had to be compacted again and again.'
    default:
      return `The run has used ${amounts} ${limit === 'tokens' ? 'tokens' : 'steps'}.`
  }
}
