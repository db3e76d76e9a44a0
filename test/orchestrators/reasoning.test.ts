import { describe, expect, test } from 'vitest'
import type { InspectionEvent } from 'xstate'
import type { Orchestrator } from '../../machines/orchestrators/orchestrator.ts'
import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { AbortedError, ConfigurationError, ModelError } from '../../src/messages/errors.ts'
import { modelMessage, textOf, textPart, toolResultsOf, userMessage } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptOptions, type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { weather } from '../engine/sampleTools.ts'
import { collect, endOf, idle, rejection, watch } from '../engine/watching.ts'

const used = (...steps: Exclude<ScriptTurn, string>): ScriptTurn => [
  ...steps,
  { usage: { inputTokens: 1, outputTokens: 2 } },
]
const call = { toolCall: { id: 'w', name: 'get_weather', arguments: { city: 'Oslo' } } }
const phases: ScriptTurn[] = [
  used({ text: 'It is about ' }, { text: 'Oslo.' }),
  used({ text: 'Warm or cold.' }),
  used({ text: 'Let me look.' }, call),
  used({ text: '21 degrees.' }),
  used({ text: 'It is ' }, { text: 'warm.' }),
]

const reasoning = (turns: ScriptTurn[], options: AgentOptions = {}, script: ScriptOptions = {}) => {
  const model = scriptedModel(turns, script)
  const orchestrator: Orchestrator = options.orchestrator ?? reasoningOrchestrator()
  return { model, agent: new Agent(model, { tools: [weather], ...options, orchestrator }) }
}

describe('reasoning in phases', () => {
  test('answers with the synthesis, and has the messages and the usage of all phases', async () => {
    const { agent, model } = reasoning(phases)
    const result = await agent.send('Is it warm in Oslo?')
    expect(result).toMatchObject({ output: 'It is warm.', finishReason: 'stop', metadata: {} })
    expect(result.usage).toEqual({ inputTokens: 5, outputTokens: 10 })
    expect(result.messages.map(({ role }) => role).join()).toBe(
      'user,model,user,model,user,model,user,model,user,model',
    )
    expect(validateHistory(result.messages)).toEqual([])
    model.assertDone()
  })

  test('lets tools be called for the evidence only, and sends them always', async () => {
    const { agent, model } = reasoning(phases)
    await agent.send('Is it warm in Oslo?')
    expect(model.requests.map(({ tools }) => tools?.length)).toEqual([1, 1, 1, 1, 1])
    const choices = model.requests.map(({ toolChoice }) => toolChoice)
    expect(choices).toEqual(['none', 'none', undefined, undefined, 'none'])
  })

  test('refuses a call in a phase that calls no tools', async () => {
    const call: ScriptTurn = [{ toolCall: { id: 'w', name: 'get_weather', arguments: { city: 'Oslo' } } }]
    const { agent } = reasoning([call, 'Analysis.', 'Warm or cold.', 'Warm.', 'It is warm.'])
    const { messages } = await agent.send('Is it warm in Oslo?')
    const [refused] = messages.flatMap(toolResultsOf)
    expect(refused).toMatchObject({
      isError: true,
      result: expect.stringContaining('No tools are available'),
    })
  })

  test('asks the question once, with the first task below it, and each later task as its own message', async () => {
    const prompts = { analysis: 'A?', hypothesis: 'H?', evidence: 'E?', synthesis: 'S?' }
    const { agent, model } = reasoning(phases, { orchestrator: reasoningOrchestrator({ prompts }) })
    const before = [userMessage('Hello.'), modelMessage('Hi.')]
    const { messages } = await agent.send('Warm?', {
      history: before,
      attachments: [{ type: 'link', url: 'https://example.com/a.png' }],
    })
    expect(messages[0]?.parts).toEqual([
      textPart('Warm?'),
      { type: 'link', url: 'https://example.com/a.png' },
      textPart('\n\nA?'),
    ])
    const asked = messages.filter((message) => message.role === 'user' && toolResultsOf(message).length === 0)
    expect(asked.slice(1).map(textOf)).toEqual(['H?', 'E?', 'S?'])
    expect(model.requests[4]?.messages).toEqual([...before, ...messages.slice(0, -1)])
  })

  test('has its name, for errors and inspectors', () => {
    const { agent } = reasoning([])
    expect([agent.machine.id, reasoningOrchestrator().providerHint]).toEqual(['reasoning', 'reasoning'])
  })

  test('asks for no shape where none is wanted, also of a model that takes none', async () => {
    const orchestrator = reasoningOrchestrator({ prompts: { synthesis: 'S?' } })
    const { agent, model } = reasoning(phases, { orchestrator }, { profile: { nativeSchema: false } })
    await agent.send('Warm?')
    expect(model.requests[4]?.messages.at(-1)).toEqual(userMessage('S?'))
  })

  test('keeps the prompts that are not replaced', async () => {
    const orchestrator = reasoningOrchestrator({ prompts: { synthesis: 'S?' } })
    const { messages } = await reasoning(phases, { orchestrator }).agent.send('Warm?')
    expect(textOf(messages[0] ?? userMessage(''))).toMatch(/^Warm\?\n\nFirst analyse/)
    expect(messages.map(textOf)).toContain('S?')
  })

  test('marks every chunk of content with its phase, and sets the phases off by a newline', async () => {
    const chunks = await collect(reasoning(phases).agent.sendStream('Warm?'))
    const shown = chunks.filter(({ output }) => output !== '')
    expect(shown.map(({ output, metadata }) => [metadata.phase, output])).toEqual([
      ['analysis', 'It is about '],
      ['analysis', 'Oslo.'],
      ['hypothesis', '\nWarm or cold.'],
      ['evidence', '\nLet me look.'],
      ['evidence', '\n21 degrees.'],
      ['synthesis', '\nIt is '],
      ['synthesis', 'warm.'],
    ])
  })

  test('has one end, with the sum of the usage, and emits each message once, unmarked', async () => {
    const chunks = await collect(reasoning(phases).agent.sendStream('Warm?'))
    const ends = chunks.filter(({ finishReason }) => finishReason !== 'unspecified')
    expect(ends).toEqual([chunks.at(-1)])
    expect(ends[0]).toMatchObject({ finishReason: 'stop', usage: { inputTokens: 5 }, metadata: {} })
    const reported = chunks.filter(({ messages }) => messages.length > 0)
    expect(reported.flatMap(({ messages }) => messages)).toHaveLength(10)
    expect(reported.every(({ metadata }) => Object.keys(metadata).length === 0)).toBe(true)
    expect(chunks.slice(0, -1).some(({ usage }) => usage !== undefined)).toBe(false)
  })

  test('marks thinking with its phase, and joins it in the result', async () => {
    const turns: ScriptTurn[] = [
      [{ thinking: 'Hm' }, { text: 'a' }],
      'b',
      'c',
      [{ thinking: '!' }, { text: 'd' }],
    ]
    const chunks = await collect(reasoning(turns).agent.sendStream('Warm?'))
    expect(chunks.map(({ metadata }) => metadata).filter(({ thinking }) => thinking)).toEqual([
      { thinking: 'Hm', phase: 'analysis' },
      { thinking: '!', phase: 'synthesis' },
    ])
    expect((await reasoning(turns).agent.send('Warm?')).metadata).toEqual({ thinking: 'Hm!' })
  })

  test('passes on what its runs emit about tools, steps and retries', async () => {
    const { agent } = reasoning([[{ error: { retryable: true, retryAfterMs: 0 } }], ...phases])
    const actor = agent.actor({ prompt: 'Warm?' })
    const { emitted } = watch(actor)
    actor.start()
    await endOf(actor)
    const kinds = emitted.map(({ type }) => type).filter((type) => type !== 'chunk' && type !== 'message')
    expect(kinds.join()).toBe('retry,step,step,step,tool.call,tool.result,step,step')
  })

  test('names its states after the phases', async () => {
    const { agent } = reasoning(phases)
    const actor = agent.actor({ prompt: 'Warm?' })
    const seen: string[] = []
    actor.subscribe(({ value }) =>
      seen.push(typeof value === 'string' ? value : (Object.keys(value)[0] ?? '')),
    )
    actor.start()
    await endOf(actor)
    expect([...new Set(seen)]).toEqual(['Analysis', 'Hypothesis', 'Evidence', 'Synthesis', 'Complete'])
  })
})

