/** Facts that backends group and bill by: the model that answered, the cost, the session of a chat, and embeddings. */
import { describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { uiMessageHandler } from '../../src/ui/index.ts'
import { opened, storeFile } from '../durable/storeFile.ts'
import { observe } from './observed.ts'

const events = (list: object[]) => list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
const answering = (model: string, text: string, type = 'text/event-stream') =>
  new Agent(model, {
    apiKey: 'k',
    inspect: telemetry(),
    connection: { fetch: async () => new Response(text, { headers: { 'content-type': type } }) },
  })

describe('the model that answers', () => {
  const choice = (delta: object, finish_reason: string | null = null) => [{ index: 0, delta, finish_reason }]
  test.each([
    [
      'openai-chat:gpt-6-luna',
      `${events([
        { id: 'r', model: 'gpt-6-luna-2026-09-01', choices: choice({ content: 'Hi.' }) },
        { id: 'r', model: 'gpt-6-luna-2026-09-01', choices: choice({}, 'stop') },
      ])}data: [DONE]\n\n`,
      'gpt-6-luna-2026-09-01',
    ],
    [
      'google:gemini-4-flash',
      events([
        {
          modelVersion: 'gemini-4-flash-001',
          candidates: [{ content: { parts: [{ text: 'Hi.' }] }, finishReason: 'STOP' }],
        },
      ]),
      'gemini-4-flash-001',
    ],
    [
      'anthropic:claude-sonnet-5-5',
      [
        {
          type: 'message_start',
          message: { id: 'm', role: 'assistant', content: [], model: 'claude-sonnet-5-5-20260901' },
        },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi.' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
        { type: 'message_stop' },
      ]
        .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        .join(''),
      'claude-sonnet-5-5-20260901',
    ],
  ])('of %s is on its span', async (model, wire, answered) => {
    const observed = observe()
    expect((await answering(model, wire).send('hi')).output).toBe('Hi.')
    const chat = observed.span(`chat ${model.split(':')[1]}`)
    expect(chat.attributes['gen_ai.response.model']).toBe(answered)
    expect(chat.attributes['gen_ai.request.model']).toBe(model.split(':')[1])
  })
})

test('the cost of a request is on its span', async () => {
  const observed = observe()
  const model = scriptedModel([[{ text: 'Hi.' }, { usage: { inputTokens: 10, outputTokens: 2 } }]])
  await new Agent(model, { inspect: telemetry(), price: () => 0.25 }).send('hi')
  expect(observed.span('chat script').attributes['gen_ai.usage.cost']).toBe(0.25)
})

describe('the spans of a chat', () => {
  const look = tool({ name: 'look', description: 'Looks', execute: () => 'seen' })
  const turns = () => scriptedModel([[{ toolCall: { id: 'c1', name: 'look' } }], 'Done.'])
  const sessions = ({ spans }: ReturnType<typeof observe>) =>
    spans.map(({ attributes }) => [attributes['session.id'], attributes['gen_ai.conversation.id']])

  test('that is stored have its id, also in the process that continues it', async () => {
    const observed = observe()
    const path = storeFile()
    const hanging = new Agent(scriptedModel([[{ text: 'a' }, { hang: true }]]), { inspect: telemetry() })
    const first = await opened(path, { it: hanging })
    const run = await (await first.chat('chat-7')).send('hi')
    for await (const { chunk } of run.stream()) if (chunk.output !== '') break
    await first.close()
    const runs = await opened(path, { it: new Agent(turns(), { tools: [look], inspect: telemetry() }) })
    await (await runs.get(run.id))?.result
    await runs.close()
    expect(observed.spans.length).toBeGreaterThanOrEqual(5)
    expect(new Set(sessions(observed).map(String))).toEqual(new Set(['chat-7,chat-7']))
  })

  test('of a page have its id, which attributes can replace', async () => {
    const observed = observe()
    const seen: unknown[] = []
    const inspect = telemetry({
      attributes: ({ conversation }) => {
        seen.push(conversation)
        return { 'session.id': 'mine' }
      },
    })
    const handler = uiMessageHandler(new Agent(turns(), { tools: [look], inspect }))
    const messages = [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }]
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ id: 'chat-8', messages })
    await (await handler(new Request('http://localhost/', { method: 'POST', headers, body }))).text()
    expect(new Set(sessions(observed).map(String))).toEqual(new Set(['mine,chat-8']))
    expect(seen).toEqual(['chat-8'])
  })

  test('outside of one have no session', async () => {
    const observed = observe()
    await new Agent(turns(), { tools: [look], inspect: telemetry() }).send('hi')
    expect(sessions(observed).flat().filter(Boolean)).toEqual([])
  })
})

describe('embeddings', () => {
  const vectors = JSON.stringify({
    data: [{ index: 0, embedding: [1, 2] }],
    usage: { prompt_tokens: 3, total_tokens: 3 },
  })

  test('are a span with their model and tokens, and are measured', async () => {
    const observed = observe()
    const agent = answering('openai?embeddings=text-embedding-3-small', vectors, 'application/json')
    await agent.embedQuery('hi')
    const { kind, attributes } = observed.span('embeddings text-embedding-3-small')
    expect(kind).toBe(2)
    expect(attributes).toMatchObject({
      'gen_ai.operation.name': 'embeddings',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'text-embedding-3-small',
      'gen_ai.usage.input_tokens': 3,
      'statewire.embeddings.texts': 1,
    })
    const measured = (await observed.measured()).map(({ name }) => name)
    expect(measured).toContain('gen_ai.client.operation.duration')
    expect(measured).toContain('gen_ai.client.token.usage')
  })

  test('that fail end their span with the error', async () => {
    const observed = observe()
    const agent = new Agent('openai?embeddings=e', {
      apiKey: 'k',
      inspect: telemetry(),
      retry: { maxRetries: 0 },
      connection: { fetch: async () => new Response('{"error":{"message":"no"}}', { status: 401 }) },
    })
    await expect(agent.embedDocuments(['a', 'b'])).rejects.toThrow()
    const { status, attributes } = observed.span('embeddings e')
    expect(status.code).toBe(2)
    expect(attributes['error.type']).toBe('401')
  })
})
