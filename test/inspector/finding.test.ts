// Finding a run again: addresses, search, older runs, and the keys of the page, in a real browser.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/tool.ts'
import { owning } from '../cli/storedRuns.ts'
import { executablePath, launch, open } from './browser.ts'
import { inspecting } from './watching.ts'

const look = tool({ name: 'look', description: 'Looks', execute: () => 'seen' })
const looking = [{ text: 'First. ' }, { toolCall: { name: 'look' } }]

const runsOf = (page: Page) => page.locator('#tree .level-1 > .name')
const title = (page: Page) => page.locator('#title')
const fragment = (page: Page) => new URLSearchParams(new URL(page.url()).hash.slice(1))

/** An inspector with a run for each prompt; each looks once and answers. */
const threeRuns = async () => {
  const inspector = await inspecting()
  const turns = ['Oslo', 'Bergen', 'Rome'].flatMap((city) => [looking, `It rains in ${city}.`])
  const agent = new Agent(scriptedModel(turns), { tools: [look], inspect: inspector.inspect })
  for (const city of ['Oslo', 'Bergen', 'Rome']) await agent.send(`How is ${city}?`)
  return { ...inspector, agent }
}

/** A file with this many stored runs, and an inspector that only reads it. */
const manyRuns = async (count: number) => {
  const { file, runs } = await owning(Array.from({ length: count }, (_, index) => `Answer ${index}.`))
  for (let index = 0; index < count; index += 1)
    await (await runs.start('janitor', `Question ${index}`, { id: `job-${index}` })).result
  const guest = await openRuns({ store: sqlite(file) })
  onTestFinished(() => guest.close())
  return inspecting({ runs: guest })
}

describe.skipIf(!executablePath)('The address of a page', { timeout: 120_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  it('names the run, the tab and the moment: a reload and a link show the same', async () => {
    const { url } = await threeRuns()
    const { page, problems } = await open(browser, url)
    await runsOf(page).getByText('Bergen').click()
    await expect.poll(() => title(page).textContent()).toBe('How is Bergen?')
    await page.locator('#tab-transitions').click()
    await page.locator('#slider').press('Home')
    await page.locator('#slider').press('ArrowRight')
    await expect.poll(() => page.locator('#moment').textContent()).toMatch(/^2 of/)
    const moment = await page.locator('#moment').textContent()
    const address = page.url()
    expect(fragment(page).get('tab')).toBe('transitions')
    await page.reload()
    await expect.poll(() => page.locator('#moment').textContent()).toBe(moment)
    expect(await title(page).textContent()).toBe('How is Bergen?')
    expect(await page.locator('#panel-transitions').isVisible()).toBe(true)
    const { page: other } = await open(browser, url)
    await other.goto('about:blank')
    await other.goto(address)
    await expect.poll(() => other.locator('#moment').textContent()).toBe(moment)
    expect(await title(other).textContent()).toBe('How is Bergen?')
    expect(problems).toEqual([])
  })

  it('goes back to the run and the tab before, with the button of the browser', async () => {
    const { url } = await threeRuns()
    const { page } = await open(browser, url)
    await expect.poll(() => title(page).textContent()).toBe('How is Rome?')
    await runsOf(page).getByText('Oslo').click()
    await expect.poll(() => title(page).textContent()).toBe('How is Oslo?')
    await page.locator('#tab-usage').click()
    await expect.poll(() => fragment(page).get('tab')).toBe('usage')
    await page.goBack()
    await page.locator('#panel-conversation').waitFor()
    await page.goBack()
    await expect.poll(() => title(page).textContent()).toBe('How is Rome?')
  })

  it('follows the newest run after a reload, if it did before', async () => {
    const { url, agent } = await threeRuns()
    const { page } = await open(browser, url)
    await expect.poll(() => fragment(page).get('actor')).not.toBeNull()
    await page.reload()
    await expect.poll(() => title(page).textContent()).toBe('How is Rome?')
    expect(await page.locator('#follow').getAttribute('aria-pressed')).toBe('true')
    await agent.send('How is Paris?').catch(() => {})
    await expect.poll(() => title(page).textContent()).toBe('How is Paris?')
  })

  it('names a stored run by its id, also one that is not among the newest', async () => {
    const { url } = await manyRuns(53)
    const { page } = await open(browser, `${url}#run=job-1`)
    await expect.poll(() => title(page).textContent()).toBe('Question 1')
    await page.locator('#panel-conversation').getByText('Answer 1.').waitFor()
    expect(await page.locator('#follow').getAttribute('aria-pressed')).toBe('false')
  })

  it('of a run that is not kept any more leads to the newest one, and says so', async () => {
    const { url } = await threeRuns()
    const { page } = await open(browser, `${url}#run=gone`)
    await page.getByText('The run of this address is not kept any more').waitFor()
    await expect.poll(() => title(page).textContent()).toBe('How is Rome?')
  })
})

