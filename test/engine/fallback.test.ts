import { describe, expect, test } from 'vitest'
import { createActor, SimulatedClock } from 'xstate'
import { type AgentMachineConfig, createAgentMachine } from '../../machines/index.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { ModelError } from '../../src/messages/errors.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { createToolExecutor, type ToolExecutor } from '../../src/tools/toolExecutor.ts'
import { gated, recorder } from './sampleTools.ts'
import { collect, endOf, idle, rejection } from './watching.ts'

const refused: ScriptTurn = [{ error: { status: 401, message: 'no key' } }]
const call: ScriptTurn = [{ toolCall: { id: 'a', name: 'echo' } }]

const models = (first: ScriptTurn[], ...rest: ScriptTurn[][]) => {
  const model = scriptedModel(first)
  const fallback = rest.map((turns, index) => scriptedModel(turns, { model: `second-${index}` }))
  return { model, fallback, all: [model, ...fallback] }
}

const texts = (chunks: { output: string }[]) =>
  chunks.map(({ output }) => output).filter((text) => text !== '')

describe('a fallback model', () => {
  test('answers when the first one fails before anything was shown, and listeners get an event', async () => {
    const { model, fallback, all } = models([refused], ['ok'])
    const actor = new Agent(model, { fallback }).actor({ prompt: 'Go' })
    const emitted: unknown[] = []
    actor.on('fallback', (event) => emitted.push(event))
    actor.start()
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'ok' })
    expect(emitted).toMatchObject([
      { provider: 'scripted', model: 'second-0', restart: false, error: { status: 401 } },
    ])
    for (const each of all) each.assertDone()
  })

  test('comes only after the retries of the one before', async () => {
    const failing: ScriptTurn = [{ error: { retryable: true, retryAfterMs: 0 } }]
    const { model, fallback, all } = models([failing, failing, failing], [failing, 'ok'])
    expect((await new Agent(model, { fallback }).send('Go')).output).toBe('ok')
    for (const each of all) each.assertDone()
  })

  test('keeps answering in the later steps of the run, but a new run begins with the first', async () => {
    const { model, fallback, all } = models([refused, 'first again'], [call, 'ok'])
    const agent = new Agent(model, { fallback, tools: [recorder().tool] })
    expect((await agent.send('Go')).output).toBe('ok')
    expect((await agent.send('Go')).output).toBe('first again')
    for (const each of all) each.assertDone()
  })

  test('is not used once something was shown', async () => {
    const { model, fallback } = models([[{ text: 'Hal' }, { error: { message: 'boom' } }]], ['never'])
    await rejection(new Agent(model, { fallback }).send('Go'), ModelError)
    expect(fallback[0]?.requests).toEqual([])
  })

  test('is used all the same with retry.midStream, and the restart is shown', async () => {
    const { model, fallback } = models([[{ text: 'Hal' }, { error: { message: 'boom' } }]], ['Whole'])
    const chunks = await collect(new Agent(model, { fallback, retry: { midStream: true } }).sendStream('Go'))
    expect(texts(chunks)).toEqual(['Hal', 'Whole'])
    expect(chunks.filter(({ metadata }) => metadata.restart === true)).toHaveLength(1)
  })

  test('that fails as well gives the last error', async () => {
    const { model, fallback } = models(
      [refused],
      [[{ error: { message: 'second' } }]],
      [[{ error: { message: 'third' } }]],
    )
    expect((await rejection(new Agent(model, { fallback }).send('Go'), ModelError)).message).toBe('third')
  })

  test('is not tried when the time of the run is over', async () => {
    const clock = new SimulatedClock()
    const { model, fallback } = models([[{ hang: true }]], ['never'])
    const sent = expect(
      new Agent(model, { fallback, clock, timeouts: { totalMs: 10 } }).send('Go'),
    ).rejects.toMatchObject({
      name: 'TimeoutError',
    })
    await idle()
    clock.increment(10)
    await sent
    expect(fallback[0]?.requests).toEqual([])
  })

  test('is still the one that answers after the run was restored', async () => {
    const config = (first: ScriptTurn[], second: ScriptTurn[]): AgentMachineConfig => {
      const { model, fallback } = models(first, second)
      return { model, fallback, tools: [recorder().tool] }
    }
    const actor = createActor(createAgentMachine(config([refused], [[{ text: 'a' }, { hang: true }]])), {
      input: { prompt: 'Go' },
    })
    actor.start()
    await idle()
    const snapshot = JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))
    actor.stop()
    const again = createActor(createAgentMachine(config([], ['ok'])), { input: {}, snapshot })
    again.start()
    expect(await endOf(again)).toMatchObject({ status: 'complete', output: 'ok' })
  })
})

