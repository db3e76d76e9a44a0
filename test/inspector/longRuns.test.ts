// Long runs in a real browser: their cost, their compactions, and their questions at a limit.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { modelMessage, userMessage } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/tool.ts'
import { owning } from '../cli/storedRuns.ts'
import { executablePath, launch, open } from './browser.ts'
import { inspecting } from './watching.ts'

const look = tool({ name: 'look', description: 'Looks', execute: () => 'seen' })
const looks = (id: string): ScriptTurn => [
  { toolCall: { id, name: 'look' } },
  { usage: { inputTokens: 100, outputTokens: 10 } },
]
const says = (text: string): ScriptTurn => [{ text }, { usage: { inputTokens: 100, outputTokens: 10 } }]
const overflow: ScriptTurn = [{ error: { message: 'too long', code: 'context_overflow', retryable: false } }]
const long = 'lorem ipsum '.repeat(300)
const history = [1, 2, 3].flatMap(() => [userMessage(long), modelMessage(long)])

const active = (page: Page, state: string) => page.locator(`#chart [data-state="${state}"].active`)
const tokens = (page: Page) => page.locator('#panel-usage tr').allTextContents()

describe.skipIf(!executablePath)('The page', { timeout: 120_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  const watched = async (turns: ScriptTurn[], options: AgentOptions = {}) => {
    const inspector = await inspecting()
    const opened = await open(browser, inspector.url)
    const agent = new Agent(scriptedModel(turns), { tools: [look], inspect: inspector.inspect, ...options })
    return { ...opened, agent }
  }

  it('shows the cost of each step and of the run', async () => {
    const { page, problems, agent } = await watched([looks('a'), says('Done.')], { price: () => 0.0042 })
    await agent.send('Look')
    await active(page, 'agent.Complete').waitFor()
    await page.locator('#tab-usage').click()
    expect(await tokens(page)).toEqual([
      'StepInCachedOutThinkingCostEnded',
      'Step 1100–10–$0.0042tool_calls',
      'Step 2100–10–$0.0042stop',
      'Total200–20–$0.0084',
    ])
    const isTooWide = (panel: { scrollWidth: number; clientWidth: number }) =>
      panel.scrollWidth > panel.clientWidth
    expect(await page.locator('#panel-usage').evaluate(isTooWide)).toBe(false)
    expect(problems).toEqual([])
  })

  it('shows a compaction as a line with its numbers, and the summary behind it', async () => {
    const turns = [looks('a'), overflow, 'They <b>talked</b>.', says('Here I am.')]
    const { page, problems, agent } = await watched(turns)
    await agent.send('Go on.', { history })
    await active(page, 'agent.Complete').waitFor()
    const line = page.locator('.compaction summary')
    await line.waitFor()
    expect(await line.textContent()).toMatch(/^Compacted, [\d,]+ → [\d,]+ tokens$/)
    expect(await line.getAttribute('title')).toBe(
      'Older messages were summarised for the model: the provider refused the conversation because it was too long.',
    )
    const words = page.locator('.compaction .words')
    expect(await words.isVisible()).toBe(false)
    await line.click()
    expect(await words.textContent()).toBe('They <b>talked</b>.')
    expect(await words.isVisible()).toBe(true)
    // The refused request, and the one after the line: no others.
    expect(await page.locator('#panel-conversation .answer h3').allTextContents()).toEqual([
      'Step 1',
      'Step 2 (discarded)',
      'Step 2',
    ])
    expect(await page.locator('.turn').last().locator('.compaction').textContent()).toContain('Compacted')
    expect(problems).toEqual([])
  })

  it('asks at a limit, each time, and lets the run continue', async () => {
    const turns = [looks('a'), looks('b'), says('Done.')]
    const { page, problems, agent } = await watched(turns, { limits: { steps: 1 }, atLimit: 'ask' })
    const actor = agent.actor({ prompt: 'Look' })
    actor.start()
    await page.getByText('The run has used 1 of 1 steps. Go on?').waitFor()
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByText('The run has used 2 of 2 steps. Go on?').waitFor()
    await page.getByRole('button', { name: 'Go on' }).click()
    await active(page, 'agent.Complete').waitFor()
    await page.locator('.waits').waitFor({ state: 'detached' })
    expect(actor.getSnapshot().output).toMatchObject({ status: 'complete', answer: 'Done.' })
    expect(problems).toEqual([])
  })

  it('ends a run at its limit, that of a sub-agent, too', async () => {
    const inner = new Agent(scriptedModel([looks('a')]), {
      tools: [look],
      limits: { steps: 1 },
      atLimit: 'ask',
    })
    const help = inner.asTool({ name: 'help', description: 'Helps' })
    const asks: ScriptTurn = [{ toolCall: { id: 'x', name: 'help', arguments: { prompt: 'Help.' } } }]
    const { page, agent } = await watched([asks, says('Done.')], { tools: [help] })
    const actor = agent.actor({ prompt: 'Look' })
    actor.start()
    await page.getByText('The run has used 1 of 1 steps. Go on?').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await active(page, 'agent.Complete').waitFor()
    expect(await page.locator('.waits').count()).toBe(0)
    expect(await page.locator('.card.done').count()).toBe(1)
  })

  it('says where to decide on a run that is paused', async () => {
    const { page, agent } = await watched([looks('a')], { limits: { steps: 1 }, atLimit: 'ask' })
    await agent.send('Look')
    await page.getByText('The run has used 1 of 1 steps. Go on?').waitFor()
    await page.getByText('The run is paused.').waitFor()
    expect(await page.getByRole('button', { name: 'Go on' }).count()).toBe(0)
  })

  it('shows costs, compactions and limits of stored runs, too', async () => {
    const turns = [looks('a'), overflow, 'They talked.', says('Done.')]
    const { file, runs } = await owning(turns, undefined, {
      tools: [look],
      limits: { cost: 0.004 },
      atLimit: 'ask',
      price: () => 0.0042,
    })
    const run = await runs.start('janitor', 'Look', { id: 'job', history })
    await run.result
    const guest = await openRuns({ store: sqlite(file) })
    onTestFinished(() => guest.close())
    const { url } = await inspecting({ runs: guest })
    const { page, problems } = await open(browser, url)
    await page.getByText('The run has cost $0.0042 of $0.004. Go on?').waitFor()
    expect(await page.locator('.card').count()).toBe(1)
    await page.getByRole('button', { name: 'Go on' }).click()
    await active(page, 'agent.Complete').waitFor()
    expect(await page.locator('.waits').count()).toBe(0)
    await page.locator('.compaction summary').click()
    await page.locator('.compaction').getByText('They talked.').waitFor()
    await page.locator('#tab-usage').click()
    expect((await tokens(page)).at(-1)).toBe('Total200–20–$0.0084')
    expect(problems).toEqual([])
  })
})
