import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import type { Inspector } from '../../src/inspector/index.ts'
import type { Recording } from '../../src/inspector/protocol.ts'
import { tool } from '../../src/tools/tool.ts'
import { callChunk, chunk, usageChunk } from '../hostile/chatWire.ts'
import { sse } from '../hostile/wire.ts'
import { loopback } from '../loopback.ts'
import { executablePath, launch, open } from './browser.ts'
import { speaker } from './speaker.ts'
import { inspecting } from './watching.ts'

if (!executablePath) {
  console.warn('Exported pages are not tested: there is no Chromium here. Set CHROMIUM_PATH to test them.')
}

const key = 'exported+key/47"11=='
const base64 = (text: string) => Buffer.from(text).toString('base64')
/** Forms in which a server may return the key. */
const forms = [
  key,
  encodeURIComponent(key),
  JSON.stringify(key).slice(1, -1),
  key.replaceAll('"', '&quot;'),
  base64(key),
  base64(`Bearer ${key}`),
  base64(`user:${key}`),
]

const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `${city} </script><b>21 °C</b> <!-- ${forms.join(' ')}`,
})

/** A run whose server and tool return its key in every form. */
const echoed = async () => {
  const inspector = await inspecting()
  const asks = callChunk({ index: 0, id: 'c1', name: 'get_weather', args: '{"city":"Oslo"}' })
  const { url } = await loopback((_, nth) => ({
    headers: { 'x-request-id': `req ${forms[1]}` },
    body:
      nth === 0
        ? sse(asks, chunk({}, 'tool_calls'), usageChunk, '[DONE]').join('')
        : sse(
            ...forms.map((form) => chunk({ content: `Your key is ${form} . ` })),
            chunk({ content: 'Sunny.' }),
            chunk({}, 'stop'),
            usageChunk,
            '[DONE]',
          ).join(''),
  }))
  const agent = new Agent('openai:m', {
    baseUrl: url,
    apiKey: key,
    tools: [weather],
    inspect: inspector.inspect,
  })
  await agent.send('Weather in Oslo?')
  return inspector
}

const exported = async ({ url }: Inspector, as: 'html' | 'json', actor = 1) => {
  const response = await fetch(`${url}export?actor=${actor}&as=${as}`)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-disposition')).toBe(
    `attachment; filename="statewire-run-${actor}.${as}"`,
  )
  return response.text()
}

const saved = async (name: string, text: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'statewire-export-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, name), text)
  return join(folder, name)
}

describe('An exported run', () => {
  it('is one JSON file, with every actor, moment, chart and call', async () => {
    const recording = JSON.parse(await exported(await echoed(), 'json')) as Recording
    expect(recording).toMatchObject({ statewire: 'recording', version: 1 })
    expect(recording.actors[0]).toMatchObject({ title: 'Weather in Oslo?', status: 'done', canAbort: false })
    const { moments = [], attempts = [] } = recording.watched['1'] ?? {}
    expect(attempts).toHaveLength(2)
    for (const { seq } of moments) expect(recording.answers).toHaveProperty([`moment?actor=1&seq=${seq}`])
    expect(recording.answers).toHaveProperty(['chart?actor=1'])
    expect(recording.answers).toHaveProperty(['call?actor=1&call=2'])
  })

  it.each(['json', 'html'] as const)('has the key in no form, as %s', async (as) => {
    const text = await exported(await echoed(), as)
    expect(text).toContain('Sunny.')
    for (const form of forms) {
      expect(text).not.toContain(form)
      expect(text).not.toContain(JSON.stringify(form).slice(1, -1))
    }
    // Not even a useful part of it.
    expect(text).not.toMatch(/exported.key/)
  })

  it('cannot be fetched without the whole address', async () => {
    const { url } = await echoed()
    expect((await fetch(`${url}export?actor=99`)).status).toBe(404)
    const foreign = await fetch(`${url}export?actor=1`, { headers: { origin: 'http://evil.example' } })
    expect(foreign.status).toBe(403)
  })
})

const active = (page: Page, state: string) => page.locator(`#chart [data-state="${state}"].active`)

describe.skipIf(!executablePath)('A file', { timeout: 120_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  /** Checks that everything is shown, nothing is fetched from elsewhere, and nothing can be commanded. */
  const lookAround = async (page: Page) => {
    await page.getByText('A recorded run').waitFor()
    await page.locator('#chart svg').waitFor()
    await active(page, 'agent.Complete').waitFor()
    await page.locator('#main').getByText('Sunny.').first().waitFor()
    await page.locator('#tab-wire').click()
    await page.getByText('Raw events, 11').click()
    await page.locator('.events li').getByText('Sunny.').waitFor()
    await page.locator('#tab-context').click()
    await page.locator('#panel-context').getByText('Context').waitFor()
    await page.locator('#slider').fill('0')
    await page.locator('#moment').getByText('1 of').waitFor()
    expect(await active(page, 'agent.Complete').count()).toBe(0)
    expect(await page.locator('#abort').isVisible()).toBe(false)
    expect(await page.locator('#export').isVisible()).toBe(false)
  }

  it('is a page that works without a server', async () => {
    const inspector = await echoed()
    const file = await saved('run.html', await exported(inspector, 'html'))
    await inspector.close()
    const { page, problems, elsewhere } = await open(browser, pathToFileURL(file).href)
    await lookAround(page)
    expect([...problems, ...elsewhere]).toEqual([])
  })

  it('is what the button saves', async () => {
    const { url } = await echoed()
    const { page } = await open(browser, url)
    await page.getByText('Export', { exact: true }).click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'As JSON' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('statewire-run-1.json')
    const recording = JSON.parse(await readFile(await download.path(), 'utf8')) as Recording
    expect(recording.actors[0]?.title).toBe('Weather in Oslo?')
  })

  it('is opened in a page that watches something else', async () => {
    const file = await saved('run.json', await exported(await echoed(), 'json'))
    const inspector = await inspecting()
    const provider = await speaker()
    const agent = new Agent('openai:m', { baseUrl: provider.url, apiKey: 'k', inspect: inspector.inspect })
    agent.send('How is Bergen?').catch(() => {})
    await provider.asked()
    const { page, problems } = await open(browser, inspector.url)
    await active(page, 'agent.Accumulating.Requesting').waitFor()
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'Open file' }).click(),
    ])
    await chooser.setFiles(file)
    await lookAround(page)
    expect(problems).toEqual([])
  })

  it('is opened where it is dropped', async () => {
    const text = await exported(await echoed(), 'json')
    const { page, problems } = await open(browser, (await inspecting()).url)
    await page.evaluate(`{
      const data = new DataTransfer()
      data.items.add(new File([${JSON.stringify(text)}], 'run.json'))
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true }))
    }`)
    await lookAround(page)
    expect(problems).toEqual([])
  })

  it('is refused if it is something else', async () => {
    const { url } = await inspecting()
    const { page, problems } = await open(browser, url)
    for (const text of ['{', '[]', '{"statewire":"recording","version":2}']) {
      const chosen = page.waitForEvent('filechooser')
      await page.getByRole('button', { name: 'Open file' }).click()
      await (await chosen).setFiles(await saved('other.json', text))
      await page.getByText('This file is not a run that the inspector exported as JSON.').waitFor()
    }
    await page.getByText('Waiting for the first run').waitFor()
    expect(problems).toEqual([])
  })
})
