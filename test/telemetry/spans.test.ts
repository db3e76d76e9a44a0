/** Every run is a trace: what it asked, what it ran, and how that ended. */
import { SpanKind, trace } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { modelMessage, userMessage } from '../../src/messages/messages.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { observe } from './observed.ts'

const work = tool({ name: 'work', description: 'Works', execute: (_, { callId }) => `did ${callId}` })
const callOf = (...ids: string[]): ScriptTurn => ids.map((id) => ({ toolCall: { id, name: 'work' } }))

test('has a span for the run, each request and each call, with the attributes of the conventions', async () => {
  const observed = observe()
  const answer: ScriptTurn = [
    { responseId: 'r2' },
    { text: 'Done.' },
    {
      usage: {
        inputTokens: 30,
        outputTokens: 4,
        cachedInputTokens: 20,
        cacheWriteTokens: 5,
        reasoningTokens: 2,
      },
    },
  ]
  const agent = new Agent(scriptedModel([callOf('a'), answer], { provider: 'google', model: 'gemini' }), {
    name: 'worker',
    tools: [work],
    temperature: 0.5,
    topP: 0.9,
    maxOutputTokens: 100,
    seed: 7,
    stopSequences: ['END'],
    inspect: telemetry(),
  })
  await agent.send('Go', { id: 'job-1' })

  expect(observed.tree()).toBe(
    ['invoke_agent worker', '  chat gemini', '  execute_tool work', '  chat gemini'].join('\n'),
  )
  const [first, call, second, run] = observed.spans
  const request = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'gcp.gemini',
    'gen_ai.request.model': 'gemini',
    'gen_ai.request.stream': true,
    'gen_ai.request.temperature': 0.5,
    'gen_ai.request.top_p': 0.9,
    'gen_ai.request.max_tokens': 100,
    'gen_ai.request.seed': 7,
    'gen_ai.request.stop_sequences': ['END'],
    'gen_ai.output.type': 'text',
  }
  expect(first?.attributes).toEqual({
    ...request,
    'statewire.step': 1,
    'gen_ai.response.finish_reasons': ['tool_call'],
  })
  expect(second?.attributes).toEqual({
    ...request,
    'statewire.step': 2,
    'gen_ai.response.id': 'r2',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.response.time_to_first_chunk': expect.any(Number),
    'gen_ai.usage.input_tokens': 30,
    'gen_ai.usage.output_tokens': 4,
    'gen_ai.usage.cache_read.input_tokens': 20,
    'gen_ai.usage.cache_creation.input_tokens': 5,
    'gen_ai.usage.reasoning.output_tokens': 2,
  })
  expect(call?.attributes).toEqual({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.provider.name': 'gcp.gemini',
    'gen_ai.tool.name': 'work',
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': 'a',
    'gen_ai.tool.description': 'Works',
  })
  // Without usage: backends add up what the questions used.
  expect(run?.attributes).toEqual({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'worker',
    'gen_ai.provider.name': 'gcp.gemini',
    'statewire.run.id': 'job-1',
    'statewire.run.status': 'complete',
  })
  expect([first, call, second, run].map((span) => span?.kind)).toEqual([
    SpanKind.CLIENT,
    SpanKind.INTERNAL,
    SpanKind.CLIENT,
    SpanKind.INTERNAL,
  ])
  expect(run?.instrumentationScope).toMatchObject({
    name: 'statewire',
    schemaUrl: expect.stringContaining('1.41'),
  })
})

test('is below the span that was active when it began', async () => {
  const observed = observe()
  const agent = new Agent(scriptedModel(['One', 'Two', 'Three']), { inspect: telemetry() })
  await trace.getTracer('test').startActiveSpan('request', async (span) => {
    await agent.send('1')
    await agent.start('2').result
    for await (const _ of agent.sendStream('3')) expect(trace.getActiveSpan()).toBe(span)
    span.end()
  })
  const run = '  invoke_agent\n    chat script'
  expect(observed.tree()).toBe(`request\n${run}\n${run}\n${run}`)
})

