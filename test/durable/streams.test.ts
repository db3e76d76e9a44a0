/** A reader sees the right text: from any place, in any process, however often it comes back. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { SimulatedClock } from 'xstate'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { readAll } from './reading.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

const turns = [
  [{ text: 'Let ' }, { text: 'me ' }, { text: 'see.' }, callOf('c', 'a')],
  [{ thinking: 'Hm.' }, { text: 'All ' }, { text: 'done.' }, { usage: { outputTokens: 4 } }],
]

const texts = ['Let me see.', '\nAll done.']

describe('a stream', () => {
  test('is what sendStream yields, whether it is read live, later or by another process', async () => {
    const path = storeFile()
    const plain = []
    for await (const { output, messages, finishReason, metadata, usage } of wiping(turns).agent.sendStream(
      'Go',
    ))
      plain.push({ output, messages, finishReason, metadata, usage })
    const { agent } = wiping(turns)
    const runs = await opened(path, { agent })
    const elsewhere = await opened(path, { agent })
    const run = await runs.start('agent', 'Go', { id: 'job' })
    const [live, other] = await Promise.all([
      readAll(run),
      elsewhere.get('job').then((found) => found && readAll(found)),
    ])
    const later = await readAll(run)
    expect(live.chunks.map(({ id: _, rawFinishReason: __, ...chunk }) => chunk)).toEqual(plain)
    expect(other).toEqual(live)
    expect(later).toEqual(live)
    expect(live.texts).toEqual(texts)
  })

  test('goes on after any of its cursors', async () => {
    const { agent } = wiping(turns)
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Go')
    const { cursors, chunks } = await readAll(run)
    for (const [index, cursor] of cursors.entries()) {
      const rest = await readAll(run, cursor)
      expect(rest.chunks).toEqual(chunks.slice(index + 1))
      expect(rest.cursors).toEqual(cursors.slice(index + 1))
    }
    expect((await readAll(run, '0.0')).chunks).toEqual(chunks)
  })

  test.each(['', 'x', '1', '1.', '-1.2', '1.2.3', '1e3.4', '1.99999999999999999', 5, {}])(
    'refuses a cursor such as %j',
    async (after) => {
      const runs = await opened(storeFile(), { agent: wiping(['Hi']).agent })
      const run = await runs.start('agent', 'Go')
      const read = run.stream({ after: after as string }).next()
      await expect(read).rejects.toBeInstanceOf(ConfigurationError)
    },
  )

  test('goes back to the last message for a reader that saw more than was stored', async () => {
    const { agent } = wiping(turns)
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Go')
    const { cursors, chunks } = await readAll(run)
    // As of a process that showed this and died before it was stored.
    const lost = await readAll(run, '1.999')
    expect(lost.chunks[0]?.metadata).toEqual({ restart: true })
    const lastMessage = chunks.findLastIndex(({ messages }) => messages.length > 0)
    expect(lost.cursors[0]).toBe(cursors[lastMessage])
    expect(lost.chunks.slice(1)).toEqual(chunks.slice(lastMessage + 1))
  })

  test('ends at a wait, and continues after it when there is a decision', async () => {
    const { agent } = wiping([[{ text: 'May I?' }, callOf('c', 'b')], 'Done.'])
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Go', { id: 'job' })
    const first = await readAll(run)
    expect(first.chunks.at(-1)).toMatchObject({
      finishReason: 'toolCalls',
      pendingApproval: { calls: [{ id: 'c', kind: 'approval' }] },
    })
    const rest = readAll(run, first.cursors.at(-1))
    await runs.send('job', { type: 'tool.approve', callId: 'c' })
    expect((await rest).texts).toEqual(['\nDone.'])
    expect((await rest).chunks.at(-1)?.finishReason).toBe('stop')
  })

  test('can be left at any time, and the run goes on', async () => {
    const { agent, model } = wiping(turns)
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Go')
    for await (const { chunk } of run.stream()) if (chunk.output === 'Let ') break
    expect((await run.result).finishReason).toBe('stop')
    model.assertDone()
  })

  test('ends for a reader that waits when it is left, or its signal is aborted', async () => {
    const { agent } = wiping([[{ text: 'Well' }, { hang: true }]])
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Go')
    const stop = new AbortController()
    const signalled = run.stream({ signal: stop.signal })
    const left = run.stream()
    for (const stream of [signalled, left]) {
      await stream.next()
      expect((await stream.next()).value?.chunk.output).toBe('Well')
    }
    const pulls = [signalled.next(), left.next()]
    stop.abort()
    await left.return?.()
    expect(await Promise.all(pulls)).toEqual([
      { value: undefined, done: true },
      { value: undefined, done: true },
    ])
    expect((await run.info()).status).toBe('running')
  })

  test('gives each reader chunks of its own', async () => {
    const { agent } = wiping(turns)
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Go')
    const spoil = async () => {
      for await (const { chunk } of run.stream()) {
        chunk.output = 'spoilt'
        for (const message of chunk.messages) message.parts.length = 0
      }
    }
    const [, read] = await Promise.all([spoil(), readAll(run)])
    expect(read.texts).toEqual(texts)
    expect((await readAll(run)).chunks).toEqual(read.chunks)
    expect((await run.result).output).toBe('Let me see.\nAll done.')
  })

  test('of an orchestrator has the phases of its runs', async () => {
    const { agent } = wiping(['A draft.', 'Better.', 'The final one.', 'APPROVED'], {
      orchestrator: reflectionOrchestrator(),
    })
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Write')
    const { chunks, messages, texts: shown } = await readAll(run)
    expect(new Set(chunks.map(({ metadata }) => metadata.phase))).toEqual(
      new Set([undefined, 'draft', 'critique', 'revision']),
    )
    expect(shown).toEqual(['A draft.', '\nBetter.', '\nThe final one.', '\nAPPROVED'])
    expect(messages).toEqual((await run.result).messages)
  })

  test('is shown at once, and stored a moment later', async () => {
    const path = storeFile()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const clock = new SimulatedClock()
    const steps = [
      { text: 'Let ' },
      { text: 'me ' },
      { delayMs: 1 },
      { text: 'see.' },
      { hang: true },
    ] as const
    const { agent } = wiping([steps], {}, { clock })
    const runs = await opened(path, { agent })
    const elsewhere = await opened(path, {})
    const run = await runs.start('agent', 'Go', { id: 'job' })
    const live = run.stream()
    const shown = async () => (await live.next()).value?.chunk.output
    /** The chunks that another process finds at this moment. */
    const stored = async () => {
      const stop = new AbortController()
      const found: string[] = []
      const other = (await elsewhere.get('job'))?.stream({ signal: stop.signal })
      for (;;) {
        const next = other?.next()
        setImmediate(() => stop.abort())
        const { value, done } = (await next) ?? {}
        if (done || !value) return found.join('')
        found.push(value.chunk.output)
      }
    }
    expect([await shown(), await shown(), await shown()]).toEqual(['', 'Let ', 'me '])
    expect(await stored()).toBe('')
    vi.advanceTimersByTime(19)
    expect(await stored()).toBe('')
    vi.advanceTimersByTime(1)
    expect(await stored()).toBe('Let me ')
    clock.increment(1)
    expect(await shown()).toBe('see.')
    expect(await stored()).toBe('Let me ')
    vi.advanceTimersByTime(20)
    expect(await stored()).toBe('Let me see.')
  })

  test('does not keep what a slow reader has not read', async () => {
    const words = Array.from({ length: 3000 }, (_, index) => ({ text: `${index} ` }))
    const { agent } = wiping([words])
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Count')
    const slow = run.stream()
    await slow.next()
    await run.result
    let text = ''
    for await (const { chunk } of slow) text += chunk.output
    expect(text).toBe(words.map((each) => each.text).join(''))
  })
})