describe('a tool that ends the run', () => {
  const ending = (execute: () => unknown) =>
    tool({ name: 'finish', description: 'Ends', endsRun: true, execute })
  const turn: ScriptTurn = [
    { toolCall: { id: 'a', name: 'finish' } },
    { toolCall: { id: 'b', name: 'echo' } },
  ]

  test('completes it after the round, and every call has its result', async () => {
    const model = scriptedModel([turn])
    const result = await new Agent(model, { tools: [ending(() => 'end'), recorder().tool] }).send('Go')
    expect(result.finishReason).toBe('stop')
    expect(result.messages.flatMap(toolResultsOf)).toHaveLength(2)
    expect(validateHistory(result.messages)).toEqual([])
    model.assertDone()
  })

  test('does not when it fails', async () => {
    const failing = ending(() => {
      throw new Error('not yet')
    })
    const result = await new Agent(scriptedModel([turn, 'went on']), {
      tools: [failing, recorder().tool],
    }).send('Go')
    expect(result.output).toBe('went on')
  })
})

describe('an agent as a tool', () => {
  const ask: ScriptTurn = [
    { toolCall: { id: 'a', name: 'expert', arguments: { prompt: 'Why?' } } },
    { usage: { inputTokens: 1 } },
  ]
  const options = { name: 'expert', description: 'Knows things' }
  const outer = (inner: Agent, turns: ScriptTurn[] = [ask, 'So it is.']) =>
    new Agent(scriptedModel(turns), { tools: [inner.asTool(options)] })

  test('answers with its text, and its usage counts', async () => {
    const model = scriptedModel([[{ text: 'Because.' }, { usage: { inputTokens: 10 } }]])
    const { messages, usage, output } = await outer(new Agent(model)).send('Go')
    expect(model.requests[0]?.messages).toEqual([{ role: 'user', parts: [{ type: 'text', text: 'Why?' }] }])
    expect(messages.flatMap(toolResultsOf)[0]?.result).toBe('Because.')
    expect(usage).toEqual({ inputTokens: 11 })
    expect(output).toBe('So it is.')
  })

  test('that fails is an error result, and what it used still counts', async () => {
    const inner = new Agent(
      scriptedModel([[{ text: 'x' }, { usage: { inputTokens: 10 } }, { error: { message: 'inner boom' } }]]),
    )
    const { messages, usage } = await outer(inner).send('Go')
    expect(messages.flatMap(toolResultsOf)[0]).toMatchObject({
      isError: true,
      result: expect.stringContaining('inner boom'),
    })
    expect(usage).toEqual({ inputTokens: 11 })
  })

  test('is aborted with the outer run: its request is closed and its tools are signalled', async () => {
    const slow = gated()
    const model = scriptedModel([[{ toolCall: { id: 'x', name: 'slow' } }]])
    const controller = new AbortController()
    const sent = outer(new Agent(model, { tools: [slow.tool] })).send('Go', { signal: controller.signal })
    const failed = expect(sent).rejects.toMatchObject({ name: 'AbortedError' })
    await idle(10)
    controller.abort()
    await failed
    expect(slow.signals.get('x')?.aborted).toBe(true)
    const hanging = scriptedModel([[{ text: 'x' }, { hang: true }]])
    const actor = outer(new Agent(hanging)).actor({ prompt: 'Go' })
    actor.start()
    await idle(10)
    actor.stop()
    await idle()
    expect(hanging.closed).toBe(1)
  })

  test('that needs an approval in an executor of the user that cannot wait is an error result', async () => {
    const risky = tool({ name: 'risky', description: '', needsApproval: true, execute: () => 'never' })
    const inner = new Agent(scriptedModel([[{ toolCall: { id: 'x', name: 'risky' } }]]), { tools: [risky] })
    const { executeSingle } = createToolExecutor()
    const toolExecutor: Partial<ToolExecutor> = {
      executeBatch: (calls, ...rest) => Promise.all(calls.map((each) => executeSingle(each, ...rest))),
    }
    const outcome = await Promise.race([
      new Agent(scriptedModel([ask, 'So it is.']), { tools: [inner.asTool(options)], toolExecutor }).send(
        'Go',
      ),
      idle(200),
    ])
    expect(outcome?.messages.flatMap(toolResultsOf)[0]).toMatchObject({
      isError: true,
      result: expect.stringContaining('risky'),
    })
  })
})
