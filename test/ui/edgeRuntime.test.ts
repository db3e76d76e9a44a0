/** The handlers of an agent where some globals are missing, as in the edge runtime of Next 16. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { aguiHandler, openaiHandler, uiMessageHandler } from '../../src/ui/index.ts'

const { any } = AbortSignal

beforeEach(() => {
  vi.stubGlobal('ByteLengthQueuingStrategy', undefined)
  Reflect.deleteProperty(AbortSignal, 'any')
})
afterEach(() => {
  vi.unstubAllGlobals()
  Object.defineProperty(AbortSignal, 'any', { value: any, configurable: true, writable: true })
})

const agent = () => new Agent(scriptedModel(['Hello.']))
const prompt = { id: '1', role: 'user', content: 'Hi', parts: [{ type: 'text', text: 'Hi' }] }

test.each([
  ['uiMessageHandler', () => uiMessageHandler(agent()), { id: 'chat' }],
  ['aguiHandler', () => aguiHandler(agent()), { threadId: 'chat', runId: 'run' }],
  ['openaiHandler', () => openaiHandler({ assistant: agent() }), { model: 'assistant', stream: true }],
] as const)('%s answers', async (_, make, fields) => {
  const request = new Request('http://statewire.test/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...fields, messages: [prompt] }),
  })
  expect(await (await make()(request)).text()).toContain('Hello.')
})
