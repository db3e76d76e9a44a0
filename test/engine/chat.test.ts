import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { Chat } from '../../src/agent/Chat.ts'
import {
  AbortedError,
  ModelError,
  OrchestrationError,
  OutputValidationError,
} from '../../src/messages/errors.ts'
import { modelMessage, systemMessage, textOf, userMessage } from '../../src/messages/messages.ts'
import { isFatal, validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { gated, recorder } from './sampleTools.ts'
import { collect, idle, rejection } from './watching.ts'

const chatOf = (turns: ScriptTurn[], options: AgentOptions = {}) => {
  const model = scriptedModel(turns)
  return { model, chat: new Chat(new Agent(model, { tools: [recorder().tool], ...options })) }
}

const call: ScriptTurn = [{ text: 'Let me look.' }, { toolCall: { id: 'a', name: 'echo' } }]
const broken = { error: { message: 'boom' } }

describe('28: a chat', () => {
  test('grows by 2 and then by 2 again, and sends what came before', async () => {
    const { chat, model } = chatOf(['Hello Ada.', 'Ada.'])
    await chat.send('My name is Ada.')
    expect(chat.history).toHaveLength(2)
    await chat.send('What is my name?')
    expect(chat.history).toHaveLength(4)
    expect(model.requests[1]?.messages.map(textOf)).toEqual([
      'My name is Ada.',
      'Hello Ada.',
      'What is my name?',
    ])
    expect(validateHistory(chat.history)).toEqual([])
  })

  test('gives only the new messages as the result', async () => {
    const { chat } = chatOf(['one', 'two'])
    await chat.send('a')
    expect((await chat.send('b')).messages).toEqual([userMessage('b'), modelMessage('two')])
  })

  test('keeps whole tool rounds', async () => {
    const { chat } = chatOf([call, 'done', 'ok'])
    await chat.send('a')
    expect(chat.history).toHaveLength(4)
    await chat.send('b')
    expect(chat.history).toHaveLength(6)
    expect(validateHistory(chat.history)).toEqual([])
  })

  test('begins with a history and does not change the given one', async () => {
    const given = [systemMessage('Be brief.'), userMessage('a'), modelMessage('b')]
    const model = scriptedModel(['ok'])
    const chat = new Chat(new Agent(model), { history: given })
    await chat.send('c')
    expect(given).toHaveLength(3)
    expect(chat.history).toHaveLength(5)
    expect(validateHistory(chat.history)).toEqual([])
  })

  test('streams, and keeps the messages of the stream', async () => {
    const { chat } = chatOf([call, 'done', 'ok'])
    const chunks = await collect(chat.sendStream('a'))
    expect(chunks.map(({ output }) => output).join('')).toBe('Let me look.\ndone')
    expect(chat.history).toEqual(chunks.flatMap(({ messages }) => messages))
    await chat.send('b')
    expect(validateHistory(chat.history)).toEqual([])
  })

  test('asks for typed output and keeps it in the history', async () => {
    const { chat } = chatOf(['{"n":1}', 'ok'])
    expect((await chat.sendFor('a', z.object({ n: z.number() }))).output).toEqual({ n: 1 })
    await chat.send('b')
    expect(chat.history.map(textOf)).toEqual(['a', '{"n":1}', 'b', 'ok'])
  })
})

describe('a chat whose send did not complete', () => {
  const goesOn = async (chat: Chat, length: number) => {
    expect(validateHistory(chat.history)).toEqual([])
    await chat.send('and now?')
    expect(chat.history).toHaveLength(length)
    expect(validateHistory(chat.history)).toEqual([])
  }

  test('before anything came drops the prompt', async () => {
    const { chat } = chatOf([[broken], 'ok'])
    await rejection(chat.send('a'), ModelError)
    expect(chat.history).toEqual([])
    await goesOn(chat, 2)
  })

  test('in the middle of text keeps the text, marked', async () => {
    const { chat } = chatOf([[{ text: 'Hal' }, broken], 'ok'])
    await rejection(chat.send('a'), ModelError)
    expect(chat.history).toEqual([userMessage('a'), modelMessage('Hal', { interrupted: 'error' })])
    await goesOn(chat, 4)
  })

  test('after a tool round keeps the round', async () => {
    const { chat } = chatOf([call, [broken], 'ok'])
    await rejection(chat.send('a'), ModelError)
    await goesOn(chat, 6)
  })

  test('because it was aborted in a tool gives the call a result', async () => {
    const slow = gated('echo')
    const { chat } = chatOf([call, 'ok'], { tools: [slow.tool] })
    const controller = new AbortController()
    const sent = rejection(chat.send('a', { signal: controller.signal }), AbortedError)
    await idle()
    controller.abort()
    await sent
    await goesOn(chat, 6)
  })

  test('because its stream broke keeps what was shown', async () => {
    const { chat } = chatOf([[{ text: 'Hal' }, broken], 'ok'])
    await rejection(collect(chat.sendStream('a')), ModelError)
    expect(chat.history.map(textOf)).toEqual(['a', 'Hal'])
    await goesOn(chat, 4)
  })

  test('because the answer did not fit its schema stays valid', async () => {
    const { chat } = chatOf(['{"n":"x"}', '{"n":"y"}', 'ok'])
    await rejection(chat.sendFor('a', z.object({ n: z.number() })), OutputValidationError)
    expect(validateHistory(chat.history)).toEqual([])
    expect(chat.history.at(-1)?.role).toBe('model')
  })

  test('because its loop was left early goes on from where it was before', async () => {
    const { chat, model } = chatOf([[{ text: 'Hal' }, { hang: true }], 'ok'])
    for await (const { output } of chat.sendStream('a')) if (output === 'Hal') break
    expect(model.closed).toBe(1)
    await goesOn(chat, 2)
  })

  test('because of the step limit stays usable: every call has its result', async () => {
    const { chat } = chatOf([call, 'ok'], { maxSteps: 1 })
    expect((await chat.send('a')).finishReason).toBe('maxSteps')
    expect(validateHistory(chat.history)).toEqual([])
    await chat.send('go on')
    expect(validateHistory(chat.history).filter(isFatal)).toEqual([])
  })
})

describe('a second send while one runs', () => {
  test('is refused, and the first is not disturbed', async () => {
    const { chat } = chatOf(['one', 'two'])
    const first = chat.send('a')
    await rejection(chat.send('b'), OrchestrationError)
    await rejection(collect(chat.sendStream('b')), OrchestrationError)
    expect((await first).output).toBe('one')
    expect(chat.history).toHaveLength(2)
    expect((await chat.send('c')).output).toBe('two')
  })

  test('is refused also while a stream is read, and allowed after it', async () => {
    const { chat } = chatOf(['one', 'two'])
    const stream = chat.sendStream('a')
    await stream.next()
    await rejection(chat.send('b'), OrchestrationError)
    await collect(stream)
    await chat.send('c')
    expect(chat.history).toHaveLength(4)
  })

  test('a stream without a reader does not block the chat', async () => {
    const { chat, model } = chatOf(['one'])
    chat.sendStream('a')
    await chat.send('b')
    expect(model.requests).toHaveLength(1)
  })
})

describe('28: two sends on one agent', () => {
  test('run side by side and share nothing', async () => {
    const slow = gated('echo')
    const turn = (id: string): ScriptTurn => [{ text: `for ${id}` }, { toolCall: { id, name: 'echo' } }]
    const model = scriptedModel([turn('a'), turn('b'), 'end one', 'end two'])
    const agent = new Agent(model, { tools: [slow.tool] })
    const [one, two] = [agent.send('one'), agent.send('two')]
    await idle()
    expect(slow.starts).toEqual(['a', 'b'])
    slow.release('b')
    await idle()
    slow.release('a')
    const results = await Promise.all([one, two])
    expect(results.map(({ output }) => output)).toEqual(['for a\nend two', 'for b\nend one'])
    expect(results.map(({ messages }) => messages.length)).toEqual([4, 4])
  })

  test('an abort of one leaves the other alone', async () => {
    const model = scriptedModel([
      [{ text: 'a' }, { hang: true }],
      [{ delayMs: 5 }, { text: 'b' }],
    ])
    const agent = new Agent(model)
    const controller = new AbortController()
    const one = rejection(agent.send('one', { signal: controller.signal }), AbortedError)
    const two = agent.send('two')
    await idle()
    controller.abort()
    await one
    expect((await two).output).toBe('b')
  })
})
