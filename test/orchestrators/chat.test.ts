import { describe, expect, test } from 'vitest'
import { SimulatedClock } from 'xstate'
import type { Orchestrator } from '../../machines/orchestrators/orchestrator.ts'
import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { Chat, type ChatOptions } from '../../src/agent/Chat.ts'
import { ModelError } from '../../src/messages/errors.ts'
import { textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { idle, rejection } from '../engine/watching.ts'

const chatWith = (
  orchestrator: Orchestrator,
  turns: ScriptTurn[],
  { tools }: Pick<AgentOptions, 'tools'> = {},
  options: ChatOptions = {},
) => {
  const clock = new SimulatedClock()
  const model = scriptedModel(turns, { clock })
  return {
    clock,
    model,
    chat: new Chat(new Agent(model, { orchestrator, ...(tools && { tools }) }), options),
  }
}

describe('a chat with an orchestrated agent', () => {
  test('keeps the messages of every phase and goes on from them', async () => {
    const turns = ['Roses', 'APPROVED', 'Tulips', 'APPROVED']
    const { chat, model } = chatWith(reflectionOrchestrator(), turns)
    expect((await chat.send('A poem.')).output).toBe('Roses')
    expect((await chat.send('Another.')).output).toBe('Tulips')
    expect(chat.history).toHaveLength(8)
    expect(validateHistory(chat.history)).toEqual([])
    expect(model.requests[2]?.messages).toHaveLength(5)
  })

  test('steers the phase that is under way', async () => {
    const { chat, clock, model } = chatWith(reflectionOrchestrator({ maxRounds: 1 }), [
      'Roses',
      [{ text: 'Hm' }, { delayMs: 20 }],
      'Too short.',
      'Red roses',
    ])
    const sent = chat.send('A poem.')
    while (model.requests.length < 2) await idle(1)
    await idle()
    chat.steer('Be strict.')
    clock.increment(20)
    expect((await sent).output).toBe('Red roses')
    const said = chat.history.map(textOf)
    expect(said.slice(said.indexOf('Hm'))).toEqual([
      'Hm',
      'Be strict.',
      'Too short.',
      expect.any(String),
      'Red roses',
    ])
  })

  test('queues sends behind all phases of the one before', async () => {
    const turns = ['Roses', 'APPROVED', 'Tulips', 'APPROVED']
    const { chat } = chatWith(reflectionOrchestrator(), turns, {}, { whenBusy: 'queue' })
    const both = await Promise.all([chat.send('A poem.'), chat.send('Another.')])
    expect(both.map(({ output }) => output)).toEqual(['Roses', 'Tulips'])
    expect(chat.history).toHaveLength(8)
  })

  test('resumes an answer whose phase waits for an approval', async () => {
    const risky = tool({ name: 'risky', description: '', needsApproval: true, execute: () => 'did it' })
    const call: ScriptTurn = [{ toolCall: { id: 'r', name: 'risky' } }]
    const { chat } = chatWith(reasoningOrchestrator(), ['a', 'h', call, 'e', 's', 'a', 'h', 'e', 's2'], {
      tools: [risky],
    })
    expect((await chat.send('Go.')).pendingApproval?.calls).toHaveLength(1)
    expect(chat.history).toEqual([])
    expect((await chat.resume({ r: true })).output).toBe('s')
    expect(chat.history.flatMap(toolResultsOf)[0]?.result).toBe('did it')
    expect((await chat.send('Again.')).output).toBe('s2')
    expect(validateHistory(chat.history)).toEqual([])
  })

  test('keeps what the phases before said when one fails, and stays usable', async () => {
    const { chat } = chatWith(reflectionOrchestrator(), [
      'Roses',
      [{ error: { message: 'boom' } }],
      'Tulips',
      'APPROVED',
    ])
    await rejection(chat.send('A poem.'), ModelError)
    expect(chat.history.map(textOf)).toEqual(['A poem.', 'Roses', expect.any(String), ''])
    expect(chat.history.at(-1)?.metadata).toEqual({ interrupted: 'error' })
    expect((await chat.send('Another.')).output).toBe('Tulips')
    expect(validateHistory(chat.history)).toEqual([])
  })
})
