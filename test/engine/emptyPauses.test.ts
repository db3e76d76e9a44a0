/** A provider may pause and show nothing. Once is fine; twice in a row would go on for ever. */
import { describe, expect, test } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { ModelError } from '../../src/messages/errors.ts'
import { textOf } from '../../src/messages/messages.ts'
import { type ScriptStep, type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { recorder } from './sampleTools.ts'
import { rejection } from './watching.ts'

const pause: ScriptStep = { finish: 'stop', raw: 'pause_turn', pause: true }
const nothing: ScriptTurn = [pause]

/** Everything that a pause can bring. */
const brought: Record<string, ScriptStep> = {
  text: { text: 'a' },
  thinking: { thinking: 'hm' },
  'a call': { toolCall: { id: 'x', name: 'echo' } },
  media: { deltas: [{ type: 'part', part: { type: 'data', mimeType: 'image/png', data: 'AAAA' } }] },
  metadata: { metadata: { search: 'done' } },
}
const rows = Object.entries(brought)

const agentOf = (turns: ScriptTurn[], options: AgentOptions = {}) => {
  const model = scriptedModel(turns)
  return { model, agent: new Agent(model, { tools: [recorder().tool], ...options }) }
}

describe('pauses that bring nothing', () => {
  test('twice in a row end the run, and the error says what to do', async () => {
    const { agent, model } = agentOf([nothing, nothing, 'never'])
    const error = await rejection(agent.send('Go'), ModelError)
    expect(error).toMatchObject({ code: 'empty_pauses', retryable: false })
    expect(error.message).toMatch(/paused twice in a row \(pause_turn\).*higher trigger/)
    expect(model.requests).toHaveLength(2)
  })

  test('are named even if the provider has no word for them', async () => {
    const wordless: ScriptTurn = [{ finish: 'stop', pause: true }]
    const error = await rejection(agentOf([wordless, wordless, 'never']).agent.send('Go'), ModelError)
    expect(error.message).toContain('paused twice in a row (pause)')
  })

  test('once are followed by the answer', async () => {
    const { agent, model } = agentOf([nothing, 'done'])
    expect((await agent.send('Go')).output).toBe('done')
    model.assertDone()
  })

  test('before an empty answer that is not a pause, the run just ends', async () => {
    const { agent, model } = agentOf([nothing, [{ finish: 'stop' }]])
    expect(await agent.send('Go')).toMatchObject({ output: '', finishReason: 'stop' })
    model.assertDone()
  })

  test.each(rows)('before one that brings %s are fine', async (what, step) => {
    const isCall = what === 'a call'
    const { agent, model } = agentOf([nothing, [step, pause], nothing, 'done', ...(isCall ? ['after'] : [])])
    const { messages } = await agent.send('Go')
    expect(messages.map(textOf).join()).toContain('done')
    model.assertDone()
  })

  test.each(rows)('after one that brought %s count from there', async (_, step) => {
    const { agent, model } = agentOf([[step, pause], nothing, nothing, 'never'])
    expect(await rejection(agent.send('Go'), ModelError)).toMatchObject({ code: 'empty_pauses' })
    expect(model.requests).toHaveLength(3)
  })

  test('in the last answer at a limit are not an error: nothing follows it', async () => {
    const { agent, model } = agentOf([nothing, nothing], { maxSteps: 1, atLimit: 'answer' })
    expect(await agent.send('Go')).toMatchObject({ output: '', finishReason: 'maxSteps' })
    model.assertDone()
  })
})
