/** The stream of a run: what a segment writes to it, when, and from where. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ReplayEngine } from '../../src/durable/index.ts'
import type { DurableChunk } from '../../src/durable/runs.ts'
import { Agent, tool } from '../../src/index.ts'
import type { Delta } from '../../src/model/delta.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { newJournal } from '../dbos/world/memoryEngine.ts'
import { brief, idle } from '../engine/watching.ts'
import { leave, playSegment, recordsOf, silentModel } from './replaying.ts'

type Written = { isLive: boolean; chunks: unknown[] }

/** Notes what is written, in a few words. */
const noting =
  (written: Written[]) =>
  ({ write }: ReplayEngine): Partial<ReplayEngine> => ({
    write: (chunks, isLive) => {
      written.push({ isLive, chunks: chunks.map(brief) })
      return write(chunks, isLive)
    },
  })

const text = (text: string): Delta => ({ type: 'text', text })
const finish: Delta = { type: 'finish', reason: 'stop' }
const chunk = (some: Partial<DurableChunk>): DurableChunk => ({
  id: '',
  output: '',
  messages: [],
  finishReason: 'unspecified',
  metadata: {},
  ...some,
})
const restart = { metadata: { restart: true } }

afterEach(() => {
  vi.useRealTimers()
})

test('the text of an answer is written in its step, everything else once, outside of it', async () => {
  const written: Written[] = []
  const note = tool({ name: 'note', description: 'Notes', execute: () => 'noted' })
  const call = { id: 'c', name: 'note', arguments: {} }
  const model = scriptedModel([
    [{ thinking: 'Hm.' }, { text: 'Let ' }, { text: 'me.' }, { toolCall: call }],
    [{ text: 'Done.' }, { usage: { inputTokens: 3 } }],
  ])
  const journal = newJournal()
  const agent = new Agent(model, { tools: [note] })
  await playSegment(agent, { journal, but: noting(written) })
  expect(written.map(({ isLive, chunks }) => [isLive, ...chunks])).toEqual([
    [false, 'user'],
    [true, { metadata: { thinking: 'Hm.' } }, { text: 'Let ' }, { text: 'me.' }],
    [false, 'model'],
    [false, 'user'],
    [true, { text: '\nDone.' }],
    [false, 'model'],
    [false, { finishReason: 'stop' }],
  ])
  const result = { type: 'toolResult', id: 'c', name: 'note', result: 'noted' } as const
  const say = (said: string) => ({ type: 'text', text: said }) as const
  expect(journal.stream.flat()).toEqual([
    chunk({ messages: [{ role: 'user', parts: [say('Hi')] }] }),
    chunk({ metadata: { thinking: 'Hm.' } }),
    chunk({ output: 'Let ' }),
    chunk({ output: 'me.' }),
    chunk({
      messages: [
        {
          role: 'model',
          parts: [say('Let me.'), { type: 'toolCall', ...call }],
          metadata: { thinking: 'Hm.' },
        },
      ],
    }),
    chunk({ messages: [{ role: 'user', parts: [result] }] }),
    chunk({ output: '\nDone.' }),
    chunk({ messages: [{ role: 'model', parts: [say('Done.')] }] }),
    chunk({ finishReason: 'stop', rawFinishReason: 'stop', usage: { inputTokens: 3 } }),
  ])
})

