import { describe, expect, test } from 'vitest'
import { createActor, SimulatedClock } from 'xstate'
import { z } from 'zod'
import { withValues } from '../../machines/logic/runEnvironment.ts'
import { orchestratorParts } from '../../machines/orchestrators/orchestrator.ts'
import { createPhasedMachine } from '../../machines/orchestrators/phasedMachine.ts'
import { typedOutputPhases } from '../../machines/orchestrators/typedOutput.ts'
import type { ModelProfile, ModelRequest } from '../../src/model/chatModel.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { compileSchema } from '../../src/tools/schema.ts'
import { wireSchemaOf } from '../../src/tools/typedAnswer.ts'
import { eventList, lineOf } from '../engine/eventList.ts'
import { recorder } from '../engine/sampleTools.ts'
import { endOf } from '../engine/watching.ts'

const answerSchema = wireSchemaOf(compileSchema(z.object({ n: z.number('Not a number') }), 'The schema'))
const { jsonSchema } = answerSchema
const input = { prompt: 'Go', outputSchema: jsonSchema }

const look: ScriptTurn = [
  { responseId: 'r1' },
  { thinking: 'Hm' },
  { text: 'Let me look.' },
  { toolCall: { id: 'a', name: 'echo' } },
]
const says = (responseId: string, text: string): ScriptTurn => [{ responseId }, { text }]
const returns = (id: string, n: number | string, text: string): ScriptTurn => [
  { responseId: id },
  { text },
  { toolCall: { id, name: 'return_result', arguments: { n } } },
  { usage: { inputTokens: 1 } },
]

const typed = async (turns: ScriptTurn[], profile: Partial<ModelProfile> = {}) => {
  const model = scriptedModel(turns, { profile })
  const parts = orchestratorParts({ model, tools: [recorder().tool] })
  const machine = withValues(createPhasedMachine(typedOutputPhases(parts)), { answerSchema })
  const actor = createActor(machine, { input, clock: new SimulatedClock() })
  const events = eventList(actor)
  actor.start()
  const { messages, ...output } = await endOf(actor)
  model.assertDone()
  return { events, output, messages: messages.map(lineOf), requests: model.requests }
}

const askedFor = ({ tools, toolChoice, outputSchema }: ModelRequest) => [
  tools?.map(({ name }) => name),
  toolChoice,
  outputSchema,
]

const correction = (problem: string): string =>
  `user: Your answer does not fit the schema that was asked for: ${problem} Answer again, in that shape, with the whole answer.`

const step = (count: number, chunks: number, usage: object | null = null): string =>
  `step ${count} scripted script ${JSON.stringify(usage)} {"timeToFirstChunkMs":${chunks > 0 ? 0 : null},"durationMs":0,"chunks":${chunks}}`

/** A message is announced twice: as a chunk, for those who read the stream, and by itself. */
const said = (id: string, message: string): string[] => [
  `chunk ${message}${id === '' ? '' : ` id ${id}`}`,
  `message ${message}`,
]

const looked = [
  ...said('r1', 'model: Let me look. echo({})#a {"thinking":"Hm"}'),
  'chunk metadata {"restart":true}',
  'tool.call a {"type":"toolCall","id":"a","name":"echo","arguments":{}}',
  'tool.result a {"type":"toolResult","id":"a","name":"echo","result":"{}"}',
  ...said('r1', 'user: a={}'),
]
const lookedSilently = looked.filter((line) => !line.includes('restart'))
const startsOver = ['retry 1 0 true null', 'chunk metadata {"restart":true}']

