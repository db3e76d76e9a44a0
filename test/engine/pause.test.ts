import { describe, expect, test } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { textOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { recorder } from './sampleTools.ts'
import { collect } from './watching.ts'

const pause = { finish: 'stop' as const, raw: 'pause_turn', pause: true }
const opaque = (data: JsonObject) => ({
  deltas: [{ type: 'opaque' as const, protocol: 'anthropic', data }],
})

const run = async (turns: ScriptTurn[], options: AgentOptions = {}) => {
  const model = scriptedModel(turns)
  const tools = [recorder().tool]
  const chunks = await collect(new Agent(model, { tools, ...options }).sendStream('Go'))
  model.assertDone()
  const messages = chunks.flatMap((chunk) => chunk.messages)
  expect(validateHistory(messages)).toEqual([])
  return { model, messages, texts: chunks.map(({ output }) => output).filter((text) => text !== '') }
}

describe('an answer that the provider pauses', () => {
  test('is sent back as it is and goes on as one message', async () => {
    const { model, messages, texts } = await run([[{ text: 'Search' }, pause], [{ text: 'ed.' }]])
    expect(texts).toEqual(['Search', 'ed.'])
    expect(messages.map(({ role }) => role)).toEqual(['user', 'model'])
    expect(messages.map(textOf)).toEqual(['Go', 'Searched.'])
    expect(model.requests[1]?.messages.at(-1)).toEqual({
      role: 'model',
      parts: [{ type: 'text', text: 'Search' }],
    })
  })

  test('may pause more than once and may end in a tool call', async () => {
    const { messages } = await run([
      [{ text: 'a' }, pause],
      [{ text: 'b' }, pause],
      [{ text: 'c' }, { toolCall: { id: 'x', name: 'echo' } }],
      'done',
    ])
    expect(messages.map(textOf)).toEqual(['Go', 'abc', '', 'done'])
    expect(messages[1]?.parts.map(({ type }) => type)).toEqual(['text', 'toolCall'])
  })

  test('after a tool round gets the newline once, before its very first text', async () => {
    const { texts, messages } = await run([
      [{ toolCall: { id: 'x', name: 'echo' } }],
      [{ text: 'Sea' }, pause],
      [{ text: 'rched.' }],
    ])
    expect(messages.map(textOf).at(-1)).toBe('Searched.')
    expect(texts).toEqual(['\nSea', 'rched.'])
  })

  test('at the step limit is kept: what was shown is in the history', async () => {
    const { messages, texts } = await run([[{ text: 'Half' }, pause]], { maxSteps: 1 })
    expect(texts).toEqual(['Half'])
    expect(messages.map(textOf)).toEqual(['Go', 'Half'])
  })

  test('keeps the text of both parts when the second part fails', async () => {
    const model = scriptedModel([
      [{ text: 'Half' }, pause],
      [{ text: ' way' }, { error: { message: 'gone' } }],
    ])
    await expect(new Agent(model).send('Go')).rejects.toMatchObject({
      message: 'gone',
      partial: {
        output: 'Half way',
        messages: [{ role: 'user' }, { role: 'model', metadata: { interrupted: 'error' } }],
      },
    })
  })

  test('shows the part before the pause once more when the part after it starts over', async () => {
    const turns: ScriptTurn[] = [
      [{ toolCall: { id: 'x', name: 'echo' } }],
      [{ text: 'Half' }, pause],
      [{ text: ' wa' }, { error: { retryable: true } }],
      [{ text: ' way' }],
    ]
    const { texts, messages } = await run(turns, { retry: { midStream: true, initialDelayMs: 1 } })
    expect(texts).toEqual(['\nHalf', ' wa', '\nHalf', ' way'])
    expect(messages.map(textOf).at(-1)).toBe('Half way')
  })

  test('keeps the opaque data of the paused part when it goes on', async () => {
    const { model } = await run([[{ text: 'a' }, opaque({ part: 'one' }), pause], 'b'])
    expect(model.requests[1]?.messages.at(-1)?.metadata).toEqual({ anthropic: { part: 'one' } })
  })

  test('stores the opaque data of both parts, so that signed blocks go back whole', async () => {
    const { messages } = await run([
      [{ text: 'a' }, opaque({ blocks: ['one'] }), pause],
      [{ text: 'b' }, opaque({ blocks: ['two'] })],
    ])
    expect(messages[1]?.metadata).toEqual({ anthropic: { blocks: ['one', 'two'] } })
  })

  test('a call id of the continued part that the paused part has already gets its own id', async () => {
    const { messages } = await run([
      [{ toolCall: { id: 'x', name: 'echo', arguments: { n: 1 } } }, pause],
      [{ toolCall: { id: 'x', name: 'echo', arguments: { n: 2 } } }],
      'done',
    ])
    expect(messages[2]?.parts).toHaveLength(2)
  })
})