test('ends each call with its result, also where calls run at the same time', async () => {
  const observed = observe()
  let open = () => {}
  const isOpen = new Promise<void>((resolve) => {
    open = resolve
  })
  const slow = tool({
    name: 'work',
    description: 'Works',
    execute: async (_, { callId }) => {
      if (callId === 'a') await isOpen
      else open()
      return callId
    },
  })
  const agent = new Agent(scriptedModel([callOf('a', 'b'), 'Done']), {
    tools: [slow],
    toolExecution: 'parallel',
    inspect: telemetry(),
  })
  await agent.send('Go')
  const ended = observed.spans.map(({ attributes, name }) => attributes['gen_ai.tool.call.id'] ?? name)
  expect(ended).toEqual(['chat script', 'b', 'a', 'chat script', 'invoke_agent'])
})

test('has the calls of an executor that takes a turn as a whole', async () => {
  const observed = observe()
  let active: unknown
  const agent = new Agent(scriptedModel([callOf('a', 'b', 'c'), 'Done']), {
    tools: [work],
    toolExecutor: {
      executeBatch: async ([a, b], _, { onResult }) => {
        if (!a || !b) return []
        onResult?.({ type: 'toolResult', id: a.id, name: a.name, result: 'one' })
        active = trace.getActiveSpan()
        return [{ type: 'toolResult', id: b.id, name: b.name, result: 'two', isError: true }]
      },
    },
    inspect: telemetry(),
  })
  await agent.send('Go')
  expect(observed.tree().split('\n')).toEqual([
    'invoke_agent',
    '  chat script',
    '  execute_tool work',
    '  execute_tool work !',
    // It was not given a result.
    '  execute_tool work !',
    '  chat script',
  ])
  expect(active).toHaveProperty('name', 'invoke_agent')
})

test('marks the request that asks for a value', async () => {
  const observed = observe()
  const agent = new Agent(scriptedModel(['{"n":1}']), { inspect: telemetry() })
  await agent.sendFor('A number', z.object({ n: z.number() }))
  expect(observed.span('chat script').attributes).toMatchObject({ 'gen_ai.output.type': 'json' })
})

test('has the attributes that the program gives a run on every span', async () => {
  const observed = observe()
  const agent = new Agent(scriptedModel([callOf('a'), 'Done', 'Again']), {
    name: 'worker',
    tools: [work],
    inspect: telemetry({
      attributes: ({ id, agent: name, context }) => ({ 'session.id': `${id} ${name} ${String(context)}` }),
    }),
  })
  await agent.send('Go', { id: 'one', context: 'Ada' })
  await agent.send('Go', { id: 'two', context: 'Bob' })
  expect(observed.spans.map(({ attributes }) => attributes['session.id'])).toEqual([
    ...Array.from({ length: 4 }, () => 'one worker Ada'),
    ...Array.from({ length: 2 }, () => 'two worker Bob'),
  ])
})

test('is seen beside another inspector', async () => {
  const observed = observe()
  const seen = new Set<string>()
  const agent = new Agent(scriptedModel(['Hello']), {
    inspect: [({ type }) => void seen.add(type), telemetry({ attributes: { 'session.id': 's' } })],
  })
  await agent.send('Hi')
  expect(seen).toContain('@xstate.snapshot')
  expect(observed.span('invoke_agent').attributes).toMatchObject({ 'session.id': 's' })
})

test('a summary of a long conversation is a separate request', async () => {
  const observed = observe()
  const overflow: ScriptTurn = [
    { error: { message: 'too long', code: 'context_overflow', retryable: false } },
  ]
  const agent = new Agent(scriptedModel([overflow, 'A summary.', 'Done.']), { inspect: telemetry() })
  const long = 'lorem '.repeat(400)
  const history = [1, 2, 3].flatMap(() => [userMessage(long), modelMessage(long)])
  await agent.send('Go', { history })
  expect(observed.tree()).toBe(
    ['invoke_agent', '  chat script !', '  chat script', '  chat script'].join('\n'),
  )
  const chats = observed.spans.filter(({ name }) => name.startsWith('chat'))
  expect(chats.map(({ attributes }) => attributes['statewire.summary'])).toEqual([undefined, true, undefined])
  expect(chats.map(({ attributes }) => attributes['error.type'])).toEqual([
    'ModelError',
    undefined,
    undefined,
  ])
})
