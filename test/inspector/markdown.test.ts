// The Markdown of a model in a real browser.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { executablePath, launch, type Opened, open } from './browser.ts'
import { speaker } from './speaker.ts'
import { inspecting } from './watching.ts'

const answer = [
  '## Three trains',
  '',
  'The **first** one needs `--early` and leaves *soon*.',
  '',
  '- Bergen, 2 * 3 seats',
  '  - window',
  '',
  '1. Oslo',
  '',
  '| Train | Leaves |',
  '|---|---|',
  '| F1 | **8:05** |',
  '',
  '> No seats left, said the clerk.',
  '',
  '```ts',
  'const a = **b**',
  '# not a heading',
  '```',
  '',
  '[web](https://example.com/a) [mail](mailto:a@example.com) [script](javascript:alert(1)) [file](file:///etc/passwd)',
  '[data](data:text/html,x) ![picture](https://example.com/p.png)',
  '',
  '<img src=x onerror=alert(1)> <b>not bold</b>',
].join('\n')

const marks = ['*', '`', '[a](', '- ', '>', '~', '|', '[*_`~$|', '    ', '$$', '<']

describe.skipIf(!executablePath)('An answer in Markdown', { timeout: 60_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  /** A page that watches an answer which arrives in these pieces. */
  const shown = async (pieces: Iterable<string>): Promise<Opened> => {
    const inspector = await inspecting()
    const opened = await open(browser, inspector.url)
    const { page } = opened
    const provider = await speaker()
    const agent = new Agent('openai:m', { baseUrl: provider.url, apiKey: 'k', inspect: inspector.inspect })
    const sent = agent.send('Which trains?')
    await provider.asked()
    for (const piece of pieces) provider.say(piece)
    provider.end()
    await sent
    await page.locator('.outcome', { hasText: 'Complete' }).waitFor()
    return opened
  }

  it('has its headings, lists, tables, quotes and code, and never markup of the model', async () => {
    const { page, problems, elsewhere } = await shown([answer])
    const text = page.locator('.flow.text')
    expect(await text.locator('.title').textContent()).toBe('Three trains')
    expect(await text.locator('p strong').allTextContents()).toEqual(['first'])
    expect(await text.locator('em').allTextContents()).toEqual(['soon'])
    expect(await text.locator('p code').allTextContents()).toEqual(['--early'])
    expect(await text.locator('ul > li').allTextContents()).toEqual(['Bergen, 2 * 3 seatswindow', 'window'])
    expect(await text.locator('ol > li').allTextContents()).toEqual(['Oslo'])
    expect(await text.locator('th').allInnerTexts()).toEqual(['Train', 'Leaves'])
    expect(await text.locator('td').allInnerTexts()).toEqual(['F1', '8:05'])
    expect(await text.locator('blockquote').textContent()).toBe('No seats left, said the clerk.')
    expect(await text.locator('pre').textContent()).toBe('const a = **b**\n# not a heading')
    expect(await text.locator('p').last().textContent()).toBe('<img src=x onerror=alert(1)> <b>not bold</b>')
    expect(await text.locator('img, b').count()).toBe(0)
    expect([...problems, ...elsewhere]).toEqual([])
  })

  it('has links to the web and for mail only, and loads no picture', async () => {
    const { page, elsewhere } = await shown([answer])
    const all = await page.evaluate<(string | null)[][]>(
      `[...document.querySelectorAll('.flow.text a')].map((a) => [a.textContent, a.getAttribute('href'), a.getAttribute('rel')])`,
    )
    expect(all).toEqual([
      ['web', 'https://example.com/a', 'noopener noreferrer'],
      ['mail', 'mailto:a@example.com', 'noopener noreferrer'],
      ['script', null, null],
      ['file', null, null],
      ['data', null, null],
      ['picture', 'https://example.com/p.png', 'noopener noreferrer'],
    ])
    expect(elsewhere).toEqual([])
  })

  it('is the same in pieces of one and of three letters', async () => {
    const html = async (pieces: Iterable<string>) => {
      const { page } = await shown(pieces)
      return page.evaluate<string>(`
        document.querySelector('.flow.text').normalize()
        document.querySelector('.flow.text').innerHTML
      `)
    }
    const whole = await html([answer])
    expect(await html(answer)).toBe(whole)
    expect(await html(answer.match(/.{1,3}/gs) ?? [])).toBe(whole)
  })

  it('keeps a long answer whole, and what looks like marks without an end', async () => {
    const code = Array.from({ length: 300 }, (_, line) => `line ${line} of **code**`).join('\n')
    const open = `[a link](https://example.com/${'y'.repeat(3_000)}`
    const { page } = await shown([`${'x'.repeat(20_000)}\n\n\`\`\`\n`, code, '\n```\nafter **it**\n\n', open])
    const text = page.locator('.flow.text')
    const letters = (await text.textContent()) ?? ''
    expect(letters.replaceAll(/[^x]/g, '').length).toBe(20_001)
    expect(letters.replaceAll(/[^y]/g, '').length).toBe(3_000)
    expect(await text.locator('pre').textContent()).toBe(code)
    expect(await text.locator('strong').allTextContents()).toEqual(['it'])
  })

  it('costs no more for each character of a hostile answer, and stays flat', async () => {
    const { page, problems } = await shown(['Fine.'])
    // A string, because the page has no loader of tests. `depth` of elements inside each other, and `pieces` that were parsed by themselves.
    const looks = await page.evaluate<{ mark: string; depth: number; pieces: number }[]>(`(async () => {
      const { MarkdownFlow } = await import(new URL('MarkdownFlow.js', document.baseURI).href)
      const depthOf = (node) => (node.children.length === 0 ? 0 : 1 + Math.max(...[...node.children].slice(0, 200).map(depthOf)))
      return ${JSON.stringify(marks)}.map((mark) => {
        const flow = new MarkdownFlow('text')
        flow.show(mark.repeat(100_000 / mark.length), true)
        return { mark, depth: depthOf(flow.element), pieces: flow.element.childNodes.length }
      })
    })()`)
    for (const { mark, depth } of looks) expect([mark, depth < 20]).toEqual([mark, true])
    // Marks that the parser would hold back, and look at again with each character that follows.
    const held = looks.filter(({ mark }) => ['*', '`', '[a](', '- '].includes(mark))
    for (const { mark, pieces } of held) expect([mark, pieces > 100]).toEqual([mark, true])
    expect(problems).toEqual([])
  })
})
