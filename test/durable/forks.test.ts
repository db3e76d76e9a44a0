/** A fork continues from another run and shares its messages; pruning never deletes what other runs share. */
import { describe, expect, test } from 'vitest'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import type { DurableRun } from '../../src/durable/index.ts'
import { findDriver } from '../../src/durable/sqlite/driver.ts'
import { SqliteFile } from '../../src/durable/sqlite/SqliteFile.ts'
import { textOf, toolResultsOf, userMessage } from '../../src/messages/messages.ts'
import { readAll } from './reading.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

/** A row of a table, as SQLite itself finds it. */
const lookedUp = async (path: string, sql: string): Promise<unknown> => {
  const file = new SqliteFile(path, await findDriver())
  try {
    return Object.values(file.get(sql) ?? {})[0]
  } finally {
    file.close()
  }
}

const itemsIn = (path: string) => lookedUp(path, 'SELECT count(*) AS count FROM items')

const inTheFuture = () => new Date(Date.now() + 60_000)

describe('a fork', () => {
  test('of a run that waits can be decided on apart from it', async () => {
    const path = storeFile()
    const { agent, wiped } = wiping([[{ text: 'May I?' }, callOf('c', 'b')], 'Wiped.', 'Kept.'])
    const runs = await opened(path, { agent })
    const run = await runs.start('agent', 'Wipe b', { id: 'job' })
    await run.result
    const before = await itemsIn(path)
    const fork = await runs.fork('job', { id: 'other' })
    expect(await itemsIn(path)).toBe(before)
    const [origin, copy] = [await run.info(), await fork.info()]
    expect(copy).toEqual({
      ...origin,
      id: 'other',
      forkedFrom: 'job',
      createdAt: expect.any(Date),
      updatedAt: expect.any(Date),
      pending: origin.pending.map((call) => ({ ...call, question: expect.any(String) })),
    })
    // A yes for the one is not a yes for the other.
    expect(copy.pending[0]?.question).not.toBe(origin.pending[0]?.question)
    const shown = await readAll(fork)
    expect(shown.messages).toEqual((await run.result).messages)
    expect(shown.chunks.at(-1)?.pendingApproval?.calls).toHaveLength(1)
    await runs.send('job', { type: 'tool.approve', callId: 'c' })
    expect((await run.result).output).toBe('May I?\nWiped.')
    await runs.send('other', { type: 'tool.reject', callId: 'c' })
    const { messages, output } = await fork.result
    expect(output).toBe('May I?\nKept.')
    expect(messages.flatMap(toolResultsOf)).toMatchObject([{ rejected: true }])
    expect(wiped).toEqual(['b'])
  })

  test('has its own id wherever the chart keeps it', async () => {
    const path = storeFile()
    const { agent } = wiping([[callOf('c', 'b')]], { orchestrator: reflectionOrchestrator() })
    const runs = await opened(path, { agent })
    await (await runs.start('agent', 'Wipe b', { id: 'job' })).result
    await (await runs.fork('job', { id: 'other' })).result
    const packed = await lookedUp(path, `SELECT head FROM runs WHERE id = 'other'`)
    expect(packed).toContain('"id":"other"')
    expect(packed).not.toContain('"id":"job"')
  })

  test('of a run that is over asks for its last answer again', async () => {
    const { agent, model, wiped } = wiping([[callOf('c', 'a')], 'Done.', 'Done, again.'])
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Wipe a', { context: { tenant: 1 } })
    await run.result
    const fork = await runs.fork(run.id)
    expect((await fork.result).output).toBe('Done, again.')
    expect(model.requests[2]?.messages).toEqual(model.requests[1]?.messages)
    expect(wiped).toEqual(['a'])
  })

  test('goes on from before any model call', async () => {
    const path = storeFile()
    const script = [[callOf('c1', 'a1')], [callOf('c2', 'a2')], 'Done.']
    const { agent, model } = wiping([...script, 'First.', 'Second.', 'Third.'])
    const runs = await opened(path, { agent })
    const run = await runs.start('agent', 'Wipe both', { id: 'job', history: [] })
    await run.result
    const before = await itemsIn(path)
    for (const atStep of [1, 2, 3]) {
      await (await runs.fork('job', { atStep })).result
      expect(model.requests[2 + atStep]?.messages).toEqual(model.requests[atStep - 1]?.messages)
    }
    // Each fork brought one answer; nothing was copied.
    expect(await itemsIn(path)).toBe(Number(before) + 3)
    for (const atStep of [0, 5, 1.5])
      await expect(runs.fork('job', { atStep })).rejects.toThrow(/atStep|model call/)
  })

  test('of a failed run tries once more, with another agent if wanted', async () => {
    const first = wiping([[{ error: { message: 'Overloaded.' } }]])
    const second = wiping(['Hello.'])
    const runs = await opened(storeFile(), { first: first.agent, second: second.agent })
    const run = await runs.start('first', 'Hi')
    await expect(run.result).rejects.toThrow('Overloaded.')
    const fork = await runs.fork(run.id, { agent: 'second' })
    expect(fork.agent).toBe('second')
    expect((await fork.result).output).toBe('Hello.')
    expect(second.model.requests[0]?.messages).toEqual([userMessage('Hi')])
  })

  test.each([
    ['that waits', undefined, 'Wipe b', [{ tenant: 4 }, { tenant: 4 }]],
    ['from before a model call', 1, 'Wipe b', [{ tenant: 4 }, { tenant: 4 }]],
  ])('of a run %s has its prompt and its context', async (_, atStep, prompt, contexts) => {
    const seen: unknown[] = []
    const { agent } = wiping([[callOf('c', 'b')], 'Done.'])
    const context = (stored: unknown) => {
      seen.push(stored)
      return stored
    }
    const runs = await opened(storeFile(), { agent }, { context })
    const run = await runs.start('agent', 'Wipe b', { id: 'job', context: { tenant: 4 } })
    await run.result
    const fork = await runs.fork('job', { id: 'other', ...(atStep && { atStep }) })
    if (!atStep) await runs.send('other', { type: 'tool.approve', callId: 'c' })
    expect((await fork.result).answer).toBe('Done.')
    expect(await fork.info()).toMatchObject({ prompt, forkedFrom: 'job', recoveries: 0 })
    expect(seen).toEqual(contexts)
  })

  test('of a run that has not begun begins as well', async () => {
    const path = storeFile()
    const owner = await opened(path, { busy: wiping([]).agent })
    const { agent, model } = wiping(['One.', 'Two.'])
    const runs = await opened(path, { agent })
    // The process that owns the store does not have this agent.
    const run = await runs.start('agent', 'Hi', { id: 'job', context: 5 })
    const fork = await runs.fork('job', { id: 'other' })
    expect(await fork.info()).toMatchObject({ status: 'running', step: 0, state: '', prompt: 'Hi' })
    expect(await lookedUp(path, `SELECT head FROM runs WHERE id = 'other'`)).toBe(
      '{"input":{"prompt":"Hi","id":"other"}}',
    )
    await owner.close()
    expect([(await run.result).output, (await fork.result).output]).toEqual(['One.', 'Two.'])
    expect(model.requests[1]?.messages).toEqual([userMessage('Hi')])
  })

  test('says how many answers there are to fork before', async () => {
    const { agent } = wiping(['Hi'])
    const runs = await opened(storeFile(), { agent })
    await (await runs.start('agent', 'Hi', { id: 'one' })).result
    await expect(runs.fork('one', { atStep: 3 })).rejects.toThrow(
      'The run "one" has no model call number 3 to fork before: it has 1 answers.',
    )
    await expect(runs.fork('one', { atStep: 0 })).rejects.toThrow('atStep must be a whole number, 1 or more')
    await expect(runs.fork('one', { id: '' })).rejects.toThrow(/An id must be/)
    expect(await runs.list()).toHaveLength(1)
  })

  test('needs a run that is there, and an id that is free', async () => {
    const { agent } = wiping(['Hi', 'Hi'])
    const runs = await opened(storeFile(), { agent })
    await (await runs.start('agent', 'Hi', { id: 'one' })).result
    await expect(runs.fork('missing')).rejects.toThrow('There is no run "missing".')
    await expect(runs.fork('one', { id: 'one' })).rejects.toThrow('There is a run "one" already.')
    await expect(runs.fork('one', { agent: 'x' })).rejects.toThrow(/no agent "x"/)
  })
})

