/** `useChat` and AG-UI's client in a real browser: on a server, and on an agent that runs inside the page. */
import { build } from 'esbuild'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { textOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { aguiHandler, nodeListener, uiMessageHandler } from '../../src/ui/index.ts'
import { opened, storeFile } from '../durable/storeFile.ts'
import { answering, Replies } from '../engine/taskWorld.ts'
import { executablePath, launch, open } from '../inspector/browser.ts'
import { listen, until } from './serve.ts'

if (!executablePath)
  console.log('The clients are not tested in a browser, because this machine has none. Set CHROMIUM_PATH.')

const send = tool({ name: 'send', description: 'Sends', needsApproval: true, execute: () => 'sent' })
const agent = () =>
  new Agent(scriptedModel([[{ text: 'I ask.' }, { toolCall: { id: 'c1', name: 'send' } }], 'Done.']), {
    tools: [send],
  })

describe.skipIf(!executablePath)('in a browser', () => {
  let browser: Browser | undefined
  let script = ''

  beforeAll(async () => {
    const { outputFiles } = await build({
      entryPoints: ['test/ui/page/page.tsx'],
      bundle: true,
      platform: 'browser',
      format: 'esm',
      jsx: 'automatic',
      define: { 'process.env.NODE_ENV': '"production"' },
      // As the package says in its `browser` field.
      alias: { undici: './test/ui/page/noUndici.ts' },
      write: false,
    })
    script = outputFiles[0]?.text ?? ''
    browser = await launch()
  }, 180_000)
  afterAll(() => browser?.close())

  const openPage = async (stored?: ReturnType<typeof nodeListener>) => {
    const chat = nodeListener(uiMessageHandler(agent()))
    const agui = nodeListener(aguiHandler(agent()))
    const { url } = await listen((request, response) => {
      if (request.url === '/api/chat') chat(request, response)
      else if (request.url === '/agui') agui(request, response)
      else if (request.url?.startsWith('/api/stored') && stored) stored(request, response)
      else if (request.url === '/page.js') response.setHeader('content-type', 'text/javascript').end(script)
      else
        response
          .setHeader('content-type', 'text/html')
          .end(
            '<!doctype html><link rel="icon" href="data:,"><div id="root"></div><script type="module" src="/page.js"></script>',
          )
    })
    if (!browser) throw new Error('There is no browser.')
    return open(browser, `${url}/`)
  }

  test.each(['local', 'served'])('the hook asks and approves (%s)', async (name) => {
    const { page, problems } = await openPage()
    const section = page.locator(`#${name}`)
    await section.getByText('Ask').click()
    await section.getByText('approval-requested').waitFor()
    await section.getByText('Approve').click()
    await section.getByText('Done.').waitFor()
    await section.getByText('ready').waitFor()
    expect(await section.locator('output').textContent()).toMatch(
      /^ready\s+I ask\. output-available +Done\.$/,
    )
    expect(problems).toEqual([])
  })

  test('three messages that a person types while an answer streams are queued, and answered in order', async () => {
    const replies = new Replies()
    const runs = await opened(storeFile(), { it: new Agent(answering(replies.reply)) })
    const { page, problems } = await openPage(nodeListener(uiMessageHandler(runs)))
    const prompts = ['One', 'Two', 'Three', 'Four']
    const input = page.getByLabel('Message')
    for (const [index, prompt] of prompts.entries()) {
      await input.pressSequentially(prompt)
      await input.press('Enter')
      await until(() => replies.waiting.includes('One'))
      const queued = async () =>
        ((await page.locator('#typed').textContent()) ?? '').split('(queued)').length - 1
      await until(async () => (await queued()) === index)
    }
    expect(replies.waiting).toEqual(['One'])
    for (const prompt of prompts) {
      await until(() => replies.waiting.includes(prompt))
      replies.answer(prompt, `To ${prompt}`)
    }
    const shown = async () => (await page.locator('#typed li').allInnerTexts()).map((text) => text.trim())
    const conversation = prompts.flatMap((prompt) => [prompt, `To ${prompt}`])
    await until(async () => (await shown()).join() === conversation.join())
    expect((await (await runs.chat('chat-1')).history()).map(textOf)).toEqual(conversation)
    expect(problems).toEqual([])
  })

  test('the client of AG-UI is interrupted, and continues', async () => {
    const { page, problems } = await openPage()
    expect(await page.evaluate('window.speakAgui()')).toEqual([1, 'Send it', 'I ask.', 'sent', 'Done.'])
    expect(problems).toEqual([])
  })
})
