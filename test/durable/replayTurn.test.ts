/** An answer of a model is recorded so that the record shows the chart what the model said. */
import { expect, test } from 'vitest'
import { Agent, type AgentOptions } from '../../src/index.ts'
import type { ErrorData } from '../../src/messages/errors.ts'
import type { ModelSink } from '../../src/model/chatModel.ts'
import type { Delta } from '../../src/model/delta.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { newJournal } from '../dbos/world/memoryEngine.ts'
import { idle } from '../engine/watching.ts'
import { playSegment, recordsOf } from './replaying.ts'

const text = (text: string): Delta => ({ type: 'text', text })
const thinking = (text: string): Delta => ({ type: 'thinking', text })
const finish: Delta = { type: 'finish', reason: 'stop' }
const overloaded: ErrorData = { name: 'ModelError', message: 'Overloaded', status: 529 }

/** A model of a user's own. */
const modelOf = (stream: (sink: ModelSink) => unknown) => ({
  ...scriptedModel([]),
  // A user's model may return anything.
  stream: (_: unknown, sink: ModelSink) => stream(sink) as () => void,
})

const once: AgentOptions = { retry: { maxRetries: 0 } }

/** Plays a run, and plays it again from what was recorded: the model is not asked, and nothing is written again. */
const playTwice = async (stream: (sink: ModelSink) => unknown) => {
  const journal = newJournal()
  const end = await playSegment(new Agent(modelOf(stream), once), { journal })
  const before = structuredClone(journal)
  const silent = scriptedModel([])
  expect(await playSegment(new Agent(silent, once), { journal })).toEqual(end)
  expect(journal).toEqual(before)
  expect(silent.requests).toEqual([])
  return { record: recordsOf(journal)['run/turn 1'], end, journal }
}

const reading =
  (...reads: Delta[][]) =>
  (sink: ModelSink) => {
    for (const read of reads) sink.deltas(read)
    sink.end()
  }

test.each<[string, Delta[][], Delta[]]>([
  ['text that follows text is one piece', [[text('a')], [text('b'), text('c')]], [text('abc')]],
  ['and so is thinking', [[thinking('a'), thinking('b')], [thinking('c')]], [thinking('abc')]],
  [
    'one does not become the other',
    [[thinking('a')], [text('b')], [thinking('c')]],
    [thinking('a'), text('b'), thinking('c')],
  ],
  ['a read without deltas leaves nothing', [[], [text('a')], [], [text('b')]], [text('ab')]],
  [
    'everything else is kept piece by piece',
    [
      [{ type: 'response', id: 'r1' }, text('a'), { type: 'metadata', metadata: { page: 1 } }],
      [{ type: 'metadata', metadata: { page: 2 } }, text('b')],
      [
        { type: 'usage', usage: { inputTokens: 1 } },
        { type: 'usage', usage: { inputTokens: 2 } },
      ],
      [{ type: 'progress' }, { type: 'progress' }],
    ],
    [
      { type: 'response', id: 'r1' },
      text('a'),
      { type: 'metadata', metadata: { page: 1 } },
      { type: 'metadata', metadata: { page: 2 } },
      text('b'),
      { type: 'usage', usage: { inputTokens: 1 } },
      { type: 'usage', usage: { inputTokens: 2 } },
      { type: 'progress' },
      { type: 'progress' },
    ],
  ],
])('%s', async (_, reads, deltas) => {
  const { record, end } = await playTwice(reading(...reads, [finish]))
  expect(record).toEqual({ deltas: [...deltas, finish], end: { type: 'end' }, commands: [] })
  const said = deltas.flatMap((delta) => (delta.type === 'text' ? [delta.text] : [])).join('')
  expect(end).toMatchObject({ status: 'complete', output: { output: said }, seen: 0 })
})

const thrown = (cause: Error): Broken => {
  const { name, message } = cause
  return { name: 'ModelError', message, cause: { name, message } }
}
const tooFar = new RangeError('too far')
const noList = new TypeError('The model did not send a list of deltas.')

type Broken = { name: string; message?: string; cause?: object }

