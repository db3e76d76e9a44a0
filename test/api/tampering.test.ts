/**
 * A stored run comes from outside. Whatever was changed in it, it is refused with a typed error or goes on as a right run:
 * it never hangs, crashes, or runs a call without an approval, or that was rejected.
 */
import { describe, expect, test } from 'vitest'
import { createActor, type Snapshot } from 'xstate'
import { pendingIn } from '../../machines/tools/pendingCalls.ts'
import { Chat } from '../../src/agent/Chat.ts'
import { ConfigurationError, OrchestrationError, StatewireError } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { PendingApproval } from '../../src/messages/result.ts'
import { isFatal, validateHistory } from '../../src/messages/validateHistory.ts'
import { dice } from '../proof/dice.ts'
import { expectNothingUnhandled } from '../proof/interrupting.ts'
import { LeapClock } from '../proof/leapClock.ts'
import { isWhole, proofSeed } from '../proof/sample.ts'
import { chartNames, isTyped, runIn, type StateName, stateNames, successor } from './storedRuns.ts'
import { tampered } from './tampering.ts'

expectNothingUnhandled()

type Successor = ReturnType<typeof successor>

/** What is decided on a run that is in a state: `b` is never approved. */
const decisionsIn = (state: StateName) =>
  state === 'AwaitingApproval'
    ? { a: true, b: false }
    : state === 'AwaitingTools'
      ? { x: { result: 'here' } }
      : state === 'AtLimit'
        ? { limit: true }
        : {}

type Way = (from: Successor, snapshot: JsonObject, state: StateName) => Promise<unknown>

const stored = (snapshot: JsonObject) => snapshot as JsonObject & Snapshot<unknown>
const pendingOf = (snapshot: JsonObject): PendingApproval => ({
  calls: [{ type: 'toolCall', id: 'a', name: 'ask', arguments: { n: 1 }, kind: 'approval' }],
  snapshot: stored(snapshot),
})

const ways: Record<string, Way> = {
  'agent.resume': ({ agent, schema }, snapshot, state) =>
    agent.resume(pendingOf(snapshot), decisionsIn(state), schema),
  'agent.start': async ({ agent, schema }, snapshot, state) =>
    agent.start({ snapshot: stored(snapshot), decisions: decisionsIn(state) }, schema).result,
  'chat.resume': async ({ agent, schema }, snapshot, state) => {
    const chat = Chat.from(agent, { version: 1, history: [], pending: pendingOf(snapshot) })
    const result = await chat.resume(decisionsIn(state), schema)
    if (!result.pendingApproval) expect(validateHistory(chat.history).filter(isFatal)).toEqual([])
    return result
  },
  createActor: ({ agent }, snapshot, state) =>
    new Promise((resolve, reject) => {
      const actor = createActor(agent.machine, {
        input: {},
        snapshot: stored(snapshot),
        clock: new LeapClock(),
      })
      actor.subscribe({
        error: reject,
        complete: () => resolve(actor.getSnapshot().output),
        // Paused, for anyone who looks at it.
        next: (next) => pendingIn(next).length > 0 && setImmediate(resolve),
      })
      actor.start()
      for (const [callId, decision] of Object.entries(decisionsIn(state))) {
        if (typeof decision === 'object') actor.send({ type: 'tool.answer', callId, ...decision })
        else actor.send({ type: decision ? 'tool.approve' : 'tool.reject', callId })
      }
    }),
}

/** What a restored run comes to once nothing moves any more. */
const outcomeOf = async (promise: Promise<unknown>): Promise<{ error?: unknown } | undefined> => {
  let outcome: { error?: unknown } | undefined
  promise.then(
    () => {
      outcome = {}
    },
    (error) => {
      outcome = { error }
    },
  )
  for (let round = 0; round < 100 && !outcome; round += 1) await new Promise(setImmediate)
  return outcome
}

const problemIn = async (way: Way, from: Successor, snapshot: JsonObject, state: StateName) => {
  from.ran.length = 0
  const outcome = await outcomeOf((async () => way(from, snapshot, state))())
  const isApproved = state === 'AwaitingApproval' || state === 'ToolExecution'
  const once = JSON.stringify(
    [
      { id: 'a', args: { n: 1 } },
      { id: 'f', args: {} },
    ].slice(isApproved ? 0 : 2),
  )
  const ran = [...from.ran].sort((a, b) => (a.id < b.id ? -1 : 1))
  const isHarmless = ran.every(
    (each, index) => once.includes(JSON.stringify(each)) && each.id !== ran[index - 1]?.id,
  )
  if (!isHarmless) return `ran ${JSON.stringify(ran)}`
  if (!outcome) return 'hangs'
  if (!('error' in outcome)) return undefined
  const { error } = outcome
  if (!(error instanceof StatewireError)) return `threw ${String(error)}`
  if (error instanceof ConfigurationError && ran.length > 0) return 'ran something, and was refused'
  return undefined
}

describe.each(chartNames)('a stored run of the chart %s', (chart) => {
  const own = stateNames.filter((state) => chart !== 'approver' || state === 'AwaitingApproval')

  test.each(own)('in %s goes on, in every way', async (state) => {
    const snapshot = await runIn(chart, state)
    for (const [name, way] of Object.entries(ways)) {
      if (name === 'createActor' && isTyped(chart)) continue
      const from = successor(chart)
      const outcome = await outcomeOf(way(from, snapshot, state))
      // A typed answer that waits again says so by an error.
      if (outcome?.error instanceof OrchestrationError)
        expect(outcome.error.partial?.pendingApproval?.calls).toMatchObject([{ id: 'x' }])
      else expect([name, outcome]).toEqual([name, {}])
      if (state === 'AwaitingApproval') expect(from.ran.map(({ id }) => id)).toEqual(['a', 'f'])
    }
  })

  test.each(own)(
    'in %s, with any field changed, is refused or right',
    { timeout: 3_600_000 },
    async (state) => {
      const snapshot = await runIn(chart, state)
      const random = dice(proofSeed)
      const from = successor(chart)
      const problems: string[] = []
      for (const { what, copy } of tampered(snapshot)) {
        for (const [name, way] of Object.entries(ways)) {
          if (!isWhole && !random.chance(chart === 'plain' ? 0.05 : 0.01)) continue
          const problem = await problemIn(way, from, copy(), state)
          if (problem) problems.push(`${name}, ${what}: ${problem}`)
        }
      }
      expect(problems).toEqual([])
    },
  )
})
