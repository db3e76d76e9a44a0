import { describe, expect, it } from 'vitest'
import { anthropic } from '../../../providers/anthropic/index.ts'
import {
  callsOf,
  close,
  decode,
  grow,
  last,
  ofType,
  open,
  start,
  stop,
  target,
  text,
  textOf,
  thinking,
  toolUse,
} from './wire.ts'

describe('text and thinking', () => {
  it('gives every piece of text at once and in order', () => {
    const decoder = anthropic.decoder(target)
    decoder.push({ data: JSON.stringify(start) })
    decoder.push({ data: JSON.stringify(open(0, { type: 'text', text: '' })) })
    expect(decoder.push({ data: JSON.stringify(grow(0, 'text_delta', { text: 'Hel' })) })).toEqual([
      { type: 'text', text: 'Hel' },
    ])
    expect(decoder.push({ data: JSON.stringify(grow(0, 'text_delta', { text: 'lo' })) })).toEqual([
      { type: 'text', text: 'lo' },
    ])
  })

  it('keeps text that a block already has when it is opened', () => {
    const deltas = decode([start, open(0, { type: 'text', text: 'Hi' }), stop('end_turn'), last])
    expect(textOf(deltas)).toBe('Hi')
  })

  it('reads text of a block that was never opened, and of deltas without an index', () => {
    const deltas = decode([
      start,
      grow(4, 'text_delta', { text: 'a' }),
      { type: 'content_block_delta', delta: { type: 'text_delta', text: 'b' } },
      stop('end_turn'),
      last,
    ])
    expect(textOf(deltas)).toBe('ab')
  })

  it('gives thinking as thinking, never as text', () => {
    const deltas = decode([start, ...thinking(0, 'Hm.', 'sig'), ...text(1, 'Yes.'), stop('end_turn'), last])
    expect(ofType(deltas, 'thinking')).toEqual([{ type: 'thinking', text: 'Hm.' }])
    expect(textOf(deltas)).toBe('Yes.')
  })

  it('shows each citation once', () => {
    const citation = { type: 'char_location', cited_text: 'x', document_index: 0 }
    const deltas = decode([
      start,
      open(0, { type: 'text', text: '', citations: null }),
      grow(0, 'citations_delta', { citation }),
      grow(0, 'text_delta', { text: 'x' }),
      close(0),
      stop('end_turn'),
      last,
    ])
    expect(ofType(deltas, 'metadata')).toEqual([{ type: 'metadata', metadata: { citations: [citation] } }])
  })
})

