/** Runs in Postgres in the inspector: the same messages to the page, and the same commands, as for a file. */
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { dbosRuns, type StoredRuns } from '../../src/dbos/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'
import { removal } from '../cli/storedRuns.ts'
import { executablePath, launch, open } from '../inspector/browser.ts'
import { command, inspecting, listen, type PageFeed } from '../inspector/watching.ts'
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

const asking = [
  { text: 'Let me ' },
  { text: 'see.' },
  { toolCall: { id: 'c1', name: 'remove', arguments: { path: 'a.txt' } } },
  { usage: { inputTokens: 10, outputTokens: 5 } },
]

const working = async (turns: readonly ScriptTurn[], options: AgentOptions = {}) => {
  const url = postgres.database()
  const model = scriptedModel(turns)
  runs = await dbosRuns({
    databaseUrl: url,
    agents: { janitor: new Agent(model, { tools: [removal], ...options }) },
  })
  return { url, runs, model }
}

const rowOf = (feed: PageFeed, run: string) => [...feed.actors.values()].find((row) => row.run === run)

test('lists runs, shows one that waits, and passes an approval on', async () => {
  const { runs } = await working(['Hello.', asking, [{ text: 'Removed ' }, { text: 'it.' }]])
  await (await runs.start('janitor', 'Say hello', { id: 'first' })).result
  const run = await runs.start('janitor', 'Remove a.txt', { id: 'second' })
  await run.result
  const inspector = await inspecting({ runs })
  const feed = await listen(inspector)
  await feed.until(({ text, tools }) => text === 'Let me see.' && tools.size > 0)
  expect(rowOf(feed, 'first')).toMatchObject({ status: 'done', state: 'Complete', title: 'Say hello' })
  expect(rowOf(feed, 'second')).toMatchObject({
    id: feed.watched,
    name: 'janitor',
    status: 'waiting',
    state: 'AwaitingApproval',
    canAbort: true,
    canAsk: true,
    canRestart: false,
    endedAt: null,
  })
  expect(feed.moments.at(-1)).toMatchObject({ states: ['agent', 'agent.AwaitingApproval'] })
  expect([...feed.tools.values()]).toMatchObject([
    { callId: 'c1', name: 'remove', arguments: { path: 'a.txt' }, status: 'pending', isInDoubt: false },
  ])
  const response = await command(inspector, { actor: feed.watched, type: 'tool.approve', callId: 'c1' })
  expect(await response.json()).toEqual({ note: '' })
  expect((await run.result).answer).toBe('Removed it.')
  await feed.until(
    ({ tools }) => tools.get('c1')?.status === 'done' && rowOf(feed, 'second')?.status === 'done',
  )
  expect(feed.tools.get('c1')?.result).toBe('removed a.txt')
  expect(feed.attempts.map(({ step, text }) => [step, text])).toEqual([
    [1, 'Let me see.'],
    [2, 'Removed it.'],
  ])
  expect(feed.moments.at(-1)?.states).toEqual(['agent', 'agent.Complete'])
  expect(feed.messages.findLast(({ watched }) => watched?.usage)?.watched?.usage).toMatchObject({
    inputTokens: 10,
  })
  expect(feed.raw).not.toContain('secret-of-tests')
  const late = await command(inspector, { actor: feed.watched, type: 'tool.approve', callId: 'c1' })
  expect([late.status, await late.text()]).toEqual([409, expect.stringContaining('is over (complete)')])
})

test('shows text and calls while a run works, asks the next question, and forgets what is deleted', async () => {
  const { runs, model } = await working([
    [{ text: 'Half an ' }, { hang: true }],
    'Hello.',
    'You are welcome.',
  ])
  const inspector = await inspecting({ runs })
  const feed = await listen(inspector)
  const run = await runs.start('janitor', 'Go', { id: 'job' })
  await feed.until(({ text }) => text === 'Half an ')
  expect(rowOf(feed, 'job')).toMatchObject({ status: 'active', title: 'Go' })
  await command(inspector, { actor: feed.watched, type: 'abort' })
  await expect(run.result).rejects.toThrow('from the inspector')
  await feed.until(() => rowOf(feed, 'job')?.status === 'aborted')
  expect(rowOf(feed, 'job')).toMatchObject({ canAbort: false, state: 'Aborted' })
  await (await runs.start('janitor', 'Say hello', { id: 'greeting' })).result
  await feed.until(() => rowOf(feed, 'greeting')?.status === 'done')
  const asked = rowOf(feed, 'greeting')?.id
  const second = await listen(inspector, asked)
  await second.until(({ text }) => text === 'Hello.')
  const response = await command(inspector, { actor: asked, type: 'again', prompt: 'Thank you' })
  expect(response.status).toBe(200)
  await feed.until(() =>
    [...feed.actors.values()].some(({ title, status }) => title === 'Thank you' && status === 'done'),
  )
  const request = JSON.stringify(model.requests.at(-1)?.messages)
  for (const said of ['Say hello', 'Hello.', 'Thank you']) expect(request).toContain(said)
  await runs.prune({ olderThan: new Date(Date.now() + 60_000) })
  await feed.until(({ actors }) => actors.size === 0)
})

