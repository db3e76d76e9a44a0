import { isRetryableStatus } from '../../providers/wire/error.ts'
import type { Delta, WireToolCall } from '../../src/model/delta.ts'
import { decode } from './decoding.ts'
import type { ServedAnswer } from './faultServer.ts'
import type { Subject } from './subjects.ts'

/** What one served answer comes to for the run that asked for it. */
export type Attempt = {
  isComplete: boolean
  text: string
  calls: WireToolCall[]
  /** True if listeners got something of it before it broke. */
  hasShown: boolean
  mayRetry: boolean
  /** The provider paused, gave up or said nothing: what the run does next is not this model's business. */
  isSpecial: boolean
}

const isShown = (delta: Delta): boolean =>
  (delta.type === 'text' && delta.text !== '') ||
  (delta.type === 'thinking' && delta.text !== '') ||
  (delta.type === 'metadata' && Object.keys(delta.metadata).length > 0)

/** Whether the end of the connection is the end of the body: undici takes even a reset for that where no length is given. */
const endsCleanly = ({ ending = 'clean', framing = 'chunked' }: ServedAnswer): boolean =>
  ending === 'clean' || framing === 'close'

export const attemptOf = (subject: Subject, answer: ServedAnswer): Attempt => {
  const { status = 200, ending, body } = answer
  if (answer.isHeadless || status !== 200) {
    const mayRetry = answer.isHeadless === true || isRetryableStatus(status)
    return { isComplete: false, text: '', calls: [], hasShown: false, mayRetry, isSpecial: false }
  }
  const end = ending === 'stall' ? 'open' : endsCleanly(answer) ? 'clean' : 'broken'
  const { deltas, failure, isFinished, accumulated } = decode(subject, body, [], end)
  const { text, calls, media, finish } = accumulated
  const isEmpty = text === '' && calls.length === 0 && media.length === 0
  return {
    isComplete: isFinished,
    text,
    calls,
    hasShown: deltas.some(isShown),
    // What stalls is timed out, and that may pass. A provider that gave its reason first has decided already.
    mayRetry: failure ? failure.retryable === true : end === 'open',
    isSpecial: isFinished && (isEmpty || finish?.pause === true || finish?.reason === 'error'),
  }
}

export type Policy = { maxRetries: number; midStream: boolean }

/** What a run over these answers must come to, by the rules of retrying. */
export type Forecast = {
  /** The complete answers, in order. */
  steps: Attempt[]
  /** The answer the run failed with. */
  failed: Attempt | undefined
  requests: number
  isSpecial: boolean
}

/** `attempts` are the answers in order; one that is missing is refused for good. */
export const forecast = (attempts: readonly Attempt[], policy: Policy): Forecast => {
  const steps: Attempt[] = []
  let retries = 0
  for (const [at, attempt] of attempts.entries()) {
    const requests = at + 1
    if (attempt.isSpecial) return { steps, failed: undefined, requests, isSpecial: true }
    if (attempt.isComplete) {
      steps.push(attempt)
      retries = 0
      if (attempt.calls.length === 0) return { steps, failed: undefined, requests, isSpecial: false }
    } else {
      const isRetried =
        attempt.mayRetry && retries < policy.maxRetries && (!attempt.hasShown || policy.midStream)
      if (!isRetried) return { steps, failed: attempt, requests, isSpecial: false }
      retries += 1
    }
  }
  const refused = {
    isComplete: false,
    text: '',
    calls: [],
    hasShown: false,
    mayRetry: false,
    isSpecial: false,
  }
  return { steps, failed: refused, requests: attempts.length + 1, isSpecial: false }
}
