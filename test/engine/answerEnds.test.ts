/** How an answer ends, and what counts as none: the reason of the result, and whether the model is asked again. */
import { describe, expect, test } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { ModelError } from '../../src/messages/errors.ts'
import type { FinishReason } from '../../src/messages/result.ts'
import { type ScriptStep, type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { recorder } from './sampleTools.ts'
import { collect, endOf, rejection } from './watching.ts'

const call: ScriptStep[] = [{ toolCall: { id: 'a', name: 'echo' } }]
const retry = { maxRetries: 1, initialDelayMs: 1 }

const agentOf = (turns: ScriptTurn[], options: AgentOptions = {}) => {
  const model = scriptedModel(turns)
  return { model, agent: new Agent(model, { tools: [recorder().tool], retry, ...options }) }
}

describe('an answer that ends with the word', () => {
  test.each<[FinishReason, FinishReason]>([
    ['stop', 'stop'],
    ['length', 'length'],
    ['contentFilter', 'contentFilter'],
    ['error', 'error'],
    ['toolCalls', 'stop'],
    ['unspecified', 'unspecified'],
  ])('%s and makes no call gives the reason %s', async (finish, reason) => {
    const { agent, model } = agentOf([[{ text: 'x' }, { finish, raw: 'word' }]])
    expect(await agent.send('Go')).toMatchObject({ finishReason: reason, rawFinishReason: 'word' })
    model.assertDone()
  })
})

const image: ScriptStep = {
  deltas: [{ type: 'part', part: { type: 'data', mimeType: 'image/png', data: 'AAAA' } }],
}

describe('after a tool round', () => {
  test.each<[string, number, ScriptStep[]]>([
    ['text', 2, [{ text: 'x' }]],
    ['an image', 2, [image]],
    ['an end by length', 2, [{ finish: 'length' }]],
    ['an end by a filter', 2, [{ finish: 'contentFilter' }]],
    ['nothing', 3, []],
    ['thinking', 3, [{ thinking: 'hm' }]],
    ['metadata', 3, [{ metadata: { a: 1 } }]],
    ['an empty text', 3, [{ text: '' }]],
  ])('an answer of only %s: %i requests', async (_, requests, steps) => {
    const { agent, model } = agentOf([call, steps, 'ok'])
    await agent.send('Go')
    expect(model.requests).toHaveLength(requests)
  })

  test('an empty answer at a limit is the last one all the same', async () => {
    const { agent, model } = agentOf([call, [], 'never'], { maxSteps: 1, atLimit: 'answer' })
    expect((await agent.send('Go')).finishReason).toBe('maxSteps')
    expect(model.requests).toHaveLength(2)
  })

  test('a second empty answer is final, and is not a limit', async () => {
    const { agent, model } = agentOf([call, [], [], 'never'])
    expect(await agent.send('Go')).toMatchObject({ output: '', finishReason: 'stop' })
    expect(model.requests).toHaveLength(3)
  })

  test('an answer of only a call is not empty: the call runs', async () => {
    const again: ScriptStep[] = [{ toolCall: { id: 'b', name: 'echo' } }]
    const { agent, model } = agentOf([call, again, 'ok'])
    const { messages } = await agent.send('Go')
    expect(messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model', 'user', 'model'])
    model.assertDone()
  })

  test('an empty end of an answer that was paused is its end', async () => {
    const paused: ScriptStep[] = [{ text: 'Half' }, { finish: 'stop', pause: true }]
    const { agent, model } = agentOf([call, paused, [], 'never'])
    expect((await agent.send('Go')).output).toBe('Half')
    expect(model.requests).toHaveLength(3)
  })

  test('a pause that brings nothing is the first one, even after an empty answer', async () => {
    const { agent, model } = agentOf([call, [], [{ finish: 'stop', pause: true }], 'done'])
    expect((await agent.send('Go')).output).toBe('done')
    model.assertDone()
  })

  test('an image that came is in the history', async () => {
    const { messages } = await agentOf([call, [image]]).agent.send('Go')
    expect(messages.at(-1)?.parts).toMatchObject([{ type: 'data', mimeType: 'image/png' }])
  })
})

describe('an answer that the provider ends with its own error', () => {
  const failed: ScriptStep = { finish: 'error', raw: 'MALFORMED' }

  test.each<[string, number, ScriptStep[]]>([
    ['nothing', 2, []],
    ['an empty text', 2, [{ text: '' }]],
    ['empty thinking', 2, [{ thinking: '' }]],
    ['text', 1, [{ text: 'x' }]],
  ])('after it showed %s: %i requests', async (_, requests, shown) => {
    const { agent, model } = agentOf([[...shown, failed], 'ok'])
    await agent.send('Go')
    expect(model.requests).toHaveLength(requests)
  })

  test.each<[string, ScriptStep[]]>([
    ['thinking', [{ thinking: 'x' }]],
    ['metadata', [{ metadata: { a: 1 } }]],
  ])('after it showed only %s fails: nothing that was shown can be taken back', async (_, shown) => {
    const { agent, model } = agentOf([[...shown, failed], 'ok'])
    expect((await rejection(agent.send('Go'), ModelError)).code).toBe('MALFORMED')
    expect(model.requests).toHaveLength(1)
  })

  test('but calls tools all the same is not asked again: the calls run', async () => {
    const { agent, model } = agentOf([[...call, failed], 'ok'])
    expect((await agent.send('Go')).messages).toHaveLength(4)
    model.assertDone()
  })

  test('in every try fails: an empty answer is not one', async () => {
    const { agent, model } = agentOf([[failed], [failed], 'never'])
    const error = await rejection(agent.send('Go'), ModelError)
    expect(error.code).toBe('MALFORMED')
    expect(error.partial).toMatchObject({ finishReason: 'error', rawFinishReason: 'MALFORMED' })
    expect(model.requests).toHaveLength(2)
  })

  test.each([
    [
      'its word',
      failed,
      {
        name: 'ModelError',
        message: 'The provider did not give a usable answer (MALFORMED).',
        code: 'MALFORMED',
      },
    ],
    [
      'no word',
      { finish: 'error' } as const,
      { message: 'The provider did not give a usable answer (error).', code: 'error' },
    ],
  ])('says so to listeners, with %s', async (_, finish, error) => {
    const run = agentOf([[finish], 'ok']).agent.start('Go')
    const reported: unknown[] = []
    run.on('retry', (event) => reported.push(event.error))
    expect((await run.result).output).toBe('ok')
    expect(reported).toMatchObject([error])
  })
})

test('empty pieces of text and thinking are not shown, and bar no retry', async () => {
  const empty: ScriptStep[] = [{ text: '' }, { thinking: '' }, { metadata: {} }]
  const { agent, model } = agentOf([
    [...empty, { error: { retryable: true } }],
    [...empty, { text: 'ok' }],
  ])
  const chunks = await collect(agent.sendStream('Go'))
  model.assertDone()
  const shown = chunks.filter(
    ({ messages, finishReason }) => messages.length === 0 && finishReason === 'unspecified',
  )
  expect(shown.map(({ output, metadata }) => ({ output, metadata }))).toEqual([
    { output: 'ok', metadata: {} },
  ])
})

test('a failure in the first step leaves no model message behind, one after a tool round does', async () => {
  const gone: ScriptTurn = [{ error: { message: 'gone' } }]
  const rolesAfter = async (turns: ScriptTurn[]) =>
    (await rejection(agentOf(turns).agent.send('Go'), ModelError)).partial?.messages.map(({ role }) => role)
  expect(await rolesAfter([gone])).toEqual(['user'])
  expect(await rolesAfter([call, gone])).toEqual(['user', 'model', 'user', 'model'])
})

test.each<[string, ScriptTurn[], string]>([
  ['one that is empty', [[]], ''],
  ['only thinking', [[{ thinking: 'hm' }]], ''],
  ['text, then none after a tool round', [[{ text: 'Look.' }, ...call], [], []], 'Look.'],
])('the last text of a run is its answer: %s', async (_, turns, answer) => {
  expect(await agentOf(turns).agent.send('Go')).toMatchObject({ answer, output: answer })
})

test.each([
  ['no reason', {}, ''],
  ['a reason', { reason: 'user' }, 'user'],
])('an abort with %s says so', async (_, given, reason) => {
  const actor = agentOf([[{ hang: true }]]).agent.actor({ prompt: 'Go' })
  actor.start()
  actor.send({ type: 'abort', ...given })
  expect(await endOf(actor)).toMatchObject({ status: 'aborted', reason })
})

test('calls that wait for a person are the reason of the result', async () => {
  const risky = tool({ name: 'risky', description: '', needsApproval: true, execute: () => 'ok' })
  const { agent } = agentOf([[{ toolCall: { id: 'a', name: 'risky' } }, { finish: 'unspecified' }]], {
    tools: [risky],
  })
  const { finishReason, pendingApproval } = await agent.send('Go')
  expect([finishReason, pendingApproval?.calls.length]).toEqual(['toolCalls', 1])
})
