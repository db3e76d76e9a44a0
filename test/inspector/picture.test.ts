// The picture of the README: the demo agent waits for an approval. `npm run picture` takes it again.
import { mkdir, readFile } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import { demoAgent, demoPrompt } from '../../src/cli/commands/demo.ts'
import { startSimulator } from '../../src/simulator/index.ts'
import { launch, open } from './browser.ts'
import { inspecting } from './watching.ts'

const file = 'docs/pictures/inspector.png'

const take = async () => {
  const simulator = await startSimulator()
  const inspector = await inspecting()
  const agent = demoAgent({ baseUrl: simulator.baseUrl, inspect: inspector.inspect, pace: 0.1 })
  const run = agent.start(demoPrompt)
  const browser = await launch()
  onTestFinished(() => browser.close())
  const { page } = await open(browser, inspector.url, { colorScheme: 'light' })
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.getByRole('button', { name: 'Approve' }).waitFor()
  await page.locator('#chart svg').waitFor()
  await page.waitForTimeout(1_000)
  await mkdir('docs/pictures', { recursive: true })
  await page.screenshot({ path: file })
  run.abort()
  await run.result.catch(() => {})
  await simulator.close()
}

if (process.env.UPDATE_PICTURE === '1') it('is taken', { timeout: 120_000 }, take)

it('has the size that the README shows', async () => {
  const png = await readFile(file)
  expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1440, 900])
})
