import type { ResponseCreateParamsStreaming } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/messages/json.ts'
import { type ChatMessage, userMessage } from '../../../src/messages/messages.ts'
import {
  added,
  bodyOf,
  callItem,
  completed,
  created,
  decode,
  done,
  incomplete,
  messageFrom,
  messageItem,
  reasoningItem,
  textDelta,
} from './responsesFixtures.ts'

const stateless = { store: false }

const inputAfter = (message: ChatMessage): JsonObject[] =>
  bodyOf({ messages: [message], providerOptions: stateless }).input as JsonObject[]

const typesAfter = (...events: JsonObject[]) =>
  inputAfter(messageFrom(decode(created(), ...events, completed({ store: false })))).map((item) => item.type)

describe('a stateless replay', () => {
  it('rebuilds reasoning, messages and calls in the order the model wrote them', () => {
    const deltas = decode(
      created(),
      done(0, reasoningItem('rs_1', 'gAAA1', 'First thoughts')),
      added(1, messageItem('', { phase: 'commentary', content: [] })),
      textDelta(1, 'Looking it up. '),
      done(1, messageItem('Looking it up. ', { phase: 'commentary' })),
      done(2, reasoningItem('rs_2', 'gAAA2')),
      done(3, callItem('call_a', 'get_weather', '{ "city": "Oslo" }')),
      done(4, callItem('call_b', 'get_time', '{}')),
      textDelta(5, 'One moment.'),
      completed({ store: false }),
    )
    const messages = [
      userMessage('Weather?'),
      messageFrom(deltas),
      userMessage([
        { type: 'toolResult', id: 'call_a', name: 'get_weather', result: 'cold' },
        { type: 'toolResult', id: 'call_b', name: 'get_time', result: 'noon' },
      ]),
    ]
    const golden = {
      model: 'gpt-5-mini',
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [{ type: 'summary_text', text: 'First thoughts' }],
          encrypted_content: 'gAAA1',
        },
        { type: 'message', role: 'assistant', content: 'Looking it up. ', phase: 'commentary' },
        { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'gAAA2' },
        { type: 'function_call', call_id: 'call_a', name: 'get_weather', arguments: '{ "city": "Oslo" }' },
        { type: 'function_call', call_id: 'call_b', name: 'get_time', arguments: '{}' },
        { type: 'message', role: 'assistant', content: 'One moment.' },
        { type: 'function_call_output', call_id: 'call_a', output: 'cold' },
        { type: 'function_call_output', call_id: 'call_b', output: 'noon' },
      ],
      include: ['reasoning.encrypted_content'],
      store: false,
      stream: true,
    } satisfies ResponseCreateParamsStreaming
    const body = bodyOf({ messages: JSON.parse(JSON.stringify(messages)), providerOptions: stateless })
    expect(body).toEqual(golden)
  })

  it('keeps no layout where text and calls are in their usual order', () => {
    const deltas = decode(
      created(),
      textDelta(0, 'Hm.'),
      done(1, callItem('call_a', 'ping', '{}')),
      completed(),
    )
    expect(messageFrom(deltas).metadata).toEqual({
      'openai-responses': { provider: 'openai-responses', responseId: 'resp_1' },
    })
  })

  it('drops reasoning without encrypted content, and keeps what followed it', () => {
    expect(
      typesAfter(done(0, reasoningItem('rs_1', null, 'Hm')), done(1, callItem('call_a', 'ping', '{}'))),
    ).toEqual(['function_call'])
  })

  it('drops reasoning that lost its follower to a server-side tool or to a cut', () => {
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' }
    expect(
      typesAfter(
        done(0, reasoningItem('rs_1', 'gAAA1')),
        done(1, search),
        done(2, reasoningItem('rs_2', 'gAAA2')),
        done(3, messageItem('Found.')),
      ),
    ).toEqual(['reasoning', 'message'])
    const cut = decode(
      created(),
      textDelta(0, 'Hm'),
      done(1, reasoningItem('rs_1', 'gAAA1')),
      incomplete('max_output_tokens'),
    )
    expect(inputAfter(messageFrom(cut)).map((item) => item.type)).toEqual(['message'])
  })

  it('takes the last encrypted content, and an earlier one if the list at the end has none', () => {
    const call = callItem('call_a', 'ping', '{}')
    const contentAfter = (last: string | null) =>
      inputAfter(
        messageFrom(
          decode(
            created(),
            added(0, reasoningItem('rs_1', 'partial')),
            done(0, reasoningItem('rs_1', 'whole')),
            done(1, call),
            completed({ store: false, output: [reasoningItem('rs_1', last), call] }),
          ),
        ),
      )[0]?.encrypted_content
    expect(contentAfter('again')).toBe('again')
    expect(contentAfter(null)).toBe('whole')
  })

  it('never sends the reasoning of another provider', () => {
    const message = messageFrom(
      decode(created(), done(0, reasoningItem('rs_1', 'gAAA1')), done(1, messageItem('Hi')), completed()),
    )
    const opaque = message.metadata?.['openai-responses'] as JsonObject
    const foreign = { ...message, metadata: { 'openai-responses': { ...opaque, provider: 'azure' } } }
    expect(inputAfter(foreign)).toEqual([{ type: 'message', role: 'assistant', content: 'Hi' }])
  })

  it('loses neither text nor calls when the message was changed after it was stored', () => {
    const message = messageFrom(
      decode(
        created(),
        done(0, reasoningItem('rs_1', 'gAAA1')),
        done(1, callItem('call_a', 'ping', '{}')),
        completed({ store: false }),
      ),
    )
    const changed: ChatMessage = {
      ...message,
      parts: [
        { type: 'text', text: 'Added.' },
        ...message.parts,
        { type: 'toolCall', id: 'call_b', name: 'pong', arguments: {} },
      ],
    }
    expect(inputAfter(changed)).toMatchObject([
      { type: 'message', content: 'Added.' },
      { type: 'reasoning' },
      { call_id: 'call_a' },
      { call_id: 'call_b' },
    ])
    expect(inputAfter({ ...message, parts: [] })).toEqual([])
  })

  it('sends texts that came interleaved as the one text they became', () => {
    const phased = (index: number) =>
      added(index, messageItem('', { id: `msg_${index}`, phase: 'commentary', content: [] }))
    const deltas = decode(
      created(),
      phased(0),
      phased(1),
      textDelta(1, 'b'),
      textDelta(0, 'a'),
      textDelta(1, 'c'),
      completed(),
    )
    expect(inputAfter(messageFrom(deltas))).toEqual([{ type: 'message', role: 'assistant', content: 'bac' }])
  })

  it('does not trust stored reasoning that has lost its content', () => {
    const layout = [
      { type: 'reasoning', id: 'rs_1', summary: [] },
      { type: 'message', length: 2 },
    ]
    const metadata = { 'openai-responses': { provider: 'openai-responses', layout } }
    const message: ChatMessage = { role: 'model', parts: [{ type: 'text', text: 'Hi' }], metadata }
    expect(inputAfter(message).map((item) => item.type)).toEqual(['message'])
  })

  it('sends a refused call with empty arguments', () => {
    const broken = messageFrom(decode(created(), done(0, callItem('call_a', 'add', '{"x":')), completed()))
    expect(inputAfter(broken)).toEqual([
      { type: 'function_call', call_id: 'call_a', name: 'add', arguments: '{}' },
    ])
  })

  it('answers a custom tool call in its own item types, stored or not', () => {
    const item = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_a', name: 'sql', input: 'select 1' }
    const message = messageFrom(decode(created(), done(0, item), completed()))
    const messages = [message, userMessage([{ type: 'toolResult', id: 'call_a', name: 'sql', result: '1' }])]
    const output = { type: 'custom_tool_call_output', call_id: 'call_a', output: '1' }
    expect(bodyOf({ messages })).toMatchObject({ previous_response_id: 'resp_1', input: [output] })
    expect(bodyOf({ messages, providerOptions: stateless }).input).toEqual([
      { type: 'custom_tool_call', call_id: 'call_a', name: 'sql', input: 'select 1' },
      output,
    ])
  })

  it('asks for encrypted reasoning only where there is reasoning', () => {
    const request = { messages: [userMessage('Hi')], providerOptions: stateless }
    expect(bodyOf(request, { thinking: false })).not.toHaveProperty('include')
    expect(bodyOf({ messages: [userMessage('Hi')] })).not.toHaveProperty('include')
  })
})