describe('a running answer', () => {
  test('is written in batches of 20 ms', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const written: Written[] = []
    const model = silentModel()
    const segment = playSegment(new Agent(model), { but: noting(written) })
    const { sink } = await model.next()
    const live = () => written.filter(({ isLive }) => isLive).map(({ chunks }) => chunks)
    sink.deltas([text('a')])
    vi.advanceTimersByTime(10)
    sink.deltas([text('b')])
    vi.advanceTimersByTime(9)
    await idle()
    expect(live()).toEqual([])
    vi.advanceTimersByTime(1)
    await idle()
    expect(live()).toEqual([[{ text: 'a' }, { text: 'b' }]])
    sink.deltas([text('c')])
    vi.advanceTimersByTime(20)
    await idle()
    expect(live()).toEqual([[{ text: 'a' }, { text: 'b' }], [{ text: 'c' }]])
    // The rest does not wait.
    sink.deltas([text('d'), finish])
    sink.end()
    await segment
    expect(live()).toEqual([[{ text: 'a' }, { text: 'b' }], [{ text: 'c' }], [{ text: 'd' }]])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is written one batch after the other: a slow store gets larger ones', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const written: unknown[][] = []
    let free = () => {}
    const model = silentModel()
    const but = ({ write }: ReplayEngine): Partial<ReplayEngine> => ({
      write: async (chunks, isLive) => {
        if (isLive) {
          written.push(chunks.map(({ output }) => output))
          await new Promise<void>((resolve) => {
            free = resolve
          })
        }
        await write(chunks, isLive)
      },
    })
    const journal = newJournal()
    const segment = playSegment(new Agent(model), { journal, but })
    const { sink } = await model.next()
    for (const word of ['a', 'b', 'c']) {
      sink.deltas([text(word)])
      vi.advanceTimersByTime(20)
      await idle()
    }
    expect(written).toEqual([['a']])
    sink.deltas([text('d'), finish])
    sink.end()
    free()
    await idle()
    expect(written).toEqual([['a'], ['b', 'c', 'd']])
    // The answer ends when all of it is written.
    expect(journal.records.find(({ name }) => name === 'run/turn 1')?.value).toBeUndefined()
    free()
    expect(await segment).toMatchObject({ status: 'complete', output: { output: 'abcd' } })
    expect(written).toHaveLength(2)
  })

  test('is written in the context of its step, wherever it is read', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const place = new AsyncLocalStorage<string>()
    const places: (string | undefined)[] = []
    const model = silentModel()
    const segment = playSegment(new Agent(model), {
      but: ({ step, write }) => ({
        step: (name, run) => step(name, () => place.run(name, run)),
        write: (chunks, isLive) => {
          places.push(place.getStore())
          return write(chunks, isLive)
        },
      }),
    })
    const { sink } = await model.next()
    place.run('a socket', () => sink.deltas([text('a')]))
    vi.advanceTimersByTime(20)
    await idle()
    place.run('a socket', () => {
      sink.deltas([text('b'), finish])
      sink.end()
    })
    await segment
    expect(places).toEqual([undefined, 'run/turn 1', 'run/turn 1', undefined, undefined])
  })

  test('begins when all before it is written', async () => {
    let free = () => {}
    const gate = new Promise<void>((resolve) => {
      free = resolve
    })
    const model = silentModel()
    const segment = playSegment(new Agent(model), {
      but: ({ write }) => ({
        write: async (chunks, isLive) => {
          await gate
          await write(chunks, isLive)
        },
      }),
    })
    await idle()
    expect(model.asked).toEqual([])
    free()
    const { sink } = await model.next()
    sink.deltas([text('a'), finish])
    sink.end()
    expect(await segment).toMatchObject({ status: 'complete' })
  })
})

test('a segment ends when the last chunk is written', async () => {
  let free = () => {}
  let isOver = false
  const segment = playSegment(new Agent(scriptedModel(['Done.'])), {
    but: ({ write }) => ({
      write: async (chunks, isLive) => {
        if (chunks.some(({ finishReason }) => finishReason === 'stop'))
          await new Promise<void>((resolve) => {
            free = resolve
          })
        await write(chunks, isLive)
      },
    }),
  }).then((end) => {
    isOver = true
    return end
  })
  await idle(10)
  expect(isOver).toBe(false)
  free()
  expect(await segment).toMatchObject({ status: 'complete' })
})

