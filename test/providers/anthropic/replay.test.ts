import type { BetaContentBlockParam } from '@anthropic-ai/sdk/resources/beta/messages'
import type { ContentBlockParam } from '@anthropic-ai/sdk/resources/messages'
import { describe, expect, it } from 'vitest'
import type { ChatMessage } from '../../../src/messages/messages.ts'
import { userMessage } from '../../../src/messages/messages.ts'
import {
  bodyOf,
  close,
  decode,
  grow,
  last,
  messageOf,
  ofType,
  open,
  start,
  stop,
  targetFor,
  text,
  thinking,
  toolUse,
} from './wire.ts'

const answer = (...events: (object | string)[]): ChatMessage => messageOf(decode([start, ...events, last]))
const result = (id: string) => userMessage([{ type: 'toolResult', id, name: 'one', result: 'ok' }])
const sent = (messages: ChatMessage[], to = targetFor('claude-sonnet-4-5')) => {
  const wire = bodyOf({ messages }, to).messages
  return Array.isArray(wire) ? wire : []
}

const hidden = { type: 'redacted_thinking', data: 'b64' } as const
const search = { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'x' } } as const
const found = {
  type: 'web_search_tool_result',
  tool_use_id: 'srv_1',
  content: [{ type: 'web_search_result', url: 'u', title: 't', encrypted_content: 'e', page_age: null }],
} satisfies ContentBlockParam

const citation = {
  type: 'web_search_result_location',
  cited_text: 'c',
  encrypted_index: 'i',
  title: 't',
  url: 'u',
} as const

