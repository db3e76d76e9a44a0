/** A tool that asks something outside while it runs: the run waits for an answer, as for an external tool. */
import { getEventListeners } from 'node:events'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type AnyActorRef, createActor } from 'xstate'
import type { AgentEmitted } from '../../machines/index.ts'
import { pendingIn } from '../../machines/tools/pendingCalls.ts'
import { askOutside } from '../../machines/tools/toolQuestion.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type ToolContext, tool } from '../../src/tools/tool.ts'
import { createToolExecutor } from '../../src/tools/toolExecutor.ts'
import { endOf, idle, stateName } from './watching.ts'

const calling = (...ids: string[]): ScriptTurn => ids.map((id) => ({ toolCall: { id, name: 'asker' } }))

/** A run whose tool asks `questions`, one after the other, and returns the answers. */
const asking = async (questions: string[] = ['colour'], options: AgentOptions = {}, ids = ['c']) => {
  const answers: unknown[] = []
  const signals: AbortSignal[] = []
  const end = new AbortController()
  const asker = tool({
    name: 'asker',
    description: 'Asks',
    execute: async (_, context) => {
      signals.push(context.signal)
      for (const about of questions) answers.push(await askOutside(context, 'form', { about }, end.signal))
      return 'asked'
    },
  })
  const agent = new Agent(scriptedModel([calling(...ids), 'done']), { tools: [asker], ...options })
  const actors: string[] = []
  const actor = createActor(agent.machine, {
    input: { prompt: 'Go' },
    inspect: (event) => {
      if (event.type === '@xstate.actor') actors.push((event.actorRef as AnyActorRef).id)
    },
  })
  const seen: Extract<AgentEmitted, { type: 'tool.external' }>[] = []
  actor.on('tool.external', (event) => seen.push(event))
  actor.start()
  await idle()
  const state = () => stateName(actor.getSnapshot())
  return { actor, actors, seen, answers, signals, end, state }
}

describe('a question of a running tool', () => {
  test('is announced below its call, as a call of an external tool', async () => {
    const { actor, actors, seen, state } = await asking()
    const [event] = seen
    expect(event?.callId).toMatch(/^c\/[-0-9a-f]{36}$/)
    expect(seen).toEqual([
      {
        type: 'tool.external',
        callId: event?.callId,
        call: { type: 'toolCall', id: event?.callId, name: 'form', arguments: { about: 'colour' } },
      },
    ])
    expect(pendingIn(actor.getSnapshot())).toEqual([{ ...event?.call, kind: 'answer' }])
    expect(state()).toBe('ToolExecution.Waiting')
    expect(actors.at(-1)).toBe('form')
    actor.stop()
  })

  test.each<[string, object, unknown]>([
    ['an answer', { type: 'tool.answer', result: { colour: 'red' } }, { colour: 'red' }],
    ['an answer that is an error', { type: 'tool.answer', result: 'broken', isError: true }, undefined],
    ['a refusal', { type: 'tool.reject', reason: 'no' }, undefined],
    ['a refusal that brings a result', { type: 'tool.reject', result: 'forged' }, undefined],
    ['an approval', { type: 'tool.approve' }, undefined],
  ])('ends with %s', async (_, command, expected) => {
    const { actor, seen, answers, signals, end } = await asking()
    actor.send({ ...command, callId: seen[0]?.callId } as never)
    await idle()
    expect(answers).toEqual([expected])
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'done' })
    for (const signal of [...signals, end.signal]) expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('is over once it is answered: the run works again', async () => {
    const { actor, seen, state } = await asking(['colour', 'size'])
    actor.send({ type: 'tool.answer', callId: seen[0]?.callId ?? '', result: 'red' })
    expect(state()).toBe('ToolExecution.Working')
    await idle()
    expect(state()).toBe('ToolExecution.Waiting')
    expect(seen.map(({ call }) => call.arguments)).toEqual([{ about: 'colour' }, { about: 'size' }])
    actor.stop()
  })

  test('takes no answer that was meant for the question before it', async () => {
    const { actor, seen, answers } = await asking(['colour', 'size'])
    const first = { type: 'tool.answer', callId: seen[0]?.callId ?? '', result: 'red' } as const
    actor.send(first)
    await idle()
    actor.send(first)
    await idle()
    expect(answers).toEqual(['red'])
    actor.send({ type: 'tool.answer', callId: seen[1]?.callId ?? '', result: 'large' })
    await endOf(actor)
    expect(answers).toEqual(['red', 'large'])
  })

  test('can be taken back: the tool continues without an answer', async () => {
    const { actor, answers, signals, end } = await asking()
    end.abort()
    expect(await endOf(actor)).toMatchObject({ status: 'complete' })
    expect(answers).toEqual([undefined])
    for (const signal of signals) expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('is not asked if it was taken back before', async () => {
    const { actor, seen, end } = await asking(['colour', 'size'])
    end.abort()
    await endOf(actor)
    expect(seen).toHaveLength(1)
  })

  test('ends with an aborted run, without an answer', async () => {
    // XState warns of events that come too late.
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    const { actor, answers, signals, end } = await asking(['colour', 'size'])
    actor.send({ type: 'abort' })
    expect(await endOf(actor)).toMatchObject({ status: 'aborted' })
    await idle()
    // The second is not asked at all.
    expect(answers).toEqual([undefined, undefined])
    expect(warn).not.toHaveBeenCalled()
    for (const signal of [...signals, end.signal]) expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('of one call waits until the other call has asked, too', async () => {
    const { actor, seen, answers } = await asking(['colour'], { toolExecution: 'parallel' }, ['c', 'd'])
    expect(seen.map(({ callId }) => callId.slice(0, 2))).toEqual(['c/', 'd/'])
    for (const { callId } of seen.toReversed())
      actor.send({ type: 'tool.answer', callId, result: callId.slice(0, 1) })
    expect((await endOf(actor)).messages.flatMap(toolResultsOf).map(({ id }) => id)).toEqual(['c', 'd'])
    expect(answers).toEqual(['d', 'c'])
  })
})

describe('no question is asked', () => {
  const never = new AbortController().signal

  test('where the tool is not part of a run', async () => {
    const alone: Pick<ToolContext, 'self' | 'signal'> = { self: undefined, signal: never } as never
    expect(await askOutside(alone, 'form', {}, never)).toBeUndefined()
  })

  test('in a batch of the user, whose calls are not actors', async () => {
    const { executeSingle } = createToolExecutor()
    const { actor, seen, answers } = await asking(['colour'], {
      toolExecutor: {
        executeBatch: (calls, ...rest) => Promise.all(calls.map((each) => executeSingle(each, ...rest))),
      },
    })
    expect(await endOf(actor)).toMatchObject({ status: 'complete' })
    expect([seen, answers]).toEqual([[], [undefined]])
  })
})
