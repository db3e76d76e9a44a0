/** Runs on DBOS behave as runs do: the same agents, the same results, the same streams. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type DurableChunk, type DurableRun, dbosRuns, type Runs } from '../../src/dbos/index.ts'
import { ConflictError } from '../../src/messages/errors.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { plannedAgents } from './world/agents.ts'
import { type PlannedTurn, promptOf } from './world/plan.ts'
import { type ModelServer, startModel } from './world/startModel.ts'

let postgres: Postgres
let model: ModelServer
let runs: Runs
const log = join(mkdtempSync(join(tmpdir(), 'statewire-dbos-')), 'calls.log')

beforeAll(async () => {
  postgres = await startPostgres()
  model = await startModel()
  runs = await dbosRuns({
    databaseUrl: postgres.database(),
    agents: plannedAgents(model.url, log),
    concurrency: 5,
  })
}, 180_000)

afterAll(async () => {
  await runs?.close()
  await model?.stop()
  await postgres?.stop()
})

const plan = (...turns: PlannedTurn[]) => promptOf({ id: 'test', turns })
const noteCall = (what: string, name = 'note') => ({ name, input: { what } })

test('a run gives its text, its messages and its usage', async () => {
  const run = await runs.start('one', plan({ text: 'Hello from afar.' }), { id: 'hello' })
  const { output, messages, finishReason, usage } = await run.result
  expect(output).toBe('Hello from afar.')
  expect(messages.map(({ role }) => role)).toEqual(['user', 'model'])
  expect(finishReason).toBe('stop')
  expect(usage).toMatchObject({ totalTokens: 15 })
  expect(await run.info()).toMatchObject({ id: 'hello', agent: 'one', status: 'complete', state: 'Complete' })
})

/** All that a stream shows up to the end of the run or its next wait. */
const readAll = async (run: DurableRun, after?: string) => {
  const chunks: DurableChunk[] = []
  let last = after
  for await (const { cursor, chunk } of run.stream(after === undefined ? {} : { after })) {
    chunks.push(chunk)
    last = cursor
  }
  return { chunks, last }
}

const textOfChunks = (chunks: readonly DurableChunk[]) => chunks.map(({ output }) => output).join('')
const rolesOf = (chunks: readonly DurableChunk[]) =>
  chunks.flatMap(({ messages }) => messages.map(({ role }) => role))

const noted = (): { moment: string; what: string; name: string }[] =>
  readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

