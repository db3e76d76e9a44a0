/** Errors of tools, as a page sees them: without their details, unless the server gives them. */
import { expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { aguiHandler, uiMessageHandler } from '../../src/ui/index.ts'
import { opened, storeFile } from '../durable/storeFile.ts'

const secret = 'postgres://admin:hunter2@db'
const query = tool({
  name: 'query',
  description: 'Queries',
  execute: () => {
    throw new Error(`no connection to ${secret}`)
  },
})
const agentOf = () =>
  new Agent(scriptedModel([[{ toolCall: { id: 'c1', name: 'query', arguments: {} } }], 'Done.']), {
    tools: [query],
  })

const post = async (handler: (request: Request) => Promise<Response>, body: object): Promise<string> => {
  const headers = { 'content-type': 'application/json' }
  const request = new Request('http://statewire.test/chat', {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  return (await handler(request)).text()
}
const page = { id: 'chat', messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Go' }] }] }
const thread = { threadId: 't', runId: 'r', messages: [{ id: 'u', role: 'user', content: 'Go' }] }

test('a page sees that a tool failed, and the model why', async () => {
  const agent = agentOf()
  const text = await post(uiMessageHandler(agent), page)
  expect(text).toContain('"errorText":"Something went wrong."')
  expect(text).not.toContain('hunter2')
  expect(await post(aguiHandler(agentOf()), thread)).not.toContain('hunter2')
  expect((await agentOf().send('Go')).messages.flatMap(({ parts }) => parts)).toContainEqual(
    expect.objectContaining({ result: expect.stringContaining('hunter2') }),
  )
})

test('showError gives what may be seen', async () => {
  const showError = (error: unknown) => `Failed: ${String(Object(error).message).slice(0, 13)}`
  expect(await post(uiMessageHandler(agentOf(), { showError }), page)).toContain('Failed: no connection')
  expect(await post(aguiHandler(agentOf(), { showError }), thread)).toContain('Failed: no connection')
})

test('nor do the messages of a stored chat have it', async () => {
  const handler = uiMessageHandler(await opened(storeFile(), { agent: agentOf() }))
  await post(handler, page)
  const messages = await (await handler(new Request('http://statewire.test/chat/messages'))).text()
  expect(messages).toContain('"errorText":"Something went wrong."')
  expect(messages).not.toContain('hunter2')
})
