import { describe, expect, test } from 'vitest'
import { type AnyActorRef, SimulatedClock } from 'xstate'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { AbortedError } from '../../src/messages/errors.ts'
import { textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { gated } from './sampleTools.ts'
import { type AgentActor, endOf, idle, rejection, watch } from './watching.ts'

const script: ScriptTurn[] = [
  [
    { text: 'Let me ' },
    { text: 'look.' },
    { toolCall: { id: 'a', name: 'slow' } },
    { toolCall: { id: 'b', name: 'slow' } },
  ],
  [{ thinking: 'hm' }, { text: 'Once more.' }, { toolCall: { id: 'c', name: 'slow' } }],
  [{ text: 'Do' }, { text: 'ne.' }],
]

/** A tool loop whose slow tools answer by themselves, a moment after they are called. */
const toolLoop = (options: AgentOptions = {}) => {
  const slow = gated()
  const model = scriptedModel(script)
  const agent = new Agent(model, { tools: [slow.tool], toolExecution: 'parallel', ...options })
  const release = (actor: AgentActor) =>
    actor.on('tool.call', ({ callId }) => setImmediate(() => slow.release(callId)))
  return { slow, model, agent, release }
}

const runningChildren = (actor: AgentActor): string[] =>
  Object.values<AnyActorRef>(actor.getSnapshot().children).flatMap((child) =>
    child?.getSnapshot().status === 'active' ? [child.id] : [],
  )

/** How many snapshots an undisturbed run shows: each is a point to abort at. */
const countPoints = async (): Promise<number> => {
  const { agent, release } = toolLoop()
  const actor = agent.actor({ prompt: 'Go' })
  const { snapshots } = watch(actor)
  release(actor)
  actor.start()
  await endOf(actor)
  return snapshots.length
}

/** Starts the loop and calls `act` inside the observer of snapshot number `point`. */
const interruptAt = (point: number, act: (actor: AgentActor) => void) => {
  const parts = toolLoop()
  const actor = parts.agent.actor({ prompt: 'Go' })
  const watched = watch(actor)
  parts.release(actor)
  let seen = 0
  actor.subscribe(() => {
    seen += 1
    if (seen === point + 1) act(actor)
  })
  actor.start()
  return { ...parts, actor, watched }
}

describe('13: abort at every point of a tool loop', () => {
  test('by the event: one final state, one final chunk, all closed, a valid history, and the next run works', async () => {
    const points = await countPoints()
    expect(points).toBeGreaterThan(15)
    for (let point = 0; point < points - 1; point += 1) {
      const { actor, watched, model, slow } = interruptAt(point, (running) =>
        running.send({ type: 'abort', reason: 'user' }),
      )
      const output = await endOf(actor)
      await idle(1)
      expect(output).toMatchObject({ status: 'aborted', reason: 'user', finishReason: 'aborted' })
      expect(watched.finals.map(({ finishReason }) => finishReason)).toEqual(['aborted'])
      expect(watched.states.filter((state) => state === 'Aborted')).toHaveLength(1)
      expect(runningChildren(actor)).toEqual([])
      expect(validateHistory(output.messages)).toEqual([])
      // A request that is open at the abort is closed, one that is over is not closed again.
      expect(model.closed).toBe(watched.states.at(-2)?.startsWith('Accumulating') ? 1 : 0)
      for (const [id, signal] of slow.signals) {
        const isAnswered = output.messages
          .flatMap(toolResultsOf)
          .some((result) => result.id === id && !result.isError)
        expect(signal.aborted || isAnswered).toBe(true)
      }
      const requests = model.requests.length
      const emitted = watched.emitted.length
      for (const id of slow.starts) slow.release(id)
      await idle()
      expect([model.requests.length, watched.emitted.length]).toEqual([requests, emitted])
      const again = await new Agent(scriptedModel(['fine'])).send('And now?', {
        history: output.messages.at(-1)?.role === 'model' ? output.messages : [],
      })
      expect(again.output).toBe('fine')
    }
  })

  test('by stopping the actor: nothing is emitted any more, and all is closed', async () => {
    const points = await countPoints()
    for (let point = 0; point < points - 1; point += 1) {
      const { actor, watched, model, slow } = interruptAt(point, (running) => running.stop())
      await idle(8)
      expect(actor.getSnapshot().status).toBe('stopped')
      const emitted = watched.emitted.length
      expect(watched.finals).toEqual([])
      expect(runningChildren(actor)).toEqual([])
      for (const id of slow.starts) slow.release(id)
      await idle()
      expect(watched.emitted.length).toBe(emitted)
      expect(model.closed).toBe(watched.states.at(-1)?.startsWith('Accumulating') ? 1 : 0)
    }
  })

  test('what was shown is kept: partial text as a marked message, and results of tools that finished', async () => {
    const slow = gated()
    const agent = new Agent(scriptedModel(script), { tools: [slow.tool], toolExecution: 'parallel' })
    const actor = agent.actor({ prompt: 'Go' })
    actor.start()
    await idle()
    slow.release('a')
    await idle()
    actor.send({ type: 'abort' })
    const { messages, output } = await endOf(actor)
    expect(output).toBe('Let me look.')
    expect(messages.flatMap(toolResultsOf)).toMatchObject([
      { id: 'a', result: 'done a' },
      { id: 'b', isError: true, result: expect.stringContaining('whether it took effect is unknown') },
    ])
    expect(messages.at(-1)).toEqual({ role: 'model', parts: [], metadata: { interrupted: 'aborted' } })
  })

  test('during text keeps the text so far, marked', async () => {
    const actor = new Agent(scriptedModel([[{ text: 'Half' }, { hang: true }]])).actor({ prompt: 'Go' })
    actor.start()
    await idle()
    actor.send({ type: 'abort', reason: 'enough' })
    const { messages, output } = await endOf(actor)
    expect(output).toBe('Half')
    expect(messages.map(textOf)).toEqual(['Go', 'Half'])
    expect(messages[1]?.metadata).toEqual({ interrupted: 'aborted' })
  })

  test('a second abort changes nothing', async () => {
    const { actor, watched } = interruptAt(3, (running) => {
      running.send({ type: 'abort', reason: 'first' })
      running.send({ type: 'abort', reason: 'second' })
    })
    expect(await endOf(actor)).toMatchObject({ reason: 'first' })
    expect(watched.finals).toHaveLength(1)
  })
})

describe('an AbortSignal', () => {
  test('that is aborted already ends at once: no request, no listener, the reason given', async () => {
    const model = scriptedModel(['never'])
    const signal = AbortSignal.abort(new Error('too late'))
    const error = await rejection(new Agent(model).send('Go', { signal }), AbortedError)
    expect(error.message).toBe('The run was aborted: too late')
    expect(error.partial).toMatchObject({ finishReason: 'aborted', messages: [] })
    await expect(new Agent(model).sendStream('Go', { signal }).next()).rejects.toBeInstanceOf(AbortedError)
    expect(model.requests).toEqual([])
  })

  test('aborts a send at any moment, with the partial result in the error', async () => {
    for (let after = 0; after < 12; after += 1) {
      const actors = new Set<string>()
      const { agent, model, slow } = toolLoop({
        inspect: ({ type, actorRef }) => {
          if (type === '@xstate.actor' && 'id' in actorRef) actors.add(String(actorRef.id))
        },
      })
      const controller = new AbortController()
      const sent = agent.send('Go', { signal: controller.signal })
      const failed = rejection(sent, AbortedError)
      for (let turn = 0; turn < after; turn += 1) await Promise.resolve()
      controller.abort()
      const { partial } = await failed
      expect(validateHistory(partial?.messages ?? [])).toEqual([])
      expect(model.closed).toBe(actors.has('toolExecutor') ? 0 : 1)
      for (const signal of slow.signals.values()) expect(signal.aborted).toBe(true)
    }
  })

  test('makes a stream throw after the chunks that came before', async () => {
    const controller = new AbortController()
    const texts: string[] = []
    const reading = async () => {
      const agent = new Agent(scriptedModel([[{ text: 'one' }, { text: 'two' }, { hang: true }]]))
      for await (const { output, finishReason } of agent.sendStream('Go', { signal: controller.signal })) {
        texts.push(output)
        expect(finishReason).toBe('unspecified')
        if (output === 'two') controller.abort()
      }
    }
    await expect(reading()).rejects.toMatchObject({ name: 'AbortedError', partial: { output: 'onetwo' } })
    expect(texts.filter((text) => text !== '')).toEqual(['one', 'two'])
  })
})

describe('leaving a for await early', () => {
  test('at any chunk closes the request and signals the tools', async () => {
    for (let leaveAt = 0; leaveAt < 4; leaveAt += 1) {
      const { agent, model } = toolLoop()
      let seen = 0
      for await (const _ of agent.sendStream('Go')) if (seen++ === leaveAt) break
      await idle()
      expect(model.requests.length).toBe(1)
    }
    const model = scriptedModel([[{ text: 'a' }, { hang: true }]])
    for await (const { output } of new Agent(model).sendStream('Go')) if (output === 'a') break
    expect(model.closed).toBe(1)
  })

  test('while a tool runs fires its signal', async () => {
    const { agent, slow } = toolLoop()
    for await (const { messages } of agent.sendStream('Go')) {
      if (messages[0]?.role !== 'model') continue
      await idle()
      expect(slow.starts).toEqual(['a', 'b'])
      break
    }
    expect([...slow.signals.values()].map(({ aborted }) => aborted)).toEqual([true, true])
  })
})

describe('abort while the run waits', () => {
  test('during a back-off ends at once and asks no more', async () => {
    const clock = new SimulatedClock()
    const model = scriptedModel([[{ error: { retryable: true } }], 'never'])
    const controller = new AbortController()
    const sent = rejection(
      new Agent(model, { clock }).send('Go', { signal: controller.signal }),
      AbortedError,
    )
    await idle()
    controller.abort()
    expect((await sent).partial?.messages).toHaveLength(1)
    clock.increment(1e9)
    await idle()
    expect(model.requests).toHaveLength(1)
  })

  test('for an approval gives every call a result that says it was not run', async () => {
    const ask = tool({ name: 'ask', description: 'Asks', needsApproval: true, execute: () => 'never' })
    const actor = new Agent(scriptedModel([[{ toolCall: { id: 'a', name: 'ask' } }]]), {
      tools: [ask],
    }).actor({
      prompt: 'Go',
    })
    actor.start()
    await idle()
    actor.send({ type: 'abort' })
    const { messages } = await endOf(actor)
    expect(messages.flatMap(toolResultsOf)[0]?.result).toContain('it was not run')
    expect(validateHistory(messages)).toEqual([])
  })
})
