/** A reader that comes back gets what follows its cursor; what it saw and was never stored is taken back. */
import { describe, expect, test } from 'vitest'
import type { DurableChunk, DurableRun } from '../../src/durable/runs.ts'
import { findDriver, type OpenDriver } from '../../src/durable/sqlite/driver.ts'
import { cursorOf, readCursor } from '../../src/durable/sqlite/SqliteRun.ts'
import { textOf, userMessage } from '../../src/messages/messages.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

const open = await findDriver()

const changed = (path: string, ...statements: string[]): void => {
  const file = open(path)
  for (const sql of statements) file.exec(sql)
  file.close()
}

const message = (text: string) => ({ messages: [userMessage(text)] })
const restart = { metadata: { restart: true } }
const wait = { finishReason: 'toolCalls', pendingApproval: { calls: [{ id: 'c' }] } }
const end = { finishReason: 'stop' }

/** Batches as they are stored: by the number of the last chunk and the incarnation that wrote it. */
const batches: [seq: number, incarnation: number, chunks: unknown[]][] = [
  [3, 1, [message('M1'), { output: 'a' }, { output: 'b' }]],
  [4, 1, [{ output: 'c', metadata: { restart: false } }]],
  [6, 2, [restart, { output: 'd' }]],
  [8, 3, [{ output: 'e' }, message('M2')]],
  [10, 3, [{ output: 'f' }, wait]],
  [12, 3, [{ output: 'g' }, end]],
]

const inserted = ([seq, incarnation, chunks]: (typeof batches)[number]): string =>
  `INSERT INTO stream (run, seq, life, told, open, chunks) VALUES (1, ${seq}, ${incarnation}, 0, 0, '${JSON.stringify(chunks)}')`

const nameOf = ({ output, messages, metadata, finishReason }: DurableChunk): string => {
  if (metadata.restart === true) return 'restart'
  if (finishReason !== 'unspecified') return finishReason
  return output === '' ? messages.map(textOf).join() : output
}

/** The chunks that a reader gets, as `cursor what`. */
const read = async (run: DurableRun | undefined, after?: string): Promise<string[]> => {
  const found: string[] = []
  for await (const { cursor, chunk } of run?.stream(after === undefined ? {} : { after }) ?? [])
    found.push(`${cursor} ${nameOf(chunk)}`)
  return found
}

const all = [
  ...['1.1 M1', '1.2 a', '1.3 b', '1.4 c', '2.5 restart', '2.6 d', '3.7 e', '3.8 M2', '3.9 f'],
  ...['3.10 toolCalls', '3.11 g', '3.12 stop'],
]
const upToWait = (from: number) => all.slice(from, 10)
/** The chunks of a reader that begins with a text that was discarded since: it is left out. */
const whole = ['1.1 M1', ...upToWait(5)]

/** The file of a run that is over, with a stream of three incarnations. */
const threeLives = async (): Promise<string> => {
  const path = storeFile()
  const runs = await opened(path, { agent: wiping(['Hello.']).agent })
  await (await runs.start('agent', 'Hi', { id: 'job' })).result
  await runs.close()
  changed(path, 'DELETE FROM stream', ...batches.map(inserted))
  return path
}

describe('a reader of three incarnations', () => {
  test('reads from the beginning, or from any chunk, up to a wait or the end', async () => {
    const runs = await opened(await threeLives(), {})
    const run = await runs.get('job')
    for (const start of [undefined, '0.0', '7.0']) expect(await read(run, start)).toEqual(whole)
    for (const [index, line] of all.entries()) {
      const rest = index === 0 ? upToWait(5) : index < 9 ? upToWait(index + 1) : all.slice(index + 1)
      expect(await read(run, line.split(' ')[0])).toEqual(rest)
    }
  })

  test.each([
    ['nothing that was stored', '0.1', '0.0 restart', whole],
    ['a text of the first incarnation after those that were stored', '1.5', '1.1 restart', upToWait(5)],
    ['much more of it', '1.99', '1.1 restart', upToWait(5)],
    ['a text after a restart', '2.7', '2.5 restart', upToWait(5)],
    ['a message of another incarnation', '2.8', '2.5 restart', upToWait(5)],
    ['more than the end', '3.13', '3.10 restart', all.slice(10)],
    ['what a later incarnation showed', '4.12', '3.10 restart', all.slice(10)],
  ])('that saw %s goes back to the last message', async (_, after, first, rest) => {
    const runs = await opened(await threeLives(), {})
    expect(await read(await runs.get('job'), after)).toEqual([first, ...rest])
  })

  test('goes back to the last message of a stream that begins with a text', async () => {
    const path = await threeLives()
    changed(path, 'DELETE FROM stream', inserted([2, 1, [{ output: 'a' }, { output: 'b' }]]))
    const runs = await opened(path, {})
    expect(await read(await runs.get('job'), '1.3')).toEqual(['0.0 restart', '1.1 a', '1.2 b'])
    changed(path, inserted([3, 1, [5]]))
    await expect(read(await runs.get('job'), '1.2')).rejects.toThrow('a chunk is not an object')
  })
})