test('a run that the watched process runs is one entry, with the tokens of each step', async () => {
  const inspector = await inspecting()
  const { runs } = await working([asking, [{ text: 'Removed it.' }]], { inspect: inspector.inspect })
  await inspector.show(runs)
  const feed = await listen(inspector)
  const run = await runs.start('janitor', 'Remove a.txt', { id: 'job' })
  await run.result
  await feed.until(({ actors }) => rowOf(feed, 'job')?.status === 'waiting' && actors.size > 0)
  const roots = () =>
    [...feed.actors.values()].filter(({ parent, kind }) => parent === null && kind === 'agent')
  expect(roots()).toHaveLength(1)
  await runs.send('job', { type: 'tool.approve', callId: 'c1' })
  expect((await run.result).answer).toBe('Removed it.')
  await feed.until(() => rowOf(feed, 'job')?.status === 'done')
  await feed.until(({ text }) => text === 'Let me see.Removed it.')
  expect(roots().map(({ run }) => run)).toEqual(['job'])
  expect(feed.attempts.map(({ step, usage }) => [step, usage?.inputTokens])).toEqual([
    [1, 10],
    [2, undefined],
  ])
})

test('a damaged row is shown as that, and hides no other run', async () => {
  const { url, runs } = await working(['Hello.', asking, 'A.', 'B.'])
  for (const id of ['good', 'bad', 'large', 'odd']) await (await runs.start('janitor', 'Hi', { id })).result
  const damage = (id: string, change: string) =>
    postgres.query(url, `UPDATE statewire.runs SET ${change} WHERE id = '${id}'`)
  await damage(
    'bad',
    `pending = '[null, {"id": 1}]', snapshot = '{"status": 7}', usage = '[]', tags = '{NULL}'`,
  )
  await damage('large', `metadata = repeat('x', 17000000)`)
  await damage('odd', `status = 'unheard-of', created_at = 'infinity', error = '{'`)
  const list = await runs.list()
  const isDamaged = { status: 'abandoned', error: { message: expect.stringContaining('is damaged') } }
  const find = (id: string) => list.find((info) => info.id === id)
  expect([find('large'), find('odd')]).toMatchObject([isDamaged, isDamaged])
  expect([find('good')?.status, find('bad')?.pending]).toEqual(['complete', []])
  await expect(runs.get('odd')).rejects.toThrow('is damaged')
  const inspector = await inspecting({ runs })
  const feed = await listen(inspector)
  await feed.until(({ actors }) => actors.size === 4)
  expect(rowOf(feed, 'odd')).toMatchObject({ status: 'abandoned' })
  for (const id of ['bad', 'large', 'odd', 'good']) {
    const shown = await listen(inspector, rowOf(feed, id)?.id)
    await shown.until(({ watched }) => watched === rowOf(feed, id)?.id)
  }
  const good = await listen(inspector, rowOf(feed, 'good')?.id)
  await good.until(({ text }) => text === 'Hello.')
})

test.skipIf(!executablePath)('the page shows the runs, and approves a call', async () => {
  const { runs } = await working([asking, 'Removed it.'])
  await (await runs.start('janitor', 'Remove a.txt', { id: 'job' })).result
  const { url } = await inspecting({ runs })
  const browser: Browser = await launch()
  onTestFinished(() => browser.close())
  const { page, problems, elsewhere } = await open(browser, url)
  await page.locator('#chart [data-state="agent.AwaitingApproval"].active').waitFor()
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.locator('#chart [data-state="agent.Complete"].active').waitFor()
  await page.locator('#panel-conversation').getByText('Removed it.').waitFor()
  expect([...problems, ...elsewhere]).toEqual([])
})