test('tools run once each, one after the other or side by side', async () => {
  const turns: PlannedTurn[] = [
    { calls: [noteCall('a1'), noteCall('a2'), noteCall('a3')] },
    { calls: [noteCall('a4')] },
    { text: 'All noted.' },
  ]
  for (const agent of ['one', 'pair', 'side']) {
    const named = turns.map((turn) =>
      'calls' in turn ? { calls: turn.calls.map((call) => noteCall(`${agent} ${call.input.what}`)) } : turn,
    )
    const { output, messages } = await (await runs.start(agent, plan(...named))).result
    expect(output).toBe('All noted.')
    expect(messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model', 'user', 'model'])
    const begun = noted().filter(({ moment, what }) => moment === 'begin' && what.startsWith(agent))
    expect(begun.map(({ what }) => what).toSorted()).toEqual(
      ['a1', 'a2', 'a3', 'a4'].map((a) => `${agent} ${a}`),
    )
  }
})

test('a run at a limit waits, and continues when the limit is raised', async () => {
  const run = await runs.start(
    'limited',
    plan({ calls: [noteCall('l1')] }, { calls: [noteCall('l2')] }, { text: 'Done within limits.' }),
    { id: 'at-limit' },
  )
  const first = await run.result
  expect(first.pendingApproval?.calls).toMatchObject([{ kind: 'limit', arguments: { limit: 'steps' } }])
  expect(await run.info()).toMatchObject({ status: 'waiting', state: 'AtLimit' })
  await runs.send('at-limit', { type: 'tool.approve', callId: 'limit', arguments: { steps: 9 } })
  await expect.poll(async () => (await run.info()).status).toBe('complete')
  expect((await run.result).output).toBe('Done within limits.')
})

test('the stream shows text, messages and one last chunk, and goes on after any cursor', async () => {
  const run = await runs.start('one', plan({ calls: [noteCall('s')] }, { text: 'One two three four.' }))
  const entries: { cursor: string; chunk: DurableChunk }[] = []
  for await (const entry of run.stream()) entries.push(entry)
  const chunks = entries.map(({ chunk }) => chunk)
  expect(textOfChunks(chunks)).toBe('\nOne two three four.')
  expect(rolesOf(chunks)).toEqual(['user', 'model', 'user', 'model'])
  expect(chunks.filter(({ finishReason }) => finishReason !== 'unspecified')).toMatchObject([
    { finishReason: 'stop', usage: { totalTokens: 30 } },
  ])
  expect(chunks.at(-1)?.finishReason).toBe('stop')
  for (const [index, { cursor }] of entries.entries()) {
    const rest = await readAll(run, cursor)
    expect(rest.chunks).toEqual(chunks.slice(index + 1))
  }
})

test('a cursor from elsewhere is refused', async () => {
  const run = await runs.start('one', plan({ text: 'Hi.' }))
  for (const after of ['', 'x', '0.0.0', '1.2', '1.2.3.4', `1.${'9'.repeat(30)}.0`])
    await expect(run.stream({ after }).next()).rejects.toThrow('must be the cursor of a chunk')
})

test('the same id is the same run, in every process', async () => {
  const prompt = plan({ calls: [noteCall('twice')] }, { text: 'Once.' })
  const first = await runs.start('one', prompt, { id: 'same' })
  const again = await Promise.all([1, 2, 3].map(() => runs.start('one', prompt, { id: 'same' })))
  await expect(runs.start('one', plan({ text: 'Not me.' }), { id: 'same' })).rejects.toThrow(ConflictError)
  for (const run of [first, ...again]) expect((await run.result).output).toBe('Once.')
  expect(noted().filter(({ what }) => what === 'twice')).toHaveLength(2)
  expect(await (await runs.get('same'))?.info()).toMatchObject({ status: 'complete' })
  expect(await runs.get('missing')).toBeUndefined()
})

test('twelve runs that wait leave room for others at concurrency 5, and all end once they are decided on', async () => {
  const waiting = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      runs.start('one', plan({ calls: [noteCall(`w${n}`, 'wipe')] }, { text: `Wiped ${n}.` }), {
        id: `wait-${n}`,
      }),
    ),
  )
  for (const run of waiting) {
    const { pendingApproval, finishReason } = await run.result
    expect(pendingApproval?.calls).toMatchObject([{ name: 'wipe', kind: 'approval' }])
    expect(finishReason).toBe('toolCalls')
    const { chunks, last } = await readAll(run)
    expect(chunks.at(-1)?.pendingApproval?.calls).toHaveLength(1)
    expect(await run.info()).toMatchObject({ status: 'waiting', state: 'AwaitingApproval' })
    cursors.set(run.id, last)
  }
  expect(await runs.list({ status: 'waiting' })).toHaveLength(12)
  for (const [n, run] of waiting.entries()) {
    const callId = (await run.info()).pending[0]?.id ?? ''
    await runs.send(
      run.id,
      n % 2 === 0 ? { type: 'tool.approve', callId } : { type: 'tool.reject', callId, reason: 'no' },
    )
    await expect(runs.send(run.id, { type: 'tool.approve', callId })).rejects.toThrow(
      /waits for an approval|is over/,
    )
  }
  for (const [n, run] of waiting.entries()) {
    expect((await run.result).output).toBe(`Wiped ${n}.`)
    const { chunks } = await readAll(run, cursors.get(run.id))
    expect(textOfChunks(chunks)).toBe(`\nWiped ${n}.`)
    expect(rolesOf(chunks)).toEqual(['user', 'model'])
    expect(noted().filter(({ what }) => what === `w${n}`)).toHaveLength(n % 2 === 0 ? 2 : 0)
  }
})

const cursors = new Map<string, string | undefined>()