test('a cursor is what it was written from', () => {
  const most = { incarnation: 999_999_999, seq: 999_999_999_999_999 }
  for (const position of [{ incarnation: 0, seq: 0 }, { incarnation: 12, seq: 345 }, most])
    expect(readCursor(cursorOf(position))).toEqual(position)
  for (const cursor of ['1000000000.1', '1.1000000000000000', ' 1.1', '1.1 ', '1,1', undefined])
    expect(() => readCursor(cursor)).toThrow(
      'after must be the cursor of a chunk of stream(), such as "1.42".',
    )
})

test('a reader of a run in this process goes on after what is not stored yet', async () => {
  const { agent } = wiping([[{ text: 'a' }, { text: 'b' }, { hang: true }]])
  const runs = await opened(storeFile(), { agent })
  const run = await runs.start('agent', 'Hi')
  const cursors: string[] = []
  for await (const { cursor, chunk } of run.stream()) {
    cursors.push(cursor)
    if (chunk.output === 'b') break
  }
  expect(cursors).toEqual(['1.1', '1.2', '1.3'])
  const next = await run.stream({ after: '1.2' }).next()
  expect(next.value).toMatchObject({ cursor: '1.3', chunk: { output: 'b' } })
  const last = run.stream({ after: '1.3' })
  const pull = last.next()
  await runs.send(run.id, { type: 'abort' })
  expect((await pull).value?.chunk.metadata).toEqual({})
})

test('what is stored between two looks of a reader is not missed', async () => {
  const path = await threeLives()
  changed(path, 'DELETE FROM stream', inserted([1, 1, [message('M1')]]), 'UPDATE runs SET live = 1')
  let isDue = true
  // Another process ends the run right before its status is read.
  const driver: OpenDriver = (at) => {
    const connection = open(at)
    return {
      exec: (sql) => connection.exec(sql),
      close: () => connection.close(),
      prepare: (sql) => {
        const statement = connection.prepare(sql)
        return {
          run: (...values) => statement.run(...values),
          all: (...values) => statement.all(...values),
          get: (...values) => {
            if (isReading && isDue && sql.includes('FROM runs WHERE id = ?')) {
              isDue = false
              changed(path, inserted([2, 1, [end]]), 'UPDATE runs SET live = 0')
            }
            return statement.get(...values)
          },
        }
      },
    }
  }
  let isReading = false
  const runs = await opened(path, {}, { driver })
  const run = await runs.get('job')
  isReading = true
  expect(await read(run)).toEqual(['1.1 M1', '1.2 stop'])
  expect(isDue).toBe(false)
})

test('a reader that waits after a wait ends with the run, and is refused when the run is deleted', async () => {
  const path = storeFile()
  const { agent } = wiping([[callOf('c', 'b')]])
  const runs = await opened(path, { agent })
  const run = await runs.start('agent', 'Wipe b', { id: 'job' })
  const waits = await read(run)
  expect(waits.at(-1)).toMatch(/ toolCalls$/)
  const rest = read(run, waits.at(-1)?.split(' ')[0])
  await runs.send('job', { type: 'abort' })
  expect((await rest).at(-1)).toMatch(/ aborted$/)
  await runs.prune({ olderThan: new Date(Date.now() + 60_000) })
  await runs.start('agent', 'Wipe it again', { id: 'job' })
  await expect(read(run)).rejects.toThrow('The run "job" has been deleted.')
  await expect(run.info()).rejects.toThrow('The run "job" has been deleted.')
})
