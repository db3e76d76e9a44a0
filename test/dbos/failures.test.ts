/** Failures around runs on DBOS: each error says what to do, and nothing that was stored is lost. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { isSuperseded } from '../../src/dbos/dbosJournal.ts'
import { dbosRuns, type Runs } from '../../src/dbos/index.ts'
import { ConfigurationError } from '../../src/index.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { plannedAgents } from './world/agents.ts'
import { type PlannedTurn, promptOf } from './world/plan.ts'
import { RestlessReader } from './world/RestlessReader.ts'
import { type ModelServer, startModel } from './world/startModel.ts'
import { buildWorker, Workers } from './world/Workers.ts'

let postgres: Postgres
let model: ModelServer
let runs: Runs | undefined
const log = join(mkdtempSync(join(tmpdir(), 'statewire-failures-')), 'calls.log')

beforeAll(async () => {
  await buildWorker('failures')
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

const open = async (
  databaseUrl: string,
  options: { concurrency?: number; takeOverAfterMs?: number } = {},
) => {
  runs = await dbosRuns({ databaseUrl, agents: plannedAgents(model.url, log), ...options })
  return runs
}

const plan = (...turns: PlannedTurn[]) => promptOf({ id: 'test', turns })
const long = (words: number): PlannedTurn => ({
  text: Array.from({ length: words }, (_, n) => `word${n}`).join(' '),
})

const refused = async (databaseUrl: string): Promise<string> => {
  const thrown = await open(databaseUrl).then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(ConfigurationError)
  const said = `${thrown instanceof Error ? `${thrown.message} ${thrown.stack} ${thrown.cause}` : ''}`
  expect(said).not.toContain('secret-of-tests')
  expect(said).not.toContain('another-secret')
  return said
}

test('a database that cannot be reached, or a URL that is not one, is reported without the password', async () => {
  const url = new URL(postgres.database())
  url.port = '9'
  expect(await refused(url.href)).toContain('Postgres does not answer at 127.0.0.1:9')
  const other = new URL(postgres.database())
  other.password = 'another-secret'
  expect(await refused(other.href)).toContain('refuses the user or the password of databaseUrl')
  expect(await refused('mysql://root:another-secret@localhost/x')).toContain(
    'must be a URL such as postgresql://',
  )
  expect(await refused('another-secret')).toContain('must be a URL such as postgresql://')
})

test('runs that were closed say so, and go on where they are opened next', async () => {
  const databaseUrl = postgres.database()
  const first = await open(databaseUrl)
  // It is in the middle of its answer, though the database may be slow.
  model.paceMs = 500
  const run = await first.start(
    'one',
    plan({ calls: [{ name: 'note', input: { what: 'c1' } }] }, long(400)),
    { id: 'goes-on' },
  )
  let after = ''
  for await (const { cursor, chunk } of run.stream()) {
    after = cursor
    if (chunk.output.includes('word')) break
  }
  const left = run.result
  const closed = expect(left).rejects.toThrow('These runs were closed')
  await first.close()
  await closed
  model.paceMs = 5
  await expect(first.start('one', 'Hi')).rejects.toThrow('These runs were closed')
  await expect(run.info()).rejects.toThrow('These runs were closed')
  await expect(run.stream().next()).rejects.toThrow('These runs were closed')

  const second = await open(databaseUrl)
  const again = await second.get('goes-on')
  let text = ''
  let restarts = 0
  for await (const { chunk } of again?.stream({ after }) ?? []) {
    if (chunk.metadata.restart === true) {
      text = ''
      restarts += 1
    } else text += chunk.output
  }
  const whole = await again?.result
  expect(restarts).toBe(1)
  expect(text.trim()).toBe(whole?.output)
  expect(whole?.output).toMatch(/^word0 .*word399$/)
})

test('a run outlives a restart of Postgres', async () => {
  const service = await open(postgres.database())
  const run = await service.start(
    'one',
    plan({ calls: [{ name: 'note', input: { what: 'r1' } }] }, long(300)),
    { id: 'restart' },
  )
  const { result } = run
  let text = ''
  for await (const { chunk } of run.stream()) {
    text += chunk.output
    if (chunk.output.includes('word20')) break
  }
  await postgres.restart()
  expect((await result).output).toMatch(/word299$/)
  expect(text).toContain('word0')
})

test('a run whose process dies each time is abandoned, and its error says why', async () => {
  const databaseUrl = postgres.database()
  const service = await open(databaseUrl, { concurrency: 0 })
  const run = await service.start('one', plan({ calls: [{ name: 'die', input: {} }] }, { text: 'Alive.' }), {
    id: 'dies',
  })
  const workers = new Workers(databaseUrl, model.url, log, 2)
  const result = run.result
  const outcome = expect(result).rejects.toThrow(/started again 2 times and made no progress.*Fork it/)
  let isOver = false
  result.catch(() => {
    isOver = true
  })
  let incarnations = 0
  while (!isOver && incarnations < 20) {
    incarnations += 1
    const { ended } = await workers.start()
    await Promise.race([ended, result.catch(() => {})])
  }
  await workers.stop()
  await outcome
  expect(await run.info()).toMatchObject({ status: 'abandoned', error: { name: 'OrchestrationError' } })
}, 240_000)

test('a workflow that is cancelled in the tools of DBOS is a run that was abandoned', async () => {
  const { DBOS } = await import('@dbos-inc/dbos-sdk')
  const service = await open(postgres.database(), { takeOverAfterMs: 500 })
  const run = await service.start('one', plan(long(5000)), { id: 'cancelled' })
  for await (const { chunk } of run.stream()) if (chunk.output !== '') break
  await DBOS.cancelWorkflow('cancelled#1')
  await expect(run.result).rejects.toThrow('was ended in DBOS (CANCELLED)')
})

test('tables of a later release are left alone', async () => {
  const databaseUrl = postgres.database()
  await (await open(databaseUrl)).close()
  await postgres.query(databaseUrl, 'UPDATE statewire.version SET version = 99')
  expect(await refused(databaseUrl)).toContain(
    'are of version 99, and this release of statewire reads version 6',
  )
})

test('several processes that begin on a new database at the same moment all get to work', async () => {
  const databaseUrl = postgres.database()
  const workers = new Workers(databaseUrl, model.url, log)
  try {
    await Promise.all([1, 2, 3].map(() => workers.start()))
    const service = await open(databaseUrl, { concurrency: 0 })
    await expect.poll(() => service.health()).toMatchObject({ owner: 'other', running: 0 })
    expect((await (await service.start('one', plan({ text: 'Hello.' }))).result).output).toBe('Hello.')
  } finally {
    await workers.stop()
  }
}, 240_000)

test('a run whose agent is in no worker says so, and continues when one has it', async () => {
  const databaseUrl = postgres.database()
  const workers = new Workers(databaseUrl, model.url, log)
  try {
    await workers.start()
    const agents = { ...plannedAgents(model.url, log), rare: plannedAgents(model.url, log).one }
    const starter = await dbosRuns({ databaseUrl, agents, concurrency: 0 })
    runs = starter
    const run = await starter.start('rare', plan({ text: 'At last.' }), { id: 'rare' })
    const blocked = 'No live worker has an agent "rare".'
    // A worker whose sign of life is late is alive again with the next one.
    await expect.poll(() => run.info()).toMatchObject({ status: 'running', blocked })
    await expect.poll(() => starter.list()).toMatchObject([{ id: 'rare', blocked }])
    await starter.close()
    runs = await dbosRuns({ databaseUrl, agents })
    const again = await runs.get('rare')
    expect((await again?.result)?.output).toBe('At last.')
    expect(await again?.info()).not.toHaveProperty('blocked')
  } finally {
    await workers.stop()
  }
}, 240_000)

test('a run that the agent of a deploy refuses is left alone, and continues when the agent of before is back', async () => {
  const databaseUrl = postgres.database()
  const { one, critic } = plannedAgents(model.url, log)
  const deploy = async (agent: typeof one | typeof critic) => {
    await runs?.close()
    runs = await dbosRuns({ databaseUrl, agents: { agent }, takeOverAfterMs: 500 })
    return runs
  }
  const wipes = plan({ calls: [{ name: 'wipe', input: { what: 'refused' } }] }, { text: 'Wiped.' })
  const before = await deploy(one)
  for (const id of ['left', 'aborted']) {
    const { pendingApproval } = await (await before.start('agent', wipes, { id })).result
    expect(pendingApproval?.calls).toHaveLength(1)
  }
  const after = await deploy(critic)
  const [call] = (await (await after.get('left'))?.info())?.pending ?? []
  for (const id of ['left', 'aborted']) await after.send(id, { type: 'tool.approve', callId: call?.id ?? '' })
  for (const id of ['left', 'aborted'])
    await expect
      .poll(async () => (await after.get(id))?.info())
      .toMatchObject({ status: 'running', blocked: expect.stringContaining('snapshot') })
  await after.send('aborted', { type: 'abort' })
  expect(await (await after.get('aborted'))?.info()).toMatchObject({ status: 'abandoned' })
  const back = await deploy(one)
  const run = await back.get('left')
  if (!run) throw new Error('It is gone.')
  const { output, messages } = await run.result
  expect(output).toBe('Wiped.')
  const reader = new RestlessReader(run, () => 0.3)
  await reader.read()
  expect(reader).toMatchObject({ problems: [], messages, ends: 1 })
  expect(await run.info()).not.toHaveProperty('blocked')
}, 240_000)

test('a worker that wakes up after a takeover does not fail the run', async () => {
  const sdk = await import('@dbos-inc/dbos-sdk')
  expect(isSuperseded(sdk, new sdk.Error.DBOSUnexpectedStepError('run#1', 3, 'turn 2', 'turn 1'))).toBe(true)
  expect(isSuperseded(sdk, new Error('The disk is full.'))).toBe(false)
})

test('a restart of a worker that left in good order does not count against its runs', async () => {
  const databaseUrl = postgres.database()
  const first = await open(databaseUrl)
  model.paceMs = 500
  const run = await first.start('one', plan(long(400)), { id: 'left' })
  for await (const { chunk } of run.stream()) if (chunk.output.includes('word')) break
  await first.close()
  model.paceMs = 5
  const second = await open(databaseUrl)
  const again = await second.get('left')
  for await (const { chunk } of again?.stream() ?? []) if (chunk.metadata.restart === true) break
  expect(await again?.info()).toMatchObject({ recoveries: 0 })
  expect((await again?.result)?.output).toMatch(/word399$/)
})
