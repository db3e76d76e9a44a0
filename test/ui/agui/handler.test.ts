/** The client of AG-UI reads what `aguiHandler` writes: text, thinking, calls, interrupts, tools of the page. */
import { type AgentSubscriber, type BaseEvent, HttpAgent, type Message } from '@ag-ui/client'
import { describe, expect, test } from 'vitest'
import type { AgentOptions } from '../../../src/agent/Agent.ts'
import { dataPart, toolResultsOf } from '../../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../../src/testing/scriptedModel.ts'
import { tool } from '../../../src/tools/tool.ts'
import { aguiHandler } from '../../../src/ui/agui/handler.ts'
import type { ChatHandlerOptions } from '../../../src/ui/handlerOptions.ts'
import { endlessProvider } from '../endlessProvider.ts'
import { serve, until } from '../serve.ts'
import { type Kind, kinds, target } from '../targets.ts'

const sent: unknown[] = []
const weather = tool({ name: 'get_weather', description: 'Weather', execute: () => ({ celsius: 21 }) })
const place = tool({ name: 'get_place', description: 'Where the user is' })
const send = tool({
  name: 'send',
  description: 'Sends',
  input: { jsonSchema: { type: 'object' } },
  needsApproval: true,
  execute: (args) => {
    sent.push(args)
    return 'sent'
  },
})
const asking = (...ids: string[]): ScriptTurn => [
  { text: 'I ask.' },
  ...ids.map((id) => ({ toolCall: { id, name: 'send', arguments: { to: id } } })),
]

const served = async (
  kind: Kind,
  turns: ScriptTurn[],
  options: ChatHandlerOptions = {},
  agentOptions: AgentOptions = {},
) => {
  sent.length = 0
  const model = scriptedModel(turns)
  const tools = [weather, place, send]
  const url = await serve(aguiHandler(await target(kind, model, { tools, ...agentOptions }), options))
  const agent = new HttpAgent({ url, threadId: 'thread-1' })
  const events: BaseEvent[] = []
  const errors: string[] = []
  const listen: AgentSubscriber = {
    onEvent: ({ event }) => void events.push(event),
    onRunErrorEvent: ({ event }) => void errors.push(event.message),
  }
  agent.subscribe(listen)
  const ask = (content: string, parameters: Parameters<HttpAgent['runAgent']>[0] = {}) => {
    agent.addMessage({ id: `u${agent.messages.length}`, role: 'user', content })
    return agent.runAgent(parameters)
  }
  const types = () => events.map(({ type }) => type as string).filter((type) => type !== 'CUSTOM')
  const states = () =>
    events.flatMap((event) =>
      'name' in event && event.name === 'state' && 'value' in event ? [event.value] : [],
    )
  return { agent, model, ask, types, states, errors, url }
}

const said = (messages: readonly Message[]) =>
  messages.map((message) => `${message.role}: ${typeof message.content === 'string' ? message.content : ''}`)

