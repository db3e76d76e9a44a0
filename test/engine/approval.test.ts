import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type ToolOptions, tool } from '../../src/tools/tool.ts'
import { recorder } from './sampleTools.ts'
import { endOf, idle, stateName, watch } from './watching.ts'

const asking = (needsApproval: ToolOptions<{ jsonSchema: { type: 'object' } }>['needsApproval']) => {
  const ran: string[] = []
  return {
    ran,
    tool: tool({
      name: 'risky',
      description: 'Asks first',
      input: { jsonSchema: { type: 'object' } },
      ...(needsApproval !== undefined && { needsApproval }),
      execute: (_, { callId }) => {
        ran.push(callId)
        return `ran ${callId}`
      },
    }),
  }
}

const two: ScriptTurn = [
  { toolCall: { id: 'r1', name: 'risky', arguments: { n: 1 } } },
  { toolCall: { id: 'e1', name: 'echo' } },
  { toolCall: { id: 'r2', name: 'risky', arguments: { n: 2 } } },
]

const start = async (needsApproval: Parameters<typeof asking>[0], options: AgentOptions = {}, turn = two) => {
  const risky = asking(needsApproval)
  const echo = recorder()
  const model = scriptedModel([turn, 'ok'])
  const actor = new Agent(model, { tools: [risky.tool, echo.tool], ...options }).actor({ prompt: 'Go' })
  const watched = watch(actor)
  actor.start()
  await idle()
  return { actor, watched, risky, echo, model }
}

describe('approval', () => {
  test('is waited for before any call of the round runs', async () => {
    const { actor, risky, echo } = await start(true)
    expect(stateName(actor.getSnapshot())).toBe('AwaitingApproval')
    expect(actor.getSnapshot().context.round.pendingApprovals).toEqual(['r1', 'r2'])
    expect([risky.ran, echo.calls]).toEqual([[], []])
    actor.stop()
  })

  test('given for every pending call lets the round run once, in call order', async () => {
    const { actor, risky, echo } = await start(true)
    actor.send({ type: 'tool.approve', callId: 'r2' })
    actor.send({ type: 'tool.approve', callId: 'r2' })
    expect(actor.getSnapshot().matches('AwaitingApproval')).toBe(true)
    actor.send({ type: 'tool.approve', callId: 'r1' })
    const { messages } = await endOf(actor)
    expect(risky.ran).toEqual(['r1', 'r2'])
    expect(echo.calls).toEqual(['e1'])
    expect(messages.flatMap(toolResultsOf).map(({ id }) => id)).toEqual(['r1', 'e1', 'r2'])
  })

  test('refused gives an error result with the reason; the others run', async () => {
    const { actor, risky, watched } = await start(true)
    actor.send({ type: 'tool.reject', callId: 'r1', reason: 'too risky' })
    actor.send({ type: 'tool.approve', callId: 'r2' })
    const { messages } = await endOf(actor)
    expect(risky.ran).toEqual(['r2'])
    expect(messages.flatMap(toolResultsOf)).toMatchObject([
      { id: 'r1', isError: true, result: '{"error":"A person rejected this call: too risky"}' },
      { id: 'e1' },
      { id: 'r2', result: 'ran r2' },
    ])
    const emitted = watched.emitted.filter((event) => event.type === 'tool.result')
    expect(emitted.map(({ callId }) => callId)).toEqual(['r1', 'e1', 'r2'])
    expect(validateHistory(messages)).toEqual([])
  })

  test('refused for all calls runs nothing and goes on', async () => {
    const only: ScriptTurn = [{ toolCall: { id: 'r1', name: 'risky' } }]
    const { actor, risky, model } = await start(true, {}, only)
    actor.send({ type: 'tool.reject', callId: 'r1' })
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'ok' })
    expect(risky.ran).toEqual([])
    model.assertDone()
  })

  test('decisions about unknown calls, and decisions at any other time, change nothing', async () => {
    const { actor, risky } = await start(true)
    const before = actor.getSnapshot().context
    actor.send({ type: 'tool.approve', callId: 'e1' })
    actor.send({ type: 'tool.reject', callId: 'unknown' })
    expect(actor.getSnapshot().context).toEqual(before)
    for (const callId of ['r1', 'r2']) actor.send({ type: 'tool.approve', callId })
    actor.send({ type: 'tool.reject', callId: 'r1' })
    await endOf(actor)
    expect(risky.ran).toEqual(['r1', 'r2'])
  })

  test('may depend on the arguments', async () => {
    const { actor } = await start((args) => args.n === 2)
    expect(actor.getSnapshot().context.round.pendingApprovals).toEqual(['r2'])
    actor.stop()
  })

  test('is decided on the arguments that the tool would get: with defaults and coercions', async () => {
    const seen: unknown[] = []
    const wipe = tool({
      name: 'risky',
      description: 'Deletes',
      input: z.object({ force: z.boolean().default(true) }),
      needsApproval: ({ force }) => force,
      execute: (args) => seen.push(args),
    })
    const turn: ScriptTurn = [{ toolCall: { id: 'r1', name: 'risky' } }]
    const actor = new Agent(scriptedModel([turn, 'ok']), { tools: [wipe] }).actor({ prompt: 'Go' })
    actor.start()
    await idle()
    expect(seen).toEqual([])
    expect(stateName(actor.getSnapshot())).toBe('AwaitingApproval')
    actor.stop()
  })

  test('is asked for when only an asynchronous schema could show what the tool would get', async () => {
    const seen: unknown[] = []
    const wipe = tool({
      name: 'risky',
      description: 'Deletes',
      input: z.object({ force: z.boolean().default(true) }).refine(async () => true),
      needsApproval: ({ force }) => force,
      execute: (args) => seen.push(args),
    })
    const turn: ScriptTurn = [{ toolCall: { id: 'r1', name: 'risky' } }]
    const actor = new Agent(scriptedModel([turn, 'ok']), { tools: [wipe] }).actor({ prompt: 'Go' })
    actor.start()
    await idle()
    expect(seen).toEqual([])
    actor.stop()
  })

  test('is asked for when the check throws', async () => {
    const { actor } = await start(() => {
      throw new Error('unsure')
    })
    expect(actor.getSnapshot().context.round.pendingApprovals).toEqual(['r1', 'r2'])
    actor.stop()
  })

  test('is not asked for a call whose arguments are broken: it cannot run', async () => {
    const broken: ScriptTurn = [{ toolCall: { id: 'r1', name: 'risky', arguments: '{"n":' } }]
    const { actor, risky } = await start(true, {}, broken)
    const { messages } = await endOf(actor)
    expect(messages.flatMap(toolResultsOf)).toMatchObject([{ isError: true }])
    expect(risky.ran).toEqual([])
  })

  test('holds no live resource while it waits', async () => {
    const { actor } = await start(true)
    expect(Object.keys(actor.getSnapshot().children)).toEqual([])
    actor.stop()
  })
})