describe('a typed answer of the last phase', () => {
  const outputSchema = { type: 'object', properties: { warm: { type: 'boolean' } } }
  const turns: ScriptTurn[] = ['a', 'h', 'e', [{ text: '{"warm"' }, { text: ':true}' }]]

  test('is asked for in the synthesis alone, and its stream is nothing but JSON', async () => {
    const { agent, model } = reasoning(turns)
    const actor = agent.actor({ prompt: 'Warm?', outputSchema })
    const watched = watch(actor)
    actor.start()
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: '{"warm":true}' })
    expect(model.requests.map((request) => request.outputSchema)).toEqual([
      undefined,
      undefined,
      undefined,
      outputSchema,
    ])
    const synthesis = watched.chunks.filter(({ metadata }) => metadata.phase === 'synthesis')
    expect(synthesis.map(({ output }) => output).join('')).toBe('{"warm":true}')
  })

  test('is described in words where the model takes no schema', async () => {
    const { agent, model } = reasoning(turns, {}, { profile: { nativeSchema: false } })
    const actor = agent.actor({ prompt: 'Warm?', outputSchema })
    actor.start()
    await endOf(actor)
    expect(model.requests.every((request) => request.outputSchema === undefined)).toBe(true)
    expect(textOf(model.requests[3]?.messages.at(-1) ?? userMessage(''))).toContain(
      JSON.stringify(outputSchema),
    )
  })
})