test('several calls of a turn are decided on one by one, from several places at once', async () => {
  const calls = ['p', 'q', 'r'].map((what) => noteCall(`${what}-each`, 'wipe'))
  const run = await runs.start('side', plan({ calls }, { text: 'Three decisions.' }))
  const pending = (await run.result).pendingApproval?.calls ?? []
  expect(pending).toHaveLength(3)
  await Promise.all(pending.map(({ id }) => runs.send(run.id, { type: 'tool.approve', callId: id })))
  await expect.poll(async () => (await run.info()).status).toBe('complete')
  expect((await run.result).output).toBe('Three decisions.')
  expect(noted().filter(({ what, moment }) => what.endsWith('-each') && moment === 'begin')).toHaveLength(3)
})

test('an abort ends a run in the middle of its answer, of a tool and of a wait', async () => {
  const long = { text: Array.from({ length: 20_000 }, (_, n) => `word${n}`).join(' ') }
  const slow = { calls: [{ name: 'note', input: { what: 'slow', ms: 60_000 } }] }
  const asks = { calls: [noteCall('never', 'wipe')] }
  for (const [turn, state] of [
    [long, 'streaming'],
    [slow, 'tool'],
    [asks, 'wait'],
  ] as const) {
    const run = await runs.start('one', plan(turn, { text: 'Too late.' }))
    if (state === 'wait') await run.result
    else if (state === 'tool') await expect.poll(() => noted().some(({ what }) => what === 'slow')).toBe(true)
    else for await (const { chunk } of run.stream()) if (chunk.output !== '') break
    await runs.send(run.id, { type: 'abort', reason: 'enough' })
    await expect(run.result).rejects.toMatchObject({
      name: 'AbortedError',
      message: 'The run was aborted: enough',
    })
    expect(await run.info()).toMatchObject({ status: 'aborted', state: 'Aborted' })
    const whole = await readAll(run)
    const { chunks } = state === 'wait' ? await readAll(run, whole.last) : whole
    expect(chunks.at(-1)?.finishReason).toBe('aborted')
    await expect(runs.send(run.id, { type: 'abort' })).rejects.toThrow('is over')
  }
})

test('a steer joins the conversation at the next turn', async () => {
  const until = `${log}.steered`
  const run = await runs.start(
    'one',
    plan({ calls: [{ name: 'note', input: { what: 'steered', until } }] }, { text: 'As you say.' }),
  )
  await expect.poll(() => noted().some(({ what }) => what === 'steered')).toBe(true)
  await runs.send(run.id, { type: 'steer', text: 'And be kind.' })
  writeFileSync(until, '')
  const { messages } = await run.result
  const results = messages[2]?.parts ?? []
  expect(results.map(({ type }) => type)).toEqual(['toolResult', 'text'])
  expect(results[1]).toMatchObject({ text: 'And be kind.' })
})

test('a fork goes on from a wait, or asks again from an earlier step', async () => {
  const run = await runs.start(
    'one',
    plan({ calls: [noteCall('f1')] }, { calls: [noteCall('f2', 'wipe')] }, { text: 'Forked.' }),
    { id: 'origin', context: { user: 'ada' } },
  )
  await run.result
  const fork = await runs.fork('origin', { id: 'fork-of-wait' })
  expect((await fork.result).pendingApproval?.calls).toMatchObject([{ name: 'wipe' }])
  expect(await fork.info()).toMatchObject({ forkedFrom: 'origin', status: 'waiting' })
  const callId = (await fork.info()).pending[0]?.id ?? ''
  await runs.send('fork-of-wait', { type: 'tool.approve', callId })
  expect((await fork.result).output).toBe('Forked.')
  expect(await run.info()).toMatchObject({ status: 'waiting' })
  const earlier = await runs.fork('origin', { atStep: 1 })
  expect((await earlier.result).pendingApproval?.calls).toHaveLength(1)
  expect(noted().filter(({ what, moment }) => what === 'f1' && moment === 'begin')).toHaveLength(2)
  await expect(runs.fork('origin', { atStep: 9 })).rejects.toThrow(
    'no model call number 9 to fork before: it has 2 answers',
  )
  const again = await runs.fork('fork-of-wait')
  expect((await again.result).output).toBe('Forked.')
})

test.each(['thinker', 'critic'])('an orchestrator runs to its end: %s', async (agent) => {
  const run = await runs.start(
    agent,
    plan({ text: 'A thought.' }, { text: 'Another.' }, { text: 'A third.' }, { text: 'The end.' }),
  )
  const { chunks } = await readAll(run)
  const { output, messages } = await run.result
  expect(output).not.toBe('')
  expect(chunks.flatMap((chunk) => chunk.messages)).toEqual(messages)
})

