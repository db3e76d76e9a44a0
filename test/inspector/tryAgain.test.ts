// The next question, and other tries of a run: by command, and on the page in a real browser.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { type Inspector, startInspector } from '../../src/inspector/index.ts'
import { type ChatMessage, dataPart, textOf, userMessage } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/tool.ts'
import { executablePath, launch, open } from './browser.ts'
import { speaker } from './speaker.ts'
import { command, inspecting, listen } from './watching.ts'

const seen: unknown[] = []
const weather = tool({
  name: 'get_weather',
  description: 'Weather',
  input: z.object({ city: z.string() }),
  execute: ({ city }, { context }) => {
    seen.push(context)
    return `fine in ${city}`
  },
})
const looksUp: ScriptTurn = [
  { text: 'I look.' },
  { toolCall: { id: 'c1', name: 'get_weather', arguments: { city: 'Oslo' } } },
]

const textsOf = (messages: readonly ChatMessage[] | undefined) => messages?.map((each) => textOf(each))

const agentOf = (turns: ScriptTurn[], { inspect }: Inspector) => {
  const model = scriptedModel(turns)
  return { model, agent: new Agent(model, { tools: [weather], inspect }) }
}

describe('A command to run again', () => {
  it('begins a run with the conversation so far, and what the run was given', async () => {
    const inspector = await inspecting()
    const { agent, model } = agentOf([looksUp, 'Fine.', looksUp, 'You are welcome.'], inspector)
    seen.length = 0
    await agent.send('Weather?', { system: 'Be brief.', context: { user: 7 } })
    const feed = await listen(inspector)
    await feed.until(({ attempts }) => attempts.length === 2)
    const answer = await command(inspector, { actor: feed.watched, type: 'again', prompt: 'Thanks!' })
    expect(answer.status).toBe(200)
    const { actor } = (await answer.json()) as { actor: number }
    await feed.until(({ actors }) => actors.get(actor)?.status === 'done')
    expect(feed.actors.get(actor)).toMatchObject({ title: 'Thanks!', from: 1, canAsk: true })
    const asked = ['Be brief.', 'Weather?', 'I look.', '', 'Fine.', 'Thanks!']
    expect(textsOf(model.requests[2]?.messages)).toEqual(asked)
    expect(seen).toEqual([{ user: 7 }, { user: 7 }])
  })

  it('goes on from a moment, as far as the answers were whole then', async () => {
    const inspector = await inspecting()
    const { agent, model } = agentOf(['One.', 'Again.'], inspector)
    await agent.send('First?')
    const feed = await listen(inspector)
    await feed.until(({ moments }) => moments.length > 3)
    const begin = feed.moments[0]?.seq
    const answer = await command(inspector, {
      actor: feed.watched,
      type: 'again',
      prompt: 'Other?',
      seq: begin,
    })
    expect(answer.status).toBe(200)
    await feed.until(({ actors }) => [...actors.values()].some(({ title }) => title === 'Other?'))
    await expect.poll(() => textsOf(model.requests[1]?.messages)).toEqual(['Other?'])
  })

  it('takes the place of a message, with what was attached to it', async () => {
    const inspector = await inspecting()
    const { agent, model } = agentOf(['A cat.', 'A dog.'], inspector)
    await agent.send([dataPart('image/png', 'AAAA'), { type: 'text', text: 'What is it?' }], {
      history: [userMessage('Hello'), { role: 'model', parts: [{ type: 'text', text: 'Hi' }] }],
    })
    const feed = await listen(inspector)
    await feed.until(({ attempts }) => attempts.length === 1)
    await command(inspector, { actor: feed.watched, type: 'again', prompt: 'Which dog?', before: 0 })
    await expect.poll(() => model.requests.length).toBe(2)
    expect(textsOf(model.requests[1]?.messages)).toEqual(['Hello', 'Hi', 'Which dog?'])
    expect(model.requests[1]?.messages[2]?.parts[0]).toMatchObject({ type: 'data', data: 'AAAA' })
  })

  it('runs on with other arguments of a call, and the run that was stays', async () => {
    const inspector = await inspecting()
    const { agent, model } = agentOf([looksUp, 'Fine.', 'Finer.'], inspector)
    await agent.send('Weather?')
    const feed = await listen(inspector, 1)
    await feed.until(({ tools }) => tools.get('c1')?.status === 'done')
    const answer = await command(inspector, {
      actor: feed.watched,
      type: 'again',
      callId: 'c1',
      arguments: { city: 'Rome' },
    })
    const { actor } = (await answer.json()) as { actor: number }
    const other = await listen(inspector, actor)
    await other.until(({ tools, actors }) => tools.size > 0 && actors.get(actor)?.status === 'done')
    expect(other.tools.get('c1')?.result).toContain('fine in Rome')
    expect(JSON.stringify(model.requests[2]?.messages)).toContain('fine in Rome')
    expect(feed.tools.get('c1')?.result).toBe('fine in Oslo')
  })

  it('asks another model', async () => {
    const inspector = await inspecting()
    const provider = await speaker()
    const agent = new Agent('openai:first', {
      baseUrl: provider.url,
      apiKey: 'k',
      inspect: inspector.inspect,
    })
    const run = agent.send('Hello')
    expect(await provider.asked()).toMatchObject({ model: 'first' })
    provider.say('Hi')
    provider.end()
    await run
    const feed = await listen(inspector)
    await feed.until(({ actors }) => actors.get(1)?.status === 'done')
    await command(inspector, { actor: 1, type: 'again', prompt: 'And you?', model: 'openai:second' })
    expect(await provider.asked()).toMatchObject({ model: 'second' })
    provider.end()
  })

  it('is refused where it cannot be done, with the reason', async () => {
    const inspector = await inspecting()
    const { agent } = agentOf(['Hi.'], inspector)
    await agent.send('Hello')
    const feed = await listen(inspector)
    await feed.until(({ actors }) => actors.get(1)?.status === 'done')
    const model = [...feed.actors.values()].find(({ name }) => name === 'model')?.id
    const refused = async (body: object) => {
      const response = await command(inspector, { actor: 1, type: 'again', ...body })
      return [response.status, await response.text()]
    }
    expect(await refused({ prompt: ' ' })).toEqual([400, 'Write a question first.'])
    expect(await refused({ prompt: 'x', model: 'unheard:x' })).toEqual([
      400,
      expect.stringContaining('unheard'),
    ])
    expect(await refused({ prompt: 'x', before: 9 })).toEqual([404, 'There is no such message.'])
    expect(await refused({ callId: 'c9', arguments: {} })).toEqual([
      409,
      expect.stringContaining('no longer'),
    ])
    expect(await refused({ callId: 'c9', arguments: [] })).toEqual([400, expect.stringContaining('JSON')])
    expect(await refused({ actor: model, prompt: 'x' })).toEqual([409, 'This is not the run of an agent.'])
  })

  it('ends with the inspector', async () => {
    const inspector = await startInspector()
    const { agent, model } = agentOf(['Hi.', [{ text: 'So ' }, { hang: true }]], inspector)
    await agent.send('Hello')
    const feed = await listen(inspector)
    await feed.until(({ actors }) => actors.get(1)?.status === 'done')
    await command(inspector, { actor: 1, type: 'again', prompt: 'Go on' })
    await expect.poll(() => model.requests.length).toBe(2)
    await inspector.close()
    await expect.poll(() => model.closed).toBe(1)
  })
})

