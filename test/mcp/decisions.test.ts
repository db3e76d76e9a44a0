/** A served agent asks its client about a call that needs an approval. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { type McpHandler, type McpHandlerOptions, mcpHandler } from '../../src/mcp/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'

const url = new URL('http://statewire.test/mcp')
const sent: unknown[] = []
const send = tool({
  name: 'send',
  description: 'Sends',
  input: { jsonSchema: { type: 'object' } },
  needsApproval: true,
  execute: (args) => void sent.push(args),
})
const asking = (...ids: string[]): ScriptTurn =>
  ids.map((id) => ({ toolCall: { id, name: 'send', arguments: { to: id } } }))
const serving = (turns: ScriptTurn[], options: McpHandlerOptions = {}) => {
  sent.length = 0
  const model = scriptedModel(turns)
  return {
    model,
    handler: mcpHandler({ ask: new Agent(model, { tools: [send] }), other: new Agent(model) }, options),
  }
}

type Answer = { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, string | boolean> }
const yes: Answer = { action: 'accept', content: { approve: true } }
const clientOf = async (
  handler: McpHandler,
  answer: ((message: string) => Answer) | undefined,
  onBody = (_: string) => {},
) => {
  const elicitation = answer ? { capabilities: { elicitation: { form: {} } } } : {}
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: 'auto' }, ...elicitation },
  )
  if (answer) client.setRequestHandler('elicitation/create', ({ params }) => answer(params.message))
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    onBody(String(init?.body ?? ''))
    return handler(new Request(input, init))
  }
  await client.connect(new StreamableHTTPClientTransport(url, { fetch }))
  onTestFinished(() => client.close())
  return client
}
const ask = (client: Client) => client.callTool({ name: 'ask', arguments: { prompt: 'Send it' } })

describe('the client', () => {
  test('is asked about each call, with its arguments, and its yes and no count', async () => {
    const asked: string[] = []
    const { handler, model } = serving([asking('a', 'b'), asking('c'), 'Done.'])
    const client = await clientOf(handler, (message) => {
      asked.push(message)
      return message.includes('"b"')
        ? { action: 'accept', content: { approve: false, reason: 'too far' } }
        : yes
    })
    expect(await ask(client)).toMatchObject({ content: [{ type: 'text', text: 'Done.' }] })
    expect(sent).toEqual([{ to: 'a' }, { to: 'c' }])
    expect(asked).toHaveLength(3)
    expect(asked.join()).toContain('May the agent call send with {"to":"a"}?')
    expect(model.requests[1]?.messages.flatMap(toolResultsOf)).toMatchObject([
      {},
      { rejected: true, result: expect.stringContaining('too far') },
    ])
  })

  test.each<[string, Answer]>([
    ['declines', { action: 'decline' }],
    ['cancels', { action: 'cancel' }],
    ['says nothing clear', { action: 'accept', content: { approve: 'yes' } }],
  ])('that %s has not approved', async (_, answer) => {
    const { handler } = serving([asking('a'), 'Not sent.'])
    // A client may check the answer against the schema before it sends it.
    const result = await ask(await clientOf(handler, () => answer)).catch(() => undefined)
    expect(sent).toEqual([])
    if (answer.action !== 'accept') expect(result).toMatchObject({ content: [{ text: 'Not sent.' }] })
  })

  test('that cannot be asked learns why', async () => {
    const { handler } = serving([asking('a')])
    expect(await ask(await clientOf(handler, undefined))).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('this client cannot be asked') }],
    })
    expect(sent).toEqual([])
  })
})

describe('a question', () => {
  test('outlives the process on a store', async () => {
    const store = new Map<string, string>()
    const first = serving([asking('a')], { waiting: store })
    const second = serving(['Done.'], { waiting: store })
    let current = first.handler
    const relay = Object.assign((request: Request) => current(request), { close: async () => {} })
    const client = await clientOf(relay, () => {
      expect(store.size).toBe(1)
      current = second.handler
      return yes
    })
    expect(await ask(client)).toMatchObject({ content: [{ text: 'Done.' }] })
    expect(sent).toEqual([{ to: 'a' }])
    expect(store.size).toBe(0)
  })

  test('is answered once, for its own tool, and its state cannot be made up', async () => {
    const bodies: string[] = []
    const { handler } = serving([asking('a'), 'Done.'])
    const client = await clientOf(
      handler,
      () => yes,
      (body) => bodies.push(body),
    )
    await ask(client)
    const answered = bodies.findLast((body) => body.includes('inputResponses')) ?? ''
    const repeat = async (body: string) => {
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': JSON.parse(body).params.name,
      }
      return (await handler(new Request(url, { method: 'POST', headers, body }))).text()
    }
    expect(await repeat(answered)).toContain('Nothing waits for this answer')
    expect(await repeat(answered.replace(/"requestState":"[^"]*"/, '"requestState":"x"'))).toContain(
      'Nothing waits',
    )
    expect(sent).toEqual([{ to: 'a' }])
  })
})