test('a sub-agent runs as part of the run that calls it, and what it waits for the whole waits for', async () => {
  const inner = promptOf({
    id: 'inner',
    turns: [{ calls: [noteCall('inner wipe', 'wipe')] }, { text: 'Inner done.' }],
  })
  const run = await runs.start(
    'outer',
    plan({ calls: [{ name: 'ask_helper', input: { prompt: inner } }] }, { text: 'Outer done.' }),
  )
  const { pendingApproval } = await run.result
  expect(pendingApproval?.calls).toMatchObject([{ name: 'wipe' }])
  await runs.send(run.id, { type: 'tool.approve', callId: pendingApproval?.calls[0].id ?? '' })
  expect((await run.result).output).toBe('Outer done.')
  expect(noted().filter(({ what, moment }) => what === 'inner wipe' && moment === 'begin')).toHaveLength(1)
})

test('runs are listed newest first, page by page, and pruned when they are over', async () => {
  const all = await runs.list({ limit: 1000 })
  const pages = []
  for (let before: string | undefined; ; ) {
    const page = await runs.list({ limit: 7, ...(before !== undefined && { before }) })
    if (page.length === 0) break
    pages.push(...page)
    before = page.at(-1)?.id
  }
  expect(pages).toEqual(all)
  const open = all.filter(({ status }) => status === 'running' || status === 'waiting')
  expect(await runs.prune({ olderThan: new Date(Date.now() + 60_000) })).toBe(all.length - open.length)
  expect((await runs.list({ limit: 1000 })).map(({ id }) => id)).toEqual(open.map(({ id }) => id))
  expect(await runs.get('hello')).toBeUndefined()
})

test('what is not right is refused before anything is stored', async () => {
  await expect(runs.start('missing', 'Hi')).rejects.toThrow('There is no agent "missing". There are: one')
  await expect(runs.start('one', 'Hi', { id: 'a\nb' })).rejects.toThrow(
    'An id must be a string of 1 to 200 characters',
  )
  await expect(runs.start('one', 'Hi', { context: { big: 1n } })).rejects.toThrow('must be JSON')
  await expect(runs.send('missing', { type: 'abort' })).rejects.toThrow('There is no run "missing"')
  await expect(runs.fork('missing')).rejects.toThrow('There is no run "missing"')
  const agents = plannedAgents(model.url, log)
  await expect(dbosRuns({ databaseUrl: postgres.database(), agents })).rejects.toThrow(
    'runs in this process already',
  )
})

test('what the stream shows as waiting can be decided on at once', async () => {
  const ids = Array.from({ length: 10 }, (_, n) => `shown-${n}`)
  await Promise.all(
    ids.map(async (id) => {
      const run = await runs.start('one', plan({ calls: [noteCall(id, 'wipe')] }, { text: 'Wiped.' }), { id })
      for await (const { chunk } of run.stream())
        for (const call of chunk.pendingApproval?.calls ?? [])
          await runs.send(id, { type: 'tool.approve', callId: call.id }, { commandId: 'yes' })
      // Sent again, it does not count; another one with its id is refused.
      const { pending } = await run.info()
      expect(pending).toEqual([])
      expect((await run.result).output).toBe('Wiped.')
      await expect(runs.send(id, { type: 'abort' }, { commandId: 'yes' })).rejects.toThrow(ConflictError)
    }),
  )
})

test('a run has tags and metadata, a shape, and can be deleted', async () => {
  const run = await runs.start('one', plan({ text: '{"city":"Oslo"}' }), {
    id: 'tagged',
    tags: ['travel', 'travel', 'vip'],
    metadata: { customer: 7 },
    schema: z.object({ city: z.string() }),
  })
  expect((await run.result).output).toEqual({ city: 'Oslo' })
  expect(await runs.list({ tag: 'vip' })).toMatchObject([{ id: 'tagged', metadata: { customer: 7 } }])
  expect((await runs.health()).bytes).toBeGreaterThan(0)
  expect([await runs.delete('tagged'), await runs.delete('tagged')]).toEqual([true, false])
  expect(await runs.get('tagged')).toBeUndefined()
})
