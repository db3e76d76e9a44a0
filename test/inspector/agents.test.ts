import { describe, expect, it } from 'vitest'
import { createActor, toPromise } from 'xstate'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import type { Inspector } from '../../src/inspector/index.ts'
import { Recorder } from '../../src/inspector/Recorder.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { type ScriptTurn, scriptedModel, TransitionCoverage } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/tool.ts'
import { endOf } from '../engine/watching.ts'
import { command, inspecting, listen, momentOf, type PageFeed } from './watching.ts'

const weather = tool({
  name: 'get_weather',
  description: 'Weather',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 21 }),
})

const removal = tool({
  name: 'remove',
  description: 'Removes',
  needsApproval: true,
  execute: () => 'removed',
})

const twoSteps: ScriptTurn[] = [
  [
    { thinking: 'Which ' },
    { thinking: 'tool?' },
    { text: 'Let me ' },
    { text: 'see.' },
    { toolCall: { id: 'call_1', name: 'get_weather', arguments: { city: 'Oslo' } } },
    { usage: { inputTokens: 10, outputTokens: 5 } },
  ],
  [{ text: 'It is ' }, { text: '21 °C.' }, { usage: { inputTokens: 20, outputTokens: 7 } }],
]

const isOver = (feed: PageFeed) =>
  [...feed.actors.values()].some(({ parent, endedAt }) => parent === null && endedAt)

