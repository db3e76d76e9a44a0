/** Everything that a run emits, line by line, and its whole output. */
import { describe, expect, test } from 'vitest'
import { createActor, SimulatedClock } from 'xstate'
import { isRunResult } from '../../machines/agent/agentOutput.ts'
import { initialState } from '../../machines/agent/runInput.ts'
import { noRound } from '../../machines/agent/streamingState.ts'
import { type AgentInput, type AgentMachineConfig, createAgentMachine } from '../../machines/index.ts'
import { snapshotVersion } from '../../machines/stored/version.ts'
import { nothingAccumulated } from '../../src/model/accumulator.ts'
import { type ScriptStep, type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { eventList, lineOf } from './eventList.ts'
import { recorder } from './sampleTools.ts'
import { endOf, idle } from './watching.ts'

const risky = tool({ name: 'risky', description: '', needsApproval: true, execute: () => 'done' })
const outside = tool({ name: 'outside', description: '' })

const start = (
  turns: ScriptTurn[],
  config: Partial<AgentMachineConfig> = {},
  input: AgentInput = { prompt: 'Go' },
) => {
  const clock = new SimulatedClock()
  let ids = 0
  const model = scriptedModel(turns, { clock })
  const machine = createAgentMachine({
    model,
    tools: [recorder().tool, risky, outside],
    random: () => 1,
    newId: () => `new-${ids++}`,
    ...config,
  })
  const actor = createActor(machine, { input, clock })
  const events = eventList(actor)
  actor.start()
  const pass = async (ms: number) => {
    await idle()
    clock.increment(ms)
    await idle()
  }
  return { actor, model, events, pass, clock }
}

const call = (id: string, name = 'echo', args = {}): ScriptStep => ({
  toolCall: { id, name, arguments: args },
})
const pause: ScriptStep = { finish: 'stop', raw: 'pause_turn', pause: true }

const step = (
  text: string,
  chunks: number,
  usage: object | null = null,
  first: number | null = 0,
  took = 0,
) =>
  `step ${text} ${JSON.stringify(usage)} ${JSON.stringify({ timeToFirstChunkMs: first, durationMs: took, chunks })}`

/** A message is announced twice: as a chunk, for those who read the stream, and by itself. */
const said = (message: string, id = ''): string[] => [
  `chunk ${message}${id && ` id ${id}`}`,
  `message ${message}`,
]
const called = (id: string, name = 'echo', args = '{}') =>
  `tool.call ${id} {"type":"toolCall","id":"${id}","name":"${name}","arguments":${args}}`
const gave = (id: string, result: string, name = 'echo') =>
  `tool.result ${id} {"type":"toolResult","id":"${id}","name":"${name}","result":${JSON.stringify(result)}}`

const complete = { status: 'complete', id: '', finishReason: 'stop', rawFinishReason: 'stop', metadata: {} }

describe('everything that a run emits', () => {
  test('with thinking, metadata, a tool and a word from the user on the way', async () => {
    const { actor, events, pass } = start(
      [
        [
          { responseId: 'r1' },
          { delayMs: 10 },
          { thinking: 'Hm' },
          { metadata: { n: 1 } },
          { delayMs: 5 },
          { text: 'Let me ' },
          { text: 'look.' },
          { deltas: [{ type: 'toolDelta', index: 0, id: 'a', name: 'echo', arguments: '{' }] },
          call('a', 'echo', { n: 1 }),
          { usage: { inputTokens: 1, outputTokens: 2 } },
        ],
        [{ metadata: { n: 1, m: 2 } }, { text: 'Do' }, { text: 'ne.' }, { usage: { inputTokens: 3 } }],
      ],
      { name: 'ada' },
    )
    actor.send({ type: 'steer', text: 'In French.' })
    await pass(10)
    await pass(5)
    const { messages, ...output } = await endOf(actor)
    expect(events).toEqual([
      ...said('user: Go'),
      'chunk id r1 metadata {"thinking":"Hm"}',
      'chunk id r1 metadata {"n":1}',
      'chunk id r1 output Let me ',
      'chunk id r1 output look.',
      'tool.delta 0 a echo {',
      step('1 ada scripted script', 4, { inputTokens: 1, outputTokens: 2 }, 10, 15),
      ...said('model: Let me look. echo({"n":1})#a {"n":1,"thinking":"Hm"}', 'r1'),
      called('a', 'echo', '{"n":1}'),
      gave('a', '{"n":1}'),
      ...said('user: a={"n":1} In French.', 'r1'),
      'chunk metadata {"m":2}',
      'chunk output \nDo',
      'chunk output ne.',
      step('2 ada scripted script', 3, { inputTokens: 3 }),
      ...said('model: Done. {"n":1,"m":2}', 'r1'),
      'chunk id r1 finishReason stop rawFinishReason stop usage {"inputTokens":4,"outputTokens":2}',
    ])
    expect(output).toEqual({
      ...complete,
      id: 'r1',
      output: 'Let me look.\nDone.',
      answer: 'Done.',
      metadata: { n: 1, thinking: 'Hm', m: 2 },
      usage: { inputTokens: 4, outputTokens: 2 },
    })
    expect(messages.map(lineOf)).toEqual([
      'user: Go',
      'model: Let me look. echo({"n":1})#a {"n":1,"thinking":"Hm"}',
      'user: a={"n":1} In French.',
      'model: Done. {"n":1,"m":2}',
    ])
  })

  test('whose answer is paused, breaks off twice, and is finished by another model', async () => {
    const second = scriptedModel([' way'], { model: 'second', provider: 'other' })
    const { actor, events, pass } = start(
      [
        [call('x')],
        [{ responseId: 'r1' }, { text: 'Half' }, pause],
        [{ text: ' wa' }, { error: { message: 'busy', retryable: true } }],
        [{ deltas: [{ type: 'toolDelta', index: 0, arguments: '{' }] }, { error: { message: 'gone' } }],
      ],
      { fallback: [second], retry: { maxRetries: 1, midStream: true, initialDelayMs: 100 } },
    )
    await pass(100)
    const { messages, ...output } = await endOf(actor)
    expect(events).toEqual([
      ...said('user: Go'),
      step('1 scripted script', 0, null, null),
      ...said('model: echo({})#x'),
      called('x'),
      gave('x', '{}'),
      ...said('user: x={}'),
      'chunk id r1 output \nHalf',
      step('2 scripted script', 1),
      'chunk output  wa',
      'retry 1 100 true {"name":"ModelError","message":"busy","retryable":true}',
      'chunk metadata {"restart":true}',
      'chunk id r1 output \nHalf',
      'tool.delta 0 {',
      'fallback other second true {"name":"ModelError","message":"gone"}',
      'chunk output  way',
      'prefix 3 ["model"]',
      step('3 other second', 1),
      ...said('model: Half way', 'r1'),
      'chunk id r1 finishReason stop rawFinishReason stop',
    ])
    expect(output).toEqual({ ...complete, id: 'r1', output: 'Half way', answer: 'Half way' })
    expect(messages.map(lineOf)).toEqual(['user: Go', 'model: echo({})#x', 'user: x={}', 'model: Half way'])
    const asked = ['user: Go', 'model: echo({})#x', 'user: x={}', 'model: Half']
    expect(second.requests.map((request) => request.messages.map(lineOf))).toEqual([asked])
  })

  test('that waits for a decision and for an answer from outside', async () => {
    const { actor, events } = start([[call('a', 'risky'), call('b', 'outside'), call('c', 'risky')], 'done'])
    await idle()
    expect(actor.getSnapshot().value).toBe('AwaitingApproval')
    // Neither of these can be decided on in this way.
    actor.send({ type: 'tool.approve', callId: 'b' })
    actor.send({ type: 'tool.answer', callId: 'a', result: 'x' })
    actor.send({ type: 'tool.reject', callId: 'c', reason: 'no' })
    actor.send({ type: 'tool.approve', callId: 'a' })
    await idle()
    expect(actor.getSnapshot().value).toBe('AwaitingTools')
    actor.send({ type: 'tool.answer', callId: 'a', result: 'x' })
    actor.send({ type: 'tool.reject', callId: 'a' })
    actor.send({ type: 'tool.answer', callId: 'b', result: 'y' })
    const { messages } = await endOf(actor)
    const asked = (kind: string, id: string, name: string) => called(id, name).replace('tool.call', kind)
    const results = messages.slice(2, 3).map(lineOf).join()
    expect(results).toMatch(/^user: a=done b=y c failed=.*no/)
    // The identity of a question differs with each run.
    const plain = (event: string) => event.replace(/^(tool\.(?:approval|external) \w) \S+ \{/, '$1 {')
    expect(events.slice(3, -5).map(plain)).toEqual([
      ...said('model: risky({})#a outside({})#b risky({})#c'),
      asked('tool.approval', 'a', 'risky'),
      asked('tool.approval', 'c', 'risky'),
      expect.stringMatching(/^tool.result c .*"isError":true/),
      called('a', 'risky'),
      gave('a', 'done', 'risky'),
      asked('tool.external', 'b', 'outside'),
      gave('b', 'y', 'outside'),
      ...said(results),
    ])
  })

  test('whose last answer at a limit calls a tool all the same', async () => {
    const { actor, events, model } = start([[call('a')], [{ text: 'Sorry.' }, call('b')]], {
      maxSteps: 1,
      atLimit: 'answer',
    })
    const { messages, ...output } = await endOf(actor)
    const refused =
      'user: b failed={"error":"The run was interrupted before this tool started; it was not run."}'
    expect(events.slice(8)).toEqual([
      ...said('user: a={}').slice(1),
      'limit limit steps 1 1',
      'chunk output \nSorry.',
      step('2 scripted script', 1),
      ...said('model: Sorry. echo({})#b'),
      ...said(refused),
      ...said('model: {"interrupted":"maxSteps"}'),
      'chunk finishReason maxSteps rawFinishReason tool_calls',
    ])
    expect(output).toEqual({
      ...complete,
      output: 'Sorry.',
      answer: 'Sorry.',
      finishReason: 'maxSteps',
      rawFinishReason: 'tool_calls',
    })
    expect(messages.slice(3).map(lineOf)).toEqual([
      'model: Sorry. echo({})#b',
      refused,
      'model: {"interrupted":"maxSteps"}',
    ])
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, 'none'])
  })

  test('whose last answer at a limit is an answer', async () => {
    const { actor, events } = start([[call('a')], 'So far.'], { maxSteps: 1, atLimit: 'answer' })
    const { messages } = await endOf(actor)
    expect(messages.map(lineOf)).toEqual(['user: Go', 'model: echo({})#a', 'user: a={}', 'model: So far.'])
    expect(events.slice(-3)).toEqual([
      ...said('model: So far.'),
      'chunk finishReason maxSteps rawFinishReason stop',
    ])
  })

  test('that waits an hour for a person, without a limit of time', async () => {
    const { actor, pass } = start([[call('a', 'risky')], [{ delayMs: 10 }, { text: 'Done.' }]])
    await pass(3_600_000)
    actor.send({ type: 'tool.approve', callId: 'a' })
    await pass(10)
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'Done.' })
  })

  test('does not count the time in which it waits for an answer from outside', async () => {
    const { actor, pass } = start([[call('a', 'outside')], [{ delayMs: 10 }, { text: 'Done.' }]], {
      timeouts: { totalMs: 1_000 },
    })
    await pass(3_600_000)
    actor.send({ type: 'tool.answer', callId: 'a', result: 'ok' })
    await pass(10)
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'Done.' })
  })

  test('names the protocol of a model that has one', async () => {
    const { actor, events } = start([], { model: { ...scriptedModel(['Hi.']), protocol: 'carrier-pigeon' } })
    await endOf(actor)
    expect(events).toContain(step('1 scripted script carrier-pigeon', 1))
  })

  test('that ends at a limit with a paused answer, and with what the user said meanwhile', async () => {
    const { actor, events } = start([[{ text: 'Half' }, pause]], { maxSteps: 1 })
    actor.send({ type: 'steer', text: 'And?' })
    const { messages, ...output } = await endOf(actor)
    expect(events).toEqual([
      ...said('user: Go'),
      'chunk output Half',
      step('1 scripted script', 1),
      'limit limit steps 1 1',
      ...said('model: Half'),
      ...said('user: And?'),
      ...said('model: {"interrupted":"maxSteps"}'),
      'chunk finishReason maxSteps rawFinishReason pause_turn',
    ])
    expect(output).toEqual({
      ...complete,
      output: 'Half',
      answer: 'Half',
      finishReason: 'maxSteps',
      rawFinishReason: 'pause_turn',
    })
    expect(messages.map(lineOf)).toEqual([
      'user: Go',
      'model: Half',
      'user: And?',
      'model: {"interrupted":"maxSteps"}',
    ])
  })

  test('that is steered when it had its answer', async () => {
    const { actor, events } = start(['Hi.', 'Salut.'])
    actor.send({ type: 'steer', text: 'In French.' })
    actor.send({ type: 'steer', text: 'Now.' })
    await endOf(actor)
    expect(events.slice(4)).toEqual([
      ...said('model: Hi.'),
      ...said('user: In French. Now.'),
      'chunk output \nSalut.',
      step('2 scripted script', 1),
      ...said('model: Salut.'),
      'chunk finishReason stop rawFinishReason stop',
    ])
  })

  test('that a tool ends: the turn is closed with an empty message', async () => {
    const final = tool({ name: 'final', description: '', endsRun: true, execute: () => 'bye' })
    const { actor, events } = start([[call('a', 'final')]], { tools: [final] })
    const { messages: _, ...output } = await endOf(actor)
    expect(output).toEqual({ ...complete, output: '', answer: '', rawFinishReason: 'tool_calls' })
    expect(events.slice(-5)).toEqual([
      ...said('user: a=bye'),
      ...said('model:'),
      'chunk finishReason stop rawFinishReason tool_calls',
    ])
  })

  test('whose answer starts over, with nothing before it that is still valid', async () => {
    const broken: ScriptTurn = [{ text: 'Hal' }, { error: { message: 'busy', retryable: true } }]
    const { actor, events, pass } = start([broken, 'Whole'], { retry: { midStream: true } })
    await pass(500)
    await endOf(actor)
    expect(events.slice(2, 6)).toEqual([
      'chunk output Hal',
      'retry 1 500 true {"name":"ModelError","message":"busy","retryable":true}',
      'chunk metadata {"restart":true}',
      'chunk output Whole',
    ])
  })

  test('whose answer is paused without a word: the newline comes with the first one', async () => {
    const { actor, events } = start([
      [call('a')],
      [{ thinking: 'Hm' }, pause],
      [{ text: 'So.' }, call('b')],
      'Done.',
    ])
    const { messages } = await endOf(actor)
    expect(events.filter((line) => line.startsWith('chunk output'))).toEqual([
      'chunk output \nSo.',
      'chunk output \nDone.',
    ])
    expect(messages.slice(3, 4).map(lineOf)).toEqual(['model: So. echo({})#b {"thinking":"Hm"}'])
  })

  test('whose answer is paused and never has a word: there is no empty text in its message', async () => {
    const { actor } = start([[{ thinking: 'Hm' }, pause], [call('b')], 'Done.'])
    const { messages } = await endOf(actor)
    expect(messages[1]).toEqual({
      role: 'model',
      parts: [{ type: 'toolCall', id: 'b', name: 'echo', arguments: {} }],
      metadata: { thinking: 'Hm' },
    })
  })

  test('whose calls have the same id: the second one gets its own, and the provider its own back', async () => {
    const { actor } = start([[call('a')], [{ metadata: { n: 1 } }, call('a')], 'Done.'])
    const { messages } = await endOf(actor)
    expect(messages.slice(3, 5).map(lineOf)).toEqual([
      'model: echo({})#new-1 {"n":1,"providerCallIds":{"new-1":"a"}}',
      'user: new-1={}',
    ])
  })
})