describe('tool calls', () => {
  it('keeps two calls apart whose blocks are open at once', () => {
    const deltas = decode([
      start,
      open(0, { type: 'tool_use', id: 'a', name: 'one', input: {} }),
      open(1, { type: 'tool_use', id: 'b', name: 'two', input: {} }),
      grow(1, 'input_json_delta', { partial_json: '{"n":' }),
      grow(0, 'input_json_delta', { partial_json: '{"m":1' }),
      grow(1, 'input_json_delta', { partial_json: '2}' }),
      grow(0, 'input_json_delta', { partial_json: '}' }),
      close(0),
      close(1),
      stop('tool_use'),
      last,
    ])
    expect(callsOf(deltas)).toEqual([
      { id: 'a', name: 'one', arguments: { m: 1 } },
      { id: 'b', name: 'two', arguments: { n: 2 } },
    ])
  })

  it('keeps both calls when a server reuses index 0', () => {
    const deltas = decode([
      start,
      ...toolUse(0, 'a', 'one', '{"m":1}'),
      ...toolUse(0, 'b', 'one', '{"m":2}'),
      stop('tool_use'),
      last,
    ])
    expect(callsOf(deltas).map((call) => call.arguments)).toEqual([{ m: 1 }, { m: 2 }])
  })

  it('takes arguments that come whole with the opening of the block', () => {
    const block = { type: 'tool_use', id: 'a', name: 'one', input: { city: 'Oslo' } }
    const deltas = decode([start, open(0, block), close(0), stop('tool_use'), last])
    expect(callsOf(deltas)).toEqual([{ id: 'a', name: 'one', arguments: { city: 'Oslo' } }])
  })

  it.each([
    ['a text', '{"m":1}', { arguments: { m: 1 } }],
    ['null', null, { arguments: {} }],
    ['a list', [1], { arguments: {}, argumentsError: expect.stringContaining('an array') }],
  ])('does not trip over whole arguments that are %s', (_, input, expected) => {
    const block = { type: 'tool_use', id: 'a', name: 'one', input }
    const deltas = decode([start, open(0, block), close(0), stop('tool_use'), last])
    expect(callsOf(deltas)).toEqual([expect.objectContaining(expected)])
  })

  it('reads a tool without arguments as {}', () => {
    const deltas = decode([start, ...toolUse(0, 'a', 'one', ''), stop('tool_use'), last])
    expect(callsOf(deltas)).toEqual([{ id: 'a', name: 'one', arguments: {} }])
  })

  it('gives calls only right before the finish, and progress before that', () => {
    const events = [start, ...toolUse(0, 'a', 'one', '{"m":', '1}'), stop('tool_use')]
    const running = decode(events, { end: false })
    expect(callsOf(running)).toEqual([])
    expect(ofType(running, 'toolDelta').map((delta) => delta.arguments)).toEqual(['', '{"m":', '1}'])
    expect(
      decode([...events, last])
        .slice(-2)
        .map(({ type }) => type),
    ).toEqual(['toolCall', 'finish'])
  })

  it.each(['tool_use', 'max_tokens'])(
    'marks cut arguments as broken when the stop reason is %s',
    (reason) => {
      const deltas = decode([start, ...toolUse(0, 'a', 'one', '{"city":"Osl'), stop(reason), last])
      expect(callsOf(deltas)).toEqual([
        {
          id: 'a',
          name: 'one',
          arguments: {},
          argumentsRaw: '{"city":"Osl',
          argumentsError: expect.stringContaining('not valid JSON'),
        },
      ])
    },
  )

  it('leaves the prototype alone when arguments hold __proto__', () => {
    const deltas = decode([
      start,
      ...toolUse(0, 'a', 'one', '{"__proto__":{"polluted":true}}'),
      stop('tool_use'),
      last,
    ])
    expect(callsOf(deltas)).toHaveLength(1)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe("the provider's own tools", () => {
  const search = { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: {} }
  const found = { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [] }

  it('shows server tools and their results, and never as calls', () => {
    const deltas = decode([
      start,
      open(0, search),
      grow(0, 'input_json_delta', { partial_json: '{"query":"x"}' }),
      close(0),
      open(1, found),
      close(1),
      stop('end_turn'),
      last,
    ])
    expect(callsOf(deltas)).toEqual([])
    expect(ofType(deltas, 'metadata').map(({ metadata }) => metadata)).toEqual([
      { serverTools: [{ ...search, input: { query: 'x' } }] },
      { serverTools: [found] },
    ])
    expect(deltas.at(-1)).toEqual({ type: 'finish', reason: 'stop', raw: 'end_turn' })
  })

  it('shows a server tool whose block is never closed', () => {
    const deltas = decode([start, open(0, search), stop('pause_turn'), last])
    expect(ofType(deltas, 'metadata')).toEqual([{ type: 'metadata', metadata: { serverTools: [search] } }])
  })
})

describe('the end', () => {
  it.each([
    ['end_turn', { reason: 'stop' }],
    ['stop_sequence', { reason: 'stop' }],
    ['max_tokens', { reason: 'length' }],
    ['tool_use', { reason: 'toolCalls' }],
    ['refusal', { reason: 'contentFilter' }],
    ['pause_turn', { reason: 'unspecified', pause: true }],
    ['compaction', { reason: 'unspecified', pause: true }],
    ['tomorrow', { reason: 'stop' }],
  ])('translates the stop reason %s', (raw, finish) => {
    expect(decode([start, stop(raw), last]).at(-1)).toEqual({ type: 'finish', raw, ...finish })
  })

  it('calls a stop with calls a tool call', () => {
    const deltas = decode([start, ...toolUse(0, 'a', 'one', '{}'), stop('end_turn'), last])
    expect(deltas.at(-1)).toEqual({ type: 'finish', reason: 'toolCalls', raw: 'end_turn' })
  })

  it('tells why the provider refused', () => {
    const details = { stop_details: { type: 'refusal', category: 'bio', explanation: 'Not that.' } }
    expect(decode([start, stop('refusal', details), last]).slice(-2)).toEqual([
      { type: 'metadata', metadata: { refusal: 'Not that.' } },
      { type: 'finish', reason: 'contentFilter', raw: 'refusal' },
    ])
  })

  it('accepts a stream without message_stop once the stop reason was there', () => {
    expect(decode([start, ...text(0, 'Hi'), stop('end_turn')]).at(-1)).toEqual({
      type: 'finish',
      reason: 'stop',
      raw: 'end_turn',
    })
  })

  it("does not mind another protocol's end mark", () => {
    expect(decode([start, ...text(0, 'Hi'), '[DONE]', stop('end_turn'), '[DONE]']).at(-1)?.type).toBe(
      'finish',
    )
  })

  it('calls a stream without a stop reason truncated, and reports the calls that were whole', () => {
    const deltas = decode([
      start,
      ...toolUse(0, 'a', 'one', '{"m":1}'),
      open(1, { type: 'tool_use', id: 'b', name: 'two', input: {} }),
      grow(1, 'input_json_delta', { partial_json: '{"n":' }),
      open(2, { type: 'tool_use', id: 'c', name: 'three', input: {} }),
    ])
    expect(callsOf(deltas).map(({ id }) => id)).toEqual(['a'])
    expect(deltas.at(-1)).toMatchObject({ type: 'error', error: { code: 'truncated', retryable: true } })
  })

  it('does not believe a stop reason that comes before any content', () => {
    const early = { ...start, message: { ...start.message, stop_reason: 'end_turn' } }
    const deltas = decode([early, open(0, { type: 'text', text: '' })])
    expect(deltas.at(-1)).toMatchObject({ type: 'error', error: { code: 'truncated' } })
  })

  it('ends in exactly one way wherever it is cut, and only a proper end has broken or empty calls', () => {
    const events = [
      start,
      ...thinking(0, 'Hm.', 'sig'),
      ...text(1, 'Hi'),
      ...toolUse(2, 'a', 'one', '{"m":', '1}'),
      ...toolUse(3, 'b', 'two', ''),
      stop('tool_use'),
      last,
    ]
    events.forEach((_, cut) => {
      const deltas = decode(events.slice(0, cut))
      const ends = deltas.filter(({ type }) => type === 'finish' || type === 'error')
      expect(ends).toEqual([deltas.at(-1)])
      expect(ends[0]?.type).toBe(cut >= events.length - 1 ? 'finish' : 'error')
      if (ends[0]?.type === 'error') expect(callsOf(deltas).every(({ id }) => id === 'a')).toBe(true)
    })
  })

  it('says nothing more after the finish', () => {
    const deltas = decode([start, stop('end_turn'), last, '[DONE]', ...text(0, 'late'), { type: 'error' }])
    expect(deltas.at(-1)?.type).toBe('finish')
    expect(textOf(deltas)).toBe('')
  })

  it('reads a message whose content stands in message_start', () => {
    const block = { type: 'tool_use', id: 'a', name: 'one', input: { m: 1 } }
    const whole = { ...start, message: { ...start.message, content: [block], stop_reason: 'tool_use' } }
    const deltas = decode([whole, last])
    expect(callsOf(deltas)).toEqual([{ id: 'a', name: 'one', arguments: { m: 1 } }])
    expect(deltas.at(-1)).toEqual({ type: 'finish', reason: 'toolCalls', raw: 'tool_use' })
  })

  it('reads a whole message instead of a stream', () => {
    const deltas = decode([
      {
        id: 'msg_9',
        type: 'message',
        content: [{ type: 'text', text: 'Hi' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 3, output_tokens: 1 },
      },
    ])
    expect(deltas).toEqual([
      { type: 'response', id: 'msg_9' },
      { type: 'text', text: 'Hi' },
      { type: 'usage', usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 } },
      { type: 'finish', reason: 'stop', raw: 'end_turn' },
    ])
  })

  it('reads a whole message without content', () => {
    expect(decode([{ type: 'message', content: [], stop_reason: 'refusal' }])).toEqual([
      { type: 'finish', reason: 'contentFilter', raw: 'refusal' },
    ])
  })
})

describe('the rest of the wire', () => {
  it('lets later counts replace earlier ones, field by field', () => {
    const deltas = decode([
      {
        ...start,
        message: {
          ...start.message,
          usage: { input_tokens: 9, output_tokens: 1, cache_read_input_tokens: 4 },
        },
      },
      {
        ...stop('end_turn'),
        usage: {
          input_tokens: null,
          output_tokens: 20,
          output_tokens_details: { thinking_tokens: 7 },
        },
      },
      last,
    ])
    expect(ofType(deltas, 'usage').map(({ usage }) => usage)).toEqual([
      { inputTokens: 13, outputTokens: 1, totalTokens: 14, cachedInputTokens: 4 },
      { inputTokens: 13, outputTokens: 20, totalTokens: 33, cachedInputTokens: 4, reasoningTokens: 7 },
    ])
  })

  it('gives the response id once', () => {
    const again = { ...start, message: { ...start.message, id: 'msg_2' } }
    expect(ofType(decode([start, again, stop('end_turn'), last]), 'response')).toEqual([
      { type: 'response', id: 'msg_1' },
    ])
  })

  it('ignores pings, comments in data clothing, empty data and unknown events, blocks and deltas', () => {
    const deltas = decode([
      { type: 'ping' },
      '',
      ': keep-alive',
      start,
      { type: 'weather_report', sun: true },
      open(0, { type: 'hologram', pixels: 3 }),
      grow(0, 'hologram_delta', { pixels: 4 }),
      close(0),
      ...text(1, 'Hi'),
      stop('end_turn'),
      last,
    ])
    expect(textOf(deltas)).toBe('Hi')
    expect(deltas.at(-1)?.type).toBe('finish')
    expect(ofType(deltas, 'error')).toEqual([])
  })

  it('turns an overloaded provider into an error worth another try', () => {
    const deltas = decode([
      start,
      ...text(0, 'Hi'),
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' }, request_id: 'req_1' },
      stop('end_turn'),
      last,
    ])
    expect(deltas.at(-1)).toEqual({
      type: 'error',
      error: {
        name: 'ModelError',
        message: 'Overloaded',
        code: 'overloaded_error',
        requestId: 'req_1',
        retryable: true,
      },
    })
  })

  it('reads an error that a gateway sends in its own shape', () => {
    expect(decode([{ error: { message: 'No credit', code: 402 } }])).toEqual([
      {
        type: 'error',
        error: expect.objectContaining({ message: 'No credit', code: '402', retryable: false }),
      },
    ])
  })

  it('turns data that is not JSON into an error', () => {
    expect(decode([start, '{"type":"content_block_del'])).toEqual([
      { type: 'response', id: 'msg_1' },
      { type: 'error', error: expect.objectContaining({ code: 'invalid_json' }) },
    ])
  })

  it('survives events whose fields have the wrong types', () => {
    const deltas = decode([
      { type: 'message_start', message: null },
      { type: 'content_block_start', index: 'x', content_block: 7 },
      { type: 'content_block_delta', index: {}, delta: [] },
      { type: 'content_block_stop' },
      { type: 'message_delta', delta: { stop_reason: 7, container: 'c' }, usage: 'many' },
      last,
    ])
    expect(deltas).toEqual([{ type: 'finish', reason: 'stop' }])
  })
})
