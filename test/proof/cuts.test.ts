import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  Agent,
  type ChatResult,
  isFatal,
  ModelError,
  textOf,
  toolCallsOf,
  validateHistory,
} from '../../src/index.ts'
import { expectContinuable } from '../portability/wireRules.ts'
import { hasRecordings, missingRecordings, protocols } from '../recordings/recordings.ts'
import { decode } from './decoding.ts'
import { dice } from './dice.ts'
import { countEndMarks } from './endMarks.ts'
import { type FaultServer, faultServer } from './faultServer.ts'
import { type Ran, recordedTools } from './recordedTools.ts'
import { sampled } from './sample.ts'
import { recordings, type Subject, subjectOf, wireOf } from './subjects.ts'

// Recorded answers, cut between events and inside them, by a closed or reset connection and by an early end: a cut
// answer is never taken for a whole one, none of its calls runs, what came is kept, and the conversation can go on.

if (!hasRecordings) console.log(missingRecordings)

const endings = ['clean', 'destroy', 'reset'] as const
type Cut = { at: number; ending: (typeof endings)[number] }

/** The first and the last three events, a few in between, and a few bytes anywhere. */
const cutsOf = ({ id, ends, body }: Subject): Cut[] => {
  const { pick, below } = dice(id.length + body.length)
  const places = [0, ...ends.slice(0, 3), ...ends.slice(-3), pick(ends), pick(ends)]
  places.push(below(body.length), below(body.length), below(body.length))
  return [...new Set(places)].map((at, nth) => ({ at, ending: endings[(nth + body.length) % 3] ?? 'clean' }))
}

let server: FaultServer
beforeAll(async () => {
  server = await faultServer()
})
afterAll(() => server.close())

/** Some servers mark an end with every event: there the mark says nothing, and only the connection can. */
const isEager = ({ protocol, body, ends }: Subject): boolean => {
  const endMarksBefore = (at: number) => countEndMarks(protocol, body.subarray(0, at))
  return endMarksBefore(ends.at(-2) ?? 0) > 1 && protocol !== 'anthropic'
}

const cutRun = async (subject: Subject, { at, ending }: Cut) => {
  const { protocol, model, contentType } = subject
  const farewell = subjectOf(wireOf(protocol), 'end', wireOf(protocol).events({ text: 'Bye.' }).join(''))
  const body = subject.body.subarray(0, at)
  const last = { headers: { 'content-type': contentType }, body: farewell.body }
  const { url, bodies } = server.script([
    { headers: { 'content-type': contentType }, body, ending },
    last,
    last,
  ])
  const ran: Ran[] = []
  const options = {
    baseUrl: url,
    apiKey: 'key',
    system: 'Be brief.',
    tools: recordedTools(ran),
    retry: { maxRetries: 0 },
  }
  const agent = new Agent(model, { ...options, maxSteps: 1 })
  const settled = await agent.send('Go').then(
    (result): { result: ChatResult; error?: unknown } => ({ result }),
    (error: unknown) => ({ result: error instanceof ModelError ? error.partial : undefined, error }),
  )
  return { ...settled, agent, bodies, ran, body }
}

const checkCut = async (subject: Subject, cut: Cut): Promise<void> => {
  const { protocol } = subject
  const whole = decode(subject, subject.body)
  const { result, error, agent, bodies, ran, body } = await cutRun(subject, cut)
  if (!result) throw error
  const hasEndMark = countEndMarks(protocol, body) > 0
  const text = result.messages
    .filter(({ role }) => role === 'model')
    .map(textOf)
    .join('')
  const calls = result.messages.flatMap(toolCallsOf)

  expect(whole.accumulated.text.startsWith(text)).toBe(true)
  expect(validateHistory(result.messages).filter(isFatal)).toEqual([])
  if (error === undefined) {
    expect(hasEndMark).toBe(true)
    if (!isEager(subject)) {
      expect(text).toBe(whole.accumulated.text)
      expect(calls.map(({ name }) => name)).toEqual(whole.accumulated.calls.map(({ name }) => name))
    }
  } else {
    expect(error).toBeInstanceOf(ModelError)
    expect(ran).toEqual([])
    if (cut.ending === 'clean' && whole.isFinished && !isEager(subject)) expect(hasEndMark).toBe(false)
    const own = whole.failure?.code === undefined ? [] : [whole.failure.code]
    const network = ['UND_ERR_SOCKET', 'ECONNRESET', ...own]
    // Half a document and nothing else may be a broken error text, so it is shown.
    expect(cut.ending === 'clean' ? ['truncated', 'invalid_json', ...own] : network).toContain(
      (error as ModelError).code,
    )
  }
  if (calls.some(({ argumentsError }) => argumentsError !== undefined)) return
  await agent.send('And now?', { history: result.messages })
  expectContinuable(protocol, bodies.at(-1) ?? {})
}

describe.skipIf(!hasRecordings).each(protocols)('%s', (protocol) => {
  test('a cut answer is a typed error with what came, and the conversation can go on', {
    timeout: 600_000,
  }, async () => {
    const own = recordings.filter((each) => each.protocol === protocol)
    for (const subject of sampled(own, 0.15)) {
      for (const cut of cutsOf(subject))
        await checkCut(subject, cut).catch((cause) => {
          throw new Error(`${subject.id}, cut after ${cut.at} bytes by ${cut.ending}`, { cause })
        })
    }
  })
})