describe('what goes back to the provider', () => {
  it('is every block, byte for byte and in its place', () => {
    const golden = [
      { type: 'thinking', thinking: 'Hm. ', signature: 'sig1' },
      hidden,
      { type: 'text', text: 'Let me look. ' },
      search,
      found,
      { type: 'thinking', thinking: '', signature: 'sig2' },
      { type: 'text', text: 'So.', citations: [citation] },
      { type: 'tool_use', id: 'a', name: 'one', input: { m: 1 } },
      { type: 'tool_use', id: 'b', name: 'one', input: {} },
    ] satisfies ContentBlockParam[]
    const message = answer(
      ...thinking(0, 'Hm. ', 'sig1'),
      open(1, hidden),
      close(1),
      ...text(2, 'Let me ', 'look. '),
      open(3, { ...search, input: {} }),
      grow(3, 'input_json_delta', { partial_json: '{"query"' }),
      grow(3, 'input_json_delta', { partial_json: ':"x"}' }),
      close(3),
      open(4, found),
      close(4),
      ...thinking(5, '', 'sig2'),
      open(6, { type: 'text', text: '' }),
      grow(6, 'citations_delta', { citation }),
      grow(6, 'text_delta', { text: 'So.' }),
      close(6),
      ...toolUse(7, 'a', 'one', '{"m":1}'),
      ...toolUse(8, 'b', 'one', ''),
      stop('tool_use'),
    )
    const stored: ChatMessage = JSON.parse(JSON.stringify(message))
    expect(sent([userMessage('hi'), stored, result('a')])[1]).toEqual({ role: 'assistant', content: golden })
  })

  it('does not repeat text or arguments that the message already holds', () => {
    const deltas = decode([
      start,
      ...thinking(0, 'Hm.', 'sig'),
      ...text(1, 'unique words'),
      ...text(9),
      ...toolUse(2, 'a', 'one', '{"city":"Oslo"}'),
      stop('tool_use'),
      last,
    ])
    expect(ofType(deltas, 'opaque')).toEqual([
      {
        type: 'opaque',
        protocol: 'anthropic',
        data: {
          provider: 'anthropic',
          blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 'sig' }, { text: 12 }, { call: 0 }],
        },
      },
    ])
  })

  it('is nothing special after an answer of text and calls', () => {
    const caller = { type: 'direct' }
    const deltas = decode([
      start,
      ...text(0, 'Hi'),
      open(1, { type: 'tool_use', id: 'a', name: 'one', input: {}, caller }),
      close(1),
      stop('tool_use'),
      last,
    ])
    expect(ofType(deltas, 'opaque')).toEqual([])
  })

  it('uses the ids of the history, however the calls were named on the wire', () => {
    const message = answer(...thinking(0, '', 'sig'), ...toolUse(1, 'dup', 'one', '{}'), stop('tool_use'))
    const renamed = { ...message, parts: message.parts.map((part) => ({ ...part, id: 'uuid-1' })) }
    expect(sent([userMessage('hi'), renamed, result('uuid-1')])[1]).toMatchObject({
      content: [{ type: 'thinking' }, { type: 'tool_use', id: 'uuid-1' }],
    })
  })

  it('has the encrypted citations of a search with the text that they belong to', () => {
    const citation = { type: 'web_search_result_location', url: 'https://a.test', encrypted_index: 'Eo8B' }
    const cited = answer(
      open(0, { type: 'text', text: '' }),
      grow(0, 'citations_delta', { citation }),
      grow(0, 'text_delta', { text: 'Yes.' }),
      close(0),
      stop('end_turn'),
    )
    const [, back] = sent([userMessage('Is it?'), cited, userMessage('And now?')])
    expect(back).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'Yes.', citations: [citation] }],
    })
  })

  it('is mapped in time that grows with the history, also where one role speaks many times', () => {
    const joined = sent(Array.from({ length: 20_000 }, (_, at) => userMessage(`${at}`)))
    expect(joined).toHaveLength(1)
    expect(joined[0]).toMatchObject({ role: 'user' })
    const before = process.cpuUsage()
    sent(Array.from({ length: 40_000 }, (_, at) => userMessage(`${at}`)))
    expect(process.cpuUsage(before).user).toBeLessThan(10_000_000)
  })

  it('is plain text when the message was edited since', () => {
    const message = answer(...thinking(0, 'Hm.', 'sig'), ...text(1, 'Hello'), stop('end_turn'))
    const edited = { ...message, parts: [{ type: 'text', text: 'Hi' } as const] }
    expect(sent([userMessage('hi'), edited, userMessage('x')])[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'Hi' }],
    })
  })

  it('is plain when something was added to the message', () => {
    const message = answer(...thinking(0, 'Hm.', 'sig'), ...text(1, 'Hello'), stop('end_turn'))
    const parts = [...message.parts, { type: 'data', mimeType: 'image/png', data: 'AAAA' } as const]
    expect(JSON.stringify(sent([userMessage('hi'), { ...message, parts }, userMessage('x')]))).not.toContain(
      'sig',
    )
  })

  it('has a signature once, also when it came with the block and again as a delta', () => {
    const message = answer(
      open(0, { type: 'thinking', thinking: 'Hm.', signature: 'sig' }),
      grow(0, 'signature_delta', { signature: 'sig' }),
      ...text(1, 'Hi'),
      stop('end_turn'),
    )
    expect(sent([userMessage('hi'), message, userMessage('x')])[1]).toMatchObject({
      content: [{ type: 'thinking', thinking: 'Hm.', signature: 'sig' }, { text: 'Hi' }],
    })
  })

  it('never holds what another provider signed', () => {
    const message = answer(...thinking(0, 'Hm.', 'sig'), ...text(1, 'Hello'), stop('end_turn'))
    const elsewhere = targetFor('claude-sonnet-4-5', 'bedrock')
    expect(sent([userMessage('hi'), message, userMessage('x')], elsewhere)[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'Hello' }],
    })
  })

  it('leaves thinking out for a model that does not think', () => {
    const message = answer(...thinking(0, 'Hm.', 'sig'), ...text(1, 'Hello'), stop('end_turn'))
    const content = sent(
      [userMessage('hi'), message, userMessage('x')],
      targetFor('claude-3-5-haiku-latest'),
    )[1]
    expect(content).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Hello' }] })
  })

  it('does not end in thinking that was cut off before it led to anything', () => {
    const cut = answer(
      open(0, { type: 'thinking', thinking: '', signature: '' }),
      grow(0, 'thinking_delta', { thinking: 'Hm' }),
      stop('max_tokens'),
    )
    expect(sent([userMessage('hi'), cut, userMessage('go on')])).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'text', text: 'go on' },
        ],
      },
    ])
  })

  it('keeps a block of a type that is not known yet', () => {
    const message = answer(
      open(0, { type: 'hologram', pixels: 3 }),
      close(0),
      ...text(1, 'Hi'),
      stop('end_turn'),
    )
    expect(sent([userMessage('hi'), message, userMessage('x')])[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'hologram', pixels: 3 },
        { type: 'text', text: 'Hi' },
      ],
    })
  })

  it('is plain where two texts were written at once, for their order is lost', () => {
    const message = answer(
      ...thinking(0, '', 'sig'),
      open(1, { type: 'text', text: '' }),
      open(2, { type: 'text', text: '' }),
      grow(1, 'text_delta', { text: 'a' }),
      grow(2, 'text_delta', { text: 'b' }),
      grow(1, 'text_delta', { text: 'c' }),
      stop('end_turn'),
    )
    expect(message).toEqual({ role: 'model', parts: [{ type: 'text', text: 'abc' }] })
  })
})