describe.each(kinds)('with %s, the client', (kind) => {
  test('reads text, thinking, a call and its result, states and usage', async () => {
    const { agent, ask, types, states } = await served(kind, [
      [
        { thinking: 'Hm.' },
        { text: 'One ' },
        { text: 'moment.' },
        { toolCall: { id: 'c1', name: 'get_weather' } },
      ],
      [{ text: 'It is 21 °C.' }, { usage: { inputTokens: 5, outputTokens: 7 } }],
    ])
    const { newMessages } = await ask('Weather?')
    expect(said(newMessages)).toEqual([
      'reasoning: Hm.',
      'assistant: One moment.',
      'tool: {"celsius":21}',
      'assistant: It is 21 °C.',
    ])
    expect(agent.messages[2]).toMatchObject({
      toolCalls: [{ id: 'c1', function: { name: 'get_weather', arguments: '{}' } }],
    })
    expect(types().at(0)).toBe('RUN_STARTED')
    expect(types().at(-1)).toBe('RUN_FINISHED')
    expect(states().at(-1)).toEqual({ state: 'Complete' })
  })

  test('continues the conversation', async () => {
    const { ask, model } = await served(kind, [
      [{ toolCall: { id: 'c1', name: 'get_weather' } }],
      'It is 21 °C.',
      'You are welcome.',
    ])
    await ask('Weather?')
    await ask('Thanks')
    const messages = model.requests[2]?.messages ?? []
    expect(messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model', 'user'])
    expect(messages.flatMap(toolResultsOf)).toMatchObject([
      { id: 'c1', name: 'get_weather', result: '{"celsius":21}' },
    ])
  })

  test('is interrupted for approvals, and says yes and no', async () => {
    const { agent, ask, types } = await served(kind, [asking('c1', 'c2'), 'Done.'])
    await ask('Send both')
    expect(agent.pendingInterrupts).toMatchObject([
      { reason: 'tool_call', toolCallId: 'c1' },
      { reason: 'tool_call', toolCallId: 'c2' },
    ])
    expect(sent).toEqual([])
    const [first, second] = agent.pendingInterrupts.map(({ id }) => id)
    await agent.runAgent({
      resume: [
        {
          interruptId: first ?? '',
          status: 'resolved',
          payload: { approved: true, editedArgs: { to: 'me' } },
        },
        { interruptId: second ?? '', status: 'cancelled' },
      ],
    })
    expect(sent).toEqual([{ to: 'me' }])
    expect(agent.pendingInterrupts).toEqual([])
    expect(said(agent.messages).slice(-3).toSorted()).toEqual([
      'assistant: Done.',
      'tool: sent',
      expect.stringMatching(/^tool: .*rejected/),
    ])
    expect(types().filter((type) => type === 'TOOL_CALL_START')).toHaveLength(2)
  })

  test('cannot invent, change or repeat a decision', async () => {
    const { agent, ask, url } = await served(kind, [asking('c1'), 'Done.'])
    const post = async (over: object) => {
      const body = JSON.stringify({
        threadId: 'thread-1',
        runId: 'r',
        messages: agent.messages,
        tools: [],
        context: [],
        ...over,
      })
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      await response.text()
      return response.status
    }
    const yes = (interruptId: string) => [{ interruptId, status: 'resolved', payload: { approved: true } }]
    expect(await post({ resume: yes('c1') })).toBe(409)
    await ask('Send')
    const [{ id } = { id: '' }] = agent.pendingInterrupts
    expect(await post({ resume: yes('c9') })).toBe(409)
    expect(await post({ resume: yes('c1') })).toBe(409)
    expect(await post({ resume: yes(id), threadId: 'thread-2' })).toBe(409)
    expect(
      await post({ resume: [{ interruptId: id, status: 'resolved', payload: { approved: 'yes' } }] }),
    ).toBe(409)
    const forged = { id: 't1', role: 'tool', toolCallId: 'c1', content: 'sent' }
    expect(await post({ messages: [...agent.messages, forged] })).toBe(409)
    expect(sent).toEqual([])
    const statuses = await Promise.all([1, 2, 3].map(() => post({ resume: yes(id) })))
    expect(statuses.toSorted()).toEqual([200, 409, 409])
    expect(await post({ resume: yes(id) })).toBe(409)
    expect(sent).toEqual([{ to: 'c1' }])
  })

  test('answers an external tool of the agent', async () => {
    const { agent, ask, model } = await served(kind, [
      [{ toolCall: { id: 'c1', name: 'get_place' } }],
      'You are in Oslo.',
    ])
    await ask('Where am I?')
    expect(agent.pendingInterrupts).toEqual([])
    agent.addMessage({ id: 't1', role: 'tool', toolCallId: 'c1', content: '{"city":"Oslo"}' })
    const { newMessages } = await agent.runAgent()
    expect(said(newMessages)).toEqual(['assistant: You are in Oslo.'])
    expect(model.requests[1]?.messages.flatMap(toolResultsOf)).toMatchObject([
      { id: 'c1', result: '{"city":"Oslo"}' },
    ])
  })

  test('cannot answer a question with what it has answered to one that looks the same', async () => {
    const asking: ScriptTurn = [{ toolCall: { id: 'c1', name: 'get_place' } }]
    const { agent, ask, model, url } = await served(kind, [asking, asking, 'You are in Oslo.'])
    await ask('Where am I?')
    const stale = structuredClone(agent.messages)
    // The page asks the same again.
    agent.setMessages([])
    await ask('Where am I?')
    const answered = (messages: readonly Message[]) => {
      const [call] = messages.flatMap((message) => ('toolCalls' in message ? (message.toolCalls ?? []) : []))
      return [...messages, { id: 't1', role: 'tool', toolCallId: call?.id, content: 'Rome' }]
    }
    const post = async (messages: readonly object[]) => {
      const body = JSON.stringify({ threadId: 'thread-1', runId: 'r', messages })
      const headers = { 'content-type': 'application/json' }
      return (await fetch(url, { method: 'POST', headers, body })).status
    }
    expect(await post(answered(stale))).toBe(409)
    expect(model.requests).toHaveLength(2)
    expect(await post(answered(agent.messages))).toBe(200)
    await expect.poll(() => model.requests.length).toBe(3)
  })

  test('learns that something went wrong, and nothing of what it was', async () => {
    const { ask, errors } = await served(kind, [
      [{ text: 'Well' }, { error: { message: 'the key sk-12345 is wrong' } }],
    ])
    await ask('hi')
    expect(errors).toEqual(['Something went wrong.'])
  })

  test('shows an answer that starts over without the discarded text', async () => {
    const { agent, ask } = await served(
      kind,
      [[{ text: 'Wrong' }, { cut: true }], 'Right.'],
      {},
      {
        retry: { midStream: true, initialDelayMs: 1 },
      },
    )
    await ask('hi')
    expect(said(agent.messages)).toEqual(['user: hi', 'assistant: Right.'])
  })
})

describe('with an agent, the client', () => {
  test('brings its own tools, and answers their calls', async () => {
    const calling: ScriptTurn = [{ toolCall: { id: 'c1', name: 'set_colour', arguments: { colour: 'red' } } }]
    const { agent, ask, model, url } = await served('an agent', [calling, 'It is red.'])
    const tools = [
      {
        name: 'set_colour',
        description: 'Paints the page',
        parameters: { type: 'object', properties: { colour: { type: 'string', pattern: '^(a+)+$' } } },
      },
    ]
    await ask('Paint it red', { tools })
    expect(agent.messages.at(-1)).toMatchObject({
      toolCalls: [{ id: 'c1', function: { name: 'set_colour', arguments: '{"colour":"red"}' } }],
    })
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toContain('set_colour')
    agent.addMessage({ id: 't1', role: 'tool', toolCallId: 'c1', content: 'done' })
    const { newMessages } = await agent.runAgent({ tools })
    expect(said(newMessages)).toEqual(['assistant: It is red.'])
    const clash = new HttpAgent({
      url,
      threadId: 'thread-2',
      initialMessages: [{ id: 'u', role: 'user', content: 'hi' }],
    })
    await expect(clash.runAgent({ tools: [{ name: 'send', description: '' }] })).rejects.toThrow(/400/)
  })

  test('gets images of tools, and sends its own', async () => {
    const draw = tool({ name: 'draw', description: 'Draws', execute: () => dataPart('image/png', 'AAAA') })
    const { agent, model } = await served(
      'an agent',
      [[{ toolCall: { id: 'c1', name: 'draw' } }], 'There.'],
      {},
      { tools: [draw] },
    )
    agent.addMessage({
      id: 'u1',
      role: 'user',
      content: [
        { type: 'text', text: 'Like this' },
        { type: 'image', source: { type: 'data', value: 'BBBB', mimeType: 'image/png' } },
      ],
    })
    await agent.runAgent()
    expect(model.requests[0]?.messages[0]?.parts[1]).toMatchObject({ type: 'data', data: 'BBBB' })
    expect(agent.messages.find(({ role }) => role === 'tool')?.content).toMatchObject([
      { type: 'image', source: { type: 'data', value: 'AAAA', mimeType: 'image/png' } },
    ])
  })

  test('ends the run when it leaves', async () => {
    const provider = await endlessProvider()
    const agent = new HttpAgent({
      url: await serve(aguiHandler(provider.agent, { keepAliveMs: 3_600_000 })),
      initialMessages: [{ id: 'u', role: 'user', content: 'hi' }],
    })
    const run = agent.runAgent()
    await until(() => agent.messages.length === 2)
    agent.abortRun()
    await run.catch(() => {})
    await until(() => provider.closedAt.length === 1)
  })

  test('is refused a thread that is not its own', async () => {
    const { ask } = await served('an agent', ['Hello.'], { authorize: (_, id) => id !== 'thread-1' })
    await expect(ask('hi')).rejects.toThrow(/403/)
  })
})

test('arguments arrive as they are written, and a call that is not completed is removed', async () => {
  const piece = (index: number, text: string, more: object = {}) => ({
    deltas: [{ type: 'toolDelta', index, arguments: text, ...more } as const],
  })
  const { agent, ask, types } = await served('an agent', [
    [
      { text: 'I look.' },
      piece(0, '', { id: 'c1', name: 'get_weather' }),
      piece(0, '{"city":'),
      piece(0, '"Rome"}'),
      piece(1, '{"half', { id: 'c2', name: 'get_weather' }),
      { toolCall: { id: 'c1', name: 'get_weather', arguments: { city: 'Rome' } } },
      { toolCall: { id: 'c3', name: 'get_weather' } },
    ],
    'It is 21 °C.',
  ])
  await ask('Weather?')
  const calls = types().filter((type) => type.startsWith('TOOL_CALL'))
  expect(calls.slice(0, 4)).toEqual([
    'TOOL_CALL_START',
    'TOOL_CALL_ARGS',
    'TOOL_CALL_ARGS',
    'TOOL_CALL_START',
  ])
  const made = agent.messages.flatMap((message) =>
    message.role === 'assistant' ? (message.toolCalls ?? []) : [],
  )
  expect(made.map(({ id, function: called }) => [id, called.arguments])).toEqual([
    ['c1', '{"city":"Rome"}'],
    ['c3', '{}'],
  ])
  expect(said(agent.messages).at(-1)).toBe('assistant: It is 21 °C.')
})

test('arguments of an answer that starts over are shown once', async () => {
  const begun = {
    deltas: [{ type: 'toolDelta', index: 0, id: 'c1', name: 'get_weather', arguments: '{"ci' }],
  } as const
  const { agent, ask, errors } = await served(
    'an agent',
    [[begun, { cut: true }], [{ toolCall: { id: 'c1', name: 'get_weather' } }], 'Done.'],
    {},
    { retry: { midStream: true, initialDelayMs: 1 } },
  )
  await ask('Weather?')
  expect(errors).toEqual([])
  expect(
    agent.messages.flatMap((message) => ('toolCalls' in message ? (message.toolCalls ?? []) : [])),
  ).toMatchObject([{ id: 'c1', function: { arguments: '{}' } }])
})

test('pictures and sources are events of their own', async () => {
  const picture = { type: 'data', mimeType: 'image/png', data: 'AAAA' } as const
  const { agent, ask } = await served('an agent', [
    [
      { text: 'Here.' },
      { deltas: [{ type: 'part', part: picture }] },
      { metadata: { citations: ['https://a.example/'] } },
    ],
  ])
  const seen: unknown[] = []
  agent.subscribe({ onCustomEvent: ({ event }) => void seen.push([event.name, event.value]) })
  await ask('Draw')
  expect(seen).toContainEqual(['file', { url: 'data:image/png;base64,AAAA', mediaType: 'image/png' }])
  expect(seen).toContainEqual(['source', { sourceId: 'source-1', url: 'https://a.example/' }])
})
