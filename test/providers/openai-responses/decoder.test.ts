import { describe, expect, it } from 'vitest'
import { openaiResponses } from '../../../providers/openai-responses/index.ts'
import {
  added,
  argumentsDelta,
  callItem,
  callsIn,
  completed,
  created,
  decode,
  done,
  incomplete,
  messageItem,
  ofType,
  reasoningItem,
  target,
  textDelta,
  textIn,
  thinkingIn,
} from './responsesFixtures.ts'

describe('text', () => {
  it('emits each delta at once and finishes on response.completed', () => {
    const decoder = openaiResponses.decoder(target())
    expect(decoder.push({ data: JSON.stringify(created()) })).toEqual([{ type: 'response', id: 'resp_1' }])
    expect(decoder.push({ data: JSON.stringify(textDelta(0, 'Hel')) })).toEqual([
      { type: 'text', text: 'Hel' },
    ])
    expect(decoder.push({ data: JSON.stringify(textDelta(0, 'lo')) })).toEqual([{ type: 'text', text: 'lo' }])
    expect(decoder.push({ data: JSON.stringify(completed({ output: [messageItem('Hello')] })) })).toEqual([
      {
        type: 'opaque',
        protocol: 'openai-responses',
        data: { provider: 'openai-responses', responseId: 'resp_1' },
      },
      { type: 'finish', reason: 'stop', raw: 'completed' },
    ])
    expect(decoder.push({ data: JSON.stringify(textDelta(0, 'late')) })).toEqual([])
    expect(decoder.end()).toEqual([])
  })

  it('is never doubled by the done events and the list at the end', () => {
    const text = 'Hello'
    const part = { type: 'output_text', text, annotations: [] }
    const deltas = decode(
      created(),
      added(0, messageItem('', { content: [] })),
      textDelta(0, 'Hel'),
      textDelta(0, 'lo'),
      { type: 'response.output_text.done', output_index: 0, content_index: 0, text },
      { type: 'response.content_part.done', output_index: 0, content_index: 0, part },
      done(0, messageItem(text)),
      completed({ output: [messageItem(text)] }),
    )
    expect(textIn(deltas)).toBe(text)
  })

  it('is taken from whichever whole comes first when a server sends no deltas', () => {
    const part = { type: 'output_text', text: 'Hello', annotations: [] }
    const wholes = [
      { type: 'response.output_text.done', output_index: 0, content_index: 0, text: 'Hello' },
      { type: 'response.content_part.done', output_index: 0, content_index: 0, part },
      done(0, messageItem('Hello')),
      completed({ output: [messageItem('Hello')] }),
    ]
    for (let missing = 0; missing < wholes.length; missing += 1) {
      expect(textIn(decode(created(), ...wholes.slice(missing, -1), completed()))).toBe(
        missing < 3 ? 'Hello' : '',
      )
      expect(textIn(decode(created(), ...wholes.slice(missing)))).toBe('Hello')
    }
  })

  it('keeps what was streamed when the whole says more', () => {
    expect(
      textIn(
        decode(created(), textDelta(0, 'Got it'), done(0, messageItem('Got it, and more')), completed()),
      ),
    ).toBe('Got it')
  })

  it('keeps its place when item ids rotate with every event', () => {
    const deltas = decode(
      created('a'),
      added(0, messageItem('', { id: 'b', content: [] })),
      textDelta(0, 'x', { item_id: 'c' }),
      textDelta(0, 'y', { item_id: 'd' }),
      { type: 'response.output_text.done', output_index: 0, content_index: 0, item_id: 'e', text: 'xy' },
      done(0, messageItem('xy', { id: 'f' })),
      completed({ id: 'g', output: [messageItem('xy', { id: 'h' })] }),
    )
    expect(textIn(deltas)).toBe('xy')
    expect(ofType(deltas, 'response')).toEqual([{ type: 'response', id: 'a' }])
  })

  it('is not doubled when positions in the final list are not output indexes and ids were renewed', () => {
    const first = messageItem('one', { id: 'r1' })
    const second = messageItem('two', { id: 'r2' })
    const deltas = decode(
      created(),
      textDelta(0, 'one'),
      textDelta(2, 'two'),
      completed({ output: [first, second] }),
    )
    expect(textIn(deltas)).toBe('onetwo')
  })

  it('pairs the final list by id before it pairs by order', () => {
    const output = [messageItem('one', { id: 'msg_1' }), messageItem('two', { id: 'msg_2' })]
    const deltas = decode(created(), textDelta(1, 'two', { item_id: 'msg_2' }), completed({ output }))
    expect(textIn(deltas)).toBe('twoone')
  })

  it('of two messages is kept when a server numbers both 0 and sends only wholes', () => {
    const first = done(0, messageItem('one', { id: 'msg_1' }))
    const second = done(0, messageItem('two', { id: 'msg_2' }))
    expect(textIn(decode(created(), first, second, completed()))).toBe('onetwo')
  })

  it('of two messages is kept when their wholes have no number at all', () => {
    const whole = (id: string, text: string) => ({
      type: 'response.output_item.done',
      item: messageItem(text, { id }),
    })
    expect(textIn(decode(created(), whole('msg_1', 'one'), whole('msg_2', 'two'), completed()))).toBe(
      'onetwo',
    )
  })

  it('works for events that carry neither an output index nor an announcement', () => {
    const delta = { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'Hi' }
    expect(textIn(decode(delta, delta, done(0, messageItem('HiHi')), completed()))).toBe('HiHi')
  })

  it('reads the event name where the data has no type', () => {
    const decoder = openaiResponses.decoder(target())
    const push = (event: string, data: object) => decoder.push({ event, data: JSON.stringify(data) })
    expect(push('response.output_text.delta', { output_index: 0, delta: 'Hi' })).toEqual([
      { type: 'text', text: 'Hi' },
    ])
    expect(push('response.completed', { response: { status: 'completed' } }).at(-1)?.type).toBe('finish')
  })
})