describe('a phase that does not complete', () => {
  test('because the model fails ends the whole, with everything so far', async () => {
    const { agent, model } = reasoning([
      used({ text: 'It is about Oslo.' }),
      used({ text: 'War' }, { error: { message: 'boom', status: 500 } }),
    ])
    const error = await rejection(agent.send('Warm?'), ModelError)
    expect(error).toMatchObject({ message: 'boom', status: 500 })
    expect(error.partial).toMatchObject({
      output: 'It is about Oslo.\nWar',
      finishReason: 'error',
      usage: { inputTokens: 1 },
    })
    expect(error.partial?.messages.at(-1)?.metadata).toEqual({ interrupted: 'error' })
    expect(validateHistory(error.partial?.messages ?? [])).toEqual([])
    model.assertDone()
  })

  test('because of an abort counts it also between the end of a phase and the report of that end', async () => {
    const controller = new AbortController()
    const inspect = (event: InspectionEvent) => {
      if (event.type === '@xstate.event' && event.event.type === 'xstate.done.actor.run')
        controller.abort('enough')
    }
    const { agent, model } = reasoning(phases, { inspect })
    const error = await rejection(agent.send('Is it warm?', { signal: controller.signal }), AbortedError)
    expect(error.message).toContain('enough')
    expect(error.partial).toMatchObject({ output: 'It is about Oslo.', finishReason: 'aborted' })
    expect(model.requests).toHaveLength(1)
  })

  test('because of an abort closes its request, and keeps the phases before', async () => {
    const { agent, model } = reasoning(['a', 'h', [{ text: 'I see' }, { hang: true }]])
    const controller = new AbortController()
    const sent = rejection(agent.send('Warm?', { signal: controller.signal }), AbortedError)
    await idle(6)
    controller.abort('enough')
    const error = await sent
    expect(error.message).toContain('enough')
    expect(error.partial).toMatchObject({ output: 'a\nh\nI see', finishReason: 'aborted' })
    expect(model.closed).toBe(1)
  })

  test('because its stream was left closes its request', async () => {
    const { agent, model } = reasoning(['a', [{ text: 'Warm' }, { hang: true }]])
    for await (const { metadata } of agent.sendStream('Warm?')) if (metadata.phase === 'hypothesis') break
    expect(model.closed).toBe(1)
  })

  test('because nothing was asked is refused before any request', async () => {
    const { agent, model } = reasoning([])
    const actor = agent.actor({})
    actor.start()
    expect(await endOf(actor)).toMatchObject({ status: 'failed', error: { name: 'ConfigurationError' } })
    expect(model.requests).toEqual([])
    await rejection(agent.send([]), ConfigurationError)
  })

  test('a history that ends with the user is a question as well', async () => {
    const { agent, model } = reasoning(phases)
    const actor = agent.actor({ history: [userMessage('Warm?')] })
    actor.start()
    expect(await endOf(actor)).toMatchObject({ output: 'It is warm.' })
    expect(model.requests[0]?.messages[0]).toEqual(userMessage('Warm?'))
  })
})

describe('commands to the whole', () => {
  test('steering reaches the phase that is under way', async () => {
    const { agent, model } = reasoning(['a', 'un', 'h', 'e', 's'])
    const actor = agent.actor({ prompt: 'Warm?' })
    actor.on('chunk', ({ output }) => {
      if (output === 'a') actor.send({ type: 'steer', text: 'In French.' })
    })
    actor.start()
    const { messages } = await endOf(actor)
    expect(messages.slice(0, 4).map(textOf).slice(1)).toEqual(['a', 'In French.', 'un'])
    model.assertDone()
  })

  const risky = () => {
    const ran: string[] = []
    const ask = tool({
      name: 'get_weather',
      description: 'Asks first',
      needsApproval: true,
      execute: (_, { callId }) => ran.push(callId),
    })
    return { ran, ask }
  }
  const two: ScriptTurn = [
    { toolCall: { id: 'yes', name: 'get_weather' } },
    { toolCall: { id: 'no', name: 'get_weather' } },
  ]
  const asking: ScriptTurn[] = ['a', 'h', two, 'e', 's']

  test('approvals reach the phase that waits for them', async () => {
    const { ran, ask } = risky()
    const onApproval = async ({ id }: { id: string }) =>
      id === 'yes' || { approve: false, reason: 'too risky' }
    const { agent } = reasoning(asking, { tools: [ask], onApproval })
    const { output, messages } = await agent.send('Warm?')
    expect([output, ran]).toEqual(['s', ['yes']])
    expect(messages.flatMap(toolResultsOf)[1]?.result).toContain('too risky')
  })

  test('a phase that waits can be stored and resumed by another agent', async () => {
    const first = risky()
    const sent = await reasoning(asking, { tools: [first.ask] }).agent.send('Warm?')
    expect(sent.pendingApproval?.calls.map(({ id }) => id)).toEqual(['yes', 'no'])
    const stored = JSON.parse(JSON.stringify(sent.pendingApproval))
    const second = risky()
    const { agent, model } = reasoning(asking.slice(3), { tools: [second.ask] })
    const { output, messages, usage } = await agent.resume(stored, { yes: true, no: false })
    expect([output, first.ran, second.ran, usage]).toEqual(['s', [], ['yes'], undefined])
    expect(messages).toHaveLength(10)
    expect(validateHistory(messages)).toEqual([])
    model.assertDone()
  })
})
