/** Waits are spans of the trace; a run that is stored meanwhile continues in another trace, under the same id. */
import { expect, test } from 'vitest'
import { createMachine, fromPromise } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { observe } from './observed.ts'

const call: ScriptTurn = [{ toolCall: { id: 'a', name: 'erase' } }]
const erase = tool({ name: 'erase', description: 'Erases', needsApproval: true, execute: () => 'gone' })

test('an approval that a person gives later', async () => {
  const observed = observe()
  const agent = new Agent(scriptedModel([call, 'Done']), { tools: [erase], inspect: telemetry() })
  const run = agent.start('Go')
  run.on('tool.approval', ({ callId }) => queueMicrotask(() => run.approve(callId)))
  await run.result
  expect(observed.tree().split('\n')).toEqual([
    'invoke_agent',
    '  chat script',
    '  wait approval',
    '  execute_tool erase',
    '  chat script',
  ])
  expect(observed.span('wait approval').attributes).toEqual({
    'statewire.wait.kind': 'approval',
    'statewire.wait.tools': ['erase'],
  })
})

test('an approval that a function of the program gives', async () => {
  const observed = observe()
  const agent = new Agent(scriptedModel([call, 'Well']), {
    tools: [erase],
    onApproval: async () => false,
    inspect: telemetry(),
  })
  await agent.send('Go')
  // A call that is rejected does not run.
  expect(observed.tree().split('\n')).toEqual([
    'invoke_agent',
    '  chat script',
    '  wait approval',
    '  chat script',
  ])
})

test('a run that is stored while it waits, and continues elsewhere', async () => {
  const observed = observe()
  const agent = new Agent(scriptedModel([call, 'Done']), { tools: [erase], inspect: telemetry() })
  const { pendingApproval } = await agent.send('Go', { id: 'job' })
  expect(observed.tree()).toBe('invoke_agent\n  chat script\n  wait approval')
  expect(observed.span('invoke_agent').attributes).toMatchObject({
    'statewire.run.id': 'job',
    'statewire.run.status': 'waiting',
  })
  if (!pendingApproval) throw new Error('It does not wait.')
  await agent.resume(JSON.parse(JSON.stringify(pendingApproval)), { a: true })
  const [, ...later] = observed.tree().split('invoke_agent')
  expect(later[1]).toBe('\n  wait approval\n  execute_tool erase\n  chat script')
  const [first, second] = observed.spans.filter(({ name }) => name === 'invoke_agent')
  expect(second?.attributes).toMatchObject({ 'statewire.run.id': 'job', 'statewire.run.status': 'complete' })
  expect(second?.spanContext().traceId).not.toBe(first?.spanContext().traceId)
})

test('the answer of an external tool', async () => {
  const observed = observe()
  const ask = tool({ name: 'ask_user', description: 'Asks' })
  const agent = new Agent(scriptedModel([[{ toolCall: { id: 'a', name: 'ask_user' } }], 'Thanks']), {
    tools: [ask],
    inspect: telemetry(),
  })
  const run = agent.start('Go')
  run.on('tool.external', ({ callId }) => queueMicrotask(() => run.answer(callId, 'blue')))
  await run.result
  expect(observed.tree()).toBe('invoke_agent\n  chat script\n  wait answer\n  chat script')
})

test('the wait of a sub-agent is its own', async () => {
  const observed = observe()
  const inner = new Agent(scriptedModel([call, 'Done']), { name: 'janitor', tools: [erase] })
  const agent = new Agent(
    scriptedModel([[{ toolCall: { id: 'j', name: 'clean', arguments: { prompt: 'All' } } }], 'Fine']),
    { tools: [inner.asTool({ name: 'clean', description: 'Cleans' })], inspect: telemetry() },
  )
  const run = agent.start('Go')
  run.on('tool.approval', ({ callId }) => queueMicrotask(() => run.approve(callId)))
  await run.result
  expect(observed.tree().split('\n')).toEqual([
    'invoke_agent',
    '  chat script',
    '  execute_tool clean',
    '    invoke_agent janitor',
    '      chat script',
    '      wait approval',
    '      execute_tool erase',
    '      chat script',
    '  chat script',
  ])
})

test('a check of the policy, whose verdicts are events of the run', async () => {
  const policy = createMachine({
    initial: 'Open',
    states: {
      Open: { on: { 'look.call': 'Checking' } },
      Checking: {
        tags: 'hold',
        invoke: { src: fromPromise(async () => {}), onDone: 'Open', onError: 'Bad' },
      },
      Bad: { tags: 'refuse' },
    },
  })
  const observed = observe()
  const look = tool({ name: 'look', description: 'Looks', execute: () => 'a view' })
  const model = scriptedModel([[{ toolCall: { id: 'a', name: 'look' } }], 'Done'])
  await new Agent(model, { tools: [look], policy, inspect: telemetry() }).send('Go')
  expect(observed.tree().split('\n')).toEqual([
    'invoke_agent',
    '  chat script',
    '  wait policy',
    '  execute_tool look',
    '  chat script',
  ])
  const { events } = observed.span('invoke_agent')
  expect(events.map(({ name, attributes }) => [name, attributes?.['statewire.policy.item']])).toEqual([
    ['statewire.policy', 'a'],
    ['statewire.policy', 'a'],
    ['statewire.policy', 'answer'],
  ])
})