describe('everything that a typed run emits, with words beside a call and one correction', () => {
  test('native: text is streamed, and what is not the answer is taken back', async () => {
    const turns = [look, says('r2', '{"n":"x"}'), says('r3', '{"n":1}')]
    const { events, output, messages, requests } = await typed(turns)
    expect(events).toEqual([
      ...said('', 'user: Go'),
      'chunk id r1 metadata {"thinking":"Hm"}',
      'chunk id r1 output Let me look.',
      step(1, 2),
      ...looked,
      'chunk id r2 output {"n":"x"}',
      step(2, 1),
      ...said('r2', 'model: {"n":"x"}'),
      ...startsOver,
      ...said('', correction('n: Not a number.')),
      'chunk id r3 output {"n":1}',
      step(1, 1),
      ...said('r3', 'model: {"n":1}'),
      'chunk id r3 finishReason stop rawFinishReason stop',
    ])
    expect(output).toEqual({
      status: 'complete',
      id: 'r3',
      output: '{"n":1}',
      answer: '{"n":1}',
      finishReason: 'stop',
      rawFinishReason: 'stop',
      metadata: { thinking: 'Hm' },
    })
    expect(messages).toEqual([
      'user: Go',
      'model: Let me look. echo({})#a {"thinking":"Hm"}',
      'user: a={}',
      'model: {"n":"x"}',
      correction('n: Not a number.'),
      'model: {"n":1}',
    ])
    expect(requests.map(askedFor)).toEqual(Array(3).fill([['echo'], undefined, jsonSchema]))
  })

  test('in two phases: words of the first one are metadata, and not part of the conversation', async () => {
    const turns = [look, says('r2', 'It is one.'), says('r3', '{"n":"x"}'), says('r4', '{"n":1}')]
    const { events, output, messages, requests } = await typed(turns, { schemaWithTools: false })
    expect(events).toEqual([
      ...said('', 'user: Go'),
      'chunk id r1 metadata {"thinking":"Hm"}',
      step(1, 2),
      ...lookedSilently,
      step(2, 1),
      'chunk id r2 metadata {"suppressedText":"Let me look.\\nIt is one."}',
      'chunk id r3 output {"n":"x"}',
      // The second phase has no tools.
      'prefix 1 ["tools"]',
      step(1, 1),
      ...said('r3', 'model: {"n":"x"}'),
      ...startsOver,
      ...said('', correction('n: Not a number.')),
      'chunk id r4 output {"n":1}',
      step(1, 1),
      ...said('r4', 'model: {"n":1}'),
      'chunk id r4 finishReason stop rawFinishReason stop',
    ])
    expect(output).toEqual({
      status: 'complete',
      id: 'r4',
      output: '{"n":1}',
      answer: '{"n":1}',
      finishReason: 'stop',
      rawFinishReason: 'stop',
      metadata: { thinking: 'Hm', suppressedText: 'Let me look.\nIt is one.' },
    })
    expect(messages).toEqual([
      'user: Go',
      'model: Let me look. echo({})#a {"thinking":"Hm"}',
      'user: a={}',
      'model: {"n":"x"}',
      correction('n: Not a number.'),
      'model: {"n":1}',
    ])
    expect(requests.map(askedFor)).toEqual([
      [['echo'], undefined, undefined],
      [['echo'], undefined, undefined],
      [undefined, undefined, jsonSchema],
      [undefined, undefined, jsonSchema],
    ])
    expect(requests.map((request) => request.messages.map(lineOf))).toEqual([
      messages.slice(0, 1),
      messages.slice(0, 3),
      messages.slice(0, 3),
      messages.slice(0, 5),
    ])
  })

  test('through return_result: only the arguments that fit are shown as text', async () => {
    const turns = [look, says('r2', '"one"'), returns('r3', 'x', 'So:'), returns('r4', 1, 'Now:')]
    const { events, output, messages, requests } = await typed(turns, { nativeSchema: false })
    const misfit = '{"error":"The answer does not fit the schema: n: Not a number"}'
    const wrong = correction('Invalid input: expected object, received string.')
    expect(events).toEqual([
      ...said('', 'user: Go'),
      'chunk id r1 metadata {"thinking":"Hm"}',
      step(1, 2),
      ...lookedSilently,
      step(2, 1),
      ...said('r2', 'model: "one"'),
      'chunk id r2 metadata {"suppressedText":"Let me look.\\n\\"one\\""}',
      ...startsOver,
      ...said('', wrong),
      step(1, 1, { inputTokens: 1 }),
      ...said('r3', 'model: So: return_result({"n":"x"})#r3'),
      'tool.call r3 {"type":"toolCall","id":"r3","name":"return_result","arguments":{"n":"x"}}',
      `tool.result r3 {"type":"toolResult","id":"r3","name":"return_result","result":${JSON.stringify(misfit)},"isError":true}`,
      ...said('r3', `user: r3 failed=${misfit}`),
      step(2, 1, { inputTokens: 1 }),
      ...said('r4', 'model: Now: return_result({"n":1})#r4'),
      'tool.call r4 {"type":"toolCall","id":"r4","name":"return_result","arguments":{"n":1}}',
      'tool.result r4 {"type":"toolResult","id":"r4","name":"return_result","result":"{\\"n\\":1}"}',
      ...said('r4', 'user: r4={"n":1}'),
      ...said('r4', 'model:'),
      'chunk id r4 metadata {"suppressedText":"So:\\nNow:"}',
      'chunk id r4 output {"n":1}',
      'chunk id r4 finishReason stop rawFinishReason tool_calls usage {"inputTokens":2}',
    ])
    expect(output).toEqual({
      status: 'complete',
      id: 'r4',
      output: '{"n":1}',
      answer: '{"n":1}',
      finishReason: 'stop',
      rawFinishReason: 'tool_calls',
      metadata: { thinking: 'Hm', suppressedText: 'So:\nNow:' },
      usage: { inputTokens: 2 },
    })
    expect(messages.slice(3)).toEqual([
      'model: "one"',
      wrong,
      'model: So: return_result({"n":"x"})#r3',
      `user: r3 failed=${misfit}`,
      'model: Now: return_result({"n":1})#r4',
      'user: r4={"n":1}',
      'model:',
    ])
    expect(requests.map(askedFor)).toEqual(Array(4).fill([['echo', 'return_result'], 'required', undefined]))
    expect(requests[2]?.messages.map(lineOf)).toEqual(messages.slice(0, 5))
  })
})

