/** The reports of a handler to its program: errors that its clients do not see, and answers that ended. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { ModelError } from '../../src/messages/errors.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import {
  aguiHandler,
  type FinishedAnswer,
  type Handler,
  type HandlerOptions,
  openaiHandler,
  uiMessageHandler,
  uiMessagesOf,
} from '../../src/ui/index.ts'
import { opened, storeFile } from '../durable/storeFile.ts'
import { until } from './serve.ts'

afterEach(() => vi.restoreAllMocks())

const post = async (handler: Handler, path: string, body: object) =>
  handler(
    new Request(`http://localhost${path}?token=secret`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  )
const page = (text = 'hi') => ({
  id: 'chat-1',
  messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text }] }],
})
const forms: Record<string, (agent: Agent, options: HandlerOptions) => Promise<Response>> = {
  uiMessageHandler: (agent, options) => post(uiMessageHandler(agent, options), '/chat', page()),
  aguiHandler: (agent, options) =>
    post(aguiHandler(agent, options), '/agent', {
      threadId: 'chat-1',
      runId: 'r1',
      messages: [{ id: 'u1', role: 'user', content: 'hi' }],
    }),
  'openaiHandler, whole': (agent, options) =>
    post(openaiHandler({ it: agent }, options), '/v1/chat/completions', {
      model: 'it',
      messages: [{ role: 'user', content: 'hi' }],
    }),
  'openaiHandler, streamed': (agent, options) =>
    post(openaiHandler({ it: agent }, options), '/v1/responses', { model: 'it', input: 'hi', stream: true }),
}
const agentWith = (...turns: ScriptTurn[]) => new Agent(scriptedModel(turns), { retry: { maxRetries: 0 } })
const refusal: ScriptTurn = [{ error: { message: 'Incorrect API key.\nIt is wrong.', status: 401 } }]
const said = (role: 'user' | 'model', text: string) =>
  expect.objectContaining({ role, parts: [{ type: 'text', text }] })

describe.each(Object.entries(forms))('%s', (_, ask) => {
  test('prints an error in one line, without the query, and shows the client nothing of it', async () => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => {})
    const shown = await (await ask(agentWith(refusal), {})).text()
    expect(shown).toContain('Something went wrong.')
    expect(shown).not.toContain('API key')
    expect(print.mock.calls).toEqual([
      [
        expect.stringMatching(
          /^statewire: POST \/\S+, run [\w-]+: ModelError: .*Incorrect API key\. It is wrong\./,
        ),
      ],
    ])
    expect(String(print.mock.calls)).not.toMatch(/secret|\n/)
  })

  test('passes an error to onError once, with its request and its run, in place of the line', async () => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => {})
    const onError = vi.fn()
    await (await ask(agentWith(refusal), { onError })).text()
    expect(onError.mock.calls).toEqual([
      [expect.any(ModelError), { request: expect.any(Request), run: expect.stringMatching(/./) }],
    ])
    expect(print).not.toHaveBeenCalled()
  })

  test('passes the conversation and the usage to onFinish before the response ends', async () => {
    const finished: FinishedAnswer[] = []
    const onFinish = async (answer: FinishedAnswer) => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      finished.push(answer)
    }
    const agent = agentWith(['Hello.', { usage: { inputTokens: 3, outputTokens: 2 } }].map(stepOf))
    await (await ask(agent, { onFinish })).text()
    expect(finished).toEqual([
      expect.objectContaining({
        messages: [said('user', 'hi'), said('model', 'Hello.')],
        usage: expect.objectContaining({ inputTokens: 3, outputTokens: 2 }),
        finishReason: 'stop',
        pending: [],
        run: expect.stringMatching(/./),
      }),
    ])
  })

  test('an onFinish that fails is an error for the operator, and not for the client', async () => {
    const onError = vi.fn()
    const onFinish = async () => {
      throw new Error('The disk is full.')
    }
    const response = await ask(agentWith('Hello.'), { onError, onFinish })
    const shown = await response.text()
    expect([response.status, shown.includes('Hello.'), shown.includes('wrong')]).toEqual([200, true, false])
    expect(onError.mock.calls.map(([error]) => error.message)).toEqual(['The disk is full.'])
  })

  test('an onError that fails is printed with the error', async () => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => {})
    const onError = async () => {
      throw new Error('The log is full.')
    }
    expect(await (await ask(agentWith(refusal), { onError })).text()).toContain('Something went wrong.')
    expect(print.mock.calls.map(([line]) => /API key|log is full/.exec(line)?.[0])).toEqual([
      'API key',
      'log is full',
    ])
  })
})

const stepOf = (step: string | { usage: { inputTokens: number; outputTokens: number } }) =>
  typeof step === 'string' ? { text: step } : step

test('an error before a run is reported without one, and mistakes of a client are not', async () => {
  const onError = vi.fn()
  const context = () => {
    throw new Error('no database')
  }
  const handler = uiMessageHandler(agentWith(), { onError, context })
  expect((await post(handler, '/chat', { id: '' })).status).toBe(400)
  expect(onError).not.toHaveBeenCalled()
  expect((await post(handler, '/chat', page())).status).toBe(500)
  expect(onError.mock.calls).toEqual([
    [new Error('no database'), { request: expect.anything(), run: undefined }],
  ])
})

const erase = tool({ name: 'erase', description: 'Erase', needsApproval: true, execute: () => 'erased' })
const decided = (messages: object[], toolCallId: string, question = '') => ({
  id: 'chat-1',
  messages: [
    ...messages,
    {
      id: 'a1',
      role: 'assistant',
      parts: [
        {
          type: 'tool-erase',
          toolCallId,
          state: 'approval-responded',
          input: {},
          approval: { id: question, approved: true },
        },
      ],
    },
  ],
})
const call: ScriptTurn = [{ toolCall: { id: 'c1', name: 'erase', arguments: {} } }]

describe.each(['an agent', 'stored runs'])('%s', (kind) => {
  const served = async (...turns: ScriptTurn[]) => {
    const agent = new Agent(scriptedModel(turns), { tools: [erase], retry: { maxRetries: 0 } })
    return kind === 'an agent' ? agent : opened(storeFile(), { it: agent })
  }

  test('an answer that waits is finished twice, with all of its messages the second time', async () => {
    const finished: FinishedAnswer[] = []
    const handler = uiMessageHandler(await served(call, 'Done.'), {
      onFinish: (answer) => void finished.push(answer),
    })
    await (await post(handler, '/chat', page())).text()
    expect(finished.map(({ pending, messages }) => [pending.map(({ id }) => id), messages.length])).toEqual([
      [['c1'], 2],
    ])
    const question = finished[0]?.pending[0]?.question
    await (await post(handler, '/chat', decided(page().messages, 'c1', question))).text()
    expect(finished).toHaveLength(2)
    expect(finished[1]).toMatchObject({ chatId: 'chat-1', pending: [], finishReason: 'stop' })
    // Saved as they are, they are what a page starts with.
    expect(uiMessagesOf(finished[1]?.messages ?? [])).toMatchObject([
      { role: 'user', parts: [{ text: 'hi' }] },
      {
        role: 'assistant',
        parts: [
          { type: 'step-start' },
          { type: 'tool-erase', state: 'output-available', output: 'erased' },
          { type: 'step-start' },
          { type: 'text', text: 'Done.' },
        ],
      },
    ])
  })
})

test('a stored answer whose reader leaves is finished as well', async () => {
  const finished: FinishedAnswer[] = []
  const agent = agentWith([{ text: 'A' }, { delayMs: 30 }, { text: 'B' }])
  const runs = await opened(storeFile(), { it: agent })
  const handler = uiMessageHandler(runs, { onFinish: (answer) => void finished.push(answer) })
  await (await post(handler, '/chat', page())).body?.cancel()
  await until(() => finished.length > 0)
  expect(finished[0]?.messages).toEqual([said('user', 'hi'), said('model', 'AB')])
})
