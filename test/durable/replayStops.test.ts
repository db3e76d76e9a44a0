/** A segment that is stopped, or whose engine fails: nothing more is recorded, and the next incarnation continues from there. */
import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { type ReplayEngine, replaySegment, type SegmentEnd } from '../../src/durable/index.ts'
import { Agent, tool } from '../../src/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { type Journal, memoryEngine, newIncarnation, newJournal } from '../dbos/world/memoryEngine.ts'
import { idle } from '../engine/watching.ts'
import { playSegment, recordsOf, silentModel, started } from './replaying.ts'

/** The state of a promise at this moment. */
const stateOf = async (promise: Promise<unknown>): Promise<'open' | 'resolved' | 'rejected'> => {
  let state: 'open' | 'resolved' | 'rejected' = 'open'
  promise.then(
    () => {
      state = 'resolved'
    },
    () => {
      state = 'rejected'
    },
  )
  await idle()
  return state
}

const textOfEnd = (end: SegmentEnd): string => ('output' in end ? end.output.output : end.status)

const isAnyRecorded = ({ records, stream }: Journal): boolean =>
  stream.length > 0 || records.some(({ value }) => value !== undefined)

describe('a segment that is stopped', () => {
  test('asks again for the answer that was under way', async () => {
    const journal = newJournal()
    const model = silentModel()
    const incarnation = new AbortController()
    const segment = playSegment(new Agent(model), { journal, options: { signal: incarnation.signal } })
    const { sink } = await model.next()
    sink.deltas([{ type: 'text', text: 'Half of ' }])
    const written = structuredClone(journal.stream)
    incarnation.abort()
    expect(await stateOf(segment)).toBe('open')
    expect(model.asked.map(({ isClosed }) => isClosed)).toEqual([true])
    expect(recordsOf(journal)['run/turn 1']).toBe('under way')
    expect(journal.stream).toEqual(written)
    expect(textOfEnd(await playSegment(new Agent(scriptedModel(['Whole.'])), { journal }))).toBe('Whole.')
  })

  test('does not take what its tools say about the stop for their results', async () => {
    const journal = newJournal()
    const incarnation = new AbortController()
    let times = 0
    const obedient = tool({
      name: 'wait',
      description: 'Waits',
      execute: (_, { signal }) => {
        times += 1
        setImmediate(() => incarnation.abort())
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('I was aborted.')))
        })
      },
    })
    const calling = scriptedModel([[{ toolCall: { id: 'c', name: 'wait' } }]])
    const segment = playSegment(new Agent(calling, { tools: [obedient] }), {
      journal,
      options: { signal: incarnation.signal },
    })
    await new Promise((resolve) => incarnation.signal.addEventListener('abort', resolve))
    expect(await stateOf(segment)).toBe('open')
    const end = await playSegment(new Agent(scriptedModel(['Done.']), { tools: [obedient] }), { journal })
    const results = ('output' in end ? end.output.messages : []).flatMap(toolResultsOf)
    expect(results).toMatchObject([{ id: 'c', result: expect.stringContaining('unknown') }])
    expect(times).toBe(1)
  })

  test.each(['a new segment', 'a segment that had begun'])(
    'before it starts does nothing: %s',
    async (which) => {
      const journal = newJournal()
      if (which !== 'a new segment')
        journal.records.push({ name: 'begin', value: JSON.stringify({ ...started, commands: [] }) })
      const before = isAnyRecorded(journal)
      const model = silentModel()
      const segment = playSegment(new Agent(model), { journal, options: { signal: AbortSignal.abort() } })
      expect(await stateOf(segment)).toBe('open')
      expect(model.asked).toEqual([])
      expect(isAnyRecorded(journal)).toBe(before)
      expect(journal.stream).toEqual([])
    },
  )

  test('after its end changes nothing, and holds nothing', async () => {
    const incarnation = new AbortController()
    const model = silentModel()
    const segment = playSegment(new Agent(model), { options: { signal: incarnation.signal } })
    const { sink } = await model.next()
    expect(getEventListeners(incarnation.signal, 'abort')).toHaveLength(1)
    sink.deltas([
      { type: 'text', text: 'Done.' },
      { type: 'finish', reason: 'stop' },
    ])
    sink.end()
    expect(textOfEnd(await segment)).toBe('Done.')
    expect(getEventListeners(incarnation.signal, 'abort')).toEqual([])
  })
})

