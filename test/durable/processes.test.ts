/** Real processes and real kills: what was acknowledged is there, and the process that is left continues. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import type { DurableChunk, DurableResult, SqliteDriver } from '../../src/durable/index.ts'
import { findDriver } from '../../src/durable/sqlite/driver.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { builtScript, Script } from './builtScript.ts'
import { storeFile } from './storeFile.ts'

let script = ''
const open = await findDriver()

beforeAll(async () => {
  script = await builtScript('durableProcess')
}, 180_000)

const started = (...args: string[]): Script => new Script(script, args)

const dataOf = <T>(line: string): T => JSON.parse(line.slice(line.indexOf(' ') + 1))

const whole = 'First I look around. \nThen I look again. \nNow I ask. \nThat was all of it. '

const logOf = (path: string): string[] => readFileSync(`${path}.log`, 'utf8').trim().split('\n')

/** Looks into a file that others use. */
const looking = async <T>(path: string, look: (driver: SqliteDriver) => T): Promise<T> => {
  const driver = open(path)
  try {
    driver.exec('PRAGMA busy_timeout = 30000')
    return look(driver)
  } finally {
    driver.close()
  }
}

const textOf = (lines: readonly string[]): string => {
  let [done, text] = ['', '']
  for (const line of lines.filter((each) => each.startsWith('chunk '))) {
    const { chunk } = dataOf<{ chunk: DurableChunk }>(line)
    if (chunk.metadata.restart) text = ''
    text += chunk.output
    if (chunk.messages.length > 0) [done, text] = [done + text, '']
  }
  return done + text
}

test('a run is finished by the last of many processes that are killed', async () => {
  const path = storeFile()
  // Each moment of the run, roughly: how long a process takes to start differs from machine to machine.
  for (const ms of [0, 15, 30, 45, 60, 80, 100, 130]) {
    const worker = started('work', path, 'job', 'approve')
    await worker.line('open')
    await new Promise((resolve) => setTimeout(resolve, ms))
    await worker.kill()
  }
  const last = started('work', path, 'job', 'approve')
  const result = dataOf<DurableResult>(await last.line('done'))
  expect(result.output).toBe(whole)
  expect(result.pendingApproval).toBeUndefined()
  const reader = started('read', path, 'job')
  await reader.ended
  expect(textOf(reader.lines)).toBe(whole)
  // Each call ran once, or is said to be in doubt.
  const ran = logOf(path)
  expect(ran).toEqual([...new Set(ran)])
  const doubted = result.messages.flatMap(toolResultsOf).filter(({ isError }) => isError)
  expect(doubted.every(({ result: text }) => text.includes('unknown'))).toBe(true)
  expect(new Set([...ran, ...doubted.map(({ id }) => id)])).toEqual(new Set(['look-0', 'look-1', 'ask-2']))
}, 180_000)

test('another process reads along, and takes over when the first one is killed', async () => {
  const path = storeFile()
  const owner = started('work', path, 'job', 'slow')
  await owner.line('started')
  const reader = started('read', path, 'job')
  await reader.line('chunk')
  await owner.kill()
  expect(owner.lines).toEqual(['open ""', 'started ""'])
  // It goes on in the reader, up to the approval, which a third process gives.
  await expect.poll(() => reader.lines.some((line) => line.includes('pendingApproval'))).toBe(true)
  const sender = started('send', path, 'job', '{"type":"tool.approve","callId":"ask-2"}')
  await sender.line('sent')
  await reader.ended
  expect(reader.child.exitCode).toBe(0)
  expect(textOf(reader.lines)).toBe(whole)
}, 180_000)

test('a decision that was acknowledged is there, although no process could apply it yet', async () => {
  const path = storeFile()
  const owner = started('hold', path, 'job')
  await owner.line('resting')
  owner.child.kill('SIGSTOP')
  const sender = started('send', path, 'job', '{"type":"tool.approve","callId":"ask-2"}')
  await sender.line('sent')
  const again = started('send', path, 'job', '{"type":"tool.reject","callId":"ask-2"}')
  await again.ended
  expect(again.errors).toMatch(/No call "ask-2" waits/)
  await owner.kill()
  expect(logOf(path)).toEqual(['look-0', 'look-1'])
  const next = started('result', path, 'job')
  expect(dataOf<DurableResult>(await next.line('result')).output).toBe(whole)
  expect(logOf(path)).toEqual(['look-0', 'look-1', 'ask-2'])
  expect(await looking(path, (driver) => driver.prepare('SELECT n FROM commands').all())).toEqual([])
}, 180_000)

