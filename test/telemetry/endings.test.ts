/** However a run ends, its trace is whole: nothing stays open, and it says what went wrong. */
import { SpanStatusCode } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { createActor } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { idle } from '../engine/watching.ts'
import { observe } from './observed.ts'

const overloaded: ScriptTurn = [{ error: { status: 529, retryable: true, message: 'Overloaded' } }]
const call: ScriptTurn = [{ toolCall: { id: 'a', name: 'work' } }]
const retry = { maxRetries: 2, initialDelayMs: 1 }

test('a request has its retries as events, and is one span', async () => {
  const observed = observe()
  const agent = new Agent(scriptedModel([overloaded, overloaded, 'Hello']), { retry, inspect: telemetry() })
  await agent.send('Hi')
  expect(observed.tree()).toBe('invoke_agent\n  chat script')
  const { events, status } = observed.span('chat script')
  expect(events.map(({ name, attributes }) => [name, attributes])).toEqual([
    ['retry', { 'statewire.attempt': 1, 'statewire.delay_ms': expect.any(Number), 'error.type': '529' }],
    ['retry', { 'statewire.attempt': 2, 'statewire.delay_ms': expect.any(Number), 'error.type': '529' }],
  ])
  expect(status.code).toBe(SpanStatusCode.UNSET)
})

test('another model is another request, and the first names the model that took over', async () => {
  const observed = observe()
  const agent = new Agent(scriptedModel([overloaded], { model: 'big' }), {
    retry: { maxRetries: 0 },
    fallback: [scriptedModel(['Hello'], { provider: 'mistral', model: 'small' })],
    inspect: telemetry(),
  })
  await agent.send('Hi')
  expect(observed.tree()).toBe('invoke_agent\n  chat big !\n  chat small')
  const { events, attributes, status } = observed.span('chat big')
  expect(events.map(({ name, attributes: of }) => [name, of])).toEqual([
    [
      'fallback',
      { 'gen_ai.provider.name': 'mistral_ai', 'gen_ai.request.model': 'small', 'error.type': '529' },
    ],
  ])
  expect(attributes['error.type']).toBe('529')
  // What a provider says of an error may quote the prompt.
  expect(status).toEqual({ code: SpanStatusCode.ERROR })
})

test('another server with the same model is another request, too', async () => {
  const observed = observe()
  const agent = new Agent(scriptedModel([overloaded]), {
    retry: { maxRetries: 0 },
    fallback: [scriptedModel(['Hello'])],
    inspect: telemetry(),
  })
  await agent.send('Hi')
  expect(observed.tree()).toBe('invoke_agent\n  chat script !\n  chat script')
})

test('a run that fails says so, with the error of the request', async () => {
  const observed = observe()
  const agent = new Agent(scriptedModel([[{ text: 'Hel' }, { error: { message: 'Gone' } }]]), {
    inspect: telemetry({ captureContent: true }),
  })
  await expect(agent.send('Hi')).rejects.toThrow('Gone')
  expect(observed.tree()).toBe('invoke_agent !\n  chat script !')
  for (const { attributes, status } of observed.spans) {
    expect(attributes['error.type']).toBe('ModelError')
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: 'Gone' })
  }
  expect(observed.span('invoke_agent').attributes['statewire.run.status']).toBe('failed')
})

test('a run that is refused before its first request has a span as well', async () => {
  const observed = observe()
  const agent = new Agent(scriptedModel([]), { inspect: telemetry() })
  agent.actor({}).start()
  expect(observed.tree()).toBe('invoke_agent !')
  expect(observed.span('invoke_agent').attributes['error.type']).toBe('ConfigurationError')
})

test('a tool that fails is an error of its call, not of the run', async () => {
  const observed = observe()
  const work = tool({
    name: 'work',
    description: 'Works',
    execute: () => {
      throw new Error('No such file: /home/ada/diary')
    },
  })
  const agent = new Agent(scriptedModel([call, [{ toolCall: { name: 'invented' } }], 'Sorry']), {
    tools: [work],
    inspect: telemetry(),
  })
  await agent.send('Go')
  expect(observed.tree().split('\n')).toEqual([
    'invoke_agent',
    '  chat script',
    '  execute_tool work !',
    '  chat script',
    '  execute_tool !',
    '  chat script',
  ])
  const { attributes, status } = observed.span('execute_tool work')
  expect(attributes['error.type']).toBe('tool_error')
  expect(status).toEqual({ code: SpanStatusCode.ERROR })
  expect(observed.span('execute_tool').attributes['gen_ai.tool.name']).toBe('invented')
})

test.each([
  ['while it is answered', [[{ text: 'Hel' }, { hang: true }]] satisfies ScriptTurn[], ['  chat script']],
  ['while a tool runs', [call], ['  chat script', '  execute_tool work']],
])('a run that is aborted %s leaves no span open, and is not an error', async (_, turns, below) => {
  const observed = observe()
  const work = tool({ name: 'work', description: 'Works', execute: () => new Promise(() => {}) })
  const agent = new Agent(scriptedModel(turns), { tools: [work], inspect: telemetry() })
  const run = agent.start('Go')
  const ended = expect(run.result).rejects.toThrow('aborted')
  await idle()
  expect(observed.tree()).not.toContain('invoke_agent')
  run.abort('enough')
  await ended
  expect(observed.tree().split('\n')).toEqual(['invoke_agent', ...below])
  expect(observed.span('invoke_agent').attributes['statewire.run.status']).toBe('aborted')
})

test('an actor that is stopped ends its spans', async () => {
  const observed = observe()
  const agent = new Agent(scriptedModel([[{ hang: true }]]), { inspect: telemetry() })
  const actor = agent.actor({ prompt: 'Hi' })
  actor.start()
  await idle()
  actor.stop()
  expect(observed.tree()).toBe('invoke_agent\n  chat script')
  expect(observed.span('invoke_agent').attributes['statewire.run.status']).toBe('stopped')
})

test('a chart that breaks ends its spans, though XState does not report it to inspectors', async () => {
  const observed = observe()
  const { machine } = new Agent(scriptedModel(['Hello']))
  const broken = machine.provide({
    guards: {
      hasCalls: () => {
        throw new RangeError('broken')
      },
    },
  })
  const actor = createActor(broken, { input: { prompt: 'Hi' }, inspect: telemetry() })
  const thrown = new Promise((resolve) => actor.subscribe({ error: resolve }))
  actor.start()
  expect(await thrown).toHaveProperty('message', 'broken')
  await idle()
  expect(observed.tree()).toBe('invoke_agent !\n  chat script')
  expect(observed.span('invoke_agent').attributes['error.type']).toBe('OrchestrationError')
})

test('a snapshot that cannot continue is a failed run, and one that never starts is not traced', async () => {
  const observed = observe()
  const agent = new Agent(scriptedModel([]), { inspect: telemetry() })
  agent.actor({ prompt: 'never started' })
  expect(() => observed.span('invoke_agent')).toThrow()
  const snapshot = { status: 'active', output: undefined, error: undefined } as const
  await expect(agent.start({ snapshot }).result).rejects.toThrow()
  await idle()
  expect(observed.tree()).toBe('invoke_agent !')
})