test('the data of a run at its start', () => {
  const prompt = [{ role: 'user', parts: [{ type: 'text', text: 'Go' }] }]
  const limits = { steps: 3 }
  expect(initialState({ prompt: 'Go', id: 'run' }, 5, { totalMs: 100, limits })).toEqual({
    version: snapshotVersion,
    history: prompt,
    messages: prompt,
    options: { id: 'run', outputSchema: null, system: null, settings: {}, limits },
    step: 0,
    answer: {
      accumulated: nothingAccumulated,
      chunks: 0,
      toolCallPieces: 0,
      newlineDue: false,
      shown: [],
      askedAt: 5,
      firstChunkAt: null,
    },
    request: { modelIndex: 0, attempt: 0, retryAt: 0, prepared: null },
    round: noRound,
    remembered: [],
    totals: { responseId: '', finishReason: 'unspecified', rawFinishReason: null, usage: null, metadata: [] },
    paused: null,
    draft: null,
    bounds: { reached: null, repeats: 0, emptyAnswers: 0 },
    window: { tokens: null, input: null, ratio: null, due: null, compactedAt: [], halvings: 0 },
    steering: [],
    deadlineAt: 105,
    failure: null,
    abortReason: '',
  })
})

test.each<[string, unknown, boolean]>([
  ['of a run', { totals: {}, messages: [] }, true],
  ['without messages', { totals: {} }, false],
  ['without totals', { messages: [] }, false],
  ['of other kinds', { totals: 5, messages: 'x' }, false],
  ['that is null', null, false],
])('data %s is that of a run, or not', (_, data, isIt) => {
  expect(isRunResult(data)).toBe(isIt)
})
