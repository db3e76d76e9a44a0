import { describe, expect, test } from 'vitest'
import { createActor, SimulatedClock } from 'xstate'
import { type AgentMachineConfig, createAgentMachine } from '../../machines/index.ts'
import { Agent } from '../../src/agent/Agent.ts'
import type { ErrorData } from '../../src/messages/errors.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { recorder } from './sampleTools.ts'
import { endOf, idle, watch } from './watching.ts'

const failing = (error: Partial<ErrorData> = {}): ScriptTurn => [{ error: { retryable: true, ...error } }]

const start = (turns: ScriptTurn[], config: Partial<AgentMachineConfig> = {}) => {
  const clock = new SimulatedClock()
  const model = scriptedModel(turns, { clock })
  const machine = createAgentMachine({ model, tools: [recorder().tool], random: () => 1, ...config })
  const actor = createActor(machine, { input: { prompt: 'Go' }, clock })
  const watched = watch(actor)
  actor.start()
  const pass = async (ms: number) => {
    clock.increment(ms)
    await idle()
  }
  const retries = () => watched.emitted.filter((event) => event.type === 'retry')
  const texts = () => watched.chunks.map(({ output }) => output).filter((text) => text !== '')
  return { model, actor, watched, pass, retries, texts }
}

describe('24: a request that fails before anything was shown', () => {
  test('is tried again after a delay that doubles, and the retry is emitted', async () => {
    const { actor, model, pass, retries } = start([failing({ status: 503 }), failing(), 'ok'])
    await idle()
    expect(model.requests).toHaveLength(1)
    await pass(499)
    expect(model.requests).toHaveLength(1)
    await pass(1)
    expect(model.requests).toHaveLength(2)
    await pass(999)
    expect(model.requests).toHaveLength(2)
    await pass(1)
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'ok' })
    expect(retries()).toMatchObject([
      { attempt: 1, delayMs: 500, restart: false, error: { status: 503 } },
      { attempt: 2, delayMs: 1000, restart: false },
    ])
  })

  test('with the same request', async () => {
    const { actor, model, pass } = start([failing(), 'ok'])
    await idle()
    await pass(500)
    await endOf(actor)
    expect(model.requests[1]).toEqual(model.requests[0])
  })

  test('is not tried again when the error is not retryable', async () => {
    const { actor, model, retries } = start([[{ error: { status: 400 } }]])
    expect(await endOf(actor)).toMatchObject({ status: 'failed', error: { status: 400 } })
    expect(retries()).toEqual([])
    model.assertDone()
  })

  test('fails with the last error when the retries are used up', async () => {
    const { actor, model, pass } = start([failing(), failing(), failing({ message: 'the third' })])
    await idle()
    await pass(500)
    await pass(1000)
    expect(await endOf(actor)).toMatchObject({
      status: 'failed',
      error: { message: 'the third', retryable: true },
    })
    model.assertDone()
  })

  test('waits as long as the provider asks, but no longer than maxDelayMs', async () => {
    const { retries, pass, actor } = start(
      [failing({ retryAfterMs: 7 }), failing({ retryAfterMs: 1e9 }), 'ok'],
      {
        retry: { maxDelayMs: 2000 },
      },
    )
    await idle()
    await pass(7)
    await pass(1999)
    expect(actor.getSnapshot().status).toBe('active')
    await pass(1)
    await endOf(actor)
    expect(retries().map(({ delayMs }) => delayMs)).toEqual([7, 2000])
  })

  test('a wish of 0 is honoured at once', async () => {
    const { retries, pass, actor } = start([failing({ retryAfterMs: 0 }), 'ok'])
    await idle()
    await pass(0)
    await endOf(actor)
    expect(retries()[0]?.delayMs).toBe(0)
  })

  test('a wish for a moment that is past is honoured at once', async () => {
    const { retries, pass, actor } = start([failing({ retryAfterMs: -5 }), 'ok'])
    await idle()
    await pass(0)
    await endOf(actor)
    expect(retries()[0]?.delayMs).toBe(0)
  })

  test('a wish that is not a number does not make the run wait for ever', async () => {
    const { pass, actor } = start([failing({ retryAfterMs: Number.NaN }), 'ok'])
    await idle()
    await pass(60_000)
    expect(actor.getSnapshot().status).toBe('done')
  })

  test('a truncated answer without any text is tried again, and its calls never run', async () => {
    const echo = recorder()
    const cut: ScriptTurn = [{ toolCall: { id: 'a', name: 'echo' } }, { cut: true }]
    const { actor, pass } = start([cut, 'ok'], { tools: [echo.tool] })
    await idle()
    await pass(500)
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'ok' })
    expect(echo.calls).toEqual([])
  })

  test('the count of attempts starts over with each step', async () => {
    const call: ScriptTurn = [{ toolCall: { id: 'a', name: 'echo' } }]
    const { actor, model, pass, retries } = start([failing(), failing(), call, failing(), failing(), 'ok'])
    await idle()
    for (const ms of [500, 1000, 500, 1000]) await pass(ms)
    expect(await endOf(actor)).toMatchObject({ status: 'complete' })
    expect(retries().map(({ attempt }) => attempt)).toEqual([1, 2, 1, 2])
    model.assertDone()
  })

  test('retries are not steps: the step limit does not count them', async () => {
    const { actor, pass } = start([failing(), 'ok'], { maxSteps: 1 })
    await idle()
    await pass(500)
    expect(await endOf(actor)).toMatchObject({ status: 'complete', finishReason: 'stop' })
  })

  test.each([
    [499, 'failed'],
    [500, 'failed'],
    [501, 'complete'],
  ])('with a run that may take %i ms, after a wait of 500: %s', async (totalMs, status) => {
    const { actor, pass } = start([failing(), 'ok'], { timeouts: { totalMs } })
    await idle()
    await pass(500)
    expect((await endOf(actor)).status).toBe(status)
  })

  test('maxRetries 0 means none', async () => {
    const { actor, model } = start([failing()], { retry: { maxRetries: 0 } })
    expect(await endOf(actor)).toMatchObject({ status: 'failed' })
    model.assertDone()
  })

  test('a failure at once is retried with real timers, too', async () => {
    const model = scriptedModel([failing({ retryAfterMs: 1 }), 'ok'])
    expect((await new Agent(model).send('Go')).output).toBe('ok')
  })
})

