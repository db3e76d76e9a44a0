/** Every field that is stored comes back the same, from a real file; what is not as it was written is refused. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Checkpoint, infoOf, type NewRun, notStarted } from '../../src/durable/sqlite/runRow.ts'
import { numberIn, SqliteFile } from '../../src/durable/sqlite/SqliteFile.ts'
import { type OpenStore, openStore, sqlite } from '../../src/durable/sqlite/sqlite.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import { storeFile } from './storeFile.ts'

const store = async (path = storeFile()): Promise<OpenStore> => {
  const open = await openStore(sqlite(path))
  onTestFinished(() => open.file.close())
  return open
}

const call: PendingCall = { type: 'toolCall', id: 'c', name: 'wipe', arguments: {}, kind: 'approval' }

const bare: NewRun = {
  ...notStarted,
  id: 'job',
  agent: 'janitor',
  prompt: 'Wipe it',
  packedSnapshot: '{"input":{}}',
  forkedFrom: undefined,
  base: undefined,
  context: undefined,
  request: undefined,
  answer: undefined,
  metadata: undefined,
  tags: [],
}

const full: NewRun = {
  ...bare,
  id: 'full',
  status: 'waiting',
  isUnsettled: false,
  recoveries: 2,
  hidden: 3,
  step: 4,
  state: 'AtLimit',
  usage: { inputTokens: 5 },
  pending: [call],
  error: { name: 'ModelError', message: 'No.' },
  forkedFrom: 'job',
  base: { run: 1, counts: { 0: 2, 1: 7 } },
  context: '{"tenant":6}',
}

const rowOf = ({ context: _, ...run }: NewRun, n: number, at: number) => ({
  ...run,
  n,
  incarnation: 0,
  blocked: undefined,
  created: at,
  updated: at,
})

describe('a stored run', () => {
  test('has every field that it began with', async () => {
    const { runs } = await store()
    expect([runs.insert(bare, 1000), runs.insert(full, 2000)]).toEqual([1, 2])
    for (const [run, n, at] of [
      [bare, 1, 1000],
      [full, 2, 2000],
    ] as const) {
      const row = rowOf(run, n, at)
      expect(runs.get(run.id)).toEqual(row)
      expect(runs.byNumber(n)).toEqual(row)
      const { packedSnapshot: _, ...summary } = row
      expect(runs.summary(run.id)).toEqual(summary)
    }
    expect(runs.context(1)).toBeUndefined()
    expect(runs.context(2)).toEqual({ tenant: 6 })
    for (const absent of [runs.get('x'), runs.byNumber(9), runs.summary('x')]) expect(absent).toBeUndefined()
  })

  test('has every field of its last step', async () => {
    const { runs } = await store()
    runs.insert(bare, 1000)
    const to: Checkpoint = { ...full, packedSnapshot: '{"snapshot":{}}' }
    expect(runs.update(1, 0, to, 3000)).toBe(true)
    // Its status is changed apart from a step.
    const { status, isUnsettled } = bare
    const changed = {
      ...rowOf({ ...bare, ...to, ...idOf(bare), status, isUnsettled }, 1, 1000),
      updated: 3000,
    }
    expect(runs.get('job')).toEqual(changed)
    runs.setStatus(1, { status: 'waiting', isUnsettled: false, due: undefined })
    expect(runs.get('job')).toEqual({ ...changed, status: 'waiting', isUnsettled: false })
    runs.setStatus(1, { status: 'running', isUnsettled: true, due: undefined })
    expect(runs.beginIncarnation(1, 7, 8)).toBe(false)
    expect(runs.beginIncarnation(1, 1, 8)).toBe(true)
    expect(runs.update(1, 0, to, 3500)).toBe(false)
    expect(runs.get('job')).toEqual({ ...changed, incarnation: 1, recoveries: 8 })
    expect(runs.update(1, 1, { ...bare }, 4000)).toBe(true)
    expect(runs.get('job')).toEqual({ ...rowOf(bare, 1, 1000), incarnation: 1, updated: 4000 })
    expect(runs.update(2, 0, to, 3000)).toBe(false)
  })

  test('keeps what it can continue from when it breaks or is abandoned', async () => {
    const { runs } = await store()
    runs.insert(bare, 1000)
    const error = { name: 'OrchestrationError', message: 'Broke.' } as const
    runs.fail(1, error, 2000)
    const failed = { ...rowOf(bare, 1, 1000), error, updated: 2000 }
    expect(runs.get('job')).toEqual(failed)
    runs.abandon(1, { ...error, message: 'Gone.' }, 3000)
    expect(runs.get('job')).toEqual({
      ...failed,
      status: 'abandoned',
      isUnsettled: false,
      error: { ...error, message: 'Gone.' },
      updated: 3000,
    })
  })

  test('is shown with what is known of it, and nothing else', () => {
    const shown = { id: 'job', agent: 'janitor', status: 'running', state: '', prompt: 'Wipe it', step: 0 }
    const at = { createdAt: new Date(1000), updatedAt: new Date(1000), recoveries: 0 }
    expect(infoOf(rowOf(bare, 1, 1000))).toStrictEqual({ ...shown, pending: [], ...at })
    expect(infoOf({ ...rowOf(full, 2, 2000), updated: 3000 })).toStrictEqual({
      id: 'full',
      agent: 'janitor',
      status: 'waiting',
      state: 'AtLimit',
      prompt: 'Wipe it',
      step: 4,
      pending: [call],
      usage: { inputTokens: 5 },
      error: { name: 'ModelError', message: 'No.' },
      createdAt: new Date(2000),
      updatedAt: new Date(3000),
      recoveries: 2,
      forkedFrom: 'job',
    })
  })

  test.each([
    ['AwaitingApproval', 'AwaitingApproval'],
    ['Accumulating.Requesting', 'Accumulating'],
    ['Drafting.Working, Watching', 'Drafting'],
    ['', ''],
  ])('is shown with the outermost state, also where an older release stored %j', async (stored, state) => {
    const { runs } = await store()
    runs.insert({ ...bare, state: stored }, 1000)
    expect(runs.list(9, 9, {}).map((run) => infoOf(run).state)).toEqual([state])
  })

  test('is unsettled until its readers know its status, the oldest first', async () => {
    const { runs, file } = await store()
    for (const id of ['one', 'two', 'three', 'four'])
      runs.insert({ ...bare, id, isUnsettled: id !== 'two', agent: id === 'three' ? 'other' : 'janitor' }, 1)
    file.exec(`UPDATE runs SET id = NULL WHERE id = 'four'`)
    expect(runs.unsettled()).toEqual([
      { n: 1, agent: 'janitor', status: 'running', recoveries: 0 },
      { n: 3, agent: 'other', status: 'running', recoveries: 0 },
    ])
    expect(runs.byNumber(4)).toBeUndefined()
    expect(runs.update(4, 0, bare, 1)).toBe(false)
    const ids = (...given: Parameters<typeof runs.list>) => runs.list(...given).map(({ id }) => id)
    expect(ids(9, 9, {})).toEqual(['three', 'two', 'one'])
    expect(ids(3, 9, {})).toEqual(['two', 'one'])
    expect(ids(9, 1, {})).toEqual(['three'])
    expect(ids(9, 9, { status: 'complete' })).toEqual([])
    expect(ids(9, 9, { status: 'running', agent: 'janitor' })).toEqual(['two', 'one'])
  })

  test.each([
    ['a status', `status = 'happy'`, 'a run has the status happy'],
    ['a number', `step = 'many'`, '"step" is not a number'],
    ['a text', `state = x'00'`, '"state" is not a string'],
    ['its usage', `usage = '{'`, '"usage" is not JSON'],
    ['its usage as a text', `usage = x'00'`, '"usage" is not a string'],
    ['its calls', `pending = '{}'`, 'the calls of a run are not a list'],
    ['one of its calls', `pending = '[{"id":"a"},{"id":5}]'`, 'the calls of a run are not a list'],
    ['a call that is null', `pending = '[null]'`, 'the calls of a run are not a list'],
    ['its error', `error = '"no"'`, 'the error of a run is not an error'],
    ['the message of its error', `error = '{"name":"x"}'`, 'the error of a run is not an error'],
    ['its base', `base = 1, counts = NULL`, 'the base of a run has no counts'],
    ['the counts of its base', `base = 1, counts = '{"0":1,"1":1.5}'`, 'the base of a run has no counts'],
  ])('is refused without %s', async (_, sql, message) => {
    const { runs, file } = await store()
    runs.insert(bare, 1)
    file.exec(`UPDATE runs SET ${sql}`)
    expect(() => runs.get('job')).toThrow(`The stored data is damaged: ${message}. Restore it from a backup.`)
  })
})

const idOf = ({ id, agent, prompt, forkedFrom, base, context }: NewRun) => ({
  id,
  agent,
  prompt,
  forkedFrom,
  base,
  context,
})

test('commands come in their order, each until it is deleted', async () => {
  const { commands, file } = await store()
  commands.insert(2, { type: 'abort' })
  commands.insert(1, { type: 'steer', text: 'a' })
  commands.insert(2, { type: 'compact' })
  const [abort, steer, compact] = [
    { n: 1, run: 2, command: { type: 'abort' } },
    { n: 2, run: 1, command: { type: 'steer', text: 'a' } },
    { n: 3, run: 2, command: { type: 'compact' } },
  ]
  expect(commands.runs()).toEqual([2, 1])
  expect(commands.of(2)).toEqual([abort, compact])
  commands.delete(1)
  expect(commands.runs()).toEqual([1, 2])
  expect([...commands.of(1), ...commands.of(2)]).toEqual([steer, compact])
  for (const data of ['5', '{"type":5}', '{}']) {
    file.exec(`UPDATE commands SET data = '${data}'`)
    expect(() => commands.of(2)).toThrow('a command has no type')
  }
})

test('a chat has the run that it ends with, and how much of it counts', async () => {
  const { chats } = await store()
  const chat = { id: 'one', agent: 'janitor', run: undefined, length: undefined }
  expect(chats.insert(chat)).toBe(true)
  expect(chats.insert({ ...chat, agent: 'other' })).toBe(false)
  expect(chats.get('one')).toEqual(chat)
  expect(chats.get('two')).toBeUndefined()
  expect(chats.newest('janitor')).toBeUndefined()
  expect(chats.insert({ id: 'two', agent: 'janitor', run: 3, length: 0 })).toBe(true)
  expect(chats.get('two')).toEqual({ id: 'two', agent: 'janitor', run: 3, length: 0 })
  expect(chats.advance(chat, 4)).toBe(true)
  expect(chats.advance(chat, 5)).toBe(false)
  expect(chats.get('one')).toEqual({ ...chat, run: 4 })
  expect(chats.newest('janitor')).toBe('one')
  expect(chats.advance({ id: 'two', agent: 'janitor', run: 3, length: 0 }, 9)).toBe(true)
  expect(chats.get('two')).toEqual({ id: 'two', agent: 'janitor', run: 9, length: undefined })
  expect([chats.newest('janitor'), chats.newest('other')]).toEqual(['two', undefined])
})

test('a stream is read batch by batch, and knows its end', async () => {
  const { stream, file } = await store()
  const nothing = { seq: 0, incarnation: 0, delivered: 0, isOpen: false }
  expect(stream.tail(1)).toEqual(nothing)
  expect(stream.after(1, 0)).toBeUndefined()
  expect(stream.lastOf(1, 5)).toEqual({ incarnation: 0, seq: 0 })
  stream.insert(1, { seq: 2, incarnation: 1, delivered: 1, isOpen: true }, '[1,2]')
  stream.insert(1, { seq: 3, incarnation: 2, delivered: 2, isOpen: false }, '[3]')
  stream.insert(2, { seq: 9, incarnation: 1, delivered: 0, isOpen: true }, '[]')
  expect(stream.tail(1)).toEqual({ seq: 3, incarnation: 2, delivered: 2, isOpen: false })
  expect(stream.tail(2)).toEqual({ seq: 9, incarnation: 1, delivered: 0, isOpen: true })
  expect([0, 1, 2, 3].map((seq) => stream.after(1, seq)?.chunks)).toEqual([[1, 2], [1, 2], [3], undefined])
  expect(stream.after(1, 2)).toEqual({ seq: 3, incarnation: 2, chunks: [3] })
  expect([0, 1, 2, 3].map((incarnation) => stream.lastOf(1, incarnation))).toEqual([
    { incarnation: 0, seq: 0 },
    { incarnation: 1, seq: 2 },
    { incarnation: 2, seq: 3 },
    { incarnation: 2, seq: 3 },
  ])
  file.exec(`UPDATE stream SET chunks = '{}'`)
  expect(() => stream.after(1, 0)).toThrow('a batch of chunks is not a list')
})

test('a change is whole or not at all, and waits for the disk when it must', async () => {
  const { file, runs } = await store()
  const level = () => Number(Object.values(file.get('PRAGMA synchronous') ?? {})[0])
  const [normal, full] = [1, 2]
  for (const [synchronous, expected] of [
    ['full', full],
    ['normal', normal],
    ['normal', normal],
    ['full', full],
  ] as const) {
    expect(file.write(synchronous, () => 'given back')).toBe('given back')
    expect(level()).toBe(expected)
  }
  const fails = () =>
    file.write('full', () => {
      runs.insert(bare, 1)
      throw new Error('no')
    })
  expect(fails).toThrow('no')
  expect(runs.get('job')).toBeUndefined()
  file.write('full', () => runs.insert(bare, 1))
  expect(runs.get('job')).toBeDefined()
})

test('a file that cannot be closed says so, once', () => {
  let closed = 0
  const { path } = sqlite('runs.db')
  const driver = {
    exec: () => {},
    prepare: () => {
      throw new Error('never')
    },
    close: () => {
      closed += 1
      throw Object.assign(new Error('busy'), { code: 'SQLITE_BUSY' })
    },
  }
  const file = new SqliteFile(path, () => driver)
  expect(() => file.close()).toThrow('"runs.db" is locked')
  expect(() => file.close()).not.toThrow()
  expect(closed).toBe(1)
  expect(() => file.exec('SELECT 1')).toThrow('These runs were closed: open them again.')
})

test('numbers may come as bigints, and rows as nothing', () => {
  const rows: unknown[] = [{ n: 5n }, null, undefined, 5]
  const statement = { run: () => ({ changes: 3n }), get: () => rows.shift(), all: () => [] }
  const file = new SqliteFile('runs.db', () => ({
    exec: () => {},
    prepare: () => statement,
    close: () => {},
  }))
  expect(numberIn(file.get('') ?? {}, 'n')).toBe(5)
  expect([file.get(''), file.get(''), file.get('')]).toEqual([undefined, undefined, undefined])
  expect(file.run('')).toBe(3)
})
