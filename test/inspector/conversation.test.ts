// A run as a conversation, with its strip, banner and chart: in a real browser.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createActor } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/tool.ts'
import { executablePath, launch, open } from './browser.ts'
import { phases } from './phases.ts'
import { speaker } from './speaker.ts'
import { inspecting } from './watching.ts'

const removal = tool({
  name: 'remove',
  description: 'Removes',
  needsApproval: true,
  execute: () => 'removed',
})
const removes: ScriptTurn = [{ text: 'I remove it.' }, { toolCall: { id: 'r1', name: 'remove' } }]

describe.skipIf(!executablePath)('The page', { timeout: 120_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  const inPhase = async (name: string): Promise<Page> => {
    const phase = phases.find((each) => each.name === name)
    if (!phase) throw new Error(`There is no phase "${name}".`)
    const { page } = await open(browser, await phase.begin())
    await page.setViewportSize({ width: 1440, height: 900 })
    await phase.seen(page)
    return page
  }

  it('reads from the question to the end: words, thinking, calls with pictures, tokens and cost', async () => {
    const page = await inPhase('complete')
    const read = page.locator('.conversation')
    expect(await read.locator('.before summary').textContent()).toBe('2 earlier messages')
    expect(await read.locator('.bubble').textContent()).toContain('How is the weather in Bergen?')
    const [first, second] = await read.locator('.turn').all()
    expect(await first?.locator('.answer .text').textContent()).toBe(
      'Let me look at the weather in Bergen first.',
    )
    expect(await first?.locator('.thinking').isVisible()).toBe(false)
    await first?.locator('.thought summary').click()
    expect(await first?.locator('.thinking').textContent()).toContain('The person wants the weather first.')
    const card = first?.locator('.card.done')
    expect(await card?.locator('h3').textContent()).toBe('get_weather')
    expect(await card?.locator('.line').first().textContent()).toBe('ArgumentscityBergen')
    await card?.getByText('2 reports').click()
    await card?.getByText('station 2 of 2 has answered').waitFor()
    const image = card?.locator('img')
    await image?.scrollIntoViewIfNeeded()
    await expect
      .poll(() => image?.evaluate((img) => (img as unknown as { naturalWidth: number }).naturalWidth))
      .toBe(320)
    expect(await second?.locator('.answer .text').textContent()).toContain('There are three trains today.')
    expect(await read.locator('.outcome').textContent()).toMatch(
      /^Complete[\d.]+ m?s · 2 steps · 2,480 tokens in · 172 out · \$0\.0068$/,
    )
  })

  it('marks a discarded answer, and shows the progress of a call', async () => {
    const dropped = await inPhase('discarded')
    const marks = dropped.locator('.turn.void')
    expect(await marks.locator('h3').textContent()).toBe('Step 1 (discarded)')
    expect(await marks.locator('.mark-line').textContent()).toBe(
      'The connection was closed. The model was asked again.',
    )
    const working = await inPhase('tool')
    expect(await working.locator('.card.running').textContent()).toContain('asking 3 of 12 operators')
  })

  it('shows a sub-agent inside the call that it answers, while it streams', async () => {
    const inspector = await inspecting()
    const { page } = await open(browser, inspector.url)
    const provider = await speaker()
    const inner = new Agent('openai:m', { baseUrl: provider.url, apiKey: 'k', name: 'expert' })
    const help = inner.asTool({ name: 'help', description: 'Helps' })
    const asks: ScriptTurn = [{ toolCall: { id: 'x', name: 'help', arguments: { prompt: 'Help me.' } } }]
    const agent = new Agent(scriptedModel([asks, 'Done.']), { tools: [help], inspect: inspector.inspect })
    const sent = agent.send('Ask the expert')
    await provider.asked()
    await page.getByText('Conversation of expert').click()
    provider.say('You should ')
    await page.locator('.nested-run').getByText('You should').waitFor()
    provider.say('rest.')
    provider.end()
    await sent
    await page.locator('.nested-run').getByText('You should rest.').waitFor()
    await page.getByRole('button', { name: 'Show this run alone' }).click()
    await page.locator('#title', { hasText: 'Help me.' }).waitFor()
  })

  it('goes from a state to its moment, and marks the states of the step in view', async () => {
    const page = await inPhase('streaming')
    const strip = page.locator('.strip')
    expect(await strip.locator('.stay-name').allTextContents()).toEqual([
      'Requesting',
      'Streaming',
      'ToolExecution',
      'Requesting',
      'Streaming',
    ])
    await strip.getByRole('button', { name: 'ToolExecution' }).click()
    await page.locator('#chart [data-state="agent.ToolExecution"].active').waitFor()
    expect(await page.locator('#live').getAttribute('aria-pressed')).toBe('false')
    expect(await strip.locator('.here .stay-name').textContent()).toBe('ToolExecution')
    expect(await page.locator('.turn').count()).toBe(1)
    await page.locator('#live').click()
    await page.locator('.turn').nth(1).waitFor()
    await page.locator('.scroll').evaluate((scroll) => void Object.assign(scroll, { scrollTop: 0 }))
    await expect
      .poll(() => strip.locator('.read .stay-name').allTextContents())
      .toEqual(['Requesting', 'Streaming', 'ToolExecution'])
  })

  it('asks for a decision on every tab, and shows when another run waits', async () => {
    const inspector = await inspecting()
    const { page } = await open(browser, inspector.url)
    const agent = new Agent(scriptedModel([removes, 'Gone.', 'Hello.']), {
      tools: [removal],
      inspect: inspector.inspect,
    })
    const waiting = agent.actor({ prompt: 'Remove it' })
    waiting.start()
    const banner = page.locator('#banner')
    for (const tab of ['transitions', 'context', 'usage', 'conversation']) {
      await page.locator(`#tab-${tab}`).click()
      expect(await banner.getByRole('button', { name: 'Approve' }).isVisible()).toBe(true)
    }
    const other = new Agent(scriptedModel(['Hello.']), { inspect: inspector.inspect })
    await other.send('Say hello')
    await page.locator('#title', { hasText: 'Say hello' }).waitFor()
    expect(await banner.textContent()).toContain('Remove it waits for a decision.')
    await banner.getByRole('button', { name: 'Go there' }).click()
    await banner.getByRole('button', { name: 'Edit arguments' }).click()
    await page.getByLabel('Arguments of remove').fill('{ "why": "old" }')
    await banner.getByRole('button', { name: 'Approve' }).click()
    await page.locator('.card.done').waitFor()
    await expect.poll(() => waiting.getSnapshot().status).toBe('done')
    expect(JSON.stringify(waiting.getSnapshot().output)).toContain('old')
    await expect.poll(() => banner.textContent()).toBe('')
  })

  it('takes a call in doubt as failed, and answers an external tool', async () => {
    const runs: string[] = []
    const slow = tool({
      name: 'send_mail',
      description: 'Sends a mail',
      onInterrupted: 'ask',
      execute: () => {
        runs.push('begun')
        return runs.length > 1 ? 'sent' : new Promise<never>(() => {})
      },
    })
    const external = tool({ name: 'ask_boss', description: 'Asks the boss' })
    const mails = (id: string): ScriptTurn => [{ toolCall: { id, name: 'send_mail' } }]
    const turns = [mails('m1'), [{ toolCall: { id: 'b1', name: 'ask_boss' } }] as ScriptTurn, 'Done.']
    const inspector = await inspecting()
    const { page } = await open(browser, inspector.url)
    const agent = new Agent(scriptedModel(turns), { tools: [slow, external] })
    const first = agent.actor({ prompt: 'Send it' })
    first.start()
    await expect.poll(() => runs.length).toBe(1)
    const snapshot = first.getPersistedSnapshot()
    first.stop()
    const restored = createActor(agent.machine, { input: {}, snapshot, inspect: inspector.inspect })
    restored.start()
    await page.getByText('Run send_mail again?').waitFor()
    expect(await page.locator('#banner').textContent()).toContain('it may have taken effect')
    await page.getByRole('button', { name: 'Take as failed' }).click()
    await page.locator('.card.failed').waitFor()
    await page.getByText('ask_boss waits for its result').waitFor()
    await page.getByLabel('Result of ask_boss').fill('Go ahead.')
    await page.keyboard.press('Enter')
    await page.locator('.card.done').getByText('Go ahead.').waitFor()
    await page.locator('.outcome.done').waitFor()
    expect(runs).toHaveLength(1)
  })

  it('draws the chart in a worker, describes its states, and lists them if it cannot draw', async () => {
    const page = await inPhase('approval')
    const box = page.locator('#chart g[data-state="agent.AwaitingApproval"]')
    await box.hover()
    expect(await page.locator('#about-state').textContent()).toContain('AwaitingApproval: Waits for people')
    await page.locator('#chart [tabindex="0"]').focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => page.locator('#about-state').textContent()).toContain('Judging: ')
    await page.getByRole('button', { name: 'Details' }).click()
    await page.locator('#chart tspan.guard', { hasText: '[isApprovalNeeded]' }).first().waitFor()

    const inspector = await inspecting()
    await new Agent(scriptedModel(['Hi.']), { inspect: inspector.inspect }).send('Hello')
    const broken = await browser.newPage()
    await broken.route('**/elk.js', (route) => route.abort())
    await broken.setViewportSize({ width: 1440, height: 900 })
    await broken.goto(inspector.url)
    await broken.locator('#chart li[data-state="agent.Complete"].active').waitFor()
    await broken.close()
  })

  it('works on a small screen, with the keyboard', async () => {
    const inspector = await inspecting()
    const { page } = await open(browser, inspector.url)
    await page.setViewportSize({ width: 390, height: 844 })
    const agent = new Agent(scriptedModel(['One.', 'Two.']), { inspect: inspector.inspect })
    await agent.send('First')
    await agent.send('Second')
    await page.locator('#title', { hasText: 'Second' }).waitFor()
    const first = page.getByRole('treeitem', { name: 'First' })
    await first.waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Runs' }).click()
    await first.waitFor()
    await page.keyboard.press('Escape')
    await first.waitFor({ state: 'hidden' })
    expect(await page.evaluate('document.activeElement.id')).toBe('menu')
    await page.keyboard.press('Enter')
    await first.click()
    await page.locator('#title', { hasText: 'First' }).waitFor()
    await first.waitFor({ state: 'hidden' })
    await page.locator('#tab-conversation').focus()
    await page.keyboard.press('ArrowRight')
    await page.locator('#chart svg').waitFor()
    await page.locator('#panel-conversation').waitFor({ state: 'hidden' })
  })
})
