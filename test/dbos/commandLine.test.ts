/** `statewire runs` and `statewire chat` as other processes, on a real Postgres: the same commands as for a file. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { dbosRuns, type StoredRuns } from '../../src/dbos/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'
import { seen, start, statewire } from '../cli/spawned.ts'
import { lookup, removal } from '../cli/storedRuns.ts'
import { type Postgres, startPostgres } from './postgres.ts'

let postgres: Postgres
let runs: StoredRuns | undefined

beforeAll(async () => {
  postgres = await startPostgres()
}, 180_000)

afterEach(async () => {
  await runs?.close({ drain: 0 })
  runs = undefined
})

afterAll(async () => {
  await postgres?.stop()
})

const askToRemove = [
  { text: 'Let me see.' },
  { toolCall: { id: 'c1', name: 'remove', arguments: { path: 'a.txt' } } },
]

/** Runs that this process works on: its agent `janitor` plays a script. */
const working = async (turns: readonly ScriptTurn[], url = postgres.database()) => {
  const model = scriptedModel(turns)
  runs = await dbosRuns({
    databaseUrl: url,
    agents: { janitor: new Agent(model, { tools: [removal, lookup] }) },
  })
  return { url, runs, model }
}

/** Runs the command line, which must never show the password. */
const onDatabase = async (url: string, args: readonly string[], input = '') => {
  const [command = '', ...rest] = args
  const ended = await statewire([command, '--db', url, ...rest], { input })
  expect(`${ended.stdout}${ended.stderr}`).not.toContain('secret-of-tests')
  return ended
}

test('lists and shows runs, and approves a call', async () => {
  const { url, runs, model } = await working(['Hello.', askToRemove, 'Removed it.'])
  await (await runs.start('janitor', 'Say hello', { id: 'first' })).result
  const run = await runs.start('janitor', 'Remove a.txt', { id: 'second' })
  await run.result
  const list = await onDatabase(url, ['runs'])
  const [head, ...rows] = list.stdout.trimEnd().split('\n')
  expect(head).toMatch(/^ID +AGENT +STATUS +STATE +STEP +AGE +PROMPT$/)
  expect(rows).toEqual([
    expect.stringMatching(/^second +janitor +waiting +AwaitingApproval +1 +\d+ s +Remove a\.txt$/),
    expect.stringMatching(/^first +janitor +complete +Complete +1 +\d+ s +Say hello$/),
  ])
  const waiting = await onDatabase(url, ['runs', 'show', 'second'])
  expect(waiting.stdout).toContain(
    '> Remove a.txt\n\nLet me see.\n\n  · remove(path: a.txt)\n    (no result yet)',
  )
  const shown = url.replace(':secret-of-tests', '')
  expect(waiting.stdout).toContain(`      statewire runs approve --db ${shown} second c1`)
  const approved = await onDatabase(url, ['runs', 'approve', 'second'])
  expect(approved).toEqual({ code: 0, stdout: 'approved: remove(path: a.txt)\n', stderr: '' })
  expect((await run.result).answer).toBe('Removed it.')
  const over = await onDatabase(url, ['runs', 'show', 'second', '--json'])
  const { messages, ...info } = JSON.parse(over.stdout)
  expect(info).toMatchObject({ id: 'second', status: 'complete', step: 2, tasks: [] })
  expect(messages).toEqual((await run.result).messages)
  expect(model.requests).toHaveLength(3)
})

test('streams up to a wait, follows a run that works, and reads on from a cursor', async () => {
  const { url, runs } = await working([askToRemove, 'Removed it.', [{ text: 'One ' }, { hang: true }]])
  await (await runs.start('janitor', 'Remove a.txt', { id: 'job' })).result
  const first = await onDatabase(url, ['runs', 'stream', 'job'])
  expect([first.code, first.stdout]).toEqual([0, 'Let me see.\n'])
  const cursor = /--after (\S+)/.exec(first.stderr)?.[1] ?? ''
  await runs.send('job', { type: 'tool.approve', callId: 'c1' })
  const second = await onDatabase(url, ['runs', 'stream', 'job', '--after', cursor])
  expect([second.code, second.stdout]).toEqual([0, '\nRemoved it.\n'])
  const json = await onDatabase(url, ['runs', 'stream', 'job', '--json'])
  const chunks = json.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(chunks.map(({ output }) => output).join('')).toBe('Let me see.\nRemoved it.')
  await runs.start('janitor', 'Count', { id: 'long' })
  const reader = start(['runs', 'stream', 'long', '--db', url])
  const stderr = seen(reader.stderr, /The run continues in the background/)
  await seen(reader.stdout, /One /)
  const show = await onDatabase(url, ['runs', 'show', 'long'])
  expect(show.stdout).toMatch(/^status +running$/m)
  expect(show.stdout).toContain('> Count')
  reader.kill('SIGINT')
  await stderr
})

