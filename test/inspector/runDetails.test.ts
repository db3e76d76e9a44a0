// The details of a run in a real browser: failed calls, discarded answers, big values, and the chart of what happened.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/tool.ts'
import { chunk, usageChunk } from '../hostile/chatWire.ts'
import { sse } from '../hostile/wire.ts'
import { loopback } from '../loopback.ts'
import { executablePath, launch, open } from './browser.ts'
import { inspecting } from './watching.ts'

const trains = Array.from({ length: 40 }, (_, index) => ({
  id: `F${index}`,
  from: 'Oslo',
  seat: { coach: index, kind: index === 7 ? 'sleeper' : 'window' },
}))

const find = tool({ name: 'find_trains', description: 'Finds trains', execute: () => ({ trains }) })
const book = tool({
  name: 'book_seat',
  description: 'Books a seat',
  input: z.object({ train: z.string() }),
  execute: () => {
    throw new Error('No seats left')
  },
})

const calling = [
  { toolCall: { name: 'find_trains' } },
  { toolCall: { name: 'book_seat', arguments: { train: 'F7' } } },
]

const boxOf = async (page: Page, selector: string) => {
  const box = await page.locator(selector).boundingBox()
  if (!box) throw new Error(`${selector} is not shown.`)
  return box
}

describe.skipIf(!executablePath)('The page of a run', { timeout: 120_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  /** A page that shows a run of two calls, one of which fails. */
  const shown = async () => {
    const inspector = await inspecting()
    const model = scriptedModel([calling, 'There are trains.'])
    await new Agent(model, { tools: [find, book], inspect: inspector.inspect }).send('Book a train')
    const opened = await open(browser, inspector.url)
    await opened.page.locator('.card.failed').waitFor()
    return opened
  }

  it('keeps an argument beside its name, and the words of a table whole, in a narrow window', async () => {
    const inspector = await inspecting()
    const row = `| Rome | 30 | ${'warm and dry, '.repeat(20)} |`
    const table = ['| city | temperature | remark |', '|---|---|---|', row].join('\n')
    const erase = tool({ name: 'erase', description: 'Erases', needsApproval: true, execute: () => 'gone' })
    const why = { path: '/srv/customers/2024/report-final.csv', reason: 'A newer export is there already.' }
    const asks = [{ text: table }, { toolCall: { name: 'erase', arguments: why } }]
    const run = new Agent(scriptedModel([asks]), { tools: [erase], inspect: inspector.inspect }).start('Go')
    const { page, problems } = await open(browser, inspector.url)
    await page.setViewportSize({ width: 900, height: 800 })
    await page.locator('.flow td').first().waitFor()
    for (const name of ['path', 'reason']) {
      const label = page.locator('#banner dt', { hasText: name })
      const [key, value] = await Promise.all([label.boundingBox(), label.locator('+ dd').boundingBox()])
      expect(value?.y).toBeCloseTo(key?.y ?? 0, -1)
    }
    // One line of words, with its padding.
    expect((await boxOf(page, '.flow th >> nth=1')).height).toBeLessThan(40)
    run.abort()
    await run.result.catch(() => {})
    expect(problems).toEqual([])
  })

  it('shows a call whose result is an error as failed in the tree, and its run as done', async () => {
    const { page, problems } = await shown()
    const row = (name: string) => page.locator('#tree [role=treeitem]', { hasText: name })
    await row('book_seat').locator('.dot.failed').waitFor()
    await row('find_trains').locator('.dot.done').waitFor()
    expect(await row('book_seat').locator('.name').getAttribute('title')).toContain('No seats left')
    await page.locator('#tree .level-1 > .dot.done').waitFor()
    expect(problems).toEqual([])
  })

  it('has a search, the size and a copy of big values, and opens all of them', async () => {
    const { page } = await shown()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const card = page.locator('.card.done .result')
    expect(await card.locator('.json-tools').textContent()).toContain('2 KiB')
    await card.getByLabel('Search this value').fill('SLEEPER')
    await card.getByText('1 place found').waitFor()
    expect(await card.locator('mark').allTextContents()).toEqual(['sleeper'])
    expect(await card.locator('dd').filter({ hasText: 'window' }).count()).toBe(0)
    await card.getByLabel('Search this value').press('Escape')
    expect(await card.getByText('window').count()).toBe(0)
    await card.getByRole('button', { name: 'Open all' }).click()
    expect(await card.getByText('window').count()).toBe(39)
    await card.getByRole('button', { name: 'Close all' }).click()
    expect(await card.getByText('window').count()).toBe(0)
    // The word is there for two seconds: the test looks for it first.
    await Promise.all([
      card.getByText('Copied').waitFor(),
      card.getByRole('button', { name: 'Copy' }).click(),
    ])
    const copied = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(JSON.parse(copied)).toEqual({ trains })
  })

  it('keeps the search of the context from moment to moment', async () => {
    const { page } = await shown()
    await page.locator('#tab-context').click()
    const search = page.locator('#panel-context').getByLabel('Search this value').first()
    await search.fill('finishReason')
    await page.locator('#panel-context mark').first().waitFor()
    await search.blur()
    await page.keyboard.press('[')
    await page.locator('#facts .status.past').waitFor()
    await expect.poll(() => page.locator('#panel-context mark').count()).toBeGreaterThan(0)
    expect(await search.inputValue()).toBe('finishReason')
  })

  it('draws the path that the run took, and no other', async () => {
    const { page } = await shown()
    await page.locator('#chart svg').waitFor()
    const taken = () =>
      page.evaluate<string[]>(
        `[...new Set([...document.querySelector('#chart').shadowRoot.querySelectorAll('.edge.taken')].flatMap((edge) => JSON.parse(edge.dataset.transitions)))]`,
      )
    const has = async (from: string) => (await taken()).some((name) => name.startsWith(`agent.${from} `))
    await expect.poll(() => has('ToolResults')).toBe(true)
    expect([await has('ToolExecution'), await has('AtLimit'), await has('Judging')]).toEqual([
      true,
      false,
      false,
    ])
    await page.locator('#slider').press('Home')
    await expect.poll(() => has('ToolResults')).toBe(false)
  })

  it('shows the chart on the full screen, and as wide as a person wants', async () => {
    const { page } = await shown()
    await page.locator('#chart svg').waitFor()
    const usual = await boxOf(page, '#panel-chart')
    await page.getByRole('button', { name: 'Full screen' }).click()
    expect(await boxOf(page, '#panel-chart')).toMatchObject({ x: 0, y: 0, width: 1280, height: 800 })
    await page.keyboard.press('Escape')
    expect((await boxOf(page, '#panel-chart')).width).toBe(usual.width)
    const divider = await boxOf(page, '#divider')
    await page.mouse.move(divider.x + 4, divider.y + 100)
    await page.mouse.down()
    await page.mouse.move(divider.x - 150, divider.y + 100)
    await page.mouse.up()
    const wide = (await boxOf(page, '#panel-chart')).width
    expect(wide).toBeGreaterThan(usual.width + 100)
    await page.reload()
    await page.locator('#chart svg').waitFor()
    expect((await boxOf(page, '#panel-chart')).width).toBe(wide)
    await page.locator('#divider').press('ArrowRight')
    expect((await boxOf(page, '#panel-chart')).width).toBeLessThan(wide)
  })

  it('says why an answer was discarded, with its status, and leads to its request', async () => {
    const inspector = await inspecting()
    const server = await loopback((_, nth) =>
      nth === 0
        ? { status: 503, headers: { 'retry-after-ms': '5' }, body: { error: { message: 'Try later.' } } }
        : { body: sse(chunk({ content: 'Here.' }), chunk({}, 'stop'), usageChunk, '[DONE]').join('') },
    )
    const retry = { maxRetries: 1, initialDelayMs: 1, maxDelayMs: 5 }
    const options = { baseUrl: server.url, apiKey: 'k', retry, inspect: inspector.inspect }
    await new Agent('openai:m', options).send('Hello')
    const { page, problems } = await open(browser, inspector.url)
    const discarded = page.locator('.turn.void')
    await discarded.waitFor()
    expect(await discarded.locator('.mark-line').textContent()).toMatch(
      /^Status 503\. .*Try later\..*\)\. The model was asked again\./,
    )
    await page.locator('#tab-usage').click()
    await expect
      .poll(() => page.locator('#panel-usage tbody tr').allTextContents())
      .toEqual(['Step 1––––discarded', expect.stringMatching(/^Step 1, try 2.*stop$/)])
    await page.locator('#tab-conversation').click()
    await discarded.getByRole('button', { name: 'Show the request' }).click()
    await page.locator('.call-choice.failed[aria-expanded=true]').waitFor()
    expect(await page.locator('.exchange .facts').textContent()).toContain('503')
    await page.reload()
    await page.locator('.call-choice.failed[aria-expanded=true]').waitFor()
    expect(problems).toEqual([])
  })

  it('shows that there are more tabs than a small screen has room for', async () => {
    const { page } = await shown()
    const more = page.locator('#tabs-more')
    expect(await more.isVisible()).toBe(false)
    await page.setViewportSize({ width: 390, height: 800 })
    await more.waitFor()
    // The row moves smoothly: the button may hide while it is about to be clicked.
    while (await more.isVisible()) await more.click({ timeout: 1000 }).catch(() => {})
    expect((await boxOf(page, '#tab-wire')).x).toBeLessThan(390)
  })
})
