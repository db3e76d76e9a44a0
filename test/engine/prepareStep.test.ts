import { describe, expect, test } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { OrchestrationError } from '../../src/messages/errors.ts'
import { textOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { recorder } from './sampleTools.ts'
import { rejection } from './watching.ts'

const busy: ScriptTurn = [{ error: { retryable: true, retryAfterMs: 0 } }]
const call: ScriptTurn = [{ toolCall: { id: 'a', name: 'echo' } }, { usage: { inputTokens: 2 } }]
const { tool: echo } = recorder()

const preparing = (turns: ScriptTurn[], prepareStep: (info: never) => unknown) => {
  const model = scriptedModel(turns)
  const options: AgentOptions = { tools: [echo], prepareStep: prepareStep as never, temperature: 1 }
  return { model, agent: new Agent(model, options) }
}

describe('prepareStep', () => {
  test('is asked once for each step, however often the request is made', async () => {
    const asked: unknown[] = []
    const { agent, model } = preparing(
      [busy, busy, call, busy, 'done'],
      ({ step, messages, usage, context }) => {
        asked.push({ step, messages: (messages as []).length, usage, context })
        return { system: `Step ${step}.` }
      },
    )
    await agent.send('Go', { context: 'mine' })
    expect(asked).toEqual([
      { step: 1, messages: 1, usage: undefined, context: 'mine' },
      { step: 2, messages: 3, usage: { inputTokens: 2 }, context: 'mine' },
    ])
    const systems = model.requests.map(({ messages }) => messages.slice(0, 1).map(textOf).join())
    expect(systems).toEqual(['Step 1.', 'Step 1.', 'Step 1.', 'Step 2.', 'Step 2.'])
  })

  test.each([
    ['nothing', undefined],
    ['nothing different', {}],
    ['the name of a tool', { tools: ['echo'] }],
    ['a tool', { tools: [echo] }],
  ])('may return %s', async (_, prepared) => {
    const { agent, model } = preparing(['ok'], () => prepared)
    expect((await agent.send('Go')).output).toBe('ok')
    expect(model.requests[0]).toEqual({
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'Go' }] }],
      temperature: 1,
      tools: [expect.objectContaining({ name: 'echo' })],
    })
  })

  test('may change everything at once, for this step alone', async () => {
    const other = scriptedModel(['done'], { model: 'other' })
    const { agent, model } = preparing([call], ({ step }) =>
      step === 1
        ? { tools: ['echo'], toolChoice: 'required', system: '', settings: { temperature: 0, seed: 7 } }
        : { tools: [], model: other },
    )
    expect((await agent.send('Go')).output).toBe('done')
    expect(model.requests[0]).toMatchObject({
      // An empty prompt is left out.
      messages: [{ role: 'user' }],
      toolChoice: 'required',
      temperature: 0,
      seed: 7,
    })
    expect(other.requests).toMatchObject([{ temperature: 1 }])
    expect(Object.keys(other.requests[0] ?? {}).sort()).toEqual(['messages', 'temperature'])
  })

  const notModel = 'The model that prepareStep returns must be a model string or a chat model.'
  const notSettings = 'The settings that prepareStep returns must be an object.'
  const offers = (name: string) =>
    `prepareStep offers the tool "${name}", which the run does not have: give it to the agent or the send.`
  test.each<[unknown, string]>([
    ['echo', 'prepareStep must return an object, or nothing.'],
    [['echo'], 'prepareStep must return an object, or nothing.'],
    [{ model: 5 }, notModel],
    [{ model: {} }, notModel],
    [{ model: { stream: 'x' } }, notModel],
    [{ model: null }, notModel],
    [{ system: 5 }, 'The system prompt that prepareStep returns must be a string.'],
    [{ system: null }, 'The system prompt that prepareStep returns must be a string.'],
    [{ settings: 5 }, notSettings],
    [{ settings: null }, notSettings],
    [{ settings: [] }, notSettings],
    [{ tools: 'echo' }, 'The tools that prepareStep returns must be a list.'],
    [{ tools: null }, 'The tools that prepareStep returns must be a list.'],
    [{ tools: ['echo', 'nope', 'none'] }, offers('nope')],
    [{ tools: [{ ...echo, name: 'nope' }] }, offers('nope')],
    [{ tools: [null] }, offers('undefined')],
    [{ tools: [5] }, offers('undefined')],
  ])('cannot return %j', async (prepared, problem) => {
    const { agent, model } = preparing([], () => prepared)
    const error = await rejection(agent.send('Go'), OrchestrationError)
    expect(error.message).toBe(`prepareStep failed: ${problem}`)
    expect(model.requests).toEqual([])
  })
})