describe('an answer that breaks after something was shown', () => {
  const half: ScriptTurn = [{ text: 'Hal' }, { error: { retryable: true } }]

  test.each([
    ['text', { text: 'x' }],
    ['thinking', { thinking: 'x' }],
    ['metadata', { metadata: { a: 1 } }],
  ])('%s is never repeated by itself', async (_, shown) => {
    const { actor, model } = start([[shown, { error: { retryable: true } }], 'never'])
    expect(await endOf(actor)).toMatchObject({ status: 'failed' })
    expect(model.requests).toHaveLength(1)
  })

  test('starts over when the user asked for it, and says so first', async () => {
    const { actor, pass, watched, retries } = start([half, 'Whole'], { retry: { midStream: true } })
    await idle()
    await pass(500)
    const { output, messages } = await endOf(actor)
    expect([output, messages.length]).toEqual(['Whole', 2])
    expect(retries()).toMatchObject([{ attempt: 1, restart: true }])
    const order = watched.emitted.flatMap((event) =>
      event.type === 'retry' ? ['retry'] : event.type === 'chunk' && event.output ? [event.output] : [],
    )
    expect(order).toEqual(['Hal', 'retry', 'Whole'])
  })

  test('a restart after a tool round begins with the newline again', async () => {
    const call: ScriptTurn = [{ text: 'Look' }, { toolCall: { id: 'a', name: 'echo' } }]
    const { actor, pass, texts } = start([call, half, 'Whole'], { retry: { midStream: true } })
    await idle()
    await pass(500)
    await endOf(actor)
    expect(texts()).toEqual(['Look', '\nHal', '\nWhole'])
  })

  test('a restart is clean: metadata of the void attempt is not in the result', async () => {
    const first: ScriptTurn = [{ metadata: { citations: ['void'] } }, { error: { retryable: true } }]
    const second: ScriptTurn = [{ metadata: { citations: ['real'] } }, { text: 'ok' }]
    const { actor, pass } = start([first, second], { retry: { midStream: true } })
    await idle()
    await pass(500)
    expect((await endOf(actor)).metadata).toEqual({ citations: ['real'] })
  })

  test('a restart that fails for good keeps only what the last attempt showed', async () => {
    const last: ScriptTurn = [{ text: 'Who' }, { error: { retryable: true } }]
    const { actor, pass } = start([half, last], { retry: { midStream: true, maxRetries: 1 } })
    await idle()
    await pass(500)
    expect(await endOf(actor)).toMatchObject({ status: 'failed', output: 'Who' })
  })

  test('a run that ends while it waits to start over keeps nothing of what was said to be void', async () => {
    const { actor, watched } = start([half, 'never'], { retry: { midStream: true } })
    await idle()
    actor.send({ type: 'abort' })
    expect(await endOf(actor)).toMatchObject({ status: 'aborted', output: '' })
    expect(watched.chunks.filter(({ metadata }) => metadata.restart === true)).toHaveLength(1)
  })

  test('pieces of a call do not prevent a retry, which says that they do not count', async () => {
    const piece = { type: 'toolDelta' as const, index: 0, name: 'echo', arguments: '{"a' }
    const { actor, pass, retries, watched } = start([[{ deltas: [piece] }, { cut: true }], 'Whole'])
    await idle()
    await pass(500)
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'Whole' })
    expect(retries()).toMatchObject([{ restart: true }])
    expect(watched.chunks.filter(({ metadata }) => metadata.restart === true)).toEqual([])
  })
})
