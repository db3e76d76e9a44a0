// The Markdown of a model in a real browser.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { executablePath, launch, open } from './browser.ts'
import { speaker } from './speaker.ts'
import { inspecting } from './watching.ts'

const answer = [
  '## Three trains',
  '',
  'The **first** one needs `--early` and leaves *soon*.',
  '- Bergen, 2 * 3 seats',
  '  - window',
  '1. Oslo',
  '',
  '```ts',
  'const a = **b**',
  '# not a heading',
  '```',
  '<img src=x onerror=alert(1)> <b>not bold</b>',
].join('\n')

describe.skipIf(!executablePath)('An answer in Markdown', { timeout: 60_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  /** A page that watches an answer which arrives in these pieces. */
  const shown = async (pieces: Iterable<string>): Promise<{ page: Page; problems: string[] }> => {
    const inspector = await inspecting()
    const { page, problems } = await open(browser, inspector.url)
    const provider = await speaker()
    const agent = new Agent('openai:m', { baseUrl: provider.url, apiKey: 'k', inspect: inspector.inspect })
    const sent = agent.send('Which trains?')
    await provider.asked()
    for (const piece of pieces) provider.say(piece)
    provider.end()
    await sent
    await page.locator('.outcome', { hasText: 'Complete' }).waitFor()
    return { page, problems }
  }

  it('has its headings, lists and code, and never markup of the model', async () => {
    const { page, problems } = await shown([answer])
    const text = page.locator('.flow.text')
    expect(await text.locator('.title').textContent()).toBe('Three trains')
    expect(await text.locator('strong').allTextContents()).toEqual(['first'])
    expect(await text.locator('em').allTextContents()).toEqual(['soon'])
    expect(await text.locator('p code').allTextContents()).toEqual(['--early'])
    expect(await text.locator('.item').allTextContents()).toEqual([
      '• Bergen, 2 * 3 seats',
      '• window',
      '1. Oslo',
    ])
    expect(await text.locator('.item.depth-1').count()).toBe(1)
    expect(await text.locator('pre').textContent()).toBe('const a = **b**\n# not a heading')
    expect(await text.locator('p').last().textContent()).toBe('<img src=x onerror=alert(1)> <b>not bold</b>')
    expect(await text.locator('img, b').count()).toBe(0)
    expect(problems).toEqual([])
  })

  it('is the same letter by letter', async () => {
    const whole = await shown([answer])
    const split = await shown(answer)
    expect(await split.page.locator('.flow.text').innerHTML()).toBe(
      await whole.page.locator('.flow.text').innerHTML(),
    )
  })

  it('keeps a long answer whole, in blocks, and code code from one block to the next', async () => {
    const code = Array.from({ length: 300 }, (_, line) => `line ${line} of **code**`).join('\n')
    const { page } = await shown([`${'x'.repeat(20_000)}\n\n\`\`\`\n`, code, '\n```\nafter **it**'])
    const text = page.locator('.flow.text')
    expect((await text.textContent())?.replaceAll(/[^x]/g, '').length).toBe(20_000)
    expect((await text.locator('pre').allTextContents()).join('\n').replaceAll(/\n+/g, '\n')).toBe(code)
    expect(await text.locator('strong').allTextContents()).toEqual(['it'])
    expect(await text.locator(':scope > div').count()).toBeGreaterThan(5)
  })
})
