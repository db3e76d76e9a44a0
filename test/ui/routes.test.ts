/** The answers of each handler to each method and path: status, headers and body; and what its owner is asked before. */
import { describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { aguiHandler, type Handler, openaiHandler, uiMessageHandler } from '../../src/ui/index.ts'
import { opened, storeFile } from '../durable/storeFile.ts'

const agentWith = (turns: ScriptTurn[] = ['Hello.']) => new Agent(scriptedModel(turns))
const ask = (handler: Handler, method: string, path: string, body?: object, headers: object = {}) =>
  handler(
    new Request(`http://localhost${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    }),
  )
const prompt = { role: 'user', id: 'u1', parts: [{ type: 'text', text: 'hi' }] }
const stream = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}
const plainText = { 'content-type': 'text/plain; charset=utf-8' }

describe('uiMessageHandler', () => {
  test('streams an answer to its end', async () => {
    const response = await ask(uiMessageHandler(agentWith()), 'POST', '/', { id: 'a', messages: [prompt] })
    expect(Object.fromEntries(response.headers)).toEqual({
      ...stream,
      'x-vercel-ai-ui-message-stream': 'v1',
    })
    expect(await response.text()).toMatch(/^: open\n\ndata: {"type":"start",[\s\S]*\n\ndata: \[DONE\]\n\n$/)
  })

  test.each<[string, string, number, string]>([
    ['PUT', '/', 405, 'Use POST, GET or DELETE.'],
    ['GET', '/', 404, 'This address does not exist. Use POST to ask.'],
    ['GET', '/chat/streams', 404, 'This address does not exist. Use POST to ask.'],
    ['DELETE', '/stream', 404, 'This address does not exist. Use POST to ask.'],
    ['GET', '/chat/stream/more', 404, 'This address does not exist. Use POST to ask.'],
    ['GET', '/chat/messages', 404, 'The messages of this chat are not stored here.'],
    ['DELETE', '/chat/messages', 404, 'The messages of this chat are not stored here.'],
    ['GET', '/%E0%A4%A/stream', 400, 'The id of a chat must have'],
  ])('refuses %s %s', async (method, path, status, message) => {
    const response = await ask(uiMessageHandler(agentWith()), method, path)
    expect(Object.fromEntries(response.headers)).toEqual(plainText)
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(message)])
  })

  test.each([
    ['GET', '/api/chat/stream'],
    ['GET', '/chat/stream/'],
    ['DELETE', '/chat/stream'],
  ])('has nothing at %s %s for an agent', async (method, path) => {
    const response = await ask(uiMessageHandler(agentWith()), method, path)
    expect([response.status, await response.text()]).toEqual([204, ''])
  })

  test('lets only those in who may use the chat, by its decoded id', async () => {
    const asked: unknown[] = []
    const handler = uiMessageHandler(agentWith(), {
      authorize: async ({ method }, id) => {
        asked.push([method, id])
        return false
      },
    })
    for (const [method, path] of [
      ['GET', '/a%20b/stream'],
      ['DELETE', '/a/stream'],
      ['GET', '/a/messages'],
    ] as const) {
      const response = await ask(handler, method, path)
      expect([response.status, await response.text()]).toEqual([403, 'You may not use this chat.'])
    }
    expect((await ask(handler, 'POST', '/', { id: 'c', messages: [prompt] })).status).toBe(403)
    expect(asked).toEqual([
      ['GET', 'a b'],
      ['DELETE', 'a'],
      ['GET', 'a'],
      ['POST', 'c'],
    ])
  })

  test('serves what is stored: the messages, and the running answer, which DELETE ends', async () => {
    const hanging = agentWith(['Hello.', [{ text: 'Well' }, { hang: true }]])
    const handler = uiMessageHandler(await opened(storeFile(), { assistant: hanging }))
    await (await ask(handler, 'POST', '/', { id: 'a', messages: [prompt] })).text()
    const messages = async () => (await ask(handler, 'GET', '/a/messages')).json()
    const first = [
      { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hi', state: 'done' }] },
      {
        id: 'answer-u1',
        role: 'assistant',
        parts: [{ type: 'step-start' }, { type: 'text', text: 'Hello.', state: 'done' }],
      },
    ]
    expect(await messages()).toEqual(first)
    const again = { ...prompt, parts: [{ type: 'text', text: 'Go on' }] }
    const running = await ask(handler, 'POST', '/', { id: 'a', messages: [prompt, again] })
    // The question that is being answered is among the messages, its answer is not.
    expect(await messages()).toEqual([
      ...first,
      { id: 'message-2', role: 'user', parts: [{ type: 'text', text: 'Go on', state: 'done' }] },
    ])
    const read = await ask(handler, 'GET', '/a/stream')
    expect((await ask(handler, 'DELETE', '/a/messages')).status).toBe(404)
    expect((await ask(handler, 'DELETE', '/a/stream')).status).toBe(204)
    for (const response of [running, read]) expect(await response.text()).toContain('{"type":"abort"}')
    expect((await ask(handler, 'GET', '/a/stream')).status).toBe(204)
  })

  test('takes the stored agent that it names', async () => {
    const agents = { one: agentWith(['One.']), two: agentWith(['Two.']) }
    const handler = uiMessageHandler(await opened(storeFile(), agents), { agent: 'two' })
    const response = await ask(handler, 'POST', '/', { id: 'a', messages: [prompt] })
    expect(await response.text()).toContain('"Two."')
  })
})

describe('aguiHandler', () => {
  const input = { threadId: 't1', runId: 'r1', messages: [{ id: 'u1', role: 'user', content: 'hi' }] }

  test('streams a run', async () => {
    const response = await ask(aguiHandler(agentWith()), 'POST', '/', input)
    expect(Object.fromEntries(response.headers)).toEqual(stream)
    const lines = (await response.text()).split('\n\n').filter((line) => line.startsWith('data: '))
    const types = lines.map((line) => JSON.parse(line.slice(6)).type)
    expect([types.at(0), types.at(-1)]).toEqual(['RUN_STARTED', 'RUN_FINISHED'])
  })

  test('refuses other methods, other people, and tools for a stored chat', async () => {
    const got = await ask(aguiHandler(agentWith()), 'GET', '/')
    expect([got.status, await got.text()]).toEqual([405, 'Use POST.'])
    const closed = aguiHandler(agentWith(), { authorize: (_, id) => id !== 't1' })
    expect((await ask(closed, 'POST', '/', input)).status).toBe(403)
    const stored = aguiHandler(await opened(storeFile(), { assistant: agentWith() }))
    const withTools = await ask(stored, 'POST', '/', { ...input, tools: [{ name: 'paint' }] })
    expect([withTools.status, await withTools.text()]).toEqual([
      400,
      expect.stringContaining('do not take tools from a page'),
    ])
    expect((await ask(stored, 'POST', '/', { ...input, tools: [] })).status).toBe(200)
  })

  test('refuses a tool twice, one that the agent has, and one that cannot be', async () => {
    const look = tool({ name: 'look', description: 'Looks', execute: () => 'seen' })
    const handler = aguiHandler(new Agent(scriptedModel([]), { tools: [look] }))
    for (const [names, message] of [
      [['look'], 'There is already a tool "look"'],
      [['paint', 'paint'], 'There is already a tool "paint"'],
      [['a b'], 'a b'],
    ] as const) {
      const tools = names.map((name) => ({ name }))
      const response = await ask(handler, 'POST', '/', { ...input, tools })
      expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(message)])
    }
  })
})

describe('openaiHandler', () => {
  const messages = [{ role: 'user', content: 'hi' }]
  const modelOf = (id: string) => ({ id, object: 'model', created: 0, owned_by: 'statewire' })
  const error = (status: number, code: string, message: string) => [
    status,
    {
      error: {
        message: expect.stringContaining(message),
        type: status < 500 ? 'invalid_request_error' : 'server_error',
        param: null,
        code,
      },
    },
  ]
  const answered = async (response: Response) => [response.status, await response.json()]

  test('lists its agents, and shows one', async () => {
    const handler = openaiHandler({ helper: agentWith(), 'a/b': agentWith() })
    expect(await answered(await ask(handler, 'GET', '/v1/models'))).toEqual([
      200,
      { object: 'list', data: [modelOf('helper'), modelOf('a/b')] },
    ])
    expect(await answered(await ask(handler, 'GET', '/v1/models/a%2Fb'))).toEqual([200, modelOf('a/b')])
  })

  test.each<[string, string, number, string, string]>([
    ['GET', '/v1/models/missing', 404, 'model_not_found', 'The model "missing" does not exist.'],
    ['GET', '/v1/models/a/b', 404, 'not_found', 'There is no GET /v1/models/a/b.'],
    ['POST', '/v1/models', 404, 'not_found', 'There is no POST /v1/models.'],
    ['GET', '/v1/chat/completions', 404, 'not_found', 'There is no GET'],
    ['POST', '/v1/chat', 404, 'not_found', 'There is no POST /v1/chat.'],
    ['GET', '/', 404, 'not_found', 'There is no GET /.'],
  ])('refuses %s %s', async (method, path, status, code, message) => {
    const response = await ask(openaiHandler({ helper: agentWith() }), method, path)
    expect(await answered(response)).toEqual(error(status, code, message))
  })

  test('does not repeat all of a long name or path', async () => {
    const handler = openaiHandler({ helper: agentWith() })
    const long = await ask(handler, 'GET', `/v1/models/${'x'.repeat(101)}`)
    expect(await answered(long)).toEqual(
      error(404, 'model_not_found', `The model "${'x'.repeat(100)}" does not`),
    )
    const path = await ask(handler, 'GET', `/${'y'.repeat(100)}`)
    expect(await answered(path)).toEqual(error(404, 'not_found', `There is no GET /${'y'.repeat(99)}.`))
  })

  test.each([
    ['Bearer sk-1', 'sk-1'],
    ['bearer   sk-1', 'sk-1'],
    ['Basic sk-1', ''],
    ['Bearer a b', ''],
    ['xBearer sk-1', ''],
    ['Bearer', ''],
    [undefined, ''],
  ])('reads the key of %s', async (authorization, key) => {
    const keys: string[] = []
    const authorize = async (each: string) => {
      keys.push(each)
      return false
    }
    const handler = openaiHandler({ helper: agentWith() }, { authorize })
    const response = await ask(
      handler,
      'GET',
      '/v1/models',
      undefined,
      authorization ? { authorization } : {},
    )
    expect(await answered(response)).toEqual(error(401, 'invalid_api_key', 'not valid'))
    expect(keys).toEqual([key])
  })

  test('ends a stream of chunks with a word, and names the events of a response', async () => {
    const handler = openaiHandler({ helper: agentWith(['Hello.', 'Hello.']) })
    const body = { model: 'helper', messages, input: 'hi', stream: true }
    const chunks = await (await ask(handler, 'POST', '/v1/chat/completions', body)).text()
    expect(chunks).not.toContain('event:')
    expect(chunks.endsWith('\n\ndata: [DONE]\n\n')).toBe(true)
    const events = await (await ask(handler, 'POST', '/v1/responses', body)).text()
    expect(events).toMatch(/^: open\n\nevent: response\.created\ndata: {"type":"response\.created"/)
    expect(events).not.toContain('[DONE]')
  })

  test.each([
    [{ include_usage: true }, true],
    [{ include_usage: 'yes' }, false],
    [null, false],
    [undefined, false],
  ])('shows the usage for %j: %s', async (stream_options, isShown) => {
    const handler = openaiHandler({ helper: agentWith() })
    const body = { model: 'helper', messages, stream: true, stream_options }
    const text = await (await ask(handler, 'POST', '/v1/chat/completions', body)).text()
    expect(text.includes('"usage":{')).toBe(isShown)
  })

  test('gives the tools the context of the request', async () => {
    const seen: unknown[] = []
    const who = tool({
      name: 'who',
      description: 'Who asks',
      execute: (_, { context }) => void seen.push(context),
    })
    const agent = new Agent(scriptedModel([[{ toolCall: { name: 'who' } }], 'You.']), { tools: [who] })
    const handler = openaiHandler({ helper: agent }, { context: async ({ url }) => url })
    await ask(handler, 'POST', '/v1/chat/completions', { model: 'helper', messages })
    expect(seen).toEqual(['http://localhost/v1/chat/completions'])
  })

  test('says that something went wrong as JSON, and not what', async () => {
    const broken = openaiHandler(
      { helper: agentWith([[{ error: { message: 'sk-1 is wrong' } }]]) },
      { showError: (thrown) => `Sorry (${(thrown as Error).name}).` },
    )
    const response = await ask(broken, 'POST', '/v1/chat/completions', { model: 'helper', messages })
    expect(await answered(response)).toEqual(error(500, 'server_error', 'Sorry (ModelError).'))
  })
})