describe('the next incarnation', () => {
  /** The chunks that its readers get after the stream that an earlier incarnation left when it was asked for the n-th time. */
  const afterDeathAt = async (nth: number, first: Delta[][], later: string[]) => {
    const journal = newJournal()
    const model = silentModel()
    const incarnation = new AbortController()
    const midStream = { retry: { midStream: true, maxRetries: 3, initialDelayMs: 0, maxDelayMs: 0 } }
    void playSegment(new Agent(model, midStream), { journal, options: { signal: incarnation.signal } })
    for (let asked = 1; asked < nth; asked += 1) {
      const { sink } = await model.next()
      sink.deltas(first[asked - 1] ?? [])
      sink.end()
    }
    const { sink } = await model.next()
    sink.deltas(first[nth - 1] ?? [])
    incarnation.abort()
    await idle()
    const written: Written[] = []
    const next = scriptedModel(later)
    const end = await playSegment(new Agent(next, midStream), { journal, but: noting(written) })
    next.assertDone()
    const live = written.flatMap(({ isLive, chunks }) => (isLive ? [chunks] : []))
    return { end, live }
  }

  test('asks readers to discard what they have of an answer', async () => {
    const { live } = await afterDeathAt(1, [[text('Half ')]], ['Whole.'])
    expect(live).toEqual([[restart, { text: 'Whole.' }]])
  })

  test('shows text from before the answer once more: it is still valid', async () => {
    const thinking: Delta = { type: 'thinking', text: 'Hm.' }
    const pause: Delta = { type: 'finish', reason: 'stop', pause: true }
    const { live, end } = await afterDeathAt(2, [[thinking, text('One, '), pause], [text('tw')]], ['two.'])
    expect(live).toEqual([[restart, { metadata: { thinking: 'Hm.' } }, { text: 'One, ' }, { text: 'two.' }]])
    expect(end).toMatchObject({ output: { output: 'One, two.' } })
  })

  test('does not show what was discarded before', async () => {
    const error: Delta = {
      type: 'error',
      error: { name: 'ModelError', message: 'Overloaded', retryable: true },
    }
    const { live, end } = await afterDeathAt(2, [[text('Wrong.'), error], [text('Ha')]], ['Right.'])
    expect(live).toEqual([[restart, restart, { text: 'Right.' }]])
    expect(end).toMatchObject({ output: { output: 'Right.' } })
  })

  test('leaves the text of a recorded answer to readers when it repeats a request that was cut off before it', async () => {
    const journal = newJournal()
    leave(journal, { type: 'message', text: 'Wait.', when: 'now' })
    const incarnation = new AbortController()
    const model = silentModel()
    // The first request is cut off at once, and its record comes too late; that of the second one is there.
    const slow = ({ step, commands }: ReplayEngine): Partial<ReplayEngine> => ({
      step: (name, run) => (name === 'run/turn 1' ? new Promise(() => {}) : step(name, run)),
      commands,
    })
    const options = { signal: incarnation.signal }
    void playSegment(new Agent(model), { journal, options, but: slow })
    const { sink } = await model.next()
    sink.deltas([text('Done.'), finish])
    sink.end()
    while (recordsOf(journal)['run/turn 2'] === 'under way') await null
    incarnation.abort()
    const written: Written[] = []
    await playSegment(new Agent(scriptedModel([])), { journal, but: noting(written) })
    expect(written.filter(({ isLive }) => isLive)).toEqual([])
    expect(journal.stream.flat().map(brief)).toContainEqual({ text: '\nDone.' })
  })

  test('asks once: later answers are its own', async () => {
    const journal = newJournal()
    const note = tool({ name: 'note', description: 'Notes', execute: () => 'noted' })
    const silent = silentModel()
    const incarnation = new AbortController()
    void playSegment(new Agent(silent, { tools: [note] }), {
      journal,
      options: { signal: incarnation.signal },
    })
    await silent.next()
    incarnation.abort()
    const written: Written[] = []
    const model = scriptedModel([[{ text: 'Let me.' }, { toolCall: { id: 'c', name: 'note' } }], 'Done.'])
    await playSegment(new Agent(model, { tools: [note] }), { journal, but: noting(written) })
    expect(written.flatMap(({ isLive, chunks }) => (isLive ? [chunks] : []))).toEqual([
      [restart, { text: 'Let me.' }],
      [{ text: '\nDone.' }],
    ])
  })
})
