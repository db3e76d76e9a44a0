/** The chats of `ai` 5, 6 and 7 read what `uiMessageHandler` writes, over HTTP, and it reads what they send. */
import { describe, expect, test } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptedModel, type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { uiMessageHandler } from '../../src/ui/uiMessages/handler.ts'
import { type Client, callIn, clientFor, lastTexts, settled, type Version, versions } from './chatClients.ts'
import { serve } from './serve.ts'

const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: { jsonSchema: { type: 'object', properties: { city: { type: 'string' } } } },
  execute: () => ({ celsius: 21 }),
})
const place = tool({ name: 'get_place', description: 'Where the user is' })

const served = async (
  version: Version,
  turns: ScriptTurn[],
  tools: NonNullable<AgentOptions['tools']> = [],
): Promise<{ client: Client; model: ScriptedModel; api: string }> => {
  const model = scriptedModel(turns)
  const api = await serve(uiMessageHandler(new Agent(model, { tools }), { clientVersion: version }))
  return { client: clientFor(version, { api, id: 'chat-1' }), model, api }
}

describe.each(versions)('ai %i', (version) => {
  const deletions: string[] = []
  const deleteFile = tool({
    name: 'delete_file',
    description: 'Deletes a file',
    input: { jsonSchema: { type: 'object', properties: { path: { type: 'string' } } } },
    needsApproval: true,
    execute: (args) => {
      const { path } = args as { path: string }
      deletions.push(path)
      return `${path} is gone`
    },
  })
  const asking: ScriptTurn = [
    { text: 'I will.' },
    { toolCall: { id: 'c1', name: 'delete_file', arguments: { path: 'notes.txt' } } },
  ]

  test('shows text, thinking, a tool call with its result, the state and the usage', async () => {
    const { client } = await served(
      version,
      [
        [
          { thinking: 'Let me' },
          { thinking: ' see.' },
          { text: 'One ' },
          { text: 'moment.' },
          { toolCall: { id: 'c1', name: 'get_weather', arguments: { city: 'Oslo' } } },
        ],
        [{ text: 'It is 21 °C.' }, { usage: { inputTokens: 5, outputTokens: 7 } }],
      ],
      [weather],
    )
    await client.send('Weather in Oslo?')
    expect(client.error).toBeUndefined()
    expect(client.status).toBe('ready')
    const { parts = [], metadata, role } = client.messages.at(-1) ?? {}
    expect(role).toBe('assistant')
    expect(parts.map(({ type }) => type)).toEqual([
      'data-state',
      'step-start',
      'reasoning',
      'text',
      'tool-get_weather',
      'step-start',
      'text',
    ])
    expect(parts.find(({ type }) => type === 'reasoning')).toMatchObject({
      text: 'Let me see.',
      state: 'done',
    })
    expect(lastTexts(client)).toEqual(['One moment.', 'It is 21 °C.'])
    expect(callIn(client, 'c1')).toMatchObject({
      state: 'output-available',
      input: { city: 'Oslo' },
      output: { celsius: 21 },
    })
    expect(parts[0]).toMatchObject({ data: { state: 'Complete' } })
    expect(metadata).toMatchObject({ usage: { inputTokens: 5, outputTokens: 7 } })
  })

  test('sends a conversation back that models take, calls and results included', async () => {
    const turns: ScriptTurn[] = [
      [{ text: 'Let me see.' }, { toolCall: { id: 'c1', name: 'get_weather', arguments: { city: 'Oslo' } } }],
      'It is 21 °C.',
      'You are welcome.',
    ]
    const { client, model } = await served(version, turns, [weather])
    await client.send('Weather in Oslo?')
    await client.send('Thank you')
    expect(lastTexts(client)).toEqual(['You are welcome.'])
    const sent = model.requests.at(-1)?.messages ?? []
    expect(sent.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model', 'user'])
    expect(sent.flatMap(toolResultsOf)).toMatchObject([{ id: 'c1', result: '{"celsius":21}' }])
    model.assertDone()
  })

  test('approves a call, and continues in the same message', async () => {
    deletions.length = 0
    const { client, model } = await served(version, [asking, 'Done.'], [deleteFile])
    await client.send('Delete notes.txt')
    expect(client.error).toBeUndefined()
    expect(deletions).toEqual([])
    const waiting = version === 5 ? 'input-available' : 'approval-requested'
    expect(callIn(client, 'c1')).toMatchObject({ state: waiting, input: { path: 'notes.txt' } })
    const { id } = client.messages.at(-1) ?? {}
    if (version === 5)
      expect(client.messages.at(-1)?.parts.find(({ type }) => type === 'data-approval')?.data).toEqual({
        id: expect.any(String),
        toolCallId: 'c1',
        toolName: 'delete_file',
        input: { path: 'notes.txt' },
      })

    await client.decide('delete_file', 'c1', true)
    await settled(client)
    expect(client.error).toBeUndefined()
    expect(deletions).toEqual(['notes.txt'])
    expect(client.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(client.messages.at(-1)?.id).toBe(id)
    expect(callIn(client, 'c1')).toMatchObject({ state: 'output-available', output: 'notes.txt is gone' })
    expect(lastTexts(client)).toEqual(['I will.', 'Done.'])
    model.assertDone()
  })

  test('denies a call, and the model learns why', async () => {
    deletions.length = 0
    const { client, model } = await served(version, [asking, 'All right.'], [deleteFile])
    await client.send('Delete notes.txt')
    await client.decide('delete_file', 'c1', false, 'I need it')
    await settled(client)
    expect(client.error).toBeUndefined()
    expect(deletions).toEqual([])
    expect(callIn(client, 'c1')?.state).toBe(version === 5 ? 'output-error' : 'output-denied')
    expect(lastTexts(client)).toEqual(['I will.', 'All right.'])
    expect(model.requests[1]?.messages.flatMap(toolResultsOf)[0]?.result).toContain('I need it')
  })

  test('answers a tool of the page', async () => {
    const { client, model } = await served(
      version,
      [[{ toolCall: { id: 'c1', name: 'get_place' } }], 'You are in Oslo.'],
      [place],
    )
    await client.send('Where am I?')
    expect(callIn(client, 'c1')?.state).toBe('input-available')
    await client.answer('get_place', 'c1', { city: 'Oslo' })
    await settled(client)
    expect(client.error).toBeUndefined()
    expect(lastTexts(client)).toEqual(['You are in Oslo.'])
    expect(model.requests[1]?.messages.flatMap(toolResultsOf)).toMatchObject([{ result: '{"city":"Oslo"}' }])
  })

  test('answers the question that it was asked, and not the same one of another page', async () => {
    const asking: ScriptTurn = [{ toolCall: { id: 'call_0', name: 'get_place' } }]
    const { client: stale, model, api } = await served(version, [asking, asking, 'You are in Rome.'], [place])
    await stale.send('Where am I?')
    const fresh = clientFor(version, { api, id: 'chat-1' })
    await fresh.send('Where am I?')
    await stale.answer('get_place', 'call_0', { city: 'Oslo' })
    await settled(stale)
    expect(stale.error?.message).toContain('No call of this chat waits for this decision')
    await fresh.answer('get_place', 'call_0', { city: 'Rome' })
    await settled(fresh)
    expect(lastTexts(fresh)).toEqual(['You are in Rome.'])
    expect(model.requests[2]?.messages.flatMap(toolResultsOf)).toMatchObject([{ result: '{"city":"Rome"}' }])
  })

  test('asks again, and asks something else instead', async () => {
    const { client, model } = await served(version, ['First.', 'Second.', 'Third.'])
    await client.send('Hello')
    await client.regenerate()
    expect(lastTexts(client)).toEqual(['Second.'])
    await client.send('Good morning', client.messages[0]?.id)
    expect(lastTexts(client)).toEqual(['Third.'])
    expect(model.requests.map(({ messages }) => messages.map(textOf))).toEqual([
      ['Hello'],
      ['Hello'],
      ['Good morning'],
    ])
  })

  test('stops, and the request to the provider is closed', async () => {
    const { client, model } = await served(version, [[{ text: 'Well' }, { hang: true }]])
    const sent = client.send('Tell me everything')
    await expect.poll(() => lastTexts(client)).toEqual(['Well'])
    await client.stop()
    await sent
    expect(client.status).toBe('ready')
    await expect.poll(() => model.closed).toBe(1)
  })

  test('learns that something went wrong, and nothing of what it was', async () => {
    const { client } = await served(version, [
      [{ text: 'Well' }, { error: { message: 'the key sk-12345 is wrong' } }],
    ])
    await client.send('Hello')
    expect(client.status).toBe('error')
    expect(client.error?.message).toBe('Something went wrong.')
  })

  test('reads a call whose arguments are not JSON, and one that fails', async () => {
    const broken = tool({
      name: 'broken',
      description: 'Breaks',
      execute: () => {
        throw new Error('no paper')
      },
    })
    const { client } = await served(
      version,
      [
        [
          { toolCall: { id: 'c1', name: 'broken', arguments: '{"a": ' } },
          { toolCall: { id: 'c2', name: 'broken' } },
        ],
        'Sorry.',
      ],
      [broken],
    )
    await client.send('Print')
    expect(client.error).toBeUndefined()
    expect(callIn(client, 'c1')?.state).toBe('output-error')
    expect(callIn(client, 'c2')).toMatchObject({
      state: 'output-error',
      errorText: 'Something went wrong.',
    })
    expect(lastTexts(client)).toEqual(['Sorry.'])
  })
})
