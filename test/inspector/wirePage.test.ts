import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { tool } from '../../src/tools/tool.ts'
import { callChunk, chunk, usageChunk } from '../hostile/chatWire.ts'
import { sse } from '../hostile/wire.ts'
import { loopback } from '../loopback.ts'
import { executablePath, launch, open } from './browser.ts'
import { speaker } from './speaker.ts'
import { inspecting } from './watching.ts'

if (!executablePath) {
  console.warn('The wire tab is not tested: there is no Chromium here. Set CHROMIUM_PATH to test it.')
}

const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 21 }),
})

const asks = callChunk({ index: 0, id: 'c1', name: 'get_weather', args: '{"city":"Oslo"}' })
const usage = {
  ...usageChunk,
  usage: { prompt_tokens: 1200, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 1024 } },
}

/** A run that is refused once, calls a tool, and answers. */
const watchedRun = async () => {
  const inspector = await inspecting()
  const server = await loopback((_, nth) => {
    if (nth === 0)
      return { status: 429, headers: { 'retry-after-ms': '5' }, body: { error: { message: 'Slow down.' } } }
    if (nth === 1) return { body: sse(asks, chunk({}, 'tool_calls'), usage, '[DONE]').join('') }
    const words = ['It is ', "21 °C in Oslo. Don't take a coat."].map((content) => chunk({ content }))
    return {
      headers: { 'x-request-id': 'req_42' },
      body: sse(...words, chunk({}, 'stop'), usage, '[DONE]').join(''),
    }
  })
  const agent = new Agent('openai:gpt-wire', {
    baseUrl: server.url,
    apiKey: 'never-shown-key',
    tools: [weather],
    system: 'Be brief.',
    temperature: 0.2,
    retry: { maxRetries: 1, initialDelayMs: 1, maxDelayMs: 5 },
    inspect: inspector.inspect,
  })
  await agent.send("What's the weather in Oslo?")
  return { inspector, server }
}

/** Presses a button that copies. Its answer is there for two seconds: the test looks for it first. */
const copy = async (page: Page, name: string): Promise<void> => {
  await Promise.all([page.getByText('Copied.').waitFor(), page.getByRole('button', { name }).click()])
}

const copied = (page: Page): Promise<string> => page.evaluate<string>('navigator.clipboard.readText()')

describe.skipIf(!executablePath)('The wire tab', { timeout: 120_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  it('lists the steps with their tries, and shows what was sent and received in one of them', async () => {
    const { inspector, server } = await watchedRun()
    const { page, problems, elsewhere } = await open(browser, inspector.url)
    await page.locator('#tab-wire').click()
    await page.locator('.wire section').nth(1).waitFor()
    expect(await page.locator('.wire h3').allTextContents()).toEqual(['Step 1', 'Step 2'])
    expect(await page.locator('.wire section').first().locator('.call-choice').count()).toBe(2)
    expect(await page.locator('.call-choice.failed').textContent()).toContain('try 1 · 429')

    const facts = page.locator('.call > .facts')
    await facts.getByText('1,200 in, 1,024 of them cached, 9 out').waitFor()
    expect(await facts.textContent()).toContain('temperature 0.2')
    await page.locator('.exchange .facts').getByText('req_42').waitFor()
    await page.getByText('System prompt').click()
    await page.locator('.call pre').getByText('Be brief.').waitFor()
    await page.getByText('Tools', { exact: true }).last().click()
    await page.locator('.call .json').getByText('Current weather in a city').waitFor()

    await page.getByText('Raw events, 5').click()
    await page.locator('.events li').nth(4).waitFor()
    expect(await page.locator('.events li').count()).toBe(5)
    await page.getByLabel('Search the events').fill('oslo')
    await page.getByText('1 of 5 events').waitFor()
    expect(await page.locator('.events li').count()).toBe(1)

    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await copy(page, 'Copy body')
    expect(await copied(page)).toBe(server.requests[2]?.text)
    if (process.env.SHOTS) {
      for (const [width, height] of [
        [1440, 900],
        [1024, 768],
        [390, 844],
      ] as const) {
        await page.setViewportSize({ width, height })
        await page.screenshot({ path: `${process.env.SHOTS}/wire-${width}.png` })
      }
    }
    expect([...problems, ...elsewhere]).toEqual([])
  })

  it('gives a curl that sends the same, with the key from a variable', async () => {
    const { inspector, server } = await watchedRun()
    const { page } = await open(browser, inspector.url)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.locator('#tab-wire').click()
    await copy(page, 'Copy as curl')
    const command = await copied(page)
    expect(command).toContain('-H "authorization: Bearer $OPENAI_API_KEY"')
    expect(command).not.toContain('never-shown-key')
    const env = { ...process.env, OPENAI_API_KEY: 'key-of-the-shell', NO_PROXY: '127.0.0.1' }
    const { stdout } = await promisify(execFile)('sh', ['-c', command], { env })
    expect(stdout).toContain('[DONE]')
    const [before, again] = server.requests.slice(-2)
    expect(again?.text).toBe(before?.text)
    expect(again?.path).toBe(before?.path)
    expect(again?.headers.authorization).toBe('Bearer key-of-the-shell')
  })

  it('can be used with the keyboard, and follows an answer while it streams', async () => {
    const inspector = await inspecting()
    const { page, problems } = await open(browser, inspector.url)
    const provider = await speaker()
    const agent = new Agent('openai:m', { baseUrl: provider.url, apiKey: 'k', inspect: inspector.inspect })
    const run = agent.send('How is Bergen?')
    await provider.asked()
    provider.say('It rains.')
    await page.locator('#main').waitFor()
    await page.locator('#tabs [aria-selected="true"]').focus()
    // Left of the first tab is the last one.
    await page.keyboard.press('ArrowLeft')
    await page.locator('.call-choice').waitFor()
    await page.locator('.call-choice').focus()
    await page.keyboard.press('Enter')
    await page.locator('.events summary').focus()
    await page.keyboard.press('Enter')
    await page.locator('.events li').first().waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.type('cat')
    provider.say('And a cat walks by.')
    await page.locator('.events li').getByText('a cat walks by').waitFor()
    provider.end()
    await run
    await page.getByText('Raw events, 5').waitFor()
    // It stayed where the person was typing.
    await page.keyboard.type(' walks')
    expect(await page.getByLabel('Search the events').inputValue()).toBe('cat walks')
    expect(problems).toEqual([])
  })
})
