import { type ChildProcess, spawn } from 'node:child_process'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { executablePath, launch } from '../inspector/browser.ts'

if (!executablePath)
  console.log('The page with an agent in it is not tested: there is no browser. Set CHROMIUM_PATH.')

/** Starts the page's server, as a user would, and gives the address it prints. */
const serve = (): Promise<{ server: ChildProcess; url: string }> =>
  new Promise((resolve, reject) => {
    const server = spawn(process.execPath, ['examples/inBrowser/server.mjs'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let printed = ''
    const read = (text: Buffer) => {
      printed += text
      const url = /http:\/\/127\.0\.0\.1:\d+\//.exec(printed)?.[0]
      if (url) resolve({ server, url })
    }
    server.stdout.on('data', read)
    server.stderr.on('data', read)
    server.on('close', () => reject(new Error(`The server ended: ${printed}`)))
  })

describe.skipIf(!executablePath)('the page with an agent in it, in a real browser', () => {
  let server: ChildProcess | undefined
  let browser: Browser | undefined
  let page: Page
  const problems: string[] = []

  beforeAll(async () => {
    const started = await serve()
    server = started.server
    browser = await launch()
    page = await browser.newPage()
    page.setDefaultTimeout(100_000)
    page.on('pageerror', (error) => problems.push(String(error)))
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text())
    })
    await page.goto(started.url)
  }, 600_000)

  afterAll(async () => {
    await browser?.close()
    server?.kill()
  })

  const state = () => page.locator('article .state').last()
  const answer = () => page.locator('article p').last()
  const ask = async (prompt: string) => {
    await page.getByLabel('Prompt').fill(prompt)
    await page.getByRole('button', { name: 'Ask' }).click()
  }

  test('streams an answer into a component, and runs its tools in the page', async () => {
    // Most states are gone before a test could look.
    await page.evaluate(`{
      window.shown = new Set()
      const look = () => document.querySelectorAll('article .state').forEach((each) => shown.add(each.textContent))
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true })
    }`)
    const isStreamed = async () => {
      const asked = await page.locator('article').count()
      await ask('What is the weather in Oslo?')
      await page.locator('article').nth(asked).waitFor()
      await state().getByText('Complete').waitFor()
      expect(await answer().textContent()).toMatch(/Oslo.*21/)
      return page.evaluate(`shown.has('Accumulating.Streaming')`)
    }
    // A page that the machine stops for a while shows the end at once: then it is asked again.
    for (let tries = 1; !(await isStreamed()); tries += 1) expect(tries).toBeLessThan(10)
  })

  test('shows a call that waits for approval, and continues once it is approved', async () => {
    await ask('Please send a postcard to Rome.')
    await page.getByText('send_postcard {"city":"Rome"}').waitFor()
    expect(await state().textContent()).toBe('AwaitingApproval')
    await page.getByRole('button', { name: 'Approve' }).click()
    await state().getByText('Complete').waitFor()
    expect(await answer().textContent()).toContain('A postcard is on its way to Rome.')
  })

  test('stops when the user says so, and can be asked again', async () => {
    await ask('What is the weather in Lima?')
    await page.getByRole('button', { name: 'Stop' }).click()
    await state().getByText('Aborted').waitFor()
    await ask('What is the weather in Bergen?')
    await state().getByText('Complete').waitFor()
    expect(await answer().textContent()).toMatch(/Bergen.*21/)
    expect(problems).toEqual([])
  })
})