/** Cases: what a model does, what of its answer is good, how the answer ends by its record, and what the run fails with. */
type Failing = [string, (sink: ModelSink) => unknown, Delta[], object, Broken]

test.each<Failing>([
  ['fails', ({ fail }) => fail(overloaded), [], { type: 'failed', error: overloaded }, overloaded],
  [
    'fails with an Error instead of its data',
    // What the type forbids, and a user does.
    ({ fail }) => fail(tooFar as never),
    [],
    { type: 'failed', error: thrown(tooFar) },
    thrown(tooFar),
  ],
  [
    'throws',
    () => {
      throw tooFar
    },
    [],
    { type: 'failed', error: thrown(tooFar) },
    thrown(tooFar),
  ],
  [
    'returns a promise that rejects',
    () => Promise.reject(tooFar),
    [],
    { type: 'failed', error: thrown(tooFar) },
    thrown(tooFar),
  ],
  [
    'sends something that is not a list',
    (sink) => void setImmediate(() => sink.deltas('text' as never)),
    [],
    { type: 'failed', error: thrown(noList) },
    thrown(noList),
  ],
  [
    'sends an error after a text',
    ({ deltas }) => deltas([text('a'), { type: 'error', error: overloaded, raw: 'overloaded' }]),
    [text('a')],
    { type: 'error', error: overloaded, raw: 'overloaded' },
    overloaded,
  ],
  [
    'sends an error alone',
    ({ deltas }) => deltas([{ type: 'error', error: overloaded }]),
    [],
    { type: 'error', error: overloaded },
    overloaded,
  ],
  ['ends in the middle', reading([text('a')]), [text('a')], { type: 'end' }, { name: 'ModelError' }],
  [
    'says more after it has failed',
    ({ fail, deltas, end }) => {
      fail(overloaded)
      deltas([text('a'), finish])
      end()
    },
    [],
    { type: 'failed', error: overloaded },
    overloaded,
  ],
])('a model that %s', async (_, stream, deltas, how, error) => {
  const { record, end, journal } = await playTwice(stream)
  expect(record).toEqual({ deltas, end: how, commands: [] })
  expect(end).toMatchObject({ status: 'failed', output: { error }, seen: 0 })
  const shown = journal.stream.flat()
  expect(shown.map(({ output }) => output).join('')).toBe(deltas.length > 0 ? 'a' : '')
  expect(shown.at(-1)?.finishReason).toBe('error')
})

test('what comes after the end of an answer is not recorded', async () => {
  const { record } = await playTwice((sink) => {
    reading([text('a'), finish])(sink)
    sink.deltas([text('b')])
    sink.fail(overloaded)
  })
  expect(record).toEqual({ deltas: [text('a'), finish], end: { type: 'end' }, commands: [] })
})

test.each<[string, (close: () => void) => unknown, number]>([
  ['a function', (close) => close, 1],
  ['a promise of one', (close) => Promise.resolve(close), 1],
  ['nothing', () => undefined, 0],
  [
    'a function that throws',
    (close) => () => {
      close()
      throw new Error('Closed twice.')
    },
    1,
  ],
])('a request is closed once, with what the model returned: %s', async (_, returned, times) => {
  let closed = 0
  await playTwice((sink) => {
    setImmediate(() => reading([text('a'), finish])(sink))
    return returned(() => {
      closed += 1
    })
  })
  await idle()
  expect(closed).toBe(times)
})

test('an answer that is asked for again is another step', async () => {
  const journal = newJournal()
  const model = scriptedModel([
    [{ error: { retryable: true } }],
    [{ error: { retryable: true } }],
    'Here I am.',
  ])
  const options: AgentOptions = { retry: { maxRetries: 2, initialDelayMs: 0, maxDelayMs: 0 } }
  const end = await playSegment(new Agent(model, options), { journal })
  expect(end).toMatchObject({ status: 'complete', output: { output: 'Here I am.' } })
  expect(Object.keys(recordsOf(journal))).toEqual([
    'begin',
    'run/turn 1',
    'run/turn 1 (2)',
    'run/turn 1 (3)',
    'end',
  ])
  expect(await playSegment(new Agent(scriptedModel([]), options), { journal })).toEqual(end)
})
