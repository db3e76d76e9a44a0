/** What a run that does not complete leaves behind: a history that can be continued, with all that was received. */
import { describe, expect, test } from 'vitest'
import { createActor, SimulatedClock } from 'xstate'
import { type AgentInput, type AgentMachineConfig, createAgentMachine } from '../../machines/index.ts'
import { type ChatMessage, modelMessage, userMessage } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptStep, type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { eventList, lineOf } from './eventList.ts'
import { gated, recorder } from './sampleTools.ts'
import { endOf, idle } from './watching.ts'

const risky = tool({ name: 'risky', description: '', needsApproval: true, execute: () => 'done' })

const start = (
  turns: ScriptTurn[],
  config: Partial<AgentMachineConfig> = {},
  input: AgentInput = { prompt: 'Go' },
) => {
  const clock = new SimulatedClock()
  let ids = 0
  const machine = createAgentMachine({
    model: scriptedModel(turns, { clock }),
    tools: [recorder().tool, risky],
    newId: () => `new-${ids++}`,
    ...config,
  })
  const actor = createActor(machine, { input, clock })
  const events = eventList(actor)
  actor.start()
  return { actor, events }
}

const call = (id: string, name = 'echo'): ScriptStep => ({ toolCall: { id, name } })
const pause: ScriptStep = { finish: 'stop', raw: 'pause_turn', pause: true }
const notRun = '{"error":"The run was interrupted before this tool started; it was not run."}'
const unknown =
  '{"error":"The run was interrupted while this tool was running; whether it took effect is unknown."}'
const looked = ['model: echo({})#a', 'user: a={}']

/** What was received when the run ended, and the messages after the prompt; `why` is how it ended. */
const cases: [string, ScriptStep[][], (why: string) => string[]][] = [
  ['nothing', [[]], () => []],
  ['thinking', [[{ thinking: 'Hm' }]], () => []],
  ['text', [[{ text: 'Hal' }, { text: 'f' }]], (why) => [`model: Half {"interrupted":"${why}"}`]],
  [
    'text and thinking',
    [[{ thinking: 'Hm' }, { text: 'Half' }]],
    (why) => [`model: Half {"thinking":"Hm","interrupted":"${why}"}`],
  ],
  [
    'metadata',
    [[{ metadata: { n: 1 } }, { text: 'Half' }]],
    (why) => [`model: Half {"interrupted":"${why}"}`],
  ],
  [
    'calls',
    [[{ text: 'So' }, call('a'), call('b')]],
    (why) => [
      'model: So echo({})#a echo({})#b',
      `user: a failed=${notRun} b failed=${notRun}`,
      `model: {"interrupted":"${why}"}`,
    ],
  ],
  [
    'calls and thinking',
    [[{ thinking: 'Hm' }, call('a')]],
    (why) => [
      'model: echo({})#a {"thinking":"Hm"}',
      `user: a failed=${notRun}`,
      `model: {"interrupted":"${why}"}`,
    ],
  ],
  ['a call that cannot be read', [[{ toolCall: { id: 'a', name: 'echo', arguments: '{"n' } }]], () => []],
  [
    'one call that can be read',
    [[call(''), { toolCall: { id: 'b', name: 'echo', arguments: '{"n' } }]],
    (why) => ['model: echo({})#new-0', `user: new-0 failed=${notRun}`, `model: {"interrupted":"${why}"}`],
  ],
  [
    'nothing after a pause',
    [[{ text: 'Half' }, pause], []],
    (why) => [`model: Half {"interrupted":"${why}"}`],
  ],
  [
    'text after a pause',
    [[{ text: 'Half' }, pause], [{ text: ' way' }]],
    (why) => [`model: Half way {"interrupted":"${why}"}`],
  ],
  ['nothing after tools', [[call('a')], []], (why) => [...looked, `model: {"interrupted":"${why}"}`]],
  [
    'text after tools',
    [[call('a')], [{ text: 'Hal' }]],
    (why) => [...looked, `model: Hal {"interrupted":"${why}"}`],
  ],
  [
    'thinking after tools',
    [[call('a')], [{ thinking: 'Hm' }]],
    (why) => [...looked, `model: {"interrupted":"${why}"}`],
  ],
]

const textsOf = (messages: readonly ChatMessage[]) => messages.map(lineOf)

describe.each(cases)('a run that had received %s', (_, turns, left) => {
  const ending = (last: ScriptStep): ScriptTurn[] => [...turns.slice(0, -1), [...(turns.at(-1) ?? []), last]]

  test('and fails', async () => {
    const { actor, events } = start(ending({ error: { message: 'gone' } }))
    const { messages } = await endOf(actor)
    expect(textsOf(messages)).toEqual(['user: Go', ...left('error')])
    expect(validateHistory(messages)).toEqual([])
    expect(events.filter((line) => line.startsWith('message')).map((line) => line.slice(8))).toEqual(
      textsOf(messages),
    )
    expect(events.at(-1)).toMatch(/^chunk finishReason error/)
  })

  test('and is aborted', async () => {
    const { actor } = start(ending({ hang: true }))
    await idle()
    actor.send({ type: 'abort', reason: 'enough' })
    const output = await endOf(actor)
    expect(output).toMatchObject({ status: 'aborted', reason: 'enough', finishReason: 'aborted' })
    expect(textsOf(output.messages)).toEqual(['user: Go', ...left('aborted')])
  })
})

