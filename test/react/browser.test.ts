/** `useAgent` in a real browser, under StrictMode, with the development build of React. */
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { executablePath, launch, open } from '../inspector/browser.ts'
import { listen } from '../ui/serve.ts'

if (!executablePath) console.log('useAgent is not tested: there is no browser. Set CHROMIUM_PATH.')

type Facts = {
  renders: Record<string, number>
  frames: number
  chunks: number
  requests: Record<string, number>
  closed: number
  history: string[]
  changed: string[]
}

describe.skipIf(!executablePath)('useAgent under StrictMode', () => {
  let browser: Browser | undefined
  let script = ''

  beforeAll(async () => {
    const { outputFiles } = await build({
      entryPoints: ['test/react/page/page.tsx'],
      bundle: true,
      platform: 'browser',
      format: 'esm',
      jsx: 'automatic',
      // StrictMode does nothing in production.
      define: { 'process.env.NODE_ENV': '"development"' },
      alias: { undici: './test/ui/page/noUndici.ts' },
      write: false,
    })
    script = outputFiles[0]?.text ?? ''
    browser = await launch()
  }, 180_000)
  afterAll(() => browser?.close())

  const openPage = async () => {
    const { url } = await listen((request, response) => {
      if (request.url === '/page.js') response.setHeader('content-type', 'text/javascript').end(script)
      else
        response
          .setHeader('content-type', 'text/html')
          .end(
            '<!doctype html><link rel="icon" href="data:,"><div id="root"></div><script type="module" src="/page.js"></script>',
          )
    })
    if (!browser) throw new Error('There is no browser.')
    return open(browser, `${url}/`)
  }

  const shows = (page: Page, name: string, text: string | RegExp) =>
    page.locator(`#${name} output`).getByText(text).waitFor()
  const ask = (page: Page, name: string) => page.locator(`#${name}`).getByText('Ask').click()
  const factsOf = (page: Page): Promise<Facts> => page.evaluate('window.facts()')

  test('asks the model once for a component that begins with a prompt, and keeps the conversation', async () => {
    const { page, problems } = await openPage()
    await shows(page, 'first', 'complete: Hi | Hello.')
    expect((await factsOf(page)).requests).toMatchObject({ first: 1, gone: 1 })
    await ask(page, 'first')
    await shows(page, 'first', 'complete: Hi | Hello. | And? | Again.')
    expect(await factsOf(page)).toMatchObject({ requests: { first: 2 }, history: ['Hi', 'Hello.', 'And?'] })
    expect(problems).toEqual([])
  })

  test('renders at most once for each frame, not for each chunk, and onChunk gets every one', async () => {
    const { page, problems } = await openPage()
    await shows(page, 'stream', 'idle: 0')
    const before = await factsOf(page)
    await ask(page, 'stream')
    await shows(page, 'stream', 'complete: 2000')
    const { renders, chunks, frames } = await factsOf(page)
    expect(chunks).toBeGreaterThanOrEqual(2_000)
    // Each render counts twice under StrictMode. Beside one for each frame there is one for each new status.
    const drawn = ((renders.stream ?? 0) - (before.renders.stream ?? 0)) / 2
    expect(drawn).toBeLessThanOrEqual(frames - before.frames + 3)
    expect(problems).toEqual([])
  })

  test('shows a call that waits, and continues once it is approved, with the context of its tools', async () => {
    const { page, problems } = await openPage()
    await ask(page, 'calls')
    await shows(page, 'calls', /^waiting: send/)
    await page.locator('#calls').getByText('Approve').click()
    await shows(page, 'calls', /^complete: .*Sent for Ada\.$/)
    expect(problems).toEqual([])
  })

  test('gives the validated value of a schema', async () => {
    const { page } = await openPage()
    await ask(page, 'typed')
    await shows(page, 'typed', 'complete: Oslo 1048')
  })

  test('ends the run of a component that is gone, and not before', async () => {
    const { page } = await openPage()
    await shows(page, 'gone', 'a')
    expect((await factsOf(page)).closed).toBe(0)
    await page.locator('#gone').getByText('Leave').click()
    await expect.poll(async () => (await factsOf(page)).closed).toBe(1)
  })

  test('gives two components of one agent a conversation each', async () => {
    const { page } = await openPage()
    await shows(page, 'pair', 'Left? | An answer.')
    await shows(page, 'pair', 'Right? | An answer.')
    expect((await factsOf(page)).requests.pair).toBe(2)
  })

  test('asks another agent from the next run on, with the conversation so far', async () => {
    const { page } = await openPage()
    await ask(page, 'changing')
    await shows(page, 'changing', 'Go | From one.')
    await page.locator('#changing').getByText('Change').click()
    await ask(page, 'changing')
    await shows(page, 'changing', 'Go | From one. | Go | From two.')
    expect((await factsOf(page)).changed).toEqual(['Go', 'From one.', 'Go'])
  })

  test('shows an error, and can be asked again', async () => {
    const { page } = await openPage()
    await ask(page, 'failing')
    await shows(page, 'failing', 'failed: No luck.')
    await ask(page, 'failing')
    await shows(page, 'failing', 'complete: Luck.')
  })
})