describe('steering', () => {
  const steered = async (turns: ScriptTurn[], when: string) => {
    const model = scriptedModel(turns)
    const actor = new Agent(model, { tools: [recorder().tool] }).actor({ prompt: 'Go' })
    let isDone = false
    actor.subscribe((snapshot) => {
      if (isDone || stateName(snapshot) !== when) return
      isDone = true
      actor.send({ type: 'steer', text: 'In French.' })
    })
    actor.start()
    return { model, output: await endOf(actor) }
  }

  test('while an answer runs becomes a user message after it, and one more turn', async () => {
    const { model, output } = await steered([[{ text: 'Hello' }], 'Bonjour'], 'Accumulating.Streaming')
    expect(output.messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model'])
    expect(output.messages[2]).toEqual({ role: 'user', parts: [{ type: 'text', text: 'In French.' }] })
    expect(output.output).toBe('Hello\nBonjour')
    model.assertDone()
  })

  test('during a tool round joins the one result message, after the results', async () => {
    const { model, output } = await steered(
      [[{ toolCall: { id: 'a', name: 'echo' } }], 'Bonjour'],
      'ToolExecution.Working',
    )
    expect(output.messages[2]?.parts.map(({ type }) => type)).toEqual(['toolResult', 'text'])
    expect(validateHistory(output.messages)).toEqual([])
    model.assertDone()
  })

  test('before the first byte waits for its turn', async () => {
    const { model } = await steered(['Hello', 'Bonjour'], 'Accumulating.Requesting')
    expect(model.requests[0]?.messages).toHaveLength(1)
    expect(model.requests[1]?.messages).toHaveLength(3)
  })
})
