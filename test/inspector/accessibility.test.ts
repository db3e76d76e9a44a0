// Every phase of a run, in light and dark, on large and small screens: nothing that a screen reader or a keyboard stumbles over.
// SHOTS=folder keeps a picture of each.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { executablePath, launch, open } from './browser.ts'
import { phases } from './phases.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const sizes = [
  { width: 1440, height: 900 },
  { width: 1024, height: 768 },
  { width: 390, height: 844 },
]

type Violation = { id: string; nodes: { html: string; failureSummary: string }[] }

const violationsOn = async (page: Page): Promise<string[]> => {
  // Not as a script of the page: its policy refuses those, as it must.
  await page.evaluate(axe)
  const violations = (await page.evaluate('axe.run().then(({ violations }) => violations)')) as Violation[]
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html}\n${node.failureSummary}`),
  )
}

const shots = process.env.SHOTS

describe.skipIf(!executablePath)('The page', { timeout: 120_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  for (const { name, begin, seen } of phases) {
    it(`can be used by everybody: ${name}`, async () => {
      const { page, problems } = await open(browser, await begin())
      await seen(page)
      for (const size of sizes) {
        await page.setViewportSize(size)
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
          await page.waitForTimeout(shots ? 400 : 50)
          if (shots) await page.screenshot({ path: `${shots}/${name}-${size.width}-${colorScheme}.png` })
          expect(await violationsOn(page), `${size.width} ${colorScheme}`).toEqual([])
        }
        const isTooWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
        expect(isTooWide, `wider than ${size.width}`).toBe(false)
      }
      expect(problems).toEqual([])
    })
  }
})
