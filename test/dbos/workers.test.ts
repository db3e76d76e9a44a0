/** Workers beside each other: one that joins, one that is paused for too long, and how late all of them are. */
import { appendFileSync, existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { dbosRuns, type Runs } from '../../src/dbos/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { type Noted, plannedAgents } from './world/agents.ts'
import { type PlannedTurn, promptOf } from './world/plan.ts'
import { RestlessReader } from './world/RestlessReader.ts'
import { type ModelServer, startModel } from './world/startModel.ts'
import { buildWorker, Workers } from './world/Workers.ts'

let postgres: Postgres
let model: ModelServer
let runs: Runs | undefined
const folder = mkdtempSync(join(tmpdir(), 'statewire-workers-'))
const log = join(folder, 'calls.log')

beforeAll(async () => {
  await buildWorker('workers')
  postgres = await startPostgres()
  model = await startModel(5)
}, 180_000)

afterEach(async () => {
  await runs?.close()
  runs = undefined
})

afterAll(async () => {
  await model?.stop()
  await postgres?.stop()
})

/** Workers of a database, which end with the test. */
const workersOf = (databaseUrl: string): Workers => {
  const workers = new Workers(databaseUrl, model.url, log)
  onTestFinished(() => workers.stop())
  return workers
}

const open = async (databaseUrl: string, options: { concurrency?: number } = {}): Promise<Runs> => {
  runs = await dbosRuns({ databaseUrl, agents: plannedAgents(model.url, log), ...options })
  return runs
}

const plan = (...turns: PlannedTurn[]) => promptOf({ id: 'test', turns })

/** A call that begins, and ends once the test writes a file. */
const held = (what: string, name = 'note'): { turn: PlannedTurn; letGo(): void } => {
  const until = join(folder, what)
  return { turn: { calls: [{ name, input: { what, until } }] }, letGo: () => appendFileSync(until, '') }
}

const noted = (what: string): Noted[] =>
  existsSync(log)
    ? readFileSync(log, 'utf8')
        .trim()
        .split('\n')
        .map((line): Noted => JSON.parse(line))
        .filter((each) => each.what === what)
    : []

const begun = (what: string): number => noted(what).filter(({ moment }) => moment === 'begin').length

test('lag grows while a command is not taken, and is over once a worker has read it', async () => {
  const databaseUrl = postgres.database()
  const first = await open(databaseUrl)
  const one = held('lag-1')
  const two = held('lag-2')
  const wipe: PlannedTurn = { calls: [{ name: 'wipe', input: { what: 'lag-0' } }] }
  const run = await first.start('one', plan(wipe, one.turn, two.turn, { text: 'Done.' }), { id: 'lag' })
  const [call] = (await run.result).pendingApproval?.calls ?? []
  expect(await first.health()).toMatchObject({ owner: 'this', waiting: 1, unreadCommands: 0, lag: 0 })
  await first.close()

  const starter = await open(databaseUrl, { concurrency: 0 })
  await starter.send('lag', { type: 'tool.approve', callId: call?.id ?? '' })
  await expect.poll(async () => (await starter.health()).lag).toBeGreaterThan(0)
  expect(await starter.health()).toMatchObject({ owner: 'none', running: 1, unreadCommands: 1 })
  await starter.close()

  const second = await open(databaseUrl)
  await expect.poll(() => begun('lag-1')).toBe(1)
  expect(await second.health()).toMatchObject({ owner: 'this', unreadCommands: 0, lag: 0 })
  // While its segment works, a command waits for the next step.
  await second.send('lag', { type: 'steer', text: 'Hurry.' })
  await expect.poll(async () => (await second.health()).lag).toBeGreaterThan(0)
  one.letGo()
  await expect.poll(() => begun('lag-2')).toBe(1)
  expect(await second.health()).toMatchObject({ running: 1, unreadCommands: 0, lag: 0 })
  two.letGo()
  expect((await (await second.get('lag'))?.result)?.output).toBe('Done.')
})

test('a worker that joins waits for no transaction on the tables, and the runs of the others continue', async () => {
  const databaseUrl = postgres.database()
  const starter = await open(databaseUrl, { concurrency: 0 })
  const workers = workersOf(databaseUrl)
  await workers.start()
  const one = held('join-1')
  const run = await starter.start('one', plan(one.turn, { text: 'Done.' }), { id: 'join' })
  await expect.poll(() => begun('join-1')).toBe(1)
  // As the end of a run does. A change of a table would wait for it, and everything else for that change.
  const tables = ['runs', 'commands', 'later_commands', 'chats', 'command_ids', 'workers', 'version']
  const names = tables.map((name) => `statewire.${name}`).join(', ')
  const release = await postgres.hold(databaseUrl, `LOCK TABLE ${names} IN ROW EXCLUSIVE MODE`)
  await workers.start()
  one.letGo()
  expect((await run.result).output).toBe('Done.')
  await release()
  expect(await run.info()).toMatchObject({ status: 'complete' })
  expect(begun('join-1')).toBe(1)
}, 240_000)

test('a worker that is paused in a tool until another one has taken over doubles nothing, and fails no run', async () => {
  const databaseUrl = postgres.database()
  const starter = await open(databaseUrl, { concurrency: 0 })
  const workers = workersOf(databaseUrl)
  const paused = await workers.start()
  const [one, two] = [held('tool-1'), held('tool-2')]
  const run = await starter.start('one', plan(one.turn, two.turn, { text: 'Done.' }), { id: 'tool' })
  const reader = new RestlessReader(run, () => 0.3)
  const reading = reader.read()
  await expect.poll(() => begun('tool-1')).toBe(1)
  const other = await workers.start()
  paused.process.kill('SIGSTOP')
  await expect.poll(() => begun('tool-2'), { timeout: 60_000 }).toBe(1)
  // It wakes up in its tool, whose result comes too late, while the other one is in the next tool.
  one.letGo()
  paused.process.kill('SIGCONT')
  await expect.poll(() => noted('tool-1')).toHaveLength(2)
  two.letGo()
  const { output, messages } = await run.result
  expect(output).toBe('Done.')
  await reading
  const [first, second] = messages.flatMap(toolResultsOf)
  expect(first?.result).toContain('whether it took effect is unknown')
  // A healthy worker that is slow for a moment may lose its run, too.
  expect(second?.result).toMatch(/noted tool-2|whether it took effect is unknown/)
  // It works on: this one is for it alone.
  await workers.kill(other)
  const next = await starter.start('one', plan({ text: 'Mine.' }), { id: 'tool-next' })
  expect((await next.result).output).toBe('Mine.')
  expect([begun('tool-1'), begun('tool-2')]).toEqual([1, 1])
  expect(await run.info()).toMatchObject({ status: 'complete' })
  expect(reader.problems).toEqual([])
  expect(reader.messages).toEqual(messages)
  expect(reader.ends).toBe(1)
}, 240_000)

test('a worker that is paused in an answer until another one has taken over adds nothing to its stream', async () => {
  const databaseUrl = postgres.database()
  const starter = await open(databaseUrl, { concurrency: 0 })
  const workers = workersOf(databaseUrl)
  const paused = await workers.start()
  const text = Array.from({ length: 400 }, (_, n) => `word${n}`).join(' ')
  model.paceMs = 30
  onTestFinished(() => {
    model.paceMs = 5
  })
  const run = await starter.start('one', plan({ text }), { id: 'text' })
  const reader = new RestlessReader(run, () => 0.3)
  const reading = reader.read()
  for await (const { chunk } of run.stream()) if (chunk.output.includes('word20')) break
  const other = await workers.start()
  paused.process.kill('SIGSTOP')
  for await (const { chunk } of run.stream()) if (chunk.metadata.restart === true) break
  // It wakes up in the middle of the same answer.
  paused.process.kill('SIGCONT')
  const { output, messages } = await run.result
  expect(output).toBe(text)
  await reading
  await workers.kill(other)
  const next = await starter.start('one', plan({ text: 'Mine.' }), { id: 'text-next' })
  expect((await next.result).output).toBe('Mine.')
  expect(await run.info()).toMatchObject({ status: 'complete' })
  expect(reader.problems).toEqual([])
  expect(reader.messages).toEqual(messages)
  expect(reader.ends).toBe(1)
  expect(reader.restarts).toBeGreaterThan(0)
}, 240_000)
