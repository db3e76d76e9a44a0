// Stored runs in a real browser.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { owning } from '../cli/storedRuns.ts'
import { executablePath, launch, open } from './browser.ts'
import { inspecting } from './watching.ts'

const asking = [
  { text: 'Let me see.' },
  { toolCall: { id: 'c1', name: 'remove', arguments: { path: '/tmp/a' } } },
  { usage: { inputTokens: 10, outputTokens: 5 } },
]

const inspectFile = async (file: string) => {
  const runs = await openRuns({ store: sqlite(file) })
  onTestFinished(() => runs.close())
  return inspecting({ runs })
}

const active = (page: Page, state: string) => page.locator(`#chart [data-state="${state}"].active`)
const runsOf = (page: Page) => page.locator('#tree .level-1 > .name')

describe.skipIf(!executablePath)('The page', { timeout: 120_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  it('lists stored runs, the newest first, and shows the one that is chosen', async () => {
    const { file, runs } = await owning(['Good morning.', [{ error: { message: 'out of order' } }], asking])
    await (await runs.start('janitor', 'Say hello', { id: 'first' })).result
    await (await runs.start('janitor', 'Break', { id: 'second' })).result.catch(() => {})
    await (await runs.start('janitor', 'Remove /tmp/a', { id: 'third' })).result
    const { url } = await inspectFile(file)
    const { page, problems, elsewhere } = await open(browser, url)
    await active(page, 'agent.AwaitingApproval').waitFor()
    expect(await runsOf(page).allTextContents()).toEqual(['Remove /tmp/a', 'Break', 'Say hello'])
    expect(await page.locator('#facts .status').textContent()).toBe('waiting')
    expect(await page.locator('#facts').textContent()).toContain('run third')
    await runsOf(page).getByText('Say hello').click()
    await active(page, 'agent.Complete').waitFor()
    await page.locator('#panel-conversation').getByText('Good morning.').waitFor()
    await page.locator('#tab-context').click()
    await page.locator('#panel-context').getByText('emptyAnswers').waitFor()
    await page.locator('#tab-usage').click()
    await page.getByText('The times and tokens of each step are not stored.').waitFor()
    await runsOf(page).getByText('Break').click()
    await active(page, 'agent.Failed').waitFor()
    expect(await page.locator('#failure').textContent()).toBe('ModelError: out of order')
    expect([...problems, ...elsewhere]).toEqual([])
  })

  it('kills a run that runs here, and resumes it from what is stored', async () => {
    const slowly = [{ text: 'This answer ' }, { delayMs: 60_000 }, { text: 'never ends.' }]
    const { runs, model } = await owning([slowly, 'Here I am again.'])
    const run = await runs.start('janitor', 'Say something', { id: 'job' })
    const { url } = await inspecting({ runs })
    const { page, problems } = await open(browser, url)
    await page.locator('#panel-conversation').getByText('This answer').waitFor()
    await page.getByRole('button', { name: 'Kill and resume' }).click()
    await page.locator('#panel-conversation').getByText('Here I am again.').waitFor()
    await page.getByText('(discarded)').waitFor()
    expect((await run.result).answer).toBe('Here I am again.')
    expect([model.requests.length, model.closed]).toEqual([2, 1])
    await page.getByRole('button', { name: 'Kill and resume' }).waitFor({ state: 'hidden' })
    expect(problems).toEqual([])
  })

  it('approves a call of a stored run, and shows its result', async () => {
    const { file, runs } = await owning([asking, 'Removed it.'])
    await (await runs.start('janitor', 'Remove /tmp/a', { id: 'job' })).result
    const { url } = await inspectFile(file)
    const { page } = await open(browser, url)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.locator('.card.done').waitFor()
    expect(await page.locator('.card pre').textContent()).toBe('removed /tmp/a')
    await active(page, 'agent.Complete').waitFor()
    await page.locator('#panel-conversation').getByText('Removed it.').waitFor()
    expect(await (await runs.get('job'))?.info()).toMatchObject({ status: 'complete' })
  })

  it('says that a rejection waits when no program is running the runs, and the next owner gets it', async () => {
    const { cwd, file, runs } = await owning([asking])
    await (await runs.start('janitor', 'Remove /tmp/a', { id: 'job' })).result
    await runs.close()
    const { url } = await inspectFile(file)
    const { page } = await open(browser, url)
    await page.getByLabel('Reason to reject remove').fill('Not that one.')
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.getByText('No program is running these runs now').waitFor()
    expect(await page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true)
    await owning(['As you wish.'], cwd)
    await page.locator('.card.failed').waitFor()
    expect(await page.locator('.card').textContent()).toContain('Not that one.')
    await active(page, 'agent.Complete').waitFor()
  })
})
