import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent, ConfigurationError, codeExecution, fileSearch, tool, webSearch } from '../../../src/index.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import { loopback } from '../../loopback.ts'
import { bodyOf, completed, created, decode, done, messageItem, ofType, textIn } from './responsesFixtures.ts'

/** A stream of whole items, as the API sends them. */
const sse = (...items: JsonObject[]): string => {
  const events = [
    { type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } },
    ...items.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item },
      { type: 'response.output_item.done', output_index, item },
    ]),
    {
      type: 'response.completed',
      response: { id: 'resp_1', status: 'completed', output: items, store: false },
    },
  ]
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
}

const said = (text: string, phase?: string): JsonObject =>
  messageItem(text, { id: `msg_${text}`, ...(phase && { phase }) })

const serverWith = (...answers: string[]) =>
  loopback((_, nth) => ({ body: answers[nth] ?? sse(said('Done.')) }))

const agentAt = (url: string, options: object) =>
  new Agent('openai-responses:gpt-6-luna', {
    apiKey: 'key',
    baseUrl: url,
    providerOptions: { store: false },
    retry: { maxRetries: 0 },
    ...options,
  })

describe('tools that OpenAI defines and the agent runs', () => {
  const patch = {
    type: 'apply_patch_call',
    id: 'apc_1',
    call_id: 'call_1',
    status: 'completed',
    operation: { type: 'update_file', path: 'a.txt', diff: '@@' },
  }

  it('run as tools of the agent, with their own items for the call and its result', async () => {
    const seen: unknown[] = []
    const applyPatch = tool({
      name: 'apply_patch',
      description: 'Changes files',
      wire: { 'openai-responses': { type: 'apply_patch' } },
      input: z.object({ operation: z.object({ type: z.string(), path: z.string() }) }),
      execute: ({ operation }) => {
        seen.push(operation)
        return 'Patched.'
      },
    })
    const server = await serverWith(sse(patch))
    const result = await agentAt(server.url, { tools: [applyPatch] }).send('Fix it')
    expect(result.output.trim()).toBe('Done.')
    expect(seen).toEqual([{ type: 'update_file', path: 'a.txt' }])
    expect(server.requests[0]?.body.tools).toEqual([{ type: 'apply_patch' }])
    expect(server.requests[1]?.body.input).toMatchObject([
      { role: 'user' },
      patch,
      { type: 'apply_patch_call_output', call_id: 'call_1', status: 'completed', output: 'Patched.' },
    ])
  })

  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    [
      'shell',
      { type: 'shell_call', call_id: 'call_1', action: { commands: ['ls'] } },
      { type: 'shell', environment: { type: 'local' } },
      {
        type: 'shell_call_output',
        call_id: 'call_1',
        output: [{ stdout: 'fine', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      },
    ],
    [
      'local_shell',
      { type: 'local_shell_call', call_id: 'call_1', action: { type: 'exec', command: ['ls'], env: {} } },
      { type: 'local_shell' },
      { type: 'local_shell_call_output', id: 'call_1', output: 'fine' },
    ],
    [
      'crm',
      {
        type: 'mcp_approval_request',
        id: 'mcpr_1',
        server_label: 'crm',
        name: 'find',
        arguments: '{"id":1}',
      },
      { type: 'mcp', server_label: 'crm', server_url: 'https://crm.example/mcp' },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
    ],
  ])('has a result of its own kind for %s', async (name, call, entry, output) => {
    const given = tool({
      name,
      description: '',
      wire: { 'openai-responses': entry },
      input: z.looseObject({}),
      execute: () => 'fine',
    })
    const server = await serverWith(sse(call))
    await agentAt(server.url, { tools: [given] }).send('Go')
    expect(server.requests[1]?.body.input).toMatchObject([{ role: 'user' }, { type: call.type }, output])
  })

  it('gives a screenshot back for a computer', async () => {
    const computer = tool({
      name: 'computer',
      description: '',
      wire: { 'openai-responses': { type: 'computer' } },
      input: z.looseObject({}),
      execute: () => ({ type: 'data', mimeType: 'image/png', data: 'AAAA' }),
    })
    const call = { type: 'computer_call', call_id: 'call_1', actions: [{ type: 'screenshot' }] }
    const server = await serverWith(sse(call))
    await agentAt(server.url, { tools: [computer] }).send('Go')
    expect(server.requests[1]?.body.input).toMatchObject([
      { role: 'user' },
      { type: 'computer_call' },
      {
        type: 'computer_call_output',
        call_id: 'call_1',
        output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,AAAA' },
      },
    ])
  })

  it('leaves a shell that ran in a container of the provider to the provider', () => {
    const deltas = decode(
      created(),
      done(0, { type: 'shell_call', call_id: 'call_1', action: { commands: ['ls'] } }),
      done(1, { type: 'shell_call_output', call_id: 'call_1', output: [] }),
      done(2, messageItem('Listed.')),
      completed(),
    )
    expect(ofType(deltas, 'toolCall')).toEqual([])
    expect(textIn(deltas)).toBe('Listed.')
  })

  it.each([
    ['openai-responses', { type: 'apply_patch' }],
    ['openai-responses', { type: 'shell' }],
    ['openai-responses', { type: 'mcp', server_label: 'crm', server_url: 'https://crm.example' }],
    ['anthropic', { type: 'memory_20250818', name: 'memory' }],
    ['anthropic', { type: 'bash_20250124', name: 'bash' }],
  ])('refuses an entry that nothing runs: %s %o', async (provider, entry) => {
    const server = await serverWith()
    const agent = new Agent(`${provider}:some-model`, {
      apiKey: 'key',
      baseUrl: server.url,
      serverTools: [entry],
    })
    const send = agent.send('Go')
    await expect(send).rejects.toBeInstanceOf(ConfigurationError)
    await expect(send).rejects.toThrow(/write tool\(\{ name: '/)
    expect(server.requests).toEqual([])
  })

  it('takes an entry that the provider runs itself', () => {
    const shell = { type: 'shell', environment: { type: 'container_auto' } }
    const mcp = {
      type: 'mcp',
      server_label: 'crm',
      server_url: 'https://crm.example',
      require_approval: 'never',
    }
    expect(bodyOf({ messages: [], serverTools: [shell, mcp] }).tools).toEqual([shell, mcp])
  })

  it('sends Claude its own definition, and others a function', async () => {
    const memory = tool({
      name: 'memory',
      description: 'Notes',
      wire: { anthropic: { type: 'memory_20250818', name: 'memory' } },
      execute: () => 'nothing yet',
    })
    const server = await loopback(() => ({ status: 403, body: {} }))
    for (const provider of ['anthropic:claude-sonnet-5-5', 'openai-responses:gpt-6-luna']) {
      await new Agent(provider, { apiKey: 'key', baseUrl: server.url, tools: [memory], cache: 'off' })
        .send('Go')
        .catch(() => {})
    }
    expect(server.requests.map(({ body }) => body.tools)).toMatchObject([
      [{ type: 'memory_20250818', name: 'memory' }],
      [{ type: 'function', name: 'memory' }],
    ])
  })
})

describe('the outputs of server tools', () => {
  it('are asked for', () => {
    const serverTools = [webSearch(), codeExecution(), fileSearch({ stores: ['vs_1'] })]
    const body = bodyOf(
      { messages: [], serverTools, providerOptions: { include: ['code_interpreter_call.outputs'] } },
      { toolOutputs: true },
    )
    expect(body.include).toEqual([
      'code_interpreter_call.outputs',
      'web_search_call.action.sources',
      'file_search_call.results',
    ])
    expect(bodyOf({ messages: [], serverTools })).not.toHaveProperty('include')
  })
})

describe('commentary', () => {
  const both = [said('Got it', 'commentary'), said('Here are', 'final_answer')]

  it('is apart from the answer', async () => {
    const server = await serverWith(sse(...both))
    const result = await agentAt(server.url, {}).send('List')
    expect(result).toMatchObject({
      output: 'Got it\n\nHere are',
      answer: 'Here are',
      metadata: { commentary: ['Got it'] },
    })
  })

  it('does not break a typed answer', async () => {
    const server = await serverWith(sse(said('Got it', 'commentary'), said('{"n":3}', 'final_answer')))
    const result = await agentAt(server.url, {}).sendFor('Count', z.object({ n: z.number() }))
    expect(result.output).toEqual({ n: 3 })
    expect(server.requests).toHaveLength(1)
  })

  it('is taken back in the stream of a typed answer', async () => {
    const server = await serverWith(sse(said('Got it', 'commentary'), said('{"n":3}', 'final_answer')))
    const kinds: unknown[] = []
    const run = agentAt(server.url, {}).sendStreamFor('Count', z.object({ n: z.number() }))
    for await (const chunk of run) kinds.push(chunk.metadata.restart === true ? 'restart' : chunk.output)
    expect(kinds).toContain('restart')
    expect(kinds.at(-1)).toEqual({ n: 3 })
  })

  it('goes back in its place, with its phase', async () => {
    const server = await serverWith(sse(...both))
    const agent = agentAt(server.url, {})
    const { messages } = await agent.send('List')
    await agent.send('More', { history: messages })
    expect(server.requests[1]?.body.input).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: 'Got it', phase: 'commentary' },
      { role: 'assistant', content: 'Here are', phase: 'final_answer' },
      { role: 'user' },
    ])
  })

  it('is the answer where there is nothing else', async () => {
    const server = await serverWith(sse(said('Got it', 'commentary')))
    expect(await agentAt(server.url, {}).send('List')).toMatchObject({ output: 'Got it', answer: 'Got it' })
  })
})
