import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { onTestFinished } from 'vitest'

const known = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** The browser of this machine, if it has one. */
export const executablePath = process.env.CHROMIUM_PATH ?? known.find(existsSync)

if (!executablePath) {
  console.warn('The page is not tested: there is no Chromium here. Set CHROMIUM_PATH to test it.')
}

const quiet = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export const launch = (): Promise<Browser> =>
  chromium.launch({ ...(executablePath && { executablePath }), args: quiet })

export type Opened = {
  page: Page
  /** Errors, refused styles and scripts, dialogs: a good page has none. */
  problems: string[]
  /** Addresses that it fetched and that are not the inspector's. */
  elsewhere: string[]
}

/** The pages of a browser that no test uses now. A new one takes half a second of a processor: a process starts for it. */
const idlePages = new WeakMap<Browser, Page[]>()

/** A page as if it were new. What a page has stored belongs to its address, and no two tests have the same one. */
const pageFor = async (browser: Browser, colorScheme: 'light' | 'dark'): Promise<Page> => {
  const idle = idlePages.get(browser) ?? []
  idlePages.set(browser, idle)
  const page = idle.pop() ?? (await browser.newPage())
  onTestFinished(async ({ task }) => {
    page.removeAllListeners()
    await page.context().clearPermissions()
    // Away from what runs in it. Another file of the same server needs no other process, as an empty page would.
    const isLeft = await page.goto(new URL('runs.css', page.url()).href).then(
      (answer) => answer?.ok() === true,
      () => false,
    )
    if (isLeft && task.result?.state !== 'fail') idle.push(page)
    else await page.close()
  })
  await page.setViewportSize({ width: 1280, height: 800 })
  // Nothing moves by itself: to draw it sixty times a second costs more than most tests.
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
  page.setDefaultTimeout(60_000)
  return page
}

/** Opens a page for one test, with the size that it must work at. */
export const open = async (
  browser: Browser,
  url: string,
  { colorScheme = 'light' }: { colorScheme?: 'light' | 'dark' } = {},
): Promise<Opened> => {
  const page = await pageFor(browser, colorScheme)
  const problems: string[] = []
  const elsewhere: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text())
  })
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`)
    dialog.dismiss().catch(() => {})
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !/^(?:data|blob):/.test(request.url()))
      elsewhere.push(request.url())
  })
  await page.goto(url)
  return { page, problems, elsewhere }
}
