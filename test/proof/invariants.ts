import { getEventListeners } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import {
  type ChatMessage,
  type ChatResult,
  isFatal,
  textOf,
  toolCallsOf,
  toolResultsOf,
  validateHistory,
} from '../../src/index.ts'
import { type Attempt, type Forecast, forecast } from './attempt.ts'
import type { Observed } from './observedRun.ts'
import type { Plan } from './soakPlan.ts'

const must = (isSo: boolean, promise: string, ...facts: unknown[]): void => {
  if (!isSo) throw new Error([promise, ...facts.map((fact) => JSON.stringify(fact))].join('\n'))
}

const modelMessages = (messages: readonly ChatMessage[]): ChatMessage[] =>
  messages.filter(({ role }) => role === 'model')

/** What holds for every run, whatever was served and whatever its user did. */
export const checkAlways = (plan: Plan, seen: Observed, requests: number): void => {
  const { result, ran, outcome } = seen
  must(seen.ends <= 1, 'a run ends once', seen.ends)
  if (plan.interruption === 'none') must(seen.ends === 1, 'a run ends', outcome)
  must(requests <= plan.answers.length + 1, 'no endless requests', requests)
  must(new Set(ran.map(({ id }) => id)).size === ran.length, 'no call runs twice', ran)
  must(getEventListeners(seen.signal, 'abort').length === 0, 'no listener is left on the signal')
  if (seen.chunks.length > 0) checkChunks(seen.chunks)
  if (!result || (plan.way === 'stream' && outcome === 'complete')) return
  checkHistory(result.messages, seen)
}

const checkHistory = (messages: ChatMessage[], { ran, chunks, outcome }: Observed): void => {
  must(isDeepStrictEqual(JSON.parse(JSON.stringify(messages)), messages), 'messages are plain JSON')
  const problems = validateHistory(messages).filter(isFatal)
  must(problems.length === 0, 'the history is valid', problems, messages)
  const calls = messages.flatMap(toolCallsOf).map(({ id }) => id)
  const results = messages.flatMap(toolResultsOf)
  must(
    isDeepStrictEqual(
      results.map(({ id }) => id),
      calls,
    ),
    'each call has its result',
    calls,
    results,
  )
  must(
    ran.every(({ id }) => calls.includes(id)),
    'only calls of the history ran',
    ran,
    calls,
  )
  const sure = results.filter(({ isError }) => !isError).map(({ id }) => id)
  must(
    sure.every((id) => ran.some((each) => each.id === id)),
    'a result means that the tool ran',
    sure,
    ran,
  )
  const emitted = chunks.flatMap((chunk) => chunk.messages)
  if (emitted.length > 0 && outcome !== 'left')
    must(isDeepStrictEqual(emitted, messages), 'every message is emitted once, in order', emitted, messages)
}

/** The text that was shown for each message is its text; what a restart made void is forgotten. */
const checkChunks = (chunks: readonly ChatResult[]): void => {
  let shown = ''
  let count = 0
  for (const { output, messages, metadata } of chunks) {
    if (metadata.restart === true) shown = ''
    shown += output
    for (const message of modelMessages(messages)) {
      const text = count > 0 ? shown.replace(/^\n/, '') : shown
      must(text === textOf(message), 'the text shown is the text kept', shown, textOf(message))
      shown = ''
      count += 1
    }
  }
}

const textsOf = (attempts: readonly Attempt[]): string =>
  attempts
    .map(({ text }) => text)
    .filter((text) => text !== '')
    .join('\n')

const outputOf = (plan: Plan, seen: Observed): string =>
  plan.way === 'stream' && seen.outcome === 'complete'
    ? modelMessages(seen.chunks.flatMap(({ messages }) => messages))
        .map(textOf)
        .filter((text) => text !== '')
        .join('\n')
    : (seen.result?.output ?? '')

/** Checks the outcome of a run that was not interrupted. */
export const checkForecast = (plan: Plan, seen: Observed, requests: number): Forecast => {
  const foreseen = forecast(plan.attempts, plan.retry)
  if (foreseen.isSpecial) return foreseen
  const output = outputOf(plan, seen)
  const { steps, failed } = foreseen
  if (plan.interruption !== 'none' || plan.isLossy) {
    // Such a run has some of the text of some attempt, never anything else.
    const texts = plan.attempts.map(({ text }) => text)
    const pieces = modelMessages(seen.result?.messages ?? []).map(textOf)
    must(
      pieces.every((piece) => texts.some((text) => text.startsWith(piece))),
      'a partial text is a beginning of the whole',
      pieces,
    )
    if (seen.outcome !== 'complete' || plan.isLossy) return foreseen
  }
  must(
    seen.outcome === (failed ? 'failed' : 'complete'),
    `the run must be ${failed ? 'failed' : 'complete'}`,
    seen.outcome,
    seen.error,
  )
  must(
    requests === foreseen.requests,
    'exactly the requests that the rules allow',
    requests,
    foreseen.requests,
  )
  const text = textsOf(failed ? [...steps, failed] : steps)
  must(output === text, 'the text is that of the answers', output, text)
  const wanted = steps.flatMap(({ calls }) => calls).filter((call) => call.argumentsError === undefined)
  must(
    isDeepStrictEqual(
      seen.ran.map(({ name }) => name),
      wanted.map(({ name }) => name),
    ),
    'the calls of complete answers ran, and no others',
    seen.ran,
    wanted,
  )
  return foreseen
}
