/** A leg that is stopped, or whose engine fails: nothing more is recorded, and the next life goes on from there. */
import { expect, test } from 'vitest'
import { type LegEnd, type ReplayEngine, replayLeg } from '../../src/durable/index.ts'
import { Agent, tool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { memoryEngine, newJournal, newLife } from '../dbos/world/memoryEngine.ts'
import { idle } from '../engine/watching.ts'
import { playLeg, recordsOf, silentModel, started } from './replaying.ts'

/** Whether a promise has settled by now. */
const stateOf = async (promise: Promise<unknown>): Promise<'open' | 'settled'> => {
  let state: 'open' | 'settled' = 'open'
  const settle = () => {
    state = 'settled'
  }
  promise.then(settle, settle)
  await idle()
  return state
}

const textOfEnd = (end: LegEnd): string => ('output' in end ? end.output.output : end.status)

test('an answer that was under way is asked for again', async () => {
  const journal = newJournal()
  const model = silentModel()
  const { signal, abort } = stopper()
  const leg = playLeg(new Agent(model), { journal, options: { signal } })
  const { sink } = await model.next()
  sink.deltas([{ type: 'text', text: 'Half of ' }])
  abort()
  expect(await stateOf(leg)).toBe('open')
  expect(model.asked.map(({ isClosed }) => isClosed)).toEqual([true])
  expect(recordsOf(journal)['run/turn 1']).toBe('under way')
  expect(textOfEnd(await playLeg(new Agent(scriptedModel(['Whole.'])), { journal }))).toBe('Whole.')
})

const stopper = () => {
  const end = new AbortController()
  return { signal: end.signal, abort: () => end.abort() }
}