describe('thinking', () => {
  it('comes from summaries and from raw reasoning, once each', () => {
    const deltas = decode(
      created(),
      { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'Sum' },
      { type: 'response.reasoning_summary_text.done', output_index: 0, summary_index: 0, text: 'Sum' },
      { type: 'response.reasoning_summary_text.done', output_index: 0, summary_index: 1, text: 'mary' },
      { type: 'response.reasoning_text.delta', output_index: 1, content_index: 0, delta: ' raw' },
      done(0, reasoningItem('rs_1', null, 'Summary')),
      done(1, {
        type: 'reasoning',
        id: 'rs_2',
        summary: [],
        content: [{ type: 'reasoning_text', text: ' raw' }],
      }),
      completed(),
    )
    expect(thinkingIn(deltas)).toBe('Summary raw')
  })

  it('is read from the item when nothing was streamed', () => {
    expect(thinkingIn(decode(created(), done(0, reasoningItem('rs_1', null, 'Why not')), completed()))).toBe(
      'Why not',
    )
  })

  it('may go on after the text of a later item has begun', () => {
    const thinking = (delta: string) => ({ type: 'response.reasoning_text.delta', output_index: 0, delta })
    const deltas = decode(created(), thinking('a'), textDelta(1, '4'), thinking('b'), completed())
    expect([textIn(deltas), thinkingIn(deltas)]).toEqual(['4', 'ab'])
  })
})

