/** The error of a run says where it came from: who was asked, or which part of the engine broke. */
import { expect, test } from 'vitest'
import { createActor, fromPromise } from 'xstate'
import { type AgentMachineConfig, createAgentMachine } from '../../machines/index.ts'
import { type Accumulator, messageAccumulator } from '../../src/model/accumulator.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { recorder } from './sampleTools.ts'
import { type AgentActor, endOf } from './watching.ts'

const machineOf = (turns: ScriptTurn[], config: Partial<AgentMachineConfig>) =>
  createAgentMachine({
    model: scriptedModel(turns),
    tools: [recorder().tool],
    retry: { maxRetries: 0 },
    name: 'ada',
    ...config,
  })

const errorOf = async (machine: ReturnType<typeof machineOf>) => {
  const actor: AgentActor = createActor(machine, { input: { prompt: 'Go' } })
  actor.start()
  const output = await endOf(actor)
  return output.status === 'failed' ? output.error : undefined
}

const gone: ScriptTurn = [{ error: { message: 'gone' } }]
const call: ScriptTurn = [{ toolCall: { id: 'a', name: 'echo' } }]
const failed = { name: 'ModelError', message: 'gone', provider: 'scripted', model: 'script', agent: 'ada' }
const second = () => scriptedModel([gone], { provider: 'other', model: 'second' })

const broken = () => {
  throw new RangeError('bad')
}
const brokenIn = (state: string) => ({
  name: 'OrchestrationError',
  message: 'bad',
  agent: 'ada',
  orchestrator: 'agent',
  state,
  retryable: false,
  cause: { name: 'RangeError', message: 'bad' },
})
/** Breaks at one of the reads. */
const reading = (broken: number): Accumulator => {
  let reads = 0
  return {
    ...messageAccumulator,
    accumulate: (...args) => {
      reads += 1
      if (reads === broken) throw new RangeError('bad')
      return messageAccumulator.accumulate(...args)
    },
  }
}

test.each<[string, ScriptTurn[], Partial<AgentMachineConfig>, object]>([
  ['the model', [gone], {}, failed],
  ['the model in a later step', [call, gone], {}, failed],
  [
    'the model that was chosen for the step',
    [],
    { prepareStep: () => ({ model: second() }) },
    {
      ...failed,
      provider: 'other',
      model: 'second',
    },
  ],
  ['the last fallback', [gone], { fallback: [second()] }, { ...failed, provider: 'other', model: 'second' }],
  [
    'what the provider says of itself',
    [[{ error: { message: 'gone', model: 'its name' } }]],
    {},
    {
      ...failed,
      model: 'its name',
    },
  ],
  [
    'the first read',
    [[{ text: 'a' }, { hang: true }]],
    { accumulator: reading(1) },
    brokenIn('Accumulating'),
  ],
  [
    'a later read',
    [[{ text: 'a' }, { text: 'b' }, { hang: true }]],
    { accumulator: reading(2) },
    brokenIn('Accumulating'),
  ],
  [
    'the making of the message',
    ['a'],
    { accumulator: { ...messageAccumulator, consolidate: broken } },
    brokenIn('Consolidating'),
  ],
])('a failure of %s', async (_, turns, config, error) => {
  expect(await errorOf(machineOf(turns, config))).toEqual(error)
})

test('a failure of an executor in place of ours', async () => {
  const toolExecutor = fromPromise(async () => broken())
  const error = await errorOf(machineOf([call], {}).provide({ actors: { toolExecutor } }))
  expect(error).toEqual(brokenIn('ToolExecution'))
})

test('an agent without a name is not named', async () => {
  const machine = createAgentMachine({ model: scriptedModel([gone]) })
  const { agent: _, ...nameless } = failed
  expect(await errorOf(machine)).toStrictEqual(nameless)
})

test('an end without an end of the stream', async () => {
  const error = await errorOf(machineOf([[{ text: 'a' }, { cut: true }]], {}))
  expect(error).toEqual({
    ...failed,
    message: 'The stream ended before the answer was complete.',
    code: 'truncated',
    retryable: true,
  })
})