describe('A run of an agent', () => {
  it('is shown without the context of its tools', async () => {
    const recorder = new Recorder([], () => {})
    const { machine } = new Agent(scriptedModel(['ok']))
    const input = { prompt: 'Hello', context: { token: 'hunter2' } }
    await toPromise(createActor(machine, { input, inspect: recorder.inspect }).start())
    const events = [...recorder.actors.values()].flatMap(({ moments }) => moments.map(({ event }) => event))
    expect(events[0]).toMatchObject({ type: 'xstate.init', input: { prompt: 'Hello' } })
    expect(JSON.stringify(events)).not.toContain('hunter2')
  })

  it('shows which settings the model did not get', async () => {
    const warning = {
      setting: 'temperature',
      change: 'omitted' as const,
      message: 'acme:one refuses temperature: it is left out.',
      provider: 'acme',
      model: 'one',
      refusal: 'temperature is not supported',
    }
    const answer = scriptedModel([[{ text: 'Hello' }]])
    const model: ChatModel = {
      ...answer,
      stream: (request, sink) => {
        sink.deltas([{ type: 'warning', warning }])
        return answer.stream(request, sink)
      },
    }
    const inspector = await inspecting()
    const feed = await listen(inspector)
    await new Agent(model, { inspect: inspector.inspect }).send('Hello')
    await feed.until(isOver)
    const said = 'acme:one refuses temperature: it is left out. It said: temperature is not supported'
    expect(feed.attempts).toMatchObject([{ text: 'Hello', warnings: [said] }])
  })

  it('is sent as text, thinking, tool calls, usage and timing of each step', async () => {
    const inspector = await inspecting()
    const feed = await listen(inspector)
    const agent = new Agent(scriptedModel(twoSteps), { tools: [weather], inspect: inspector.inspect })
    const result = await agent.send('Weather in Oslo?')
    await feed.until(isOver)
    expect(feed.attempts).toMatchObject([
      {
        step: 1,
        text: 'Let me see.',
        thinking: 'Which tool?',
        chunks: 4,
        usage: { inputTokens: 10, outputTokens: 5 },
        finish: 'tool_calls',
        isVoid: false,
      },
      { step: 2, text: 'It is 21 °C.', thinking: '', chunks: 2, finish: 'stop' },
    ])
    expect(feed.attempts.map(({ text }) => text).join('\n')).toBe(result.output)
    for (const { startedAt, firstChunkAt, endedAt } of feed.attempts) {
      expect(firstChunkAt).toBeGreaterThanOrEqual(startedAt ?? Number.POSITIVE_INFINITY)
      expect(endedAt).toBeGreaterThanOrEqual(firstChunkAt ?? Number.POSITIVE_INFINITY)
    }
    const [call] = feed.tools.values()
    expect(call).toMatchObject({
      callId: 'call_1',
      name: 'get_weather',
      arguments: { city: 'Oslo' },
      status: 'done',
      result: '{"city":"Oslo","celsius":21}',
    })
    expect(call?.endedAt).toBeGreaterThanOrEqual(call?.startedAt ?? Number.POSITIVE_INFINITY)
    expect(feed.messages.at(-1)?.watched?.usage).toEqual({ inputTokens: 30, outputTokens: 12 })
  })

  it('is a tree of actors, each with its status', async () => {
    const inspector = await inspecting()
    const agent = new Agent(scriptedModel(twoSteps), { tools: [weather], inspect: inspector.inspect })
    await agent.send('Weather in Oslo?')
    const feed = await listen(inspector)
    await feed.until(isOver)
    const root = feed.row('agent')
    expect(root).toMatchObject({
      parent: null,
      title: 'Weather in Oslo?',
      kind: 'agent',
      status: 'done',
      state: 'Complete',
    })
    expect(feed.row('toolExecutor')).toMatchObject({ parent: root?.id, kind: 'other', status: 'stopped' })
    expect(feed.row('call:call_1')).toMatchObject({
      title: 'get_weather',
      parent: feed.row('toolExecutor')?.id,
    })
    expect(feed.row('model')).toMatchObject({ parent: root?.id, kind: 'other', status: 'stopped' })
  })

  it('counts every transition as TransitionCoverage does, reads on the fast path included', async () => {
    const inspector = await inspecting()
    const agent = new Agent(scriptedModel(twoSteps), { tools: [weather] })
    const coverage = new TransitionCoverage(agent.machine)
    const watched = new Agent(agent.model, {
      tools: [weather],
      inspect: (event) => {
        coverage.inspect(event)
        inspector.inspect(event)
      },
    })
    await watched.send('Weather in Oslo?')
    const feed = await listen(inspector)
    await feed.until(isOver)
    const reads = 'agent.Accumulating.Streaming on model.deltas #2'
    const { [reads]: fastPath, ...others } = Object.fromEntries(feed.taken)
    expect(others).toEqual(
      Object.fromEntries([...coverage.counts].filter(([name, count]) => count > 0 && name !== reads)),
    )
    expect(fastPath).toBe((feed.row('agent')?.reads ?? 0) - 2)
  })

  it('can be replayed moment by moment: states, text, calls and context as they were', async () => {
    const inspector = await inspecting()
    const agent = new Agent(scriptedModel(twoSteps), { tools: [weather], inspect: inspector.inspect })
    await agent.send('Weather in Oslo?')
    const feed = await listen(inspector)
    await feed.until(isOver)
    const started = feed.moments.find(({ event }) => event === 'model.done')
    expect(started).toMatchObject({
      states: ['agent', 'agent.ToolExecution', 'agent.ToolExecution.Working'],
      progress: [0, 'Let me see.'.length, 'Which tool?'.length],
    })
    const past = await momentOf(inspector, feed.watched ?? 0, started?.seq ?? 0)
    expect(past).toMatchObject({
      value: { ToolExecution: 'Working' },
      event: { type: 'model.done' },
      context: { step: 1, round: { started: [['call_1']] } },
      tools: [{ callId: 'call_1', status: 'running', result: null, endedAt: null }],
    })
    expect(feed.moments.map(({ path }) => path.join(' → '))).toEqual([
      'MessageReset → Accumulating.Requesting',
      'Accumulating.Streaming',
      'Accumulating.Streaming',
      'Consolidating → ToolCheck → ToolExecution.Working',
      'ToolResults → MessageReset → Accumulating.Requesting',
      'Accumulating.Streaming',
      'Accumulating.Streaming',
      'Consolidating → ToolCheck → Complete',
    ])
  })

  it('shows the changes of the context at a moment', async () => {
    const inspector = await inspecting()
    const agent = new Agent(scriptedModel(twoSteps), { tools: [weather], inspect: inspector.inspect })
    await agent.send('Weather in Oslo?')
    const feed = await listen(inspector)
    await feed.until(isOver)
    const changesAt = (event: string) => feed.moments.find((moment) => moment.event === event)?.changes
    expect(changesAt('model.done')).toContainEqual({ path: 'round.started[0]', after: '["call_1"]' })
    expect(changesAt('tool.finished')).toContainEqual({
      path: 'step',
      before: '1',
      after: '2',
    })
    expect(changesAt('tool.finished')?.[0]?.path).toBe('history[2], messages[2]')
  })

  it('shows a failure, and the answer that was discarded before it', async () => {
    const inspector = await inspecting()
    const model = scriptedModel([
      [{ text: 'Half an ' }, { error: { message: 'overloaded', retryable: true } }],
      [{ error: { message: 'out of order', status: 400 } }],
    ])
    const retry = { maxRetries: 1, initialDelayMs: 1, midStream: true }
    const agent = new Agent(model, { retry, inspect: inspector.inspect })
    await expect(agent.send('Hi')).rejects.toThrow('out of order')
    const feed = await listen(inspector)
    await feed.until(isOver)
    expect(feed.row('agent')).toMatchObject({ status: 'failed', failure: 'ModelError: out of order' })
    expect(feed.attempts).toMatchObject([
      { attempt: 0, text: 'Half an ', isVoid: true, failure: 'overloaded' },
      { attempt: 1, text: '', isVoid: false, failure: 'out of order' },
    ])
  })

  it('shows the text of an orchestrator and of a machine that is made of runs', async () => {
    const inspector = await inspecting()
    const agent = new Agent(scriptedModel(['{"n":', '{"n":1}']), { inspect: inspector.inspect })
    await agent.sendFor('A number', z.object({ n: z.number() }))
    const feed = await listen(inspector)
    await feed.until(isOver)
    expect(feed.row('typed-output')).toMatchObject({ title: 'A number', kind: 'machine', status: 'done' })
    expect(feed.watched).toBe(feed.row('typed-output')?.id)
    expect(feed.attempts.map(({ text }) => text)).toEqual(['{"n":', '{"n":1}'])
    expect(new Set(feed.attempts.map(({ owner }) => owner)).size).toBe(2)
  })

  it('keeps the run of a sub-agent apart, below the call that it answers', async () => {
    const inspector = await inspecting()
    const helper = new Agent(scriptedModel(['A fact.'])).asTool({
      name: 'researcher',
      description: 'Finds facts',
    })
    const turns: ScriptTurn[] = [
      [{ toolCall: { id: 'call_9', name: 'researcher', arguments: { prompt: 'Find out' } } }],
      'Done.',
    ]
    await new Agent(scriptedModel(turns), { tools: [helper], inspect: inspector.inspect }).send('Ask around')
    const feed = await listen(inspector)
    await feed.until(isOver)
    const sub = [...feed.actors.values()].find(({ title }) => title === 'Find out')
    expect(sub).toMatchObject({ kind: 'agent', parent: feed.row('call:call_9')?.id })
    expect(feed.text).toBe('Done.')
    expect(feed.tools.get('call_9')).toMatchObject({ child: sub?.id, result: 'A fact.' })
    const below = await listen(inspector, sub?.id)
    await below.until(({ attempts }) => attempts.length > 0)
    expect(below.text).toBe('A fact.')
  })
})

