/** Tags, metadata, shapes, health and deletion: what operators and their programs look at. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { findDriver, type OpenDriver } from '../../src/durable/sqlite/driver.ts'
import { OutputValidationError } from '../../src/messages/errors.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

const open = await findDriver()

describe('a run that is started with more than a prompt', () => {
  test('has its own system prompt and limits', async () => {
    const { agent, model } = wiping([[callOf('c', 'a')], [callOf('d', 'a')]])
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Go', { system: 'Be brief.', limits: { steps: 1 } })
    expect((await run.result).finishReason).toBe('maxSteps')
    expect(model.requests).toHaveLength(1)
    expect(model.requests[0]?.messages[0]).toMatchObject({ role: 'system' })
  })

  test('is found by its tags, page by page, and shows its metadata', async () => {
    const path = storeFile()
    const { agent } = wiping(Array.from({ length: 6 }, () => 'Done.'))
    const runs = await opened(path, { agent })
    for (let n = 1; n <= 5; n += 1)
      await runs.start('agent', 'Hi', { id: `r${n}`, tags: n === 3 ? ['x'] : ['x', 'odd'], metadata: { n } })
    const ids = async (...args: Parameters<typeof runs.list>) =>
      (await runs.list(...args)).map(({ id }) => id)
    expect(await ids({ tag: 'odd' })).toEqual(['r5', 'r4', 'r2', 'r1'])
    expect(await ids({ tag: 'odd', limit: 2, before: 'r5' })).toEqual(['r4', 'r2'])
    expect(await ids({ tag: 'none' })).toEqual([])
    expect((await runs.list({ limit: 1 }))[0]).toMatchObject({ tags: ['odd', 'x'], metadata: { n: 5 } })
    expect(await (await runs.fork('r1', { atStep: 1 })).info()).toMatchObject({ metadata: { n: 1 } })
  })

  test.each([
    [{ tags: [''] }, /tags/],
    [{ tags: 'x' as never }, /tags/],
    [{ metadata: { big: 'x'.repeat(100_001) } }, /metadata/],
    [{ metadata: { at: 1n as never } }, /metadata/],
    [{ limits: { steps: 0.5 } }, /limits.steps/],
    [{ sytem: 'Be brief.' } as never, /system/],
  ])('is refused with %o', async (options, message) => {
    const runs = await opened(storeFile(), { agent: wiping([]).agent })
    await expect(runs.start('agent', 'Hi', options)).rejects.toThrow(message)
    expect(await runs.list()).toEqual([])
  })

  test('gives a value of its schema, also after a restart', async () => {
    const path = storeFile()
    const schema = z.object({ city: z.string(), at: z.string().transform((text) => new Date(text)) })
    const first = await opened(path, { agent: new Agent(scriptedModel([[{ hang: true }]])) })
    await first.start('agent', 'Where?', { id: 'job', schema })
    await first.close()
    const model = scriptedModel(['{"city":"Oslo","at":"2026-01-01T00:00:00Z"}', 'Nowhere', 'Nowhere'])
    const runs = await opened(path, { agent: new Agent(model) })
    const run = await runs.start('agent', 'Where?', { id: 'job', schema })
    const { output } = await run.result
    expect(output).toEqual({ city: 'Oslo', at: new Date('2026-01-01T00:00:00Z') })
    expect(model.requests[0]?.outputSchema).toMatchObject({ type: 'object' })
    const bad = await runs.start('agent', 'Where now?', { schema })
    await expect(bad.result).rejects.toThrow(OutputValidationError)
  })
})

test('health says who runs the agents, and what is under way', async () => {
  const path = storeFile()
  const { agent } = wiping([[callOf('c', 'b')], [{ hang: true }]])
  const runs = await opened(path, { agent })
  const guest = await opened(path, {})
  expect(await runs.health()).toMatchObject({ owner: 'this', running: 0, waiting: 0, hosted: 0 })
  await (await runs.start('agent', 'Wipe b', { id: 'one' })).result
  const { createdAt } = await (await runs.start('agent', 'Hang', { id: 'two' })).info()
  expect(await runs.health()).toMatchObject({ owner: 'this', running: 1, waiting: 1, hosted: 1 })
  const { bytes, oldest, ...rest } = await guest.health()
  expect(rest).toEqual({ owner: 'other', running: 1, waiting: 1, hosted: 0, unreadCommands: 0, lag: 0 })
  expect(bytes).toBeGreaterThan(1000)
  expect(oldest?.getTime()).toBeGreaterThanOrEqual(createdAt.getTime())
  await runs.close()
  await guest.send('one', { type: 'steer', text: 'Hurry.' })
  expect(await guest.health()).toMatchObject({ owner: 'none', unreadCommands: 1 })
})

describe('lag', () => {
  test('grows while a command or a wake-up that is due is not taken', async () => {
    const path = storeFile()
    const first = await opened(path, { agent: wiping([[callOf('c', 'b')]]).agent })
    await (await first.start('agent', 'Wipe b', { id: 'job' })).result
    await first.close()
    const guest = await opened(path, {})
    const lag = async () => (await guest.health()).lag
    await guest.wake('job', { at: new Date(Date.now() + 3_600_000) })
    expect(await guest.health()).toMatchObject({ unreadCommands: 0, lag: 0 })
    await guest.send('job', { type: 'tool.approve', callId: 'c' })
    await expect.poll(lag).toBeGreaterThan(0)
    expect(await lag()).toBeLessThan(3_600_000)
    await guest.wake('job', { at: new Date(Date.now() - 7_200_000) })
    expect(await guest.health()).toMatchObject({ unreadCommands: 2 })
    expect(await lag()).toBeGreaterThanOrEqual(7_200_000)
    const second = await opened(path, { agent: wiping(['Done.']).agent })
    expect((await (await second.get('job'))?.result)?.output).toBe('Done.')
    expect(await guest.health()).toMatchObject({ owner: 'other', unreadCommands: 0, lag: 0 })
  })

  test('counts a run whose time has come, and reads no more than that', async () => {
    const path = storeFile()
    const asking = [{ toolCall: { id: 'c', name: 'ask' } }]
    const ask = tool({
      name: 'ask',
      description: 'Asks.',
      needsApproval: true,
      expiresMs: 3_600_000,
      execute: () => '',
    })
    const agent = new Agent(scriptedModel([asking]), { tools: [ask] })
    const first = await opened(path, { agent })
    await (await first.start('agent', 'Ask', { id: 'job' })).result
    await first.close()
    const { driver, statements } = recording()
    const guest = await opened(path, {}, { driver })
    expect((await guest.health()).lag).toBe(0)
    const file = open(path)
    onTestFinished(() => void file.close())
    file.exec('UPDATE runs SET due = due - 7200000')
    expect((await guest.health()).lag).toBeGreaterThanOrEqual(3_600_000)
    const asked = statements.filter((sql) => /\b(due|sent)\b/.test(sql))
    expect(asked).toHaveLength(3)
    for (const sql of asked) {
      const plan = file.prepare(`EXPLAIN QUERY PLAN ${sql.replaceAll('?', '1')}`).all()
      const steps = plan.map((row) => String(Object(row).detail))
      expect(steps).toEqual([
        expect.stringMatching(/USING (COVERING )?INDEX (commands_by_sent|commands_by_due|runs_by_due)/),
      ])
    }
  })
})

describe('deletion', () => {
  test('takes a run with all that belongs to it, under way or not', async () => {
    const path = storeFile()
    const { agent, model } = wiping([[{ hang: true }]])
    const runs = await opened(path, { agent })
    await runs.start('agent', 'Secret', { id: 'job', tags: ['x'], metadata: { a: 1 }, context: { b: 2 } })
    expect([await runs.delete('job'), await runs.delete('job')]).toEqual([true, false])
    expect(model.closed).toBe(1)
    const file = open(path)
    for (const table of ['runs', 'items', 'stream', 'tags', 'contexts', 'commands', 'command_ids'])
      expect(file.prepare(`SELECT * FROM ${table}`).all()).toEqual([])
    file.close()
  })

  test('keeps the run that a chat ends with', async () => {
    const runs = await opened(storeFile(), { agent: wiping(['Hello.']).agent })
    const chat = await runs.chat('c')
    const run = await chat.send('Hi')
    await run.result
    await expect(runs.delete(run.id)).rejects.toThrow(/the end of the chat "c"/)
    expect(await chat.history()).toHaveLength(2)
  })

  test('in batches lets other work of the process go on', async () => {
    const path = storeFile()
    const runs = await opened(path, { agent: wiping(['Done.']).agent })
    await (await runs.start('agent', 'Hi', { id: 'job' })).result
    const file = open(path)
    const columns = `agent, status, live, life, recoveries, hidden, step, state, created, updated, prompt, head`
    file.exec(`WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < 1000)
      INSERT INTO runs (id, ${columns}) SELECT 'copy ' || many.n, ${columns} FROM runs, many WHERE id = 'job'`)
    const plan = file.prepare(
      `EXPLAIN QUERY PLAN SELECT n FROM runs WHERE id IS NOT NULL AND status = 'failed' AND n < 9 ORDER BY n DESC`,
    )
    expect(JSON.stringify(plan.all())).toContain('runs_by_status')
    file.close()
    let ticks = 0
    const timer = setInterval(() => {
      ticks += 1
    }, 0)
    expect(await runs.prune({ olderThan: new Date(Date.now() + 60_000) })).toBe(1001)
    clearInterval(timer)
    expect(ticks).toBeGreaterThan(2)
    expect(await runs.list()).toEqual([])
  })
})

/** A driver that notes the statements that it prepares. */
const recording = (): { driver: OpenDriver; statements: string[] } => {
  const statements: string[] = []
  const driver: OpenDriver = (at) => {
    const connection = open(at)
    return {
      exec: (sql) => connection.exec(sql),
      close: () => connection.close(),
      prepare(sql) {
        statements.push(sql)
        return connection.prepare(sql)
      },
    }
  }
  return { driver, statements }
}

