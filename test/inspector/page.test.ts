import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createActor, setup } from 'xstate'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { startInspector } from '../../src/inspector/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/tool.ts'
import { executablePath, launch, open } from './browser.ts'
import { speaker } from './speaker.ts'
import { inspecting } from './watching.ts'

const removal = tool({
  name: 'remove_file',
  description: 'Removes a file',
  needsApproval: true,
  input: z.object({ path: z.string() }),
  execute: ({ path }) => `removed ${path}`,
})

const active = (page: Page, state: string) => page.locator(`#chart [data-state="${state}"].active`)
const output = (page: Page) => page.locator('#panel-conversation .conversation')

describe.skipIf(!executablePath)('The page', { timeout: 120_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  it('says what to do before the first run', async () => {
    const { url } = await inspecting()
    const { page, problems, elsewhere } = await open(browser, url)
    await page.getByText('Waiting for the first run').waitFor()
    expect(await page.locator('#empty').textContent()).toContain('inspect: inspector.inspect')
    expect([...problems, ...elsewhere]).toEqual([])
  })

  it('shows a run while it happens: its state lights up, its text appears', async () => {
    const inspector = await inspecting()
    const { page, problems, elsewhere } = await open(browser, inspector.url)
    const provider = await speaker()
    const agent = new Agent('openai:m', { baseUrl: provider.url, apiKey: 'k', inspect: inspector.inspect })
    const run = agent.send('How is Bergen?')
    await provider.asked()
    await active(page, 'agent.Accumulating.Requesting').waitFor()
    provider.say('It rains ')
    await active(page, 'agent.Accumulating.Streaming').waitFor()
    await output(page).getByText('It rains').waitFor()
    expect(await active(page, 'agent.Accumulating.Requesting').count()).toBe(0)
    provider.say('a lot.')
    provider.end()
    await run
    await active(page, 'agent.Complete').waitFor()
    expect(await output(page).locator('.text').textContent()).toBe('It rains a lot.')
    expect(await page.locator('#title').textContent()).toBe('How is Bergen?')
    await page.locator('#tab-usage').click()
    expect(await page.locator('#panel-usage tbody tr').allTextContents()).toEqual(['Step 110–5–stop'])
    expect([...problems, ...elsewhere]).toEqual([])
  })

  it('lets a person approve a call, and shows its result', async () => {
    const inspector = await inspecting()
    const { page } = await open(browser, inspector.url)
    const provider = await speaker()
    const options = { baseUrl: provider.url, apiKey: 'k', tools: [removal], inspect: inspector.inspect }
    const actor = new Agent('openai:m', options).actor({ prompt: 'Clean up' })
    actor.start()
    await provider.asked()
    provider.call('remove_file', { path: '/tmp/a' })
    provider.end()
    const banner = page.locator('#banner .waits')
    await banner.waitFor()
    expect(await banner.locator('h3').textContent()).toBe('Allow remove_file?')
    expect(await banner.locator('.json').textContent()).toBe('path/tmp/a')
    expect(await page.locator('.card.pending .json').textContent()).toBe('path/tmp/a')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.locator('.card.done').waitFor()
    await banner.waitFor({ state: 'detached' })
    expect(await page.locator('.card pre').textContent()).toBe('removed /tmp/a')
    expect(JSON.stringify(await provider.asked())).toContain('removed /tmp/a')
    actor.send({ type: 'abort' })
  })

  it('lets a person reject a call with a reason', async () => {
    const inspector = await inspecting()
    const { page } = await open(browser, inspector.url)
    const turns = [[{ toolCall: { name: 'remove_file', arguments: { path: '/' } } }], 'As you wish.']
    const agent = new Agent(scriptedModel(turns), { tools: [removal], inspect: inspector.inspect })
    const actor = agent.actor({ prompt: 'Clean up' })
    actor.start()
    await page.locator('#tab-usage').click()
    await page.getByLabel('Reason to reject remove_file').fill('Not the root.')
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.locator('#tab-conversation').click()
    await page.locator('.card.failed').waitFor()
    expect(await page.locator('.card').textContent()).toContain('A person rejected this call: Not the root.')
    await active(page, 'agent.Complete').waitFor()
  })

  it('aborts a run at a click: the connection to the provider is closed', async () => {
    const inspector = await inspecting()
    const { page } = await open(browser, inspector.url)
    const provider = await speaker()
    const agent = new Agent('openai:m', { baseUrl: provider.url, apiKey: 'k', inspect: inspector.inspect })
    const run = agent.send('Go on').catch((error) => error.name)
    await provider.asked()
    provider.say('On and on ')
    await output(page).getByText('On and on').waitFor()
    await page.getByRole('button', { name: 'Abort' }).click()
    expect(await run).toBe('AbortedError')
    await provider.hungUp()
    await page.locator('#facts .status.aborted').waitFor()
    expect(await page.locator('#abort').isVisible()).toBe(false)
  })

  it('goes back to any moment and returns to live, with the keyboard', async () => {
    const inspector = await inspecting()
    const tools = [tool({ name: 'look', description: 'Looks', execute: () => 'seen' })]
    const turns = [[{ text: 'First. ' }, { toolCall: { name: 'look' } }], [{ text: 'Second.' }]]
    await new Agent(scriptedModel(turns), { tools, inspect: inspector.inspect }).send('Look around')
    const { page } = await open(browser, inspector.url)
    await active(page, 'agent.Complete').waitFor()
    const slider = page.getByRole('slider')
    await slider.focus()
    const label = page.locator('#moment')
    const goBack = async () => {
      await page.keyboard.press('ArrowLeft')
      await page.waitForFunction('new Promise((next) => requestAnimationFrame(() => next(true)))')
    }
    for (let tries = 0; tries < 20 && !(await label.textContent())?.includes('tool.finished'); tries += 1)
      await goBack()
    await goBack()
    await active(page, 'agent.ToolExecution').waitFor()
    expect(await output(page).textContent()).toContain('First.')
    expect(await output(page).textContent()).not.toContain('Second.')
    await page.locator('#tab-context').click()
    await page.locator('#panel-context dt.changed', { hasText: 'round' }).waitFor()
    await page.locator('#tab-conversation').click()
    await page.locator('.card.running').waitFor()
    await page.getByRole('button', { name: 'Live' }).click()
    await active(page, 'agent.Complete').waitFor()
    await page.locator('.card.done').waitFor()
    await output(page).getByText('Second.').waitFor()
  })

  it('follows the newest run until a person picks one, and can be used with arrow keys', async () => {
    const inspector = await inspecting()
    const agent = new Agent(scriptedModel(['One.', 'Two.', 'Three.']), { inspect: inspector.inspect })
    const { page } = await open(browser, inspector.url)
    const title = (text: string) => page.locator('#title', { hasText: text }).waitFor()
    await agent.send('First question')
    await title('First question')
    await agent.send('Second question')
    await title('Second question')
    await page.getByRole('treeitem', { name: 'Second question' }).focus()
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await title('First question')
    await agent.send('Third question')
    await page.getByRole('treeitem', { name: 'Third question' }).waitFor()
    await title('First question')
    await page.getByRole('button', { name: 'Follow newest' }).click()
    await title('Third question')
  })

  it('is light or dark by the system, and by a click', async () => {
    const { url } = await inspecting()
    const { page } = await open(browser, url, { colorScheme: 'dark' })
    const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const dark = await background()
    await page.locator('#theme').click()
    const light = await background()
    expect(light).not.toBe(dark)
    await page.emulateMedia({ colorScheme: 'light' })
    await page.locator('#theme').click()
    expect(await background()).toBe(dark)
  })

  it('stays small and complete through a stream of 20,000 chunks', async () => {
    const inspector = await inspecting()
    const { page, problems } = await open(browser, inspector.url)
    const words = Array.from(
      { length: 20_000 },
      (_, index) => `word${index}${index % 40 === 39 ? '\n' : ' '}`,
    )
    const model = scriptedModel([words.map((text) => ({ text }))])
    const { output: said } = await new Agent(model, { inspect: inspector.inspect }).send('Talk')
    await active(page, 'agent.Complete').waitFor()
    // Lines of a paragraph are apart by an element.
    const shown = await page.evaluate<string>(`document.querySelector('.conversation .text').innerText`)
    expect(shown.trimEnd()).toBe(said.trimEnd())
    expect(await page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(1_000)
    await page.locator('#tab-transitions').click()
    await page.getByText('20,001 chunks').first().waitFor()
    expect(problems).toEqual([])
  })

  it('shows hostile names and texts as text', async () => {
    const inspector = await inspecting()
    const evil = '<img src=x onerror=alert(1)><script>alert(2)</script>'
    const { page, problems, elsewhere } = await open(browser, inspector.url)
    const machine = setup({ types: { context: {} as { evil: string } } }).createMachine({
      id: evil,
      context: { evil },
      initial: evil,
      states: { [evil]: { description: evil, on: { [evil]: evil } } },
    })
    createActor(machine, { inspect: inspector.inspect }).start()
    await page.locator('#chart svg').waitFor()
    await page.locator('#tab-context').click()
    await page.locator('#panel-context dd', { hasText: 'onerror' }).waitFor()
    const turns = [
      [{ thinking: evil }, { text: evil }, { toolCall: { name: evil, arguments: { [evil]: evil } } }],
      evil,
    ]
    await new Agent(scriptedModel(turns), { inspect: inspector.inspect }).send(evil)
    await page.locator('#tab-conversation').click()
    await page.locator('.card.failed').waitFor()
    await output(page).getByText('onerror').first().waitFor()
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect([...problems, ...elsewhere]).toEqual([])
  })

  it('keeps what it knew when the process ends, and says so', async () => {
    const inspector = await startInspector()
    const { page } = await open(browser, inspector.url)
    await new Agent(scriptedModel(['Farewell.']), { inspect: inspector.inspect }).send('Bye')
    await output(page).getByText('Farewell.').waitFor()
    await inspector.close()
    await page.locator('#connection.lost').waitFor()
    expect(await output(page).textContent()).toContain('Farewell.')
  })
})
