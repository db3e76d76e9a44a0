/** The work of a tool or a request is below its span, and nothing else is: not the listeners, not the next run. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type Span, trace } from '@opentelemetry/api'
import { expect, onTestFinished, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { startSimulator } from '../../src/simulator/index.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { observe } from './observed.ts'

const tracer = () => trace.getTracer('test')
const spanId = () => trace.getActiveSpan()?.spanContext().spanId
const traceId = () => trace.getActiveSpan()?.spanContext().traceId

test('spans that a tool makes are below its call, also of calls that run at the same time', async () => {
  const observed = observe()
  const query = tool({
    name: 'query',
    description: 'Asks a database',
    execute: async (_, { callId }) => {
      await new Promise((resolve) => setImmediate(resolve))
      await tracer().startActiveSpan(`SELECT ${callId}`, async (span) => span.end())
      return 'rows'
    },
  })
  const calls: ScriptTurn = ['a', 'b'].map((id) => ({ toolCall: { id, name: 'query' } }))
  const agent = new Agent(scriptedModel([calls, 'Done']), {
    tools: [query],
    toolExecution: 'parallel',
    inspect: telemetry(),
  })
  await agent.send('Go')
  expect(observed.tree().split('\n')).toEqual([
    'invoke_agent',
    '  chat script',
    '  execute_tool query',
    '    SELECT a',
    '  execute_tool query',
    '    SELECT b',
    '  chat script',
  ])
})

test('a run that a tool starts by hand is below its call, too', async () => {
  const observed = observe()
  const other = new Agent(scriptedModel(['Found']), { name: 'other', inspect: telemetry() })
  const ask = tool({ name: 'ask', description: 'Asks', execute: async () => (await other.send('Hi')).output })
  const agent = new Agent(scriptedModel([[{ toolCall: { name: 'ask' } }], 'Done']), {
    name: 'one',
    tools: [ask],
    inspect: telemetry(),
  })
  await agent.send('Go')
  expect(observed.tree().split('\n')).toEqual([
    'invoke_agent one',
    '  chat script',
    '  execute_tool ask',
    '    invoke_agent other',
    '      chat script',
    '  chat script',
  ])
})

/** An agent that asks a server of this process over real sockets, which are kept and used again. */
const overSockets = async () => {
  const simulator = await startSimulator({ delayMs: 0 })
  onTestFinished(() => simulator.close())
  return new Agent('openai:gpt-6-luna', {
    baseUrl: simulator.baseUrl,
    apiKey: 'sk-of-the-test-0123456789',
    inspect: telemetry(),
  })
}

test('a request is sent in the context of its span', async () => {
  const observed = observe()
  const sent: (string | undefined)[] = []
  const note = () => void sent.push(spanId())
  subscribe('undici:request:create', note)
  onTestFinished(() => void unsubscribe('undici:request:create', note))
  const agent = await overSockets()
  await agent.send('Hello')
  const chat = observed.spans.find(({ name }) => name.startsWith('chat'))
  expect(sent).toEqual([chat?.spanContext().spanId])
})

test('listeners are called in the context that began the run, not in that of the socket', async () => {
  observe()
  const agent = await overSockets()
  const asking = (name: string) =>
    tracer().startActiveSpan(name, async (span: Span) => {
      const seen = new Set<string | undefined>()
      const run = agent.start('Hello')
      run.on('*', () => void seen.add(spanId()))
      await run.result
      span.end()
      return { seen, own: span.spanContext().spanId }
    })
  for (const name of ['first', 'second', 'third']) {
    const { seen, own } = await asking(name)
    expect(seen).toEqual(new Set([own]))
  }
})

test('runs at the same time do not mix', async () => {
  const observed = observe()
  const agent = await overSockets()
  const traces = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      tracer().startActiveSpan(`request ${index}`, async (span) => {
        await agent.send('Hello')
        const own = traceId()
        span.end()
        return own
      }),
    ),
  )
  expect(new Set(traces).size).toBe(10)
  expect(observed.tree().match(/request \d\n {2}invoke_agent\n {4}chat /g)).toHaveLength(10)
})
