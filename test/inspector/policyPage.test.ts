// The policy of a run in a real browser: its verdicts, its hold and its chart.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fromPromise, setup } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/tool.ts'
import { executablePath, launch, open } from './browser.ts'
import { inspecting } from './watching.ts'

const verify = tool({ name: 'verify', description: 'Verifies', execute: () => 'known' })
const refund = tool({ name: 'refund', description: 'Pays back', execute: () => 'paid' })

const rules = setup({ actions: { allow: () => {} } }).createMachine({
  id: 'rules',
  initial: 'Unknown',
  states: {
    Unknown: {
      meta: { reason: 'the customer is not verified' },
      on: { 'verify.call': { actions: 'allow' }, 'verify.done': 'Verified' },
    },
    Verified: { on: { 'refund.call': { actions: 'allow' }, answer: { actions: 'allow' } } },
  },
})

const call = (name: string) => [{ toolCall: { name } }]

const policyState = (page: Page, state: string) =>
  page.locator(`#policy-chart [data-state="rules.${state}"].active`)

describe.skipIf(!executablePath)('The policy of a run', { timeout: 120_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  it('has its verdict and its reason on each call and on the answer', async () => {
    const inspector = await inspecting()
    const model = scriptedModel([call('refund'), 'Done.', call('verify'), call('refund'), 'Paid.'])
    const agent = new Agent(model, { tools: [verify, refund], policy: rules, inspect: inspector.inspect })
    await agent.send('Pay me back')
    const { page, problems } = await open(browser, inspector.url)
    await page.locator('.card').nth(2).waitFor()
    const verdicts = page.locator('.card').filter({ hasText: 'refund' }).locator('.verdict')
    expect(await verdicts.first().textContent()).toBe(
      'The policy refused the call in the state Unknown: the customer is not verified; possible now: verify',
    )
    expect(await page.locator('.card').nth(2).locator('.verdict').allTextContents()).toEqual([
      'The policy allowed the call in the state Verified',
      'The policy passed the result on in the state Verified',
    ])
    expect(await page.locator('.answer .verdict').allTextContents()).toEqual([
      expect.stringMatching(
        /^The policy refused the answer in the state Unknown: the customer is not verified/,
      ),
      'The policy accepted the answer in the state Verified',
    ])
    expect(problems).toEqual([])
  })

  it('has its chart beside that of the run, at every moment', async () => {
    const inspector = await inspecting()
    const model = scriptedModel([call('verify'), call('refund'), 'Paid.'])
    const agent = new Agent(model, { tools: [verify, refund], policy: rules, inspect: inspector.inspect })
    await agent.send('Pay me back')
    const { page } = await open(browser, inspector.url)
    await policyState(page, 'Verified').waitFor()
    await page.locator('#chart [data-state="agent.Complete"].active').waitFor()
    expect(await page.locator('#policy-chart .edge.taken').count()).toBeGreaterThan(0)
    await page.locator('#slider').press('Home')
    await page.locator('#slider').press('ArrowRight')
    await policyState(page, 'Unknown').waitFor()
    expect(await page.locator('#policy-chart .edge.taken').count()).toBe(0)
  })

  it('that holds the run is shown as a wait, with its check', async () => {
    const inspector = await inspecting()
    let pass: () => void = () => {}
    const checked = new Promise<void>((resolve) => {
      pass = resolve
    })
    const holding = setup({ actors: { moderation: fromPromise(() => checked) } }).createMachine({
      id: 'rules',
      initial: 'Open',
      states: {
        Open: { on: { prompt: 'Checking' } },
        Checking: {
          tags: 'hold',
          invoke: { id: 'moderation', src: 'moderation', onDone: 'Passed' },
        },
        Passed: {},
      },
    })
    const agent = new Agent(scriptedModel(['Fine.']), { policy: holding, inspect: inspector.inspect })
    const sent = agent.send('Hello')
    const { page } = await open(browser, inspector.url)
    await page
      .getByText(/The policy holds this run in the state Checking while moderation runs, since \d\d:\d\d\./)
      .waitFor()
    await policyState(page, 'Checking').waitFor()
    pass()
    await sent
    await page.locator('#facts .status.done').waitFor()
    expect(await page.locator('.waits.hold').count()).toBe(0)
    await policyState(page, 'Passed').waitFor()
  })
})