test.each([
  [1, ''],
  [2, 'look-0'],
])(
  'an owner that is paused in call %i and loses its runs meanwhile writes nothing more',
  async (call) => {
    const path = storeFile()
    const owner = started('work', path, 'job')
    await expect.poll(() => existsSync(`${path}.log`) && logOf(path).length >= call).toBe(true)
    // Paused while it writes, it would hold up every other process.
    await looking(path, (driver) => {
      driver.exec('BEGIN IMMEDIATE')
      owner.child.kill('SIGSTOP')
      driver.exec('ROLLBACK')
    })
    // Its lock is gone, as after a pause that a file server did not wait for.
    renameSync(`${path}-owner`, `${path}-owner-old`)
    const other = started('result', path, 'job')
    const result = dataOf<DurableResult>(await other.line('result'))
    expect(result.pendingApproval?.calls).toMatchObject([{ name: 'ask' }])
    const stored = () => looking(path, (driver) => driver.prepare('SELECT n, head, life FROM runs').all())
    await other.ended
    const [ran, before] = [logOf(path), await stored()]
    writeFileSync(`${path}.gate`, 'look-0 look-1')
    owner.child.kill('SIGCONT')
    // It follows the run that the other one has brought to its question.
    expect(dataOf<DurableResult>(await owner.line('done')).messages).toEqual(result.messages)
    await owner.ended
    expect(await stored()).toEqual(before)
    expect(logOf(path)).toEqual(ran)
    expect(ran).toEqual([...new Set(ran)])
  },
  180_000,
)

test('what another process decides is acted on by the one that owns the file, once', async () => {
  const path = storeFile()
  const owner = started('hold', path, 'job')
  await owner.line('resting')
  const sender = started('send', path, 'job', '{"type":"tool.approve","callId":"ask-2"}')
  await sender.line('sent')
  const other = started('result', path, 'job')
  expect(dataOf<DurableResult>(await other.line('result')).output).toBe(whole)
  expect(logOf(path)).toEqual(['look-0', 'look-1', 'ask-2'])
}, 180_000)

test('a run that kills its process again and again is abandoned, and says why', async () => {
  const path = storeFile()
  for (let incarnation = 0; incarnation < 4; incarnation += 1) {
    const victim = started('die', path, 'doomed')
    expect(await victim.ended).toEqual([null, 'SIGKILL'])
  }
  const last = started('result', path, 'doomed')
  await last.ended
  expect(last.errors).toMatch(
    /The run "doomed" was abandoned: it was started again 3 times and made no progress/,
  )
  const status = await looking(path, (driver) => driver.prepare('SELECT status FROM runs').get())
  expect(status).toMatchObject({ status: 'abandoned' })
}, 180_000)

test('a file that the system does not let grow pauses its run, which goes on when it may', async () => {
  const path = storeFile()
  const limited = new Script(script, ['fill', path, 'job', '40'], 'ulimit -f 400')
  const { blocked, step } = dataOf<{ blocked: string; step: number }>(await limited.line('blocked'))
  expect(blocked).toMatch(/disk (failed|is full)/)
  expect(step).toBeGreaterThan(1)
  await limited.kill()
  const next = started('fill', path, 'job', '40')
  const result = dataOf<DurableResult>(await next.line('filled'))
  expect(result.output).toBe('Full.')
  expect(result.messages.flatMap(toolResultsOf)).toHaveLength(40)
}, 180_000)

test('a process that has nothing else to do ends, and prints no warning', async () => {
  const idle = started('idle', storeFile())
  expect(await idle.ended).toEqual([0, null])
  expect(idle.errors).toBe('')
}, 180_000)
