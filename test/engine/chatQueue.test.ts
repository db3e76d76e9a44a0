import { describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { Chat, type ChatOptions } from '../../src/agent/Chat.ts'
import { AbortedError, ModelError, OrchestrationError } from '../../src/messages/errors.ts'
import { textOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { gated } from './sampleTools.ts'
import { collect, idle, rejection } from './watching.ts'

const chatOf = (turns: ScriptTurn[], options: ChatOptions = { whenBusy: 'queue' }) => {
  const model = scriptedModel(turns)
  const slow = gated()
  return { model, slow, chat: new Chat(new Agent(model, { tools: [slow.tool] }), options) }
}

describe('a chat that queues', () => {
  test('answers sends one after the other, each with the history of those before', async () => {
    const { chat, model } = chatOf(['one', 'two', 'three'])
    const results = await Promise.all([chat.send('a'), chat.send('b'), collect(chat.sendStream('c'))])
    expect([results[0].output, results[1].output]).toEqual(['one', 'two'])
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 5])
    expect(chat.history.map(textOf)).toEqual(['a', 'one', 'b', 'two', 'c', 'three'])
    expect(validateHistory(chat.history)).toEqual([])
  })

  test('goes on after a send that failed', async () => {
    const { chat } = chatOf([[{ error: { message: 'boom' } }], 'two'])
    const first = rejection(chat.send('a'), ModelError)
    const second = chat.send('b')
    await first
    expect((await second).output).toBe('two')
    expect(chat.history.map(textOf)).toEqual(['b', 'two'])
  })

  test('a stream that is left while it waits for its turn leaves no trace and nothing open', async () => {
    const { chat, model } = chatOf([
      [{ delayMs: 5 }, { text: 'one' }],
      [{ text: 'x' }, { hang: true }],
    ])
    const first = chat.send('a')
    const waiting = chat.sendStream('b')
    const pull = waiting.next()
    await waiting.return?.()
    await Promise.all([first, pull])
    await idle()
    expect(model.closed).toBe(model.requests.length - 1)
    expect(chat.history.map(textOf)).toEqual(['a', 'one'])
  })

  test('a stream that is left early frees the chat for the next send at once', async () => {
    const { chat, model } = chatOf([[{ text: 'Hal' }, { hang: true }], 'two'], {})
    for await (const { output } of chat.sendStream('a')) if (output === 'Hal') break
    expect((await chat.send('b')).output).toBe('two')
    expect(model.closed).toBe(1)
    expect(chat.history.map(textOf)).toEqual(['b', 'two'])
  })
})

describe('steering a chat', () => {
  test('reaches the running answer, and the message is kept', async () => {
    const { chat, slow } = chatOf([[{ toolCall: { id: 'a', name: 'slow' } }], 'Bonjour'])
    const sent = chat.send('a')
    await idle()
    chat.steer('In French.')
    slow.release('a')
    await sent
    expect(chat.history.map(textOf)).toEqual(['a', '', 'In French.', 'Bonjour'])
    expect(validateHistory(chat.history)).toEqual([])
  })

  test('reaches an answer with a schema as well', async () => {
    const { chat, slow } = chatOf([[{ toolCall: { id: 'a', name: 'slow' } }], '{"n":1}'])
    const sent = chat.sendFor('a', { jsonSchema: { type: 'object' } })
    await idle()
    chat.steer('Only one.')
    slow.release('a')
    await sent
    expect(JSON.stringify(chat.history)).toContain('Only one.')
  })

  test('reaches an answer that was only just asked for', async () => {
    const { chat, model } = chatOf(['Hello', 'Bonjour'])
    const sent = chat.send('a')
    chat.steer('In French.')
    await sent
    expect(model.requests.at(-1)?.messages.map(textOf)).toEqual(['a', 'Hello', 'In French.'])
  })

  test('reaches an answer that goes on after an approval', async () => {
    const model = scriptedModel([[{ toolCall: { id: 'a', name: 'ask' } }], 'Bonjour'])
    const ask = tool({ name: 'ask', description: 'asks', needsApproval: true, execute: () => 'yes' })
    const chat = new Chat(new Agent(model, { tools: [ask] }))
    await chat.send('a')
    const resumed = chat.resume({ a: true })
    chat.steer('In French.')
    await resumed
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('In French.')
  })

  test('is not kept for an answer that comes later', async () => {
    const { chat, model } = chatOf([[{ error: { message: 'boom' } }], 'two'])
    const first = rejection(chat.send('a', { signal: AbortSignal.abort() }), AbortedError)
    chat.steer('In French.')
    await first
    await rejection(chat.send('b'), ModelError)
    expect(JSON.stringify(model.requests)).not.toContain('French')
  })

  test('is refused when nothing runs', () => {
    expect(() => chatOf([]).chat.steer('x')).toThrow(OrchestrationError)
  })
})
