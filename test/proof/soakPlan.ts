import type { RetryPolicy } from '../../src/model/retryPolicy.ts'
import { type Attempt, attemptOf } from './attempt.ts'
import { type Dice, dice } from './dice.ts'
import type { ServedAnswer } from './faultServer.ts'
import { fixtures, recordings, type Subject } from './subjects.ts'

/** Who carries the requests. */
export const carriers = ['own', 'dispatcher', 'fetch'] as const

/** How the run is used, and what its user does in the middle of it. */
export const ways = ['send', 'stream', 'actor'] as const
export const interruptions = ['none', 'abort', 'leave'] as const

export type Plan = {
  seed: number
  subject: Subject
  answers: ServedAnswer[]
  /** What each answer must come to. */
  attempts: Attempt[]
  carrier: (typeof carriers)[number]
  way: (typeof ways)[number]
  interruption: (typeof interruptions)[number]
  /** When the interruption comes: with this chunk, or after so many turns of the event loop. */
  after: { chunks: number } | { turns: number }
  retry: RetryPolicy
  /** How many turns of the event loop the reader of a stream takes for each chunk. */
  pause: number
  /** An inspector looks on. */
  isWatched: boolean
  /** Only the beginning of a broken answer is known: `fetch` throws away what it has not handed out yet. */
  isLossy: boolean
  /** What each answer is, in words. */
  story: string[]
}

const subjects = [...recordings, ...fixtures]

/** Recordings differ much in length: short ones show as much, and many more of them fit into a minute. */
const anySubject = (d: Dice): Subject => {
  const subject = d.pick(subjects)
  return subject.body.length > 30_000 && d.chance(0.8) ? anySubject(d) : subject
}

export const farewellOf = (protocol: string): Subject => {
  const found = fixtures.find(({ id }) => id === `${protocol}: text`)
  if (!found) throw new Error(`There are no last words for ${protocol}.`)
  return found
}

const cutsOf = (d: Dice, length: number): number[] => {
  const count = d.pick([0, 0, 1, 3, 10, 40])
  return Array.from({ length: count }, () => d.below(length + 1)).toSorted((a, b) => a - b)
}

const statuses = [400, 401, 403, 404, 408, 409, 413, 422, 429, 429, 500, 502, 503, 529]

const refusal = (d: Dice): { answer: ServedAnswer; story: string } => {
  const status = d.pick(statuses)
  const wait = d.pick([{}, { 'retry-after': '0' }, { 'retry-after-ms': '2' }, { 'retry-after': 'soon 5' }])
  const body = d.pick(['', '{"error":{"message":"no"}}', '{"message":"no"}', '<h1>no</h1>', '[', '{"error":'])
  const headers = { 'content-type': 'application/json', ...wait }
  const ending = d.pick(['clean', 'clean', 'destroy'] as const)
  return {
    answer: { status, headers, body: Buffer.from(body), ending },
    story: `${status} ${JSON.stringify(wait)} ${body} ${ending}`,
  }
}

/** The answer, or what a bad day makes of it. */
const served = (d: Dice, subject: Subject, faultiness: number) => {
  const { contentType } = subject
  if (d.chance(faultiness * 0.3)) return refusal(d)
  if (d.chance(faultiness * 0.1)) {
    const ending = d.pick(['destroy', 'reset'] as const)
    return { answer: { isHeadless: true, body: Buffer.alloc(0), ending }, story: `${ending} before the head` }
  }
  const isCut = d.chance(faultiness)
  const where = d.chance(0.5) ? d.pick([0, ...subject.ends]) : d.below(subject.body.length + 1)
  const length = isCut ? where : subject.body.length
  const body = subject.body.subarray(0, length)
  const ending = isCut ? d.pick(['clean', 'destroy', 'destroy', 'reset', 'stall'] as const) : 'clean'
  const framing = d.pick(['chunked', 'chunked', 'length', 'close'] as const)
  // Inflating takes a thread of its own, which a test cannot wait for: silence would begin too early.
  const isCompressed = d.chance(0.1) && ending !== 'stall'
  const cuts = cutsOf(d, body.length)
  const answer: ServedAnswer = {
    headers: { 'content-type': contentType },
    body,
    cuts,
    ending,
    framing,
    isCompressed,
  }
  const story = `${subject.id}, ${length} of ${subject.body.length} bytes, ${ending}, ${framing}${isCompressed ? ', gzip' : ''}, ${cuts.length} cuts`
  return { answer, story }
}

export const planOf = (seed: number): Plan => {
  const d = dice(seed)
  const subject = anySubject(d)
  const farewell = farewellOf(subject.protocol)
  const faultiness = d.pick([0, 0.4, 0.8])
  const answers: ServedAnswer[] = []
  const attempts: Attempt[] = []
  const story: string[] = []
  let isAnswered = false
  while (answers.length < 7) {
    const said = isAnswered ? farewell : subject
    const next = served(d, said, faultiness)
    const attempt = attemptOf(said, next.answer)
    answers.push(next.answer)
    attempts.push(attempt)
    story.push(next.story)
    isAnswered ||= attempt.isComplete
  }
  const carrier = d.pick(carriers)
  const isBroken = ({ ending, isHeadless }: ServedAnswer): boolean =>
    !isHeadless && (ending === 'destroy' || ending === 'reset')
  return {
    seed,
    subject,
    answers,
    attempts,
    story,
    carrier,
    isLossy: carrier === 'fetch' && answers.some(isBroken),
    way: d.pick(ways),
    interruption: d.pick(['none', 'none', ...interruptions]),
    after: d.chance(0.5) ? { chunks: d.below(8) } : { turns: d.below(40) },
    retry: { maxRetries: d.below(4), midStream: d.chance(0.5), initialDelayMs: 1, maxDelayMs: 3 },
    pause: d.pick([0, 0, 1, 20]),
    isWatched: d.chance(0.3),
  }
}
