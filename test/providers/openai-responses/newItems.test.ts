/** Items of newer answers: tools that were searched for, programs, compactions, calls that the server makes itself. */
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../../src/agent/Agent.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import { userMessage } from '../../../src/messages/messages.ts'
import {
  added,
  bodyOf,
  callItem,
  callsIn,
  completed,
  created,
  decode,
  done,
  messageFrom,
  messageItem,
  ofType,
  reasoningItem,
  textDelta,
  thinkingIn,
} from './responsesFixtures.ts'

const inputAfter = (events: readonly JsonObject[], ...more: ReturnType<typeof userMessage>[]) =>
  bodyOf({
    messages: [
      userMessage('Go'),
      messageFrom(decode(created(), ...events, completed({ store: false }))),
      ...more,
    ],
    providerOptions: { store: false },
  }).input as JsonObject[]

describe('a conversation that goes on without the id of a response', () => {
  const search = {
    type: 'tool_search_call',
    id: 'tsc_1',
    call_id: null,
    execution: 'server',
    arguments: { query: 'crm' },
    status: 'completed',
  }
  const found = {
    type: 'tool_search_output',
    id: 'tso_1',
    call_id: null,
    execution: 'server',
    status: 'completed',
    tools: [{ type: 'namespace', name: 'crm', description: 'Customers', tools: [] }],
  }

  it('has the search for a tool, the namespace of the call, and the program that made it', () => {
    const caller = { type: 'program', caller_id: 'prog_1' }
    const program = { type: 'program', id: 'p1', call_id: 'prog_1', code: 'list()', fingerprint: 'f' }
    const result = userMessage([{ type: 'toolResult', id: 'call_a', name: 'list', result: 'none' }])
    const input = inputAfter(
      [
        done(0, reasoningItem('rs_1', 'gAAA')),
        done(1, { ...search, created_by: 'model' }),
        done(2, found),
        done(3, program),
        done(4, callItem('call_a', 'list', '{}', { namespace: 'crm', caller })),
      ],
      result,
    )
    const expected = [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' },
      search,
      found,
      program,
      { type: 'function_call', call_id: 'call_a', name: 'list', arguments: '{}', namespace: 'crm', caller },
      { type: 'function_call_output', call_id: 'call_a', output: 'none', caller },
    ]
    expect(input.slice(1)).toEqual(expected)
    expect(expected satisfies readonly { type: ResponseInputItem['type'] | string }[]).toHaveLength(6)
  })

  it('has the namespace where the layout is plain otherwise', () => {
    const input = inputAfter([done(0, callItem('call_a', 'list', '{}', { namespace: 'crm', caller: null }))])
    expect(input[1]).toEqual({
      type: 'function_call',
      call_id: 'call_a',
      name: 'list',
      arguments: '{}',
      namespace: 'crm',
    })
  })

  it('has the compaction', () => {
    const compaction = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAA' }
    expect(inputAfter([done(0, compaction), done(1, messageItem('Yes.'))]).slice(1)).toEqual([
      compaction,
      { type: 'message', role: 'assistant', content: 'Yes.' },
    ])
  })

  it('reports a search whose ids change once', () => {
    const ids = [
      { id: 'a', call_id: 'call_1' },
      { id: 'b', call_id: 'call_2' },
      { id: 'c', call_id: 'call_3' },
    ].map((each) => ({ ...search, ...each }))
    const [first = {}, second = {}, third = {}] = ids
    const deltas = decode(created(), added(0, first), done(0, second), completed({ output: [third] }))
    expect(ofType(deltas, 'metadata')).toHaveLength(1)
    // Two searches are two, however they are named at the end.
    const both = decode(
      created(),
      done(0, first),
      done(1, { ...second, arguments: { query: 'mail' } }),
      completed({ output: [third, { ...third, id: 'd', call_id: 'call_4' }] }),
    )
    expect(ofType(both, 'metadata')).toHaveLength(2)
  })
})

it('a call of xAI’s search on X is a tool of the server, and nothing to answer', () => {
  const item = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'xs_call-abc-0', name: 'x_keyword_search' }
  const deltas = decode(
    created(),
    added(0, { ...item, input: '', status: 'in_progress' }),
    {
      type: 'response.custom_tool_call_input.delta',
      item_id: 'ctc_1',
      output_index: 0,
      delta: '{"query":"a"}',
    },
    {
      type: 'response.custom_tool_call_input.done',
      item_id: 'ctc_1',
      output_index: 0,
      input: '{"query":"a"}',
    },
    done(0, { ...item, input: '{"query":"a"}', status: 'completed' }),
    textDelta(1, 'Found.'),
    completed(),
  )
  expect(callsIn(deltas)).toEqual([])
  expect(ofType(deltas, 'toolDelta')).toEqual([])
  expect(ofType(deltas, 'metadata')).toMatchObject([
    { metadata: { serverTools: [{ name: 'x_keyword_search' }] } },
  ])
  expect(deltas.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' })
})

it('parts of a summary are paragraphs', () => {
  const summary = (summary_index: number, delta: string) => ({
    type: 'response.reasoning_summary_text.delta',
    output_index: 0,
    summary_index,
    delta,
  })
  const deltas = decode(created(), summary(0, '**One'), summary(0, '**'), summary(1, '**Two**'), completed())
  expect(thinkingIn(deltas)).toBe('**One**\n\n**Two**')
})

it.each([
  ['words before it', 'Let me see {this}. '],
  ['the same answer twice', '{"city":"Oslo"}'],
])('a typed answer of two messages is the last one: %s', async (_, first) => {
  const events = [
    created(),
    done(0, messageItem(first, { phase: 'commentary' })),
    done(1, messageItem('{"city":"Oslo"}', { id: 'msg_2', phase: 'final_answer' })),
    completed(),
  ]
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  const agent = new Agent('openai-responses:gpt-5-mini', {
    apiKey: 'key',
    connection: {
      fetch: async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
    },
  })
  const { output } = await agent.sendFor('Where?', z.object({ city: z.string() }))
  expect(output).toEqual({ city: 'Oslo' })
})
