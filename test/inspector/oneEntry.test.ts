// A stored run that the watched process runs is one entry of the list, from its start to its end.
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { folder } from '../cli/spawned.ts'
import { owning } from '../cli/storedRuns.ts'
import { executablePath, launch, open } from './browser.ts'
import { command, inspecting, listen } from './watching.ts'

const asking = [
  { text: 'Let me see.' },
  { toolCall: { id: 'c1', name: 'remove', arguments: { path: '/tmp/a' } } },
  { usage: { inputTokens: 10, outputTokens: 5 } },
]
const answering = [{ text: 'Removed it.' }, { usage: { inputTokens: 20, outputTokens: 3 } }]

const runsOf = (page: Page) => page.locator('#tree .level-1 > .name')

/** A store whose agent has the inspector, which shows the store as well. */
const watched = async (turns: Parameters<typeof owning>[0], cwd?: string) => {
  const inspector = await inspecting()
  const owned = await owning(turns, cwd, { inspect: inspector.inspect })
  await inspector.show(owned.runs)
  return { ...owned, inspector }
}

describe.skipIf(!executablePath)('A stored run of the watched process', { timeout: 120_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  it('is listed once, with the steps before a wait and after it, and is complete at the end', async () => {
    const { runs, inspector } = await watched([asking, answering])
    const { page, problems } = await open(browser, inspector.url)
    await (await runs.start('janitor', 'Remove /tmp/a', { id: 'job' })).result
    await page.locator('#facts .status.waiting').waitFor()
    expect(await runsOf(page).allTextContents()).toEqual(['Remove /tmp/a'])
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.locator('#facts .status.done').waitFor()
    await page.locator('#tree .level-1 .dot.done').waitFor()
    expect(await runsOf(page).allTextContents()).toEqual(['Remove /tmp/a'])
    expect(await page.locator('.turn h3').filter({ hasText: 'Step' }).allTextContents()).toEqual([
      'Step 1',
      'Step 2',
    ])
    expect(await page.locator('#panel-conversation .flow.text').allTextContents()).toEqual([
      'Let me see.',
      'Removed it.',
    ])
    expect(await page.locator('#facts').textContent()).toContain('run job')
    await page.locator('#tab-usage').click()
    const rows = page.locator('#panel-usage tbody tr')
    await expect.poll(() => rows.allTextContents()).toEqual(['Step 110–5–tool_calls', 'Step 220–3–stop'])
    await page.locator('#tab-wire').click()
    await page.locator('.wire section').nth(1).waitFor()
    expect(problems).toEqual([])
  })

  it('keeps what was shown of an answer when it is killed, and says that it was discarded', async () => {
    const slowly = [{ text: 'This answer ' }, { delayMs: 60_000 }, { text: 'never ends.' }]
    const { runs, inspector } = await watched([slowly, 'Here I am again.'])
    await runs.start('janitor', 'Say something', { id: 'job' })
    const { page } = await open(browser, inspector.url)
    await page.locator('#panel-conversation').getByText('This answer').waitFor()
    await page.getByRole('button', { name: 'Kill and resume' }).click()
    await page.locator('#facts .status.done').waitFor()
    expect(await runsOf(page).allTextContents()).toEqual(['Say something'])
    expect(await page.locator('.turn.void').textContent()).toContain('This answer')
    expect(await page.locator('.turn:not(.void) .flow.text').textContent()).toBe('Here I am again.')
  })

  it('has the steps of the process before, and its own with their times', async () => {
    const { cwd, runs: first } = await owning([asking])
    await (await first.start('janitor', 'Remove /tmp/a', { id: 'job' })).result
    await first.close()
    const { runs, inspector } = await watched([answering], cwd)
    const { page } = await open(browser, inspector.url)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.locator('#facts .status.done').waitFor()
    expect(await runsOf(page).allTextContents()).toEqual(['Remove /tmp/a'])
    expect(await page.locator('#panel-conversation .flow.text').allTextContents()).toEqual([
      'Let me see.',
      'Removed it.',
    ])
    expect(await page.locator('.bubble').allTextContents()).toEqual(['Remove /tmp/a'])
    expect(await page.locator('.turn').first().locator('.card.done').count()).toBe(1)
    await page.locator('#tab-usage').click()
    await page.getByText('Another process made the first 1 step').waitFor()
    expect(await page.locator('#panel-usage tbody tr').allTextContents()).toEqual(['Step 220–3–stop'])
    expect((await (await runs.get('job'))?.info())?.status).toBe('complete')
  })
})

describe('A run that another process continues', () => {
  it('is shown as it is stored, not as this process left it', async () => {
    const { cwd, file, runs, inspector } = await watched([asking])
    await (await runs.start('janitor', 'Remove /tmp/a', { id: 'job' })).result
    const guest = await openRuns({ store: sqlite(file) })
    onTestFinished(() => guest.close())
    await inspector.show(guest)
    await runs.close()
    const feed = await listen(inspector)
    await feed.until(({ actors }) => [...actors.values()].some(({ status }) => status === 'waiting'))
    const { runs: next } = await owning([answering], cwd)
    await next.send('job', { type: 'tool.approve', callId: 'c1' })
    await feed.until(
      ({ actors }) => [...actors.values()].filter(({ parent }) => parent === null).at(-1)?.status === 'done',
    )
    const roots = [...feed.actors.values()].filter(({ parent }) => parent === null)
    expect(roots.map(({ run, status }) => [run, status])).toEqual([['job', 'done']])
  })

  it('gets its commands through its store', async () => {
    const { runs, inspector } = await watched([asking, answering])
    const run = await runs.start('janitor', 'Remove /tmp/a', { id: 'job' })
    await run.result
    const feed = await listen(inspector)
    await feed.until(({ watched }) => watched !== undefined)
    const id = feed.watched
    const decided = await command(inspector, { actor: id, type: 'tool.approve', callId: 'c1' })
    expect(decided.status).toBe(200)
    expect(await run.result).toMatchObject({ output: 'Let me see.\nRemoved it.' })
    await feed.until(({ actors }) => actors.get(id ?? 0)?.status === 'done')
  })

  it('keeps runs of two stores apart, though they have the same id', async () => {
    const inspector = await inspecting()
    const model = scriptedModel(['One.', 'Two.'])
    for (const prompt of ['First', 'Second']) {
      const agents = { janitor: new Agent(model, { inspect: inspector.inspect }) }
      const own = await openRuns({ store: sqlite(join(await folder(), 'runs.db')), agents })
      onTestFinished(() => own.close())
      await inspector.show(own)
      await (await own.start('janitor', prompt, { id: 'job' })).result
    }
    const feed = await listen(inspector)
    await feed.until(({ actors }) => actors.size > 0)
    const roots = [...feed.actors.values()].filter(({ parent }) => parent === null)
    expect(roots.map(({ title, status }) => [title, status])).toEqual([
      ['First', 'done'],
      ['Second', 'done'],
    ])
  })
})
