// Every phase of a run, in light and dark, on large and small screens, works with a screen reader and with the keyboard.
// SHOTS=folder keeps a picture of each.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isWhole, proofSeed } from '../proof/sample.ts'
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

const views = sizes.flatMap((size) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ size, colorScheme })),
)

/** A view for each phase, so that every view has its turn; `npm run proof` takes every view of every phase. */
const viewsOf = (phase: number) =>
  isWhole || shots ? views : views.filter((_, index) => index === (phase + proofSeed) % views.length)

describe.skipIf(!executablePath)('The page', { timeout: 120_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  phases.forEach(({ name, begin, seen }, index) => {
    it(`is accessible: ${name}`, async () => {
      const { page, problems } = await open(browser, await begin())
      await seen(page)
      for (const { size, colorScheme } of viewsOf(index)) {
        await page.setViewportSize(size)
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.waitForTimeout(shots ? 400 : 50)
        if (shots) await page.screenshot({ path: `${shots}/${name}-${size.width}-${colorScheme}.png` })
        expect(await violationsOn(page), `${size.width} ${colorScheme}`).toEqual([])
        const isTooWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
        expect(isTooWide, `wider than ${size.width}`).toBe(false)
      }
      expect(problems).toEqual([])
    })
  })

  it('is accessible on each tab, in the past, in forms and in the list of a small screen', async () => {
    const phase = phases.find(({ name }) => name === 'complete')
    if (!phase) throw new Error('There is no such phase.')
    const { page } = await open(browser, await phase.begin())
    await page.setViewportSize({ width: 1024, height: 768 })
    await phase.seen(page)
    for (const tab of ['chart', 'transitions', 'context', 'usage', 'wire', 'conversation']) {
      await page.locator(`#tab-${tab}`).click()
      if (tab === 'chart') await page.locator('#chart svg').waitFor()
      await page.waitForTimeout(200)
      if (shots) await page.screenshot({ path: `${shots}/tab-${tab}-1024-light.png` })
      expect(await violationsOn(page), tab).toEqual([])
    }
    await page.getByRole('button', { name: 'Edit and run again' }).click()
    await page.getByRole('button', { name: 'Run again with other arguments' }).click()
    expect(await violationsOn(page), 'forms').toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('slider').focus()
    await page.keyboard.press('ArrowLeft')
    await page.getByText('Ask from this moment').waitFor()
    expect(await violationsOn(page), 'the past').toEqual([])
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('button', { name: 'Runs', exact: true }).click()
    await page.waitForTimeout(300)
    expect(await violationsOn(page), 'the list of runs').toEqual([])
  })
})