describe('tool calls', () => {
  it('are emitted whole, in order, right before the finish', () => {
    const deltas = decode(
      created(),
      added(0, callItem('call_a', 'weather', '')),
      argumentsDelta(0, '{"city":'),
      argumentsDelta(0, '"Oslo"}'),
      done(0, callItem('call_a', 'weather', '{"city":"Oslo"}')),
      added(1, callItem('call_b', 'clock', '')),
      argumentsDelta(1, '{}'),
      completed(),
    )
    expect(deltas.slice(-4)).toEqual([
      { type: 'toolCall', call: { id: 'call_a', name: 'weather', arguments: { city: 'Oslo' } } },
      { type: 'toolCall', call: { id: 'call_b', name: 'clock', arguments: {} } },
      expect.objectContaining({ type: 'opaque' }),
      { type: 'finish', reason: 'toolCalls', raw: 'completed' },
    ])
    expect(
      ofType(deltas, 'toolDelta').map(({ index, name, arguments: text }) => [index, name, text]),
    ).toEqual([
      [0, 'weather', ''],
      [0, 'weather', '{"city":'],
      [0, 'weather', '"Oslo"}'],
      [1, 'clock', ''],
      [1, 'clock', '{}'],
    ])
  })

  it('keep the order of the output indexes when items are done out of order', () => {
    const deltas = decode(
      created(),
      done(1, callItem('call_b', 'second', '{}')),
      done(0, callItem('call_a', 'first', '{}')),
      completed(),
    )
    expect(callsIn(deltas).map((call) => call.name)).toEqual(['first', 'second'])
  })

  it('stay apart when a server numbers every item 0', () => {
    const deltas = decode(
      created(),
      textDelta(0, 'Let me see.', { item_id: 'msg_1' }),
      added(0, callItem('call_a', 'weather', '')),
      argumentsDelta(0, '{"city":"Oslo"}', { item_id: 'fc_call_a' }),
      added(0, callItem('call_b', 'weather', '')),
      argumentsDelta(0, '{"city":"Rome"}', { item_id: 'fc_call_b' }),
      done(0, callItem('call_a', 'weather', '{"city":"Oslo"}')),
      done(0, callItem('call_b', 'weather', '{"city":"Rome"}')),
      completed({
        output: [
          callItem('call_a', 'weather', '{"city":"Oslo"}'),
          callItem('call_b', 'weather', '{"city":"Rome"}'),
        ],
      }),
    )
    expect(textIn(deltas)).toBe('Let me see.')
    expect(callsIn(deltas).map(({ id, arguments: args }) => [id, args])).toEqual([
      ['call_a', { city: 'Oslo' }],
      ['call_b', { city: 'Rome' }],
    ])
  })

  it('stay apart by item id when a server interleaves two calls at index 0', () => {
    const piece = (id: string, text: string) => argumentsDelta(0, text, { item_id: `fc_${id}` })
    const deltas = decode(
      created(),
      added(0, callItem('call_a', 'weather', '')),
      added(0, callItem('call_b', 'weather', '')),
      piece('call_a', '{"city":'),
      piece('call_b', '{"city":'),
      piece('call_a', '"Oslo"}'),
      piece('call_b', '"Rome"}'),
      completed(),
    )
    expect(callsIn(deltas).map((call) => call.arguments)).toEqual([{ city: 'Oslo' }, { city: 'Rome' }])
  })

  it('that were never announced are named by their done event or by the list at the end', () => {
    const whole = callItem('call_a', 'weather', '{"city":"Oslo"}')
    const expected = [{ id: 'call_a', name: 'weather', arguments: { city: 'Oslo' } }]
    const piece = argumentsDelta(0, '{"city":"Oslo"}', { item_id: 'unknown' })
    expect(callsIn(decode(created(), piece, done(0, whole), completed()))).toEqual(expected)
    expect(callsIn(decode(created(), piece, completed({ output: [whole] })))).toEqual(expected)
    expect(callsIn(decode(created(), completed({ output: [whole] })))).toEqual(expected)
  })

  it('have their arguments from the done event alone if no deltas came', () => {
    const deltas = decode(
      created(),
      added(0, callItem('call_a', 'weather', '')),
      { type: 'response.function_call_arguments.done', output_index: 0, arguments: '{"city":"Oslo"}' },
      completed(),
    )
    expect(callsIn(deltas)).toEqual([{ id: 'call_a', name: 'weather', arguments: { city: 'Oslo' } }])
  })

  it('survive a final list without any output', () => {
    const deltas = decode(created(), done(0, callItem('call_a', 'ping', '{}')), completed({ output: [] }))
    expect(callsIn(deltas)).toHaveLength(1)
  })

  it('that were cut by the token limit are refused, even if their arguments happen to be valid', () => {
    const cut = (args: string) =>
      callsIn(
        decode(
          created(),
          added(0, callItem('call_a', 'add', '')),
          done(0, callItem('call_a', 'add', args, { status: 'incomplete' })),
          incomplete('max_output_tokens'),
        ),
      )[0]
    expect(cut('{"x":48151')).toMatchObject({
      argumentsRaw: '{"x":48151',
      argumentsError: expect.any(String),
    })
    expect(cut('{}')).toMatchObject({ argumentsRaw: '{}', argumentsError: expect.any(String) })
  })

  it('are refused in an incomplete response when nobody declared them done', () => {
    const deltas = decode(
      created(),
      added(0, callItem('call_a', 'add', '', { status: 'in_progress' })),
      argumentsDelta(0, '{}'),
      incomplete('max_output_tokens'),
    )
    expect(callsIn(deltas)[0]?.argumentsError).toBeDefined()
  })

  it('with broken arguments are given with the raw text and the reason', () => {
    expect(callsIn(decode(created(), done(0, callItem('call_a', 'add', '{"x":')), completed()))).toEqual([
      { id: 'call_a', name: 'add', arguments: {}, argumentsRaw: '{"x":', argumentsError: expect.any(String) },
    ])
  })

  it('to custom tools carry their text as the input argument', () => {
    const item = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_a', name: 'sql' }
    const deltas = decode(
      created(),
      added(0, { ...item, input: '' }),
      { type: 'response.custom_tool_call_input.delta', output_index: 0, delta: 'select ' },
      { type: 'response.custom_tool_call_input.delta', output_index: 0, delta: '1' },
      done(0, { ...item, input: 'select 1' }),
      completed(),
    )
    expect(callsIn(deltas)).toEqual([{ id: 'call_a', name: 'sql', arguments: { input: 'select 1' } }])
  })

  it('are harmless when their arguments try to reach the prototype', () => {
    const [call] = callsIn(decode(done(0, callItem('c', 't', '{"__proto__":{"polluted":1}}')), completed()))
    expect(Object.hasOwn(call?.arguments ?? {}, '__proto__')).toBe(true)
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })
})

