/** A server of the revision 2026-07-28: no sessions, changes on a separate stream, questions as results. */
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  type McpHttpHandler,
  McpServer,
} from '@modelcontextprotocol/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { connected } from './servers.ts'

const url = 'http://modern.test/mcp'
const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })
const annotations = { readOnlyHint: true }

/** A server whose tools can change, and whose streams can be cut. */
const modern = (names: string[]) => {
  const cuts = new Set<AbortController>()
  const handler: McpHttpHandler = createMcpHandler(
    () => {
      const server = new McpServer(
        { name: 'modern', version: '1' },
        { capabilities: { tools: { listChanged: true } } },
      )
      for (const name of names) server.registerTool(name, { annotations }, () => text(`I am ${name}`))
      server.registerTool('confirm', { annotations }, ({ mcpReq }) => {
        const answer = acceptedContent<{ sure: boolean }>(mcpReq.inputResponses, 'sure')
        if (answer) return text(`sure: ${answer.sure}`)
        return inputRequired({
          inputRequests: {
            sure: inputRequired.elicit({
              message: 'Are you sure?',
              requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } } },
            }),
          },
        })
      })
      server.registerTool('wait', { annotations, inputSchema: z.object({}) }, async (_, { mcpReq }) => {
        begun()
        await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve))
        cancelled()
        return text('waited')
      })
      return server
    },
    { legacy: 'reject' },
  )
  const cancelled = vi.fn()
  const begun = vi.fn()
  onTestFinished(() => handler.close())
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    const request = new Request(input, init)
    const isListening = (await request.clone().text()).includes('subscriptions/listen')
    const response = await handler.fetch(request)
    if (!isListening || !response.body) return response
    const cut = new AbortController()
    cuts.add(cut)
    const through = new TransformStream()
    response.body.pipeTo(through.writable, { signal: cut.signal }).catch(() => {})
    return new Response(through.readable, response)
  }
  const cutStreams = () => {
    for (const cut of cuts) cut.abort()
    cuts.clear()
  }
  return { handler, fetch, begun, cancelled, cutStreams, listeners: () => cuts.size }
}

const call = (name: string) => [{ toolCall: { name, arguments: {} } }]

test('its tools are called, and a call is cancelled with the run', async () => {
  const { fetch, begun, cancelled } = modern(['one'])
  const remote = await connected({ url, fetch })
  expect(remote.client.getProtocolEra()).toBe('modern')
  const { messages } = await new Agent(scriptedModel([call('one'), 'done']), { tools: [remote] }).send('go')
  expect(messages.flatMap(toolResultsOf)).toMatchObject([{ result: 'I am one' }])
  const run = new Agent(scriptedModel([call('wait')]), { tools: [remote] }).start('go')
  vi.waitFor(() => expect(begun).toHaveBeenCalled(), 30_000).then(() => run.abort('enough'))
  await expect(run.result).rejects.toMatchObject({ name: 'AbortedError' })
  await vi.waitFor(() => expect(cancelled).toHaveBeenCalled(), 30_000)
})

test('changes are followed, also after their stream was cut off', async () => {
  const names = ['one']
  const { handler, fetch, cutStreams, listeners } = modern(names)
  const remote = await connected({ url, fetch })
  const offered = () => remote.tools.map(({ name }) => name)
  names.push('two')
  handler.notify.toolsChanged()
  await vi.waitFor(() => expect(offered()).toContain('two'), 30_000)
  cutStreams()
  names.push('three')
  // No stream was open to announce it. It is listed when the stream is open again, like all later changes.
  await vi.waitFor(() => expect(offered()).toContain('three'), 30_000)
  expect(listeners()).toBe(1)
  names.push('four')
  handler.notify.toolsChanged()
  await vi.waitFor(() => expect(offered()).toContain('four'), 30_000)
})

test('its questions are asked in the same way', async () => {
  const { fetch } = modern([])
  const remote = await connected({ url, fetch, elicitation: true })
  const run = new Agent(scriptedModel([call('confirm'), 'done']), { tools: [remote] }).start('go')
  run.on('tool.external', ({ callId, call: asked }) => {
    expect(asked.arguments).toMatchObject({ message: 'Are you sure?' })
    run.answer(callId, { sure: true })
  })
  const { messages } = await run.result
  expect(messages.flatMap(toolResultsOf)).toMatchObject([{ result: 'sure: true' }])
})