describe('a paused turn', () => {
  const paused = answer(...text(0, 'Searching. '), open(1, search), close(1), stop('pause_turn'))

  it('goes back unchanged as the last message', () => {
    expect(sent([userMessage('hi'), paused])).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Searching. ' }, search] },
    ])
  })

  it('is one message with its continuation', () => {
    const rest = answer(open(0, found), close(0), ...text(1, 'Found.'), stop('end_turn'))
    expect(sent([userMessage('hi'), paused, rest, userMessage('x')])[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'Searching. ' }, search, found, { type: 'text', text: 'Found.' }],
    })
  })

  it('loses a search that was never answered once the user has moved on', () => {
    expect(sent([userMessage('hi'), paused, userMessage('never mind')])[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'Searching. ' }],
    })
  })
})

describe("a call from the provider's sandbox", () => {
  const caller = { type: 'code_execution_20260120', tool_id: 'srv_1' } as const
  const code = { type: 'server_tool_use', id: 'srv_1', name: 'code_execution', input: { code: 'x' } } as const
  const message = answer(
    open(0, code),
    close(0),
    open(1, { type: 'tool_use', id: 'a', name: 'one', input: { m: 1 }, caller }),
    close(1),
    stop('tool_use', { container: { id: 'container_1', expires_at: 'soon' } }),
  )

  it('goes back with its caller, the waiting code and the container', () => {
    const golden = [
      code,
      { type: 'tool_use', id: 'a', name: 'one', input: { m: 1 }, caller },
    ] satisfies ContentBlockParam[]
    const body = bodyOf({ messages: [userMessage('hi'), message, result('a')] })
    expect(body.messages).toMatchObject([{}, { role: 'assistant', content: golden }, {}])
    expect(body.container).toBe('container_1')
  })

  it('keeps its container when the user says something beside the results', () => {
    const messages = [userMessage('hi'), message, result('a'), userMessage('and hurry')]
    expect(bodyOf({ messages })).toHaveProperty('container', 'container_1')
  })

  it('needs its container no longer when the turn is over', () => {
    const messages = [userMessage('hi'), message, result('a'), answer(...text(0, 'Done.'), stop('end_turn'))]
    expect(bodyOf({ messages: [...messages, userMessage('next')] })).not.toHaveProperty('container')
  })
})

describe('a compacted history', () => {
  it('begins with the newest compaction, which replaces everything before it', () => {
    const compaction = {
      type: 'compaction',
      content: 'Summary.',
      encrypted_content: 'enc',
    } satisfies BetaContentBlockParam
    const message = answer(
      open(0, { type: 'compaction', content: null, encrypted_content: null }),
      grow(0, 'compaction_delta', { content: 'Summary.', encrypted_content: 'enc' }),
      close(0),
      ...text(1, 'Go on.'),
      stop('end_turn'),
    )
    expect(sent([userMessage('long story'), message, userMessage('x')])).toEqual([
      { role: 'assistant', content: [compaction, { type: 'text', text: 'Go on.' }] },
      { role: 'user', content: [{ type: 'text', text: 'x' }] },
    ])
  })
})