describe('an engine that throws', () => {
  const note = tool({ name: 'note', description: 'Notes', onInterrupted: 'rerun', execute: () => 'noted' })
  /** An agent whose answers follow from the conversation alone, in every incarnation. */
  const noting = () => {
    const turns = [[{ text: 'Let me.' }, { toolCall: { id: 'c', name: 'note' } }], 'Done.']
    const model: ChatModel = {
      ...scriptedModel([]),
      stream: (request, sink) => {
        const nth = request.messages.filter(({ role }) => role === 'model').length
        return scriptedModel([turns[nth] ?? '']).stream(request, sink)
      },
    }
    return new Agent(model, { tools: [note] })
  }
  const broken = new Error('No connection')

  /** The n-th step or write of an engine fails. */
  const failingAt = (place: string, nth: number) => (engine: ReplayEngine) => {
    let left = nth
    const due = (here: string): boolean => {
      if (here === place) left -= 1
      return here === place && left === 0
    }
    const but: ReplayEngine = {
      // As DBOS does: the step is run, and recording what it gave fails.
      step: (name, run) => (due('step') ? run().then(() => Promise.reject(broken)) : engine.step(name, run)),
      write: (chunks, isLive) =>
        due(isLive ? 'live' : 'once') ? Promise.reject(broken) : engine.write(chunks, isLive),
      commands: engine.commands,
    }
    return but
  }

  const places = [
    ...[1, 2, 3, 4, 5].map((nth) => ['step', nth] as const),
    ...[1, 2, 3, 4, 5].map((nth) => ['once', nth] as const),
    ...[1, 2].map((nth) => ['live', nth] as const),
  ]

  test.each(places)('ends the segment with its error, and records nothing more: %s %i', async (kind, nth) => {
    const journal = newJournal()
    const segment = playSegment(noting(), { journal, but: failingAt(kind, nth) })
    await expect(segment).rejects.toBe(broken)
    const after = structuredClone(journal)
    await idle(10)
    expect(journal.records.filter(({ value }) => value !== undefined)).toEqual(
      after.records.filter(({ value }) => value !== undefined),
    )
    expect(journal.stream).toEqual(after.stream)
    expect(textOfEnd(await playSegment(noting(), { journal }))).toBe('Let me.\nDone.')
  })

  test('in a step beside another one leaves the other one open', async () => {
    const journal = newJournal()
    const signals: AbortSignal[] = []
    const slow = tool({
      name: 'slow',
      description: 'Takes its time',
      execute: (_, { signal }) => {
        signals.push(signal)
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve('stopped early')))
      },
    })
    const quick = tool({ name: 'quick', description: 'Is quick', execute: () => 'done' })
    const model = scriptedModel([
      [{ toolCall: { id: 's', name: 'slow' } }, { toolCall: { id: 'q', name: 'quick' } }],
    ])
    const segment = playSegment(new Agent(model, { tools: [slow, quick], toolExecution: 'parallel' }), {
      journal,
      but: ({ step }) => ({
        step: (name, run) =>
          /^run\/q\/[^ ]+$/.test(name) ? run().then(() => Promise.reject(broken)) : step(name, run),
      }),
    })
    await expect(segment).rejects.toBe(broken)
    await idle()
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    const [, record] = Object.entries(recordsOf(journal)).find(([name]) => /^run\/s\/[^ ]+$/.test(name)) ?? []
    expect(record).toBe('under way')
  })
})

test('an engine may be an object with methods of its own', async () => {
  class Engine implements ReplayEngine {
    readonly #engine = memoryEngine(newJournal(), newIncarnation(), 'by name')
    step<T>(name: string, run: () => Promise<T>): Promise<T> {
      return this.#engine.step(name, run)
    }
    write(...given: Parameters<ReplayEngine['write']>): Promise<void> {
      return this.#engine.write(...given)
    }
    commands(after: number) {
      return this.#engine.commands(after)
    }
  }
  const end = await replaySegment(new Agent(scriptedModel(['Done.'])), new Engine(), async () => started)
  expect(textOfEnd(end)).toBe('Done.')
})