describe('a typed run', () => {
  test('takes nothing back when the model called a tool without a word', async () => {
    const silent: ScriptTurn = [{ toolCall: { id: 'a', name: 'echo' } }]
    const { events } = await typed([silent, '{"n":1}'])
    expect(events.filter((line) => line.includes('restart'))).toEqual([])
  })

  test('has no metadata of text that there was not', async () => {
    const silent: ScriptTurn = [{ toolCall: { id: 'r', name: 'return_result', arguments: { n: 1 } } }]
    const { events, output } = await typed([silent], { nativeSchema: false })
    expect(output.metadata).toEqual({})
    expect(events.filter((line) => line.includes('suppressed'))).toEqual([])
  })

  test('answers with the last call that fits, not with words or calls after it', async () => {
    const both: ScriptTurn = [
      { toolCall: { id: 'a', name: 'return_result', arguments: { n: 1 } } },
      { toolCall: { id: 'b', name: 'return_result', arguments: { n: 2 } } },
      { toolCall: { id: 'c', name: 'return_result', arguments: { n: 'x' } } },
      { toolCall: { id: 'd', name: 'echo', arguments: { n: 3 } } },
    ]
    expect((await typed([both], { nativeSchema: false })).output.output).toBe('{"n":2}')
  })

  test.each([
    ['native', {}, []],
    ['through return_result', { nativeSchema: false }, []],
    ['in two phases', { schemaWithTools: false }, ['One.']],
  ] satisfies [string, Partial<ModelProfile>, ScriptTurn[]][])(
    '%s fails after the second misfit, with the last answer',
    async (_, profile, before) => {
      const { events, output } = await typed([...before, '{"n":"x"}', '{"n":"y"}'], profile)
      expect(output).toMatchObject({
        status: 'failed',
        finishReason: 'error',
        error: {
          name: 'OutputValidationError',
          message: 'The answer does not fit the schema: n: Not a number',
          rawOutput: '{"n":"y"}',
        },
      })
      expect(events.at(-1)).toBe('chunk finishReason error rawFinishReason stop')
      expect(events.filter((line) => line.includes('restart'))).toHaveLength(1)
    },
  )

  test('has an empty text to show for a model that said nothing at all', async () => {
    const { output } = await typed([[{ thinking: 'Hm' }], [{ thinking: 'Hm' }]])
    expect(output).toMatchObject({
      error: { message: 'The answer does not fit the schema: The answer is empty.', rawOutput: '' },
    })
  })

  test('needs no tools: a model that takes a schema or tools is then asked once', async () => {
    const model = scriptedModel(['{"n":1}'], { profile: { schemaWithTools: false } })
    const machine = createPhasedMachine(typedOutputPhases(orchestratorParts({ model })))
    const actor = createActor(withValues(machine, { answerSchema }), { input }).start()
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: '{"n":1}' })
    expect(model.requests.map(askedFor)).toEqual([[undefined, undefined, jsonSchema]])
  })

  test('that lost its schema says how to resume it, and where it was', async () => {
    const machine = createPhasedMachine(typedOutputPhases(orchestratorParts({ model: scriptedModel(['1']) })))
    const actor = createActor(machine, { input }).start()
    expect(await endOf(actor)).toMatchObject({
      status: 'failed',
      error: {
        name: 'ConfigurationError',
        message: expect.stringContaining('with the schema'),
        orchestrator: 'typed-output',
        state: 'Checking',
      },
    })
  })

  test.each([
    ['native', {}],
    ['through return_result', { nativeSchema: false }],
    ['in two phases', { schemaWithTools: false }],
  ])('%s cannot have a tool with the name of ours', (_, profile) => {
    const tools = [recorder('return_result').tool]
    const parts = orchestratorParts({ model: scriptedModel([], { profile }), tools })
    expect(() => typedOutputPhases(parts)).toThrow(/"return_result" where typed output .* rename it/)
  })
})
