/** Whatever charts a run is made of, or is a part of, it is one trace in its place. */
import { expect, test } from 'vitest'
import { createActor, setup, toPromise } from 'xstate'
import {
  createPhasedMachine,
  historyOf,
  type Orchestrator,
  reflectionOrchestrator,
} from '../../machines/index.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { createDecision } from '../../src/agent/createDecision.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { observe } from './observed.ts'

const work = tool({ name: 'work', description: 'Works', execute: (_, { callId }) => `did ${callId}` })
const callOf = (...ids: string[]): ScriptTurn => ids.map((id) => ({ toolCall: { id, name: 'work' } }))

test('shows sub-agents below the calls that run them, each with its own name and model', async () => {
  const observed = observe()
  const inner = new Agent(scriptedModel([callOf('x'), 'Found'], { model: 'small' }), {
    name: 'finder',
    tools: [work],
  })
  const find = inner.asTool({ name: 'find', description: 'Finds' })
  const outer = new Agent(
    scriptedModel([[{ toolCall: { name: 'find', arguments: { prompt: 'It' } } }], 'Done']),
    {
      name: 'boss',
      tools: [find],
      inspect: telemetry(),
    },
  )
  await outer.send('Go', { id: 'job' })
  expect(observed.tree()).toBe(
    [
      'invoke_agent boss',
      '  chat script',
      '  execute_tool find',
      '    invoke_agent finder',
      '      chat small',
      '      execute_tool work',
      '      chat small',
      '  chat script',
    ].join('\n'),
  )
  expect(observed.span('invoke_agent finder').attributes).toMatchObject({
    'gen_ai.agent.name': 'finder',
    'statewire.run.id': expect.stringMatching(/^job\//),
  })
})

test('is one span for a chart made of runs, whose requests name their phase', async () => {
  const observed = observe()
  const agent = new Agent(scriptedModel(['A draft', 'No flaws. APPROVED', 'Better']), {
    name: 'writer',
    orchestrator: reflectionOrchestrator({ maxRounds: 1 }),
    inspect: telemetry(),
  })
  await agent.send('Write', { id: 'job' })
  const [first, ...rest] = observed.tree().split('\n')
  expect(first).toBe('invoke_agent writer')
  expect(rest.length).toBeGreaterThan(1)
  expect(new Set(rest)).toEqual(new Set(['  chat script']))
  const phases = observed.spans.map(({ attributes }) => attributes['statewire.phase'])
  expect(new Set(phases).size).toBe(rest.length + 1)
  expect(observed.span('invoke_agent writer').attributes).toMatchObject({
    'statewire.run.id': 'job',
    'statewire.run.status': 'complete',
  })
})

test('keeps the name of the whole run, not that of a phase', async () => {
  const observed = observe()
  const orchestrator: Orchestrator = {
    providerHint: 'twice',
    create: ({ lifecycle }) =>
      createPhasedMachine({
        id: 'twice',
        phases: {
          First: { run: lifecycle({ name: 'one' }), input: ({ input }) => input, next: 'Second' },
          Second: {
            run: lifecycle({ name: 'two' }),
            input: (state) => ({ history: historyOf(state), prompt: 'Again' }),
            next: 'Complete',
          },
        },
      }),
  }
  const agent = new Agent(scriptedModel(['A', 'B']), { orchestrator, inspect: telemetry() })
  await agent.send('Go')
  expect(observed.tree()).toBe('invoke_agent twice\n  chat script\n  chat script')
  const phases = observed.spans.map(({ attributes }) => attributes['statewire.phase'])
  expect(phases).toEqual(['First', 'Second', undefined])
})

test('traces agents and decisions in a machine of the user, which is not a run itself', async () => {
  const observed = observe()
  const agent = new Agent(scriptedModel(['Hello']), { name: 'greeter' })
  const decision = createDecision({
    model: scriptedModel([[{ toolCall: { name: 'leave', arguments: {} } }]]),
    events: { leave: { description: 'Leaves' } },
  })
  const app = setup({ actors: { agent: agent.machine, decision } }).createMachine({
    initial: 'Greeting',
    states: {
      Greeting: { invoke: { id: 'greeting', src: 'agent', input: { prompt: 'Hi' }, onDone: 'Choosing' } },
      Choosing: {
        invoke: { id: 'choice', src: 'decision', input: { prompt: 'And now?' } },
        on: { leave: 'Left' },
      },
      Left: { type: 'final' },
    },
  })
  const actor = createActor(app, { inspect: telemetry() })
  actor.start()
  await toPromise(actor)
  expect(observed.tree()).toBe(
    [
      'invoke_agent greeter',
      '  chat script',
      'invoke_agent choice',
      '  chat script',
      '  execute_tool leave',
    ].join('\n'),
  )
})