describe('pruning', () => {
  test('deletes what is over and old, and says how many', async () => {
    const path = storeFile()
    const { agent } = wiping(['One.', 'Two.', [callOf('c', 'b')], [{ hang: true }]])
    const runs = await opened(path, { agent })
    for (const id of ['one', 'two', 'three']) await (await runs.start('agent', 'Hi', { id })).result
    await runs.start('agent', 'Hi', { id: 'four' })
    expect(await runs.prune({ olderThan: new Date(0) })).toBe(0)
    expect(await runs.prune({ olderThan: inTheFuture() })).toBe(2)
    expect((await runs.list()).map(({ id }) => id)).toEqual(['four', 'three'])
    expect(await runs.get('one')).toBeUndefined()
    expect(await runs.prune({ olderThan: inTheFuture(), status: 'waiting' })).toBe(1)
    expect(await runs.prune({ olderThan: inTheFuture(), status: 'running' })).toBe(1)
    for (const table of ['runs', 'items', 'stream', 'contexts'])
      expect(await lookedUp(path, `SELECT count(*) AS count FROM ${table}`)).toBe(0)
  })

  test('ends what waits for the result of a run that is deleted', async () => {
    const { agent } = wiping([[{ hang: true }]])
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Hi', { id: 'job' })
    const ends = [run.result, readAll(run)].map((each) => each.catch((thrown) => thrown.message))
    await runs.prune({ olderThan: inTheFuture(), status: 'running' })
    expect(await Promise.all(ends)).toEqual(Array(2).fill('The run "job" has been deleted.'))
  })

  test('keeps the messages that other runs share, and deletes them with the last of those', async () => {
    const path = storeFile()
    const { agent } = wiping([[callOf('c', 'a')], 'Done.', 'Again.', 'Once more.'])
    const runs = await opened(path, { agent })
    await (await runs.start('agent', 'Wipe a', { id: 'one' })).result
    await (await runs.fork('one', { id: 'two' })).result
    const third = await runs.fork('two', { id: 'three' })
    const result = await third.result
    const prune = (id: string) => lookedUp(path, `UPDATE runs SET updated = 0 WHERE id = '${id}' RETURNING n`)
    await prune('one')
    await prune('two')
    expect(await runs.prune({ olderThan: new Date(1) })).toBe(2)
    expect(await third.result).toEqual(result)
    expect((await readAll(third)).messages).toEqual(result.messages)
    expect(result.messages.map(textOf)).toEqual(['Once more.'])
    await prune('three')
    expect(await runs.prune({ olderThan: new Date(1) })).toBe(1)
    expect(await itemsIn(path)).toBe(0)
    expect(await lookedUp(path, 'SELECT count(*) AS count FROM runs')).toBe(0)
  })

  test.each([
    ['running', 0],
    ['waiting', 0],
    ['complete', 1],
    ['failed', 1],
    ['aborted', 1],
    ['abandoned', 1],
  ] as const)('of what is over: %s', async (status, count) => {
    const path = storeFile()
    const runs = await opened(path, { agent: wiping(['Hi']).agent })
    await (await runs.start('agent', 'Hi')).result
    await lookedUp(path, `UPDATE runs SET status = '${status}', updated = 5 RETURNING n`)
    expect(await runs.prune({ olderThan: new Date(5) })).toBe(0)
    expect(await runs.prune({ olderThan: new Date(6) })).toBe(count)
    expect(await runs.prune({ olderThan: new Date(6), status })).toBe(1 - count)
  })

  test.each([
    [1, 3],
    [3, 1],
  ])('keeps as many messages as the forks build on: before calls %i and %i', async (first, second) => {
    const path = storeFile()
    const script = [[callOf('c1', 'a1')], [callOf('c2', 'a2')], 'Done.']
    const { agent } = wiping([...script, 'First.', 'Second.'])
    const runs = await opened(path, { agent })
    const context = { tenant: 4 }
    await (await runs.start('agent', 'Wipe both', { id: 'job', context })).result
    const forks: DurableRun[] = []
    for (const atStep of [first, second]) forks.push(await runs.fork('job', { atStep }))
    const results = []
    for (const fork of forks) results.push(await fork.result)
    await lookedUp(path, `UPDATE runs SET updated = 0 WHERE id = 'job' RETURNING n`)
    expect(await runs.prune({ olderThan: new Date(1) })).toBe(1)
    // Of the six messages, the last answer is gone; and so is all that was known of the run itself.
    expect(await lookedUp(path, 'SELECT count(*) AS count FROM items WHERE run = 1')).toBe(5)
    expect(
      await lookedUp(path, 'SELECT json_array(id, live, head, pending, error) AS row FROM runs WHERE n = 1'),
    ).toBe('[null,0,"",null,null]')
    for (const table of ['stream', 'contexts', 'commands'])
      expect(await lookedUp(path, `SELECT count(*) AS count FROM ${table} WHERE run = 1`)).toBe(0)
    for (const [index, fork] of forks.entries()) expect(await fork.result).toEqual(results[index])
  })

  test('refuses a status that there is not', async () => {
    const runs = await opened(storeFile(), { agent: wiping([]).agent })
    const status = 'happy' as never
    await expect(runs.prune({ olderThan: new Date(), status })).rejects.toThrow(
      /^status must be 'running', 'waiting', .*, not "happy"\.$/,
    )
    await expect(runs.list({ status })).rejects.toThrow(
      /^status must be 'running', 'waiting', .*, not "happy"\.$/,
    )
    await expect(runs.prune({ olderThan: new Date(Number.NaN) })).rejects.toThrow(/olderThan must be a date/)
  })

  test('needs a date', async () => {
    const runs = await opened(storeFile(), { agent: wiping([]).agent })
    await expect(runs.prune({ olderThan: 'yesterday' as never })).rejects.toThrow(/olderThan must be a date/)
  })
})
