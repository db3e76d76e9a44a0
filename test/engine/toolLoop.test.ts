import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { toolCallsOf, toolResultsOf, userMessage } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { recorder, weather } from './sampleTools.ts'
import { endOf, watch } from './watching.ts'

const call = (id: string, name = 'echo', args: JsonObject | string | null = {}): ScriptTurn => [
  { toolCall: { id, name, arguments: args } },
]

describe('2: one tool call', () => {
  test('is two model calls and four messages, and the result carries the id of the call', async () => {
    const model = scriptedModel([call('c1', 'get_weather', { city: 'Oslo' }), 'It is 21 °C.'])
    const { messages } = await new Agent(model, { tools: [weather] }).send('Weather in Oslo?')
    expect(messages).toEqual([
      userMessage('Weather in Oslo?'),
      {
        role: 'model',
        parts: [{ type: 'toolCall', id: 'c1', name: 'get_weather', arguments: { city: 'Oslo' } }],
      },
      {
        role: 'user',
        parts: [
          { type: 'toolResult', id: 'c1', name: 'get_weather', result: '{"city":"Oslo","celsius":21}' },
        ],
      },
      { role: 'model', parts: [{ type: 'text', text: 'It is 21 °C.' }] },
    ])
    expect(model.requests[1]?.messages).toEqual(messages.slice(0, 3))
    expect(validateHistory(messages)).toEqual([])
    model.assertDone()
  })

  test('is announced before it runs and when it is answered', async () => {
    const model = scriptedModel([call('c1', 'echo', { a: 1 }), 'ok'])
    const actor = new Agent(model, { tools: [recorder().tool] }).actor({ prompt: 'Go' })
    const { emitted } = watch(actor)
    actor.start()
    await endOf(actor)
    const of = (event: (typeof emitted)[number]) =>
      event.type === 'message' ? `message ${event.message.role}` : event.type
    expect(emitted.filter(({ type }) => type !== 'chunk').map(of)).toEqual([
      'message user',
      'step',
      'message model',
      'tool.call',
      'tool.result',
      'message user',
      'step',
      'message model',
    ])
    expect(emitted.find(({ type }) => type === 'tool.call')).toEqual({
      type: 'tool.call',
      callId: 'c1',
      call: { type: 'toolCall', id: 'c1', name: 'echo', arguments: { a: 1 } },
    })
  })

  test('decides on the calls that are there, not on the finish word', async () => {
    const model = scriptedModel([
      [{ toolCall: { id: 'c1', name: 'echo' } }, { finish: 'stop', raw: 'end' }],
      [{ text: 'ok' }, { finish: 'toolCalls', raw: 'tool_calls' }],
    ])
    const result = await new Agent(model, { tools: [recorder().tool] }).send('Go')
    expect(result).toMatchObject({ output: 'ok', finishReason: 'stop', rawFinishReason: 'tool_calls' })
    model.assertDone()
  })

  test('the model sees the tools with their JSON Schema', async () => {
    const model = scriptedModel(['ok'])
    await new Agent(model, { tools: [weather] }).send('Go')
    expect(model.requests[0]?.tools).toEqual([
      {
        name: 'get_weather',
        description: 'Current weather in a city',
        inputSchema: {
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
          additionalProperties: false,
        },
      },
    ])
  })
})