describe('a run that is aborted', () => {
  test('while tools run has a result for each of their calls', async () => {
    const slow = gated()
    const { actor } = start([[call('a'), call('b', 'slow'), call('c')]], {
      tools: [recorder().tool, slow.tool],
    })
    await idle()
    actor.send({ type: 'abort' })
    expect(textsOf((await endOf(actor)).messages)).toEqual([
      'user: Go',
      'model: echo({})#a slow({})#b echo({})#c',
      `user: a={} b failed=${unknown} c failed=${notRun}`,
      'model: {"interrupted":"aborted"}',
    ])
  })

  test('while a person is asked has a result for each call, and what was steered', async () => {
    const { actor } = start([[call('a', 'risky'), call('b')]])
    await idle()
    actor.send({ type: 'steer', text: 'Faster!' })
    actor.send({ type: 'abort' })
    expect(textsOf((await endOf(actor)).messages)).toEqual([
      'user: Go',
      'model: risky({})#a echo({})#b',
      `user: a failed=${notRun} b failed=${notRun} Faster!`,
      'model: {"interrupted":"aborted"}',
    ])
  })

  test('while a person is asked counts its answer once', async () => {
    const { actor } = start([
      [{ thinking: 'Hm' }, { text: 'May I?' }, call('a', 'risky'), { usage: { inputTokens: 2 } }],
    ])
    await idle()
    actor.send({ type: 'abort' })
    const { messages, ...output } = await endOf(actor)
    expect(output).toMatchObject({
      output: 'May I?',
      usage: { inputTokens: 2 },
      metadata: { thinking: 'Hm' },
    })
    expect(messages).toHaveLength(4)
  })

  test('while it waits at a limit counts a paused answer once, and keeps it', async () => {
    const paused: ScriptTurn = [{ thinking: 'Hm' }, { text: 'Half' }, { usage: { inputTokens: 2 } }, pause]
    const { actor } = start([paused], { maxSteps: 1, atLimit: 'ask' })
    await idle()
    expect(actor.getSnapshot().value).toBe('AtLimit')
    actor.send({ type: 'abort' })
    const { messages, ...output } = await endOf(actor)
    expect(output).toMatchObject({ output: 'Half', usage: { inputTokens: 2 }, metadata: { thinking: 'Hm' } })
    expect(textsOf(messages)).toEqual(['user: Go', 'model: Half {"interrupted":"aborted"}'])
  })

  test('keeps what its answer used, and why its last answer ended', async () => {
    const turns: ScriptTurn[] = [
      [call('a'), { usage: { inputTokens: 1 } }, { finish: 'toolCalls', raw: 'calls' }],
      [
        { responseId: 'r2' },
        { thinking: 'Hm' },
        { metadata: { n: 1 } },
        { usage: { inputTokens: 2 } },
        { hang: true },
      ],
    ]
    const { actor, events } = start(turns)
    await idle()
    actor.send({ type: 'abort' })
    const { messages: _, ...output } = await endOf(actor)
    expect(output).toEqual({
      status: 'aborted',
      reason: '',
      id: 'r2',
      output: '',
      answer: '',
      finishReason: 'aborted',
      rawFinishReason: 'calls',
      usage: { inputTokens: 3 },
      metadata: { n: 1, thinking: 'Hm' },
    })
    expect(events.at(-1)).toBe(
      'chunk id r2 finishReason aborted rawFinishReason calls usage {"inputTokens":3}',
    )
  })
})

describe('a run that fails', () => {
  const ended: ScriptStep = { deltas: [{ type: 'finish', reason: 'stop', raw: 'mine' }] }

  test.each<[string, ScriptStep[], string]>([
    ['of the error', [ended, { error: { rawFinishReason: 'refused' } }], 'refused'],
    ['of the answer', [ended, { error: {} }], 'mine'],
    ['of the answer before', [{ error: {} }], 'calls'],
  ])('has the last word: that %s', async (_, last, raw) => {
    const { actor } = start([[call('a'), { finish: 'toolCalls', raw: 'calls' }], last])
    expect(await endOf(actor)).toMatchObject({ status: 'failed', rawFinishReason: raw })
  })

  test('because of its input keeps that out of its messages', async () => {
    const asking = {
      ...modelMessage(''),
      parts: [{ type: 'toolCall', id: 'x', name: 'echo', arguments: {} } as const],
    }
    const open = start([], {}, { history: [userMessage('Hi'), asking] })
    expect(await endOf(open.actor)).toMatchObject({
      status: 'failed',
      error: { name: 'ConfigurationError' },
      messages: [],
      finishReason: 'error',
    })
    expect(open.events).toEqual(['chunk finishReason error'])
    const nothing = start([], {}, { history: [userMessage('Hi'), modelMessage('Ho')] })
    expect(await endOf(nothing.actor)).toMatchObject({ status: 'failed', messages: [] })
  })
})
