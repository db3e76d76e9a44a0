import { type LimitReached, reachedIn } from '../../machines/limits.ts'
import type { PendingCall } from '../messages/result.ts'
import { callLine } from './toolLine.ts'
import { costText } from './usageText.ts'

/** A limit in a sentence: `The run has used 25 of 25 steps.` */
export const limitLine = ({ limit, used, allowed }: LimitReached): string => {
  const amounts = `${used.toLocaleString('en-US')} of ${allowed.toLocaleString('en-US')}`
  switch (limit) {
    case 'cost':
      return `The run has cost ${costText(used)} of ${costText(allowed)}.`
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

/** What a run waits for, in one line: a call, or the limit that it stands at. */
export const pendingLine = (call: PendingCall): string =>
  call.kind === 'limit' ? limitLine(reachedIn(call.arguments)) : callLine(call)