describe('A person at the page', () => {
  const approving = async (inspector: Inspector) => {
    const turns: ScriptTurn[] = [[{ toolCall: { id: 'call_1', name: 'remove' } }], 'Done.']
    const agent = new Agent(scriptedModel(turns), { tools: [removal], inspect: inspector.inspect })
    const actor = agent.actor({ prompt: 'Clean up' })
    actor.start()
    const feed = await listen(inspector)
    await feed.until(({ tools }) => tools.get('call_1')?.status === 'pending')
    expect(feed.row('agent')).toMatchObject({ status: 'waiting', canAbort: true })
    return { actor, feed, owner: feed.tools.get('call_1')?.owner }
  }

  it('approves a call', async () => {
    const inspector = await inspecting()
    const { actor, feed, owner } = await approving(inspector)
    const response = await command(inspector, { actor: owner, type: 'tool.approve', callId: 'call_1' })
    expect(response.status).toBe(200)
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'Done.' })
    await feed.until(isOver)
    expect(feed.tools.get('call_1')).toMatchObject({ status: 'done', result: 'removed' })
  })

  it('rejects a call, and the model learns why', async () => {
    const inspector = await inspecting()
    const { actor, feed, owner } = await approving(inspector)
    await command(inspector, {
      actor: owner,
      type: 'tool.reject',
      callId: 'call_1',
      reason: 'not on a Friday',
    })
    expect(JSON.stringify((await endOf(actor)).messages)).toContain('not on a Friday')
    await feed.until(isOver)
    expect(feed.tools.get('call_1')).toMatchObject({ status: 'failed' })
  })

  it('aborts a run', async () => {
    const inspector = await inspecting()
    const model = scriptedModel([[{ text: 'On and on ' }, { hang: true }]])
    const actor = new Agent(model, { inspect: inspector.inspect }).actor({ prompt: 'Go' })
    actor.start()
    const feed = await listen(inspector)
    await feed.until(({ text }) => text === 'On and on ')
    await command(inspector, { actor: feed.watched, type: 'abort' })
    expect(await endOf(actor)).toMatchObject({ status: 'aborted' })
    expect(model.closed).toBe(1)
    await feed.until(isOver)
    expect(feed.row('agent')).toMatchObject({ status: 'aborted', canAbort: false })
  })

  it('learns that an actor has ended, or does not accept the command', async () => {
    const inspector = await inspecting()
    const { actor, feed, owner } = await approving(inspector)
    const helper = [...feed.actors.values()].find(({ name }) => name === 'model')?.id
    expect((await command(inspector, { actor: helper, type: 'abort' })).status).toBe(409)
    expect((await command(inspector, { actor: owner, type: 'steer', text: 'x' })).status).toBe(400)
    expect((await command(inspector, { actor: owner, type: 'tool.approve' })).status).toBe(400)
    actor.send({ type: 'abort' })
    const late = await command(inspector, { actor: owner, type: 'tool.approve', callId: 'call_1' })
    expect(late.status).toBe(409)
    expect(await late.text()).toContain('has ended')
  })

  it('sees that a paused run still waits for a decision', async () => {
    const inspector = await inspecting()
    const model = scriptedModel([[{ toolCall: { id: 'call_1', name: 'remove' } }]])
    const { pendingApproval } = await new Agent(model, { tools: [removal], inspect: inspector.inspect }).send(
      'Go',
    )
    expect(pendingApproval).toBeDefined()
    const feed = await listen(inspector)
    await feed.until(({ tools }) => tools.size > 0)
    expect(feed.row('agent')).toMatchObject({ status: 'paused', canAbort: false })
  })
})
