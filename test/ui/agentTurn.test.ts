/** The events of a turn of an agent, in order, for a listener that stays, leaves or throws. */
import { describe, expect, test } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { type AgentTurnOptions, agentTurn } from '../../src/ui/AgentChats.ts'
import type { TurnEvent } from '../../src/ui/turn.ts'

const seen: unknown[] = []
const look = tool({
  name: 'look',
  description: 'Looks',
  execute: (_, { report, context }) => {
    seen.push(context)
    report({ percent: 50 })
    return 'seen'
  },
})
const place = tool({ name: 'get_place', description: 'Where the user is' })

const played = async (
  turns: ScriptTurn[],
  { clientTools, ...options }: AgentOptions & AgentTurnOptions = {},
) => {
  const model = scriptedModel(turns)
  const events: TurnEvent[] = []
  const pending = await agentTurn(
    new Agent(model, { tools: [look], ...options }),
    'hi',
    { context: { user: 7 }, ...(clientTools && { clientTools }) },
    { onEvent: (event) => void events.push(event), signal: new AbortController().signal },
  )
  return { events, pending, model }
}
const state = (name: string) => ({ type: 'state', state: name })
const begin = { type: 'begin', runId: expect.stringMatching(/./) }

describe('a turn', () => {
  test('shows each state once, thinking, text, calls, progress, results and the usage', async () => {
    const call = { id: 'c1', name: 'look', arguments: {} }
    const { events, pending } = await played([
      [
        { thinking: 'Hm.' },
        { deltas: [{ type: 'toolDelta', index: 0, id: 'c1', name: 'look', arguments: '{' }] },
        { deltas: [{ type: 'toolDelta', index: 0, arguments: '}' }] },
        { toolCall: call },
      ],
      [{ text: 'There.' }, { usage: { inputTokens: 5 } }],
    ])
    const result = { type: 'toolResult', id: 'c1', name: 'look', result: 'seen' }
    expect(pending.pendingApproval).toBeUndefined()
    expect(seen.splice(0)).toEqual([{ user: 7 }])
    expect(events).toEqual([
      begin,
      state('Accumulating'),
      { type: 'thinking', text: 'Hm.' },
      { type: 'callDelta', index: 0, id: 'c1', name: 'look', arguments: '{' },
      { type: 'callDelta', index: 0, arguments: '}' },
      state('ToolExecution'),
      {
        type: 'answer',
        message: { role: 'model', parts: [{ type: 'toolCall', ...call }], metadata: { thinking: 'Hm.' } },
      },
      { type: 'progress', callId: 'c1', value: { percent: 50 } },
      state('Accumulating'),
      { type: 'result', result },
      { type: 'result', result },
      { type: 'text', text: '\nThere.' },
      state('Complete'),
      { type: 'answer', message: { role: 'model', parts: [{ type: 'text', text: 'There.' }] } },
      { type: 'end', finishReason: 'stop', usage: { inputTokens: 5 } },
    ])
  })

  test('without usage ends without it', async () => {
    const { events } = await played(['Hello.'])
    expect(events.at(-1)).toStrictEqual({ type: 'end', finishReason: 'stop' })
  })

  test('that waits ends with the calls, and gives what it waits for', async () => {
    const turns: ScriptTurn[] = [[{ toolCall: { id: 'c1', name: 'get_place' } }]]
    const { events, pending, model } = await played(turns, { clientTools: [place] })
    const calls = [{ type: 'toolCall', id: 'c1', name: 'get_place', arguments: {}, kind: 'answer' }]
    const asked = [expect.objectContaining({ ...calls[0], question: expect.any(String) })]
    expect(events.at(-1)).toEqual({ type: 'waits', calls: asked })
    expect([pending.pendingApproval?.calls, pending.outcome.pending]).toEqual([asked, asked])
    expect(events.filter(({ type }) => type === 'end')).toEqual([])
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['look', 'get_place'])
    const plain = await played(['Hello.'], { clientTools: [] })
    expect(plain.model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['look'])
  })
})

describe('an audience', () => {
  test('that throws ends the turn with its error, and gets no further event', async () => {
    const model = scriptedModel([[{ text: 'a' }, { text: 'b' }, { hang: true }]])
    const events: string[] = []
    const onEvent = ({ type }: TurnEvent) => {
      events.push(type)
      if (type === 'text') throw new Error('too much')
    }
    const { signal } = new AbortController()
    await expect(agentTurn(new Agent(model), 'hi', {}, { onEvent, signal })).rejects.toThrow('too much')
    expect(events).toEqual(['begin', 'state', 'text'])
    expect(model.closed).toBe(1)
  })

  test('that leaves ends the turn', async () => {
    const model = scriptedModel([[{ text: 'a' }, { hang: true }]])
    const leave = new AbortController()
    const onEvent = ({ type }: TurnEvent) => {
      if (type === 'text') leave.abort('the client has left')
    }
    const turn = agentTurn(new Agent(model), 'hi', {}, { onEvent, signal: leave.signal })
    await expect(turn).rejects.toMatchObject({ name: 'AbortedError' })
    expect(model.closed).toBe(1)
  })

  test('learns that the turn failed', async () => {
    const turn = played([[{ error: { message: 'out of paper' } }]])
    await expect(turn).rejects.toThrow('out of paper')
  })
})