describe('3: several calls in one turn', () => {
  const three: ScriptTurn = [
    { toolCall: { id: 'a', name: 'echo', arguments: { n: 1 } } },
    { toolCall: { id: 'b', name: 'other' } },
    { toolCall: { id: 'c', name: 'echo', arguments: { n: 3 } } },
  ]

  test('give one message with the results in call order', async () => {
    const echo = recorder()
    const model = scriptedModel([three, 'ok'])
    const { messages } = await new Agent(model, { tools: [echo.tool, recorder('other').tool] }).send('Go')
    expect(messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model'])
    expect(messages[2]?.parts).toMatchObject([
      { type: 'toolResult', id: 'a', name: 'echo', result: '{"n":1}' },
      { type: 'toolResult', id: 'b', name: 'other', result: '{}' },
      { type: 'toolResult', id: 'c', name: 'echo', result: '{"n":3}' },
    ])
    expect(echo.calls).toEqual(['a', 'c'])
  })

  test('of the same tool without ids get two different UUIDs that sort by time', async () => {
    const twice: ScriptTurn = [{ toolCall: { name: 'echo' } }, { toolCall: { name: 'echo' } }]
    const { messages } = await new Agent(scriptedModel([twice, 'ok']), { tools: [recorder().tool] }).send(
      'Go',
    )
    const ids = messages.flatMap(toolCallsOf).map(({ id }) => id)
    expect(new Set(ids).size).toBe(2)
    expect(ids.toSorted()).toEqual(ids)
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(messages.flatMap(toolResultsOf).map(({ id }) => id)).toEqual(ids)
  })

  test('under one id but with different arguments both run, the second under an id of its own', async () => {
    const echo = recorder()
    const reused: ScriptTurn = [
      { toolCall: { id: 'x', name: 'echo', arguments: { n: 1 } } },
      { toolCall: { id: 'x', name: 'echo', arguments: { n: 2 } } },
    ]
    const { messages } = await new Agent(scriptedModel([reused, 'ok']), { tools: [echo.tool] }).send('Go')
    expect(echo.args).toEqual([{ n: 1 }, { n: 2 }])
    expect(echo.calls[0]).toBe('x')
    expect(echo.calls[1]).not.toBe('x')
    expect(validateHistory(messages)).toEqual([])
  })

  test('an id used again in a later turn is renamed, and the provider’s own is kept aside', async () => {
    const model = scriptedModel([call('call_0'), call('call_0'), 'ok'])
    const { messages } = await new Agent(model, { tools: [recorder().tool] }).send('Go')
    const [first, second] = messages.flatMap(toolCallsOf)
    expect(first?.id).toBe('call_0')
    expect(second?.id).not.toBe('call_0')
    expect(messages[3]?.metadata).toEqual({ providerCallIds: { [second?.id ?? '']: 'call_0' } })
    expect(validateHistory(messages)).toEqual([])
  })
})

describe('6: an empty answer after tools', () => {
  test('is asked for once more, and the second empty one is final: three model calls', async () => {
    const model = scriptedModel([call('a'), [], []])
    const { messages, output } = await new Agent(model, { tools: [recorder().tool] }).send('Go')
    expect(messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model'])
    expect(messages.at(-1)).toEqual({ role: 'model', parts: [] })
    expect(output).toBe('')
    expect(model.requests[2]?.messages).toEqual(model.requests[1]?.messages)
    model.assertDone()
  })

  test('the silent retry leaves no trace in the stream', async () => {
    const actor = new Agent(scriptedModel([call('a'), [], 'ok']), { tools: [recorder().tool] }).actor({
      prompt: 'Go',
    })
    const { emitted } = watch(actor)
    actor.start()
    const { messages } = await endOf(actor)
    expect(emitted.filter(({ type }) => type === 'retry')).toEqual([])
    expect(emitted.filter(({ type }) => type === 'message')).toHaveLength(4)
    expect(messages).toHaveLength(4)
  })

  test('the counter starts over after each tool round', async () => {
    const model = scriptedModel([call('a'), [], call('b'), [], []])
    const { messages } = await new Agent(model, { tools: [recorder().tool] }).send('Go')
    expect(messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model', 'user', 'model'])
    model.assertDone()
  })

  test('that was cut by its length or by a filter is not empty, but final at once', async () => {
    for (const finish of ['length', 'contentFilter'] as const) {
      const model = scriptedModel([call('a'), [{ finish }]])
      const result = await new Agent(model, { tools: [recorder().tool] }).send('Go')
      expect(result.finishReason).toBe(finish)
      model.assertDone()
    }
  })
})

describe('9: an unknown tool', () => {
  test('is answered with an error that names it and the tools there are, and the loop goes on', async () => {
    const model = scriptedModel([call('a', 'toString'), 'sorry'])
    const tools = [recorder().tool, weather]
    const { messages, output } = await new Agent(model, { tools }).send('Go')
    const [result] = messages.flatMap(toolResultsOf)
    expect(result).toMatchObject({ id: 'a', name: 'toString', isError: true })
    expect(JSON.parse(result?.result ?? '')).toEqual({
      error: 'There is no tool named "toString". Available tools: echo, get_weather.',
    })
    expect(output).toBe('sorry')
  })

  test('is answered also when there are no tools at all', async () => {
    const { messages } = await new Agent(scriptedModel([call('a', ''), 'sorry'])).send('Go')
    expect(messages.flatMap(toolResultsOf)[0]?.result).toContain('No tools are available.')
  })
})

describe('10 and 11: arguments', () => {
  const resultOf = async (args: JsonObject | string | null, name = 'echo') => {
    const echo = recorder()
    const model = scriptedModel([call('a', name, args), 'ok'])
    const { messages } = await new Agent(model, { tools: [echo.tool, weather] }).send('Go')
    expect(validateHistory(messages)).toEqual([])
    model.assertDone()
    return { echo, result: messages.flatMap(toolResultsOf)[0] }
  }

  test.each(['', '  ', 'null', '"null"', '""', null])('%j means no arguments', async (raw) => {
    const { echo } = await resultOf(raw)
    expect(echo.args).toEqual([{}])
  })

  test.each(['{"a":', '[1,2]', '"text"', '12', 'true', '{"a":1}{"b":2}', "{'a':1}", '{"a":1,}'])(
    '%s never reaches the tool, and the model learns why',
    async (raw) => {
      const { echo, result } = await resultOf(raw)
      expect(echo.calls).toEqual([])
      expect(result?.isError).toBe(true)
      expect(JSON.parse(result?.result ?? '').error).toMatch(
        /^The arguments (are not valid JSON|must be a JSON object)/,
      )
    },
  )

  test('that fail the schema are answered with what is wrong and where', async () => {
    const { result } = await resultOf({ city: 5 }, 'get_weather')
    expect(result?.isError).toBe(true)
    expect(JSON.parse(result?.result ?? '').error).toMatch(/"get_weather": city: .*expected string/)
  })

  test('reach the tool as the schema makes them: defaults, coercions, unknown keys dropped', async () => {
    const seen: unknown[] = []
    const typed = tool({
      name: 'typed',
      description: 'Typed',
      input: z.object({ n: z.coerce.number(), unit: z.string().default('km') }),
      execute: (args) => seen.push(args),
    })
    const model = scriptedModel([call('a', 'typed', { n: '5', extra: 1 }), 'ok'])
    await new Agent(model, { tools: [typed] }).send('Go')
    expect(seen).toEqual([{ n: 5, unit: 'km' }])
  })
})

describe('12: the step limit', () => {
  test('stops after that many model calls, with its own reason, and every call has a result', async () => {
    const echo = recorder()
    const model = scriptedModel([call('a'), call('b')])
    const result = await new Agent(model, { tools: [echo.tool], maxSteps: 2 }).send('Go')
    expect(result.finishReason).toBe('maxSteps')
    expect(echo.calls).toEqual(['a', 'b'])
    expect(validateHistory(result.messages)).toEqual([])
    model.assertDone()
  })

  test.each([0, -1, 1.5, Number.NaN])('of %d is refused', (maxSteps) => {
    expect(() => new Agent(scriptedModel([]), { maxSteps }).machine).toThrow(
      /maxSteps must be a whole number/,
    )
  })
})