describe('the end', () => {
  it('is a length or a content filter when the response is incomplete, and commits no response id', () => {
    const cut = decode(created(), textDelta(0, 'Once'), incomplete('max_output_tokens'))
    expect(cut.at(-1)).toEqual({ type: 'finish', reason: 'length', raw: 'incomplete' })
    expect(ofType(cut, 'opaque')).toEqual([])
    expect(decode(created(), incomplete('content_filter')).at(-1)).toMatchObject({ reason: 'contentFilter' })
    expect(decode(created(), incomplete('new_word')).at(-1)).toMatchObject({ reason: 'length' })
  })

  it('is what the status says when event and status disagree', () => {
    const details = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    const deltas = decode(created(), textDelta(0, 'Once'), completed(details))
    expect(deltas.at(-1)).toEqual({ type: 'finish', reason: 'length', raw: 'incomplete' })
    expect(ofType(deltas, 'opaque')).toEqual([])
  })

  it('commits no id of a response that the provider did not keep', () => {
    expect(ofType(decode(created(), textDelta(0, 'Hi'), completed({ store: false })), 'opaque')).toEqual([])
  })

  it('is a truncation without a terminal event, and reports only the calls that were whole', () => {
    const deltas = decode(
      created(),
      done(0, callItem('call_a', 'ping', '{}')),
      added(1, callItem('call_b', 'ping', '')),
      argumentsDelta(1, '{"a'),
      added(2, callItem('call_c', 'ping', '')),
      done(3, callItem('call_d', 'ping', '{}', { status: 'incomplete' })),
      added(4, { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_e', name: 'sql' }),
      { type: 'response.custom_tool_call_input.delta', output_index: 4, delta: 'drop table' },
    )
    expect(callsIn(deltas).map((call) => call.id)).toEqual(['call_a'])
    expect(deltas.at(-1)).toMatchObject({ type: 'error', error: { code: 'truncated', retryable: true } })
  })

  it('ignores [DONE], keep-alives, unknown events and unknown fields', () => {
    const decoder = openaiResponses.decoder(target())
    for (const data of [
      '',
      ': PROCESSING',
      '[DONE]',
      '{"type":"keepalive"}',
      '{"type":"response.novel.delta","delta":1}',
    ]) {
      expect(decoder.push({ data })).toEqual([])
    }
    expect(decoder.push({ data: '{"type":"notice","message":"Hello there"}' })).toEqual([])
    expect(decoder.push({ data: JSON.stringify(completed()) }).at(-1)?.type).toBe('finish')
  })

  it('accepts a whole response that came instead of a stream', () => {
    const deltas = decode({
      id: 'resp_9',
      object: 'response',
      status: 'completed',
      error: null,
      output: [reasoningItem('rs_1', null, 'Hm'), messageItem('Hello'), callItem('call_a', 'ping', '{}')],
      usage: { input_tokens: 3, output_tokens: 4 },
    })
    expect([textIn(deltas), thinkingIn(deltas), callsIn(deltas).length]).toEqual(['Hello', 'Hm', 1])
    expect(ofType(deltas, 'response')).toEqual([{ type: 'response', id: 'resp_9' }])
    expect(deltas.at(-1)).toEqual({ type: 'finish', reason: 'toolCalls', raw: 'completed' })
  })

  it('counts every kind of token the provider reports', () => {
    const usage = {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 15 },
      total_tokens: 30,
    }
    expect(ofType(decode(created(), completed({ usage })), 'usage')).toEqual([
      {
        type: 'usage',
        usage: {
          inputTokens: 10,
          outputTokens: 20,
          totalTokens: 30,
          cachedInputTokens: 4,
          reasoningTokens: 15,
        },
      },
    ])
  })
})

describe('errors', () => {
  const errorOf = (...events: Parameters<typeof decode>) => ofType(decode(...events), 'error')[0]?.error

  it('are read from both shapes of the error event', () => {
    const expected = { message: 'Slow down.', code: 'rate_limit_exceeded', retryable: true }
    const error = { message: 'Slow down.', code: 'rate_limit_exceeded', type: 'tokens', param: null }
    expect(errorOf(created(), { type: 'error', error })).toMatchObject(expected)
    expect(errorOf(created(), { ...error, type: 'error' })).toMatchObject(expected)
    expect(errorOf({ error })).toMatchObject(expected)
  })

  it('end the stream at once, whatever follows', () => {
    const deltas = decode(created(), { type: 'error', code: 'server_error', message: 'Oops' }, completed())
    expect(deltas.at(-1)?.type).toBe('error')
    expect(ofType(deltas, 'finish')).toEqual([])
  })

  it('are read from a failed response, and from an event that lost the response', () => {
    const error = { code: 'server_error', message: 'Oops' }
    const failed = { type: 'response.failed', response: { id: 'resp_1', status: 'failed', error } }
    expect(errorOf(created(), failed)).toMatchObject({ ...error, retryable: true })
    expect(errorOf(created(), { type: 'response.failed', error })).toMatchObject(error)
    expect(errorOf(created(), { type: 'response.failed' })).toMatchObject({ code: 'failed' })
    expect(errorOf(created(), completed({ error }))).toMatchObject(error)
  })

  it('include a response that the provider cancelled', () => {
    const cancelled = { type: 'response.cancelled', response: { id: 'resp_1', status: 'cancelled' } }
    expect(errorOf(created(), cancelled)).toMatchObject({ code: 'cancelled', retryable: false })
  })

  it('include event data that is not JSON', () => {
    const decoder = openaiResponses.decoder(target())
    expect(decoder.push({ data: '{"type":' })).toMatchObject([
      { type: 'error', error: { code: 'invalid_json' } },
    ])
    expect(decoder.end()).toEqual([])
  })
})

describe('extras', () => {
  it('give a refusal once, whole, as metadata and as a content filter', () => {
    const refusal = 'I cannot help.'
    const item = messageItem('', { content: [{ type: 'refusal', refusal }] })
    const streamed = [
      { type: 'response.refusal.delta', output_index: 0, content_index: 0, delta: 'I cannot' },
      { type: 'response.refusal.delta', output_index: 0, content_index: 0, delta: ' help.' },
    ]
    for (const events of [streamed, []]) {
      const deltas = decode(created(), ...events, done(0, item), completed({ output: [item] }))
      expect(textIn(deltas)).toBe('')
      expect(ofType(deltas, 'metadata')).toEqual([{ type: 'metadata', metadata: { refusal } }])
      expect(deltas.at(-1)).toMatchObject({ reason: 'contentFilter', raw: 'completed' })
    }
  })

  it('give each citation once, from its event or from the item', () => {
    const annotation = { type: 'url_citation', url: 'https://example.org', start_index: 0, end_index: 2 }
    const item = messageItem('Hi', {
      content: [{ type: 'output_text', text: 'Hi', annotations: [annotation] }],
    })
    const event = { type: 'response.output_text.annotation.added', output_index: 0, annotation }
    for (const events of [[textDelta(0, 'Hi'), event], []]) {
      const deltas = decode(created(), ...events, done(0, item), completed({ output: [item] }))
      expect(ofType(deltas, 'metadata')).toEqual([
        { type: 'metadata', metadata: { citations: [annotation] } },
      ])
    }
  })

  it('report a server-side tool once and do not take it for a call of ours', () => {
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } }
    const deltas = decode(
      created(),
      added(0, search),
      done(0, search),
      textDelta(1, 'Hi'),
      completed({ output: [search] }),
    )
    expect(ofType(deltas, 'metadata')).toEqual([{ type: 'metadata', metadata: { serverTools: [search] } }])
    expect(deltas.at(-1)).toMatchObject({ reason: 'stop' })
  })

  it('report a server-side tool that was only ever announced', () => {
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' }
    const deltas = decode(created(), added(0, search), textDelta(1, 'Hi'), completed())
    expect(ofType(deltas, 'metadata')).toEqual([{ type: 'metadata', metadata: { serverTools: [search] } }])
  })

  it('give a generated picture as a part, and its bytes only there', () => {
    const call = { type: 'image_generation_call', id: 'ig_1', status: 'completed', output_format: 'webp' }
    const deltas = decode(created(), done(0, { ...call, result: 'AAAA' }), completed())
    expect(ofType(deltas, 'part')).toEqual([
      { type: 'part', part: { type: 'data', mimeType: 'image/webp', data: 'AAAA' } },
    ])
    expect(ofType(deltas, 'metadata')).toEqual([{ type: 'metadata', metadata: { serverTools: [call] } }])
  })
})
