import { describe, expect, test } from 'vitest'
import type { AnyActorRef, InspectionEvent } from 'xstate'
import { reflectionOrchestrator } from '../../machines/reflection.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { AbortedError } from '../../src/messages/errors.ts'
import { textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { idle, rejection } from '../engine/watching.ts'

const ask = (id: string, prompt: string) => ({ toolCall: { id, name: 'expert', arguments: { prompt } } })
const used = (text: string, outputTokens: number): ScriptTurn => [{ text }, { usage: { outputTokens } }]

const team = (
  outer: ScriptTurn[],
  inner: ScriptTurn[],
  options: AgentOptions = {},
  own: AgentOptions = {},
) => {
  const expertModel = scriptedModel(inner)
  const bossModel = scriptedModel(outer)
  const expert = new Agent(expertModel, own)
  const tools = [expert.asTool({ name: 'expert', description: 'Knows a lot' })]
  return { boss: new Agent(bossModel, { tools, ...options }), bossModel, expertModel }
}

describe('an agent as a tool of another', () => {
  test('is seen by the inspector below the call that it answers, with its own children', async () => {
    const seen: string[] = []
    const path = (ref: AnyActorRef): string => (ref._parent ? `${path(ref._parent)}/${nameOf(ref)}` : 'root')
    const nameOf = ({ id }: AnyActorRef) => (id.startsWith('x:') ? 'run' : id)
    const inspect = (event: InspectionEvent) => {
      if (event.type === '@xstate.actor') seen.push(path(event.actorRef as AnyActorRef))
    }
    const { boss } = team([[ask('a', 'Why?')], 'Because.'], ['Physics.'], { inspect })
    await boss.send('Why?')
    expect(seen).toEqual(
      expect.arrayContaining([
        'root/toolExecutor/call:a',
        'root/toolExecutor/call:a/run',
        'root/toolExecutor/call:a/run/model',
      ]),
    )
  })

  test('may be orchestrated itself: its output is the answer, its whole usage counts', async () => {
    const { boss, bossModel } = team(
      [[ask('a', 'A poem.'), { usage: { outputTokens: 1 } }], used('Here you are.', 1)],
      [used('Roses', 10), used('Too short.', 10), used('Red roses', 10)],
      {},
      { orchestrator: reflectionOrchestrator({ maxRounds: 1 }) },
    )
    const { messages, usage } = await boss.send('A poem.')
    expect(messages.flatMap(toolResultsOf)[0]?.result).toBe('Red roses')
    expect(usage).toEqual({ outputTokens: 32 })
    bossModel.assertDone()
  })

  test('works beside others of its kind at the same time, each with its own prompt', async () => {
    const { boss, expertModel } = team(
      [[ask('a', 'One?'), ask('b', 'Two?')], 'Both.'],
      ['First.', 'Second.'],
      { toolExecution: 'parallel' },
    )
    const { messages } = await boss.send('Go.')
    expect(messages.flatMap(toolResultsOf).map(({ result }) => result)).toEqual(['First.', 'Second.'])
    const asked = expertModel.requests.map((request) => request.messages.map(textOf))
    expect(asked).toEqual([['One?'], ['Two?']])
  })

  test('is aborted with the whole, in whatever phase it is', async () => {
    const { boss, expertModel } = team(
      [[ask('a', 'A poem.')]],
      ['Roses', [{ text: 'Too' }, { hang: true }]],
      {},
      { orchestrator: reflectionOrchestrator() },
    )
    const controller = new AbortController()
    const sent = rejection(boss.send('A poem.', { signal: controller.signal }), AbortedError)
    await idle(10)
    expect(expertModel.requests).toHaveLength(2)
    controller.abort()
    await sent
    expect(expertModel.closed).toBe(1)
  })

  test('that fails in its second phase is an error result with the reason', async () => {
    const { boss } = team(
      [[ask('a', 'A poem.')], 'Sorry.'],
      [used('Roses', 5), [{ error: { message: 'boom' } }]],
      {},
      { orchestrator: reflectionOrchestrator() },
    )
    const { messages, usage } = await boss.send('A poem.')
    expect(messages.flatMap(toolResultsOf)).toMatchObject([{ isError: true, result: '{"error":"boom"}' }])
    expect(usage).toEqual({ outputTokens: 5 })
  })
})