test('runs of a rare agent are found without a look at the others', async () => {
  const path = storeFile()
  const agent = () => wiping(['Done.']).agent
  const first = await opened(path, { rare: agent() })
  await (await first.start('rare', 'Hi', { id: 'rare' })).result
  await first.close()
  const file = open(path)
  onTestFinished(() => void file.close())
  const columns = `status, live, life, recoveries, hidden, step, state, created, updated, prompt, head`
  file.exec(`WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < 100000)
    INSERT INTO runs (id, agent, ${columns}) SELECT 'copy ' || many.n, 'busy', ${columns} FROM runs, many WHERE id = 'rare'`)
  const { driver, statements } = recording()
  const runs = await opened(path, { rare: agent(), busy: agent() }, { driver })
  for (const filter of [{ agent: 'rare' }, { agent: 'rare', limit: 5 }, { agent: 'busy', limit: 1 }]) {
    const [found] = await runs.list(filter)
    expect(found).toMatchObject({ agent: filter.agent })
  }
  const [asked = ''] = statements.filter((sql) => sql.includes('agent = ?'))
  const plan = file.prepare(`EXPLAIN QUERY PLAN ${asked.replaceAll('?', '1')}`).all()
  const steps = plan.map((row) => String(Object(row).detail))
  expect(steps).toContain('SEARCH runs USING INDEX runs_by_agent (agent=? AND n<?)')
  expect(steps.filter((step) => /SCAN|TEMP/.test(step))).toEqual([])
})
