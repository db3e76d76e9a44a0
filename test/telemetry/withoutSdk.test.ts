/** Telemetry only watches: without an SDK nothing happens, and an SDK that breaks does not break the run. */
import { type Context, context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import { expect, onTestFinished, test } from 'vitest'
import { createActor, toPromise } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { type TelemetryOptions, telemetry } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { expectNothingUnhandled } from '../proof/interrupting.ts'
import { observe } from './observed.ts'

expectNothingUnhandled()

const work = tool({
  name: 'work',
  description: 'Works',
  execute: () => trace.getActiveSpan()?.isRecording() ?? 'none',
})
const agentWith = (options: TelemetryOptions) =>
  new Agent(scriptedModel([[{ toolCall: { id: 'a', name: 'work' } }], 'Done']), {
    tools: [work],
    inspect: telemetry(options),
  })

test('a run without an SDK is as it was', async () => {
  const { output, messages } = await agentWith({ captureContent: true }).send('Go')
  expect(output).toBe('Done')
  expect(messages[2]?.parts).toMatchObject([{ result: 'none' }])
})

test('an SDK that is set up later is used from then on', async () => {
  const agent = new Agent(scriptedModel(['One', 'Two']), { inspect: telemetry() })
  await agent.send('1')
  const observed = observe()
  await agent.send('2')
  expect(observed.tree()).toBe('invoke_agent\n  chat script')
  expect(await observed.measured()).not.toEqual([])
})

const fail = () => {
  throw new Error('the SDK is broken')
}

test.each(['onStart', 'onEnd'])('a processor whose %s throws does not break the run', async (broken) => {
  const processor = {
    onStart: (_: object, __: Context) => {},
    onEnd: () => {},
    forceFlush: async () => {},
    shutdown: async () => {},
    [broken]: fail,
  }
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [processor] }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  onTestFinished(() => {
    trace.disable()
    context.disable()
  })
  expect((await agentWith({}).send('Go')).output).toBe('Done')
  // Outside of an agent, the run is not protected from its inspector.
  const { machine } = new Agent(scriptedModel(['Done']))
  const actor = createActor(machine, { input: { prompt: 'Go' }, inspect: telemetry() })
  actor.start()
  expect(await toPromise(actor)).toMatchObject({ status: 'complete' })
})

test('attributes that cannot be made are left out', async () => {
  const observed = observe()
  await agentWith({ attributes: fail }).send('Go')
  expect(observed.tree()).toContain('execute_tool work')
})

test.each([{ captureContent: 1 }, { metrics: 'no' }, { attributes: 's1' }, { attributes: null }])(
  'refuses %j',
  (options) => {
    expect(() => Reflect.apply(telemetry, undefined, [options])).toThrow(ConfigurationError)
  },
)