describe.skipIf(!executablePath)('The list of runs', { timeout: 120_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  it('is searched by words and by status', async () => {
    const { url } = await threeRuns()
    const { page } = await open(browser, url)
    await runsOf(page).nth(2).waitFor()
    await page.getByLabel('Search runs').fill('bergen')
    await expect.poll(() => runsOf(page).allTextContents()).toEqual(['How is Bergen?'])
    expect(await page.locator('#found').textContent()).toBe('1 of 3 runs')
    await page.getByLabel('Search runs').press('Escape')
    await expect.poll(() => runsOf(page).count()).toBe(3)
    await page.getByLabel('Status of runs').selectOption('Failed')
    await expect.poll(() => runsOf(page).count()).toBe(0)
    await page.getByLabel('Status of runs').selectOption('Done')
    await expect.poll(() => runsOf(page).count()).toBe(3)
  })

  it('has older stored runs on request, all of them or those with some words', async () => {
    const { url } = await manyRuns(104)
    const { page } = await open(browser, url)
    await expect.poll(() => runsOf(page).count()).toBe(50)
    await page.getByLabel('Search runs').fill('job-2')
    await expect.poll(() => runsOf(page).count()).toBe(0)
    await page.getByRole('button', { name: 'Search older runs' }).click()
    await expect.poll(() => runsOf(page).count()).toBe(11)
    expect(await runsOf(page).last().textContent()).toBe('Question 2')
    await page.getByLabel('Search runs').press('Escape')
    await expect.poll(() => runsOf(page).count()).toBe(61)
    expect(await title(page).textContent()).toBe('Question 103')
    // The next look at the store leaves them in the list.
    await page.waitForTimeout(600)
    expect(await runsOf(page).count()).toBe(61)
  })

  it('shows the time of day, the model, the tokens and the cost', async () => {
    const inspector = await inspecting()
    const usage = { usage: { inputTokens: 1_200, outputTokens: 34, cost: 0.0042 } }
    const model = scriptedModel([[{ text: 'Hello.' }, usage]])
    await new Agent(model, { inspect: inspector.inspect }).send('Say hello')
    const { page } = await open(browser, inspector.url)
    const facts = page.locator('#tree .level-1 > .more')
    await expect
      .poll(() => facts.textContent())
      .toMatch(/^\d\d:\d\d · done · script · 1,234 tokens · \$0\.0042$/)
    expect(await page.locator('#facts').textContent()).toMatch(/script\d\d:\d\d.*1,234 tokens\$0\.0042/)
  })

  it('is walked through with j and k, searched with /, and ? shows the keys', async () => {
    const { url } = await threeRuns()
    const { page, problems } = await open(browser, url)
    await expect.poll(() => title(page).textContent()).toBe('How is Rome?')
    await page.keyboard.press('j')
    await expect.poll(() => title(page).textContent()).toBe('How is Bergen?')
    await page.keyboard.press('j')
    await expect.poll(() => title(page).textContent()).toBe('How is Oslo?')
    await page.keyboard.press('k')
    await expect.poll(() => title(page).textContent()).toBe('How is Bergen?')
    await page.keyboard.press('[')
    await page.locator('#facts .status.past').waitFor()
    await page.keyboard.press('l')
    await page.locator('#facts .status.done').waitFor()
    await page.keyboard.press('4')
    await page.locator('#panel-usage').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('jk?')
    expect(await page.getByLabel('Search runs').inputValue()).toBe('jk?')
    expect(await title(page).textContent()).toBe('How is Bergen?')
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    await page.getByText('Next and previous run').waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('Next and previous run').waitFor({ state: 'hidden' })
    expect(problems).toEqual([])
  })
})