test('rejects, answers, steers, aborts, forks and deletes', async () => {
  const { url, runs, model } = await working([
    askToRemove,
    [{ toolCall: { id: 'c2', name: 'lookup' } }],
    [{ toolCall: { id: 'c3', name: 'lookup' } }],
    'Forked.',
  ])
  const run = await runs.start('janitor', 'Tidy up', { id: 'job' })
  await run.result
  const rejected = await onDatabase(url, ['runs', 'reject', 'job', '--reason', 'still needed'])
  expect(rejected.stdout).toBe('rejected: remove(path: a.txt)\n')
  const next = await run.result
  expect(next.pendingApproval?.calls[0].id).toBe('c2')
  expect((await onDatabase(url, ['runs', 'steer', 'job', 'Be', 'brief.'])).stdout).toBe('steered: job\n')
  await expect.poll(async () => (await run.info()).pending.length).toBe(1)
  const answered = await onDatabase(url, ['runs', 'answer', 'job', 'c2', '-'], 'forty-two')
  expect(answered).toMatchObject({ stdout: 'answered: lookup()\n', code: 0 })
  await expect.poll(async () => (await run.info()).pending[0]?.id).toBe('c3')
  const asked = JSON.stringify(model.requests.map(({ messages }) => messages))
  for (const said of ['still needed', 'forty-two', 'Be brief.']) expect(asked).toContain(said)
  expect((await onDatabase(url, ['runs', 'abort', 'job', '--reason', 'enough'])).code).toBe(0)
  await expect(run.result).rejects.toThrow('enough')
  expect((await onDatabase(url, ['runs', 'stream', 'job'])).code).toBe(130)
  const late = await onDatabase(url, ['runs', 'abort', 'job'])
  expect([late.code, late.stderr]).toEqual([2, expect.stringContaining('is over (aborted)')])
  const forked = await onDatabase(url, ['runs', 'fork', 'job', '--at-step', '1', '--id', 'again'])
  expect(forked).toEqual({ code: 0, stdout: 'again\n', stderr: '' })
  expect((await (await runs.get('again'))?.result)?.output).toBe('Forked.')
  const pruned = await onDatabase(url, ['runs', 'prune', '--older-than', '0m', '--yes'])
  expect(pruned.stdout).toBe('2 deleted\n')
  expect(await runs.list()).toEqual([])
})

test('stores a decision while no program runs the agents, and says so', async () => {
  const { url, runs: before } = await working([askToRemove])
  await (await before.start('janitor', 'Remove a.txt', { id: 'job' })).result
  await before.close()
  const approved = await onDatabase(url, ['runs', 'approve', 'job'])
  expect(approved).toMatchObject({ code: 0, stdout: 'approved: remove(path: a.txt)\n' })
  expect(approved.stderr).toContain('No program is running these agents now. Your decision is stored')
  const { runs } = await working(['Removed it.'], url)
  expect((await (await runs.get('job'))?.result)?.answer).toBe('Removed it.')
})

test('makes nothing in a database without runs, and shows no password in an error', async () => {
  const url = postgres.database()
  const { pathname, host } = new URL(url)
  const none = await onDatabase(url, ['runs'])
  expect([none.code, none.stderr]).toEqual([
    2,
    `statewire: There are no runs in the database "${pathname.slice(1)}" at ${host}: is --db right? A program with agents makes their tables.\n`,
  ])
  const again = await onDatabase(url, ['runs'])
  expect(again.stderr).toBe(none.stderr)
  const empty = await onDatabase(url.replace(pathname, '/postgres'), ['runs', 'list'])
  expect([empty.code, empty.stderr]).toEqual([
    2,
    expect.stringContaining('There are no runs in the database "postgres"'),
  ])
  const wrong = new URL(url)
  wrong.password = 'another-secret'
  const refused = await onDatabase(wrong.href, ['runs'])
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('the password of --db')])
  expect(refused.stderr).not.toContain('another-secret')
})

test('takes the password from the environment', async () => {
  const { url } = await working([])
  const bare = new URL(url)
  bare.password = ''
  const env = { PGPASSWORD: 'secret-of-tests' }
  const { code, stderr } = await statewire(['runs', '--db', bare.href], { env, input: '' })
  expect([code, stderr]).toEqual([0, 'There are no such runs.\n'])
})

test('keeps a chat in the database', async () => {
  const url = postgres.database()
  const chat = (...args: string[]) =>
    onDatabase(url, ['chat', '--model', 'simulator', ...args], 'My name is Ada\n')
  expect((await chat('--chat', 'first')).code).toBe(0)
  const { code, stderr } = await chat('--continue')
  expect(code).toBe(0)
  expect(stderr).toContain('Chat first, 2 messages so far')
  const { stdout } = await onDatabase(url, ['runs'])
  expect(stdout.match(/My name is Ada/g)).toHaveLength(2)
})
