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
  /** Addresses it asked for that are not the inspector's. */
  elsewhere: string[]
}

/** Opens a page for one test, with the size that it must work at. */
export const open = async (
  browser: Browser,
  url: string,
  options: { colorScheme?: 'light' | 'dark' } = {},
): Promise<Opened> => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options })
  onTestFinished(() => page.close())
  page.setDefaultTimeout(60_000)
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