describe.skipIf(!executablePath)('The page', { timeout: 120_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  it('asks the next question, changes a message, and compares both runs', async () => {
    const inspector = await inspecting()
    const { page, problems } = await open(browser, inspector.url)
    const { agent } = agentOf(['It is fine.', 'It is finer.', 'It is bad.'], inspector)
    await agent.send('How is Oslo?')
    await page.locator('.outcome.done').waitFor()
    await page.getByLabel('The next question').fill('And tomorrow?')
    await page.keyboard.press('Enter')
    await page.locator('#title', { hasText: 'And tomorrow?' }).waitFor()
    await page.locator('.conversation').getByText('It is finer.').waitFor()
    await page.getByText('2 earlier messages').click()
    await page.locator('.older').getByText('It is fine.').waitFor()
    await page.getByRole('button', { name: 'Edit and run again' }).click()
    await page.getByLabel('Your message').fill('And in winter?')
    await page.getByRole('button', { name: 'Run again' }).click()
    await page.locator('#title', { hasText: 'And in winter?' }).waitFor()
    await page.locator('.own').getByText('It is bad.').waitFor()
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.locator('.other').getByText('It is finer.').waitFor()
    await page.locator('.own .differs').waitFor()
    expect(await page.locator('.own .differs').textContent()).toBe('And in winter?')
    expect(await page.locator('.other .differs').textContent()).toBe('And tomorrow?')
    expect(problems).toEqual([])
  })

  it('runs on with other arguments, and says when they are not JSON', async () => {
    const inspector = await inspecting()
    const { page } = await open(browser, inspector.url)
    const { agent } = agentOf([looksUp, 'Fine.', 'Finer.'], inspector)
    await agent.send('Weather?')
    await page.getByRole('button', { name: 'Run again with other arguments' }).click()
    const field = page.getByLabel('Arguments of get_weather')
    await field.fill('{ city')
    await page.getByRole('button', { name: 'Continue', exact: true }).click()
    await page.getByText('The arguments must be a JSON object.').waitFor()
    await field.fill('{ "city": "Rome" }')
    await page.getByRole('button', { name: 'Continue', exact: true }).click()
    await page.locator('.conversation').getByText('Finer.').waitFor()
    await page.locator('.card').getByText('fine in Rome').waitFor()
  })
})
