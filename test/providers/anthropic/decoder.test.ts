import { describe, expect, it } from 'vitest'
import { anthropic } from '../../../providers/anthropic/index.ts'
import {
  close,
  decode,
  ended,
  finish,
  grow,
  last,
  open,
  type Row,
  response,
  start,
  stop,
  target,
  text,
} from './wire.ts'

// The deltas of each event, field by field: present, missing, of another type, in another order, repeated.

const delta = (fields: object, index?: number) => ({
  type: 'content_block_delta',
  ...(index !== undefined && { index }),
  delta: fields,
})
const opaque = (...blocks: object[]) => ({
  type: 'opaque',
  protocol: 'anthropic',
  data: { provider: 'anthropic', blocks },
})

describe('text', () => {
  it('is not made of deltas of another type', () => {
    const events = [open(0, { type: 'text', text: '' }), grow(0, 'text_delta', { text: 'Hi' })]
    const deltas = decode([start, ...events, grow(0, 'hint_delta', { text: 'No.' })])
    expect(deltas.filter(({ type }) => type === 'text')).toEqual([{ type: 'text', text: 'Hi' }])
  })

  it('is given piece by piece, without waiting', () => {
    const decoder = anthropic.decoder(target)
    const push = (event: object) => decoder.push({ data: JSON.stringify(event) })
    push(start)
    push(open(0, { type: 'text', text: '' }))
    expect(push(grow(0, 'text_delta', { text: 'Hel' }))).toEqual([{ type: 'text', text: 'Hel' }])
    expect(push(grow(0, 'text_delta', { text: 'lo' }))).toEqual([{ type: 'text', text: 'lo' }])
  })

  const rows: Row[] = [
    [
      'nothing of an empty piece, of one without a text, and of one whose text is not a string',
      [
        start,
        open(0, { type: 'text' }),
        grow(0, 'text_delta', { text: '' }),
        grow(0, 'text_delta', {}),
        grow(0, 'text_delta', { text: 7 }),
        { type: 'content_block_delta', index: 0 },
        grow(0, 'text_delta', { text: 'a' }),
        close(0),
        close(0),
        close(5),
        ...ended,
      ],
      [response, { type: 'text', text: 'a' }, finish('end_turn')],
    ],
    [
      'a delta without an index belongs to the latest block',
      [
        start,
        open(0, { type: 'text', text: '' }),
        open(1, { type: 'text', text: '' }),
        open(2, { type: 'tool_use', id: 'a', name: 'one', input: {} }),
        delta({ type: 'input_json_delta', partial_json: '{}' }),
        { type: 'content_block_start', content_block: { type: 'text' } },
        delta({ type: 'text_delta', text: 'late' }),
        stop('tool_use'),
        last,
      ],
      [
        response,
        { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '' },
        { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '{}' },
        { type: 'text', text: 'late' },
        { type: 'toolCall', call: { id: 'a', name: 'one', arguments: {} } },
        finish('tool_use', 'toolCalls'),
      ],
    ],
    [
      'a block that was never announced',
      [
        start,
        delta({ type: 'text_delta', text: 'a' }),
        delta({ type: 'text_delta', text: 'b' }, 3),
        delta({ type: 'new_text_delta', text: 'c' }, 4),
        delta({ type: 'text_delta_2', text: 'd' }, 5),
        delta({ text: 'e' }, 6),
        delta({ type: 'input_json_delta', partial_json: '{}' }, 7),
        ...ended,
      ],
      [response, { type: 'text', text: 'a' }, { type: 'text', text: 'b' }, finish('end_turn')],
    ],
    [
      'thinking that was never announced is kept for the next request',
      [start, delta({ type: 'thinking_delta', thinking: 'Hm' }, 0), ...text(1, 'a'), ...ended],
      [
        response,
        { type: 'thinking', text: 'Hm' },
        { type: 'text', text: 'a' },
        opaque({ type: 'thinking', thinking: 'Hm', signature: '' }, { text: 1 }),
        finish('end_turn'),
      ],
    ],
    [
      'citations that come with the block, and one that comes later',
      [
        start,
        open(0, { type: 'text', text: 'a', citations: [{ n: 1 }, { n: 2 }] }),
        grow(0, 'citations_delta', { citation: { n: 3 } }),
        grow(0, 'citations_delta', { citation: 'x' }),
        ...ended,
      ],
      [
        response,
        { type: 'text', text: 'a' },
        ...[1, 2, 3].map((n) => ({ type: 'metadata', metadata: { citations: [{ n }] } })),
        finish('end_turn'),
      ],
    ],
    [
      'blocks that interleave cannot be separated later, so nothing is kept',
      [
        start,
        open(0, { type: 'redacted_thinking', data: 'x' }),
        open(1, { type: 'text', text: 'a' }),
        open(2, { type: 'text', text: 'b' }),
        delta({ type: 'text_delta', text: 'c' }, 1),
        ...ended,
      ],
      [
        response,
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
        { type: 'text', text: 'c' },
        finish('end_turn'),
      ],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(events)).toStrictEqual(expected))
})

describe('blocks that are kept', () => {
  const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
  const rows: Row[] = [
    [
      'each field grows, an empty piece is not progress, and a signature may be repeated',
      [
        start,
        open(0, { type: 'thinking', thinking: 'A', signature: 'sig' }),
        grow(0, 'thinking_delta', { thinking: '' }),
        grow(0, 'thinking_delta', { thinking: 'A' }),
        grow(0, 'signature_delta', { signature: 'sig' }),
        grow(0, 'signature_delta', { signature: '2' }),
        close(0),
        open(1, { type: 'compaction' }),
        grow(1, 'compaction_delta', { content: 'short' }),
        grow(1, 'compaction_delta', { encrypted_content: 'x' }),
        grow(1, 'compaction_delta', { encrypted_content: 'y', other: 'z' }),
        ...ended,
      ],
      [
        response,
        { type: 'thinking', text: 'A' },
        { type: 'thinking', text: 'A' },
        { type: 'progress' },
        { type: 'progress' },
        { type: 'progress' },
        { type: 'progress' },
        opaque(
          { type: 'thinking', thinking: 'AA', signature: 'sig2' },
          { type: 'compaction', content: 'short', encrypted_content: 'xy' },
        ),
        finish('end_turn'),
      ],
    ],
    [
      'the input of a server tool is put together; one that is not JSON is left out',
      [
        start,
        open(0, search),
        grow(0, 'input_json_delta', { partial_json: '{"q":' }),
        grow(0, 'input_json_delta', { partial_json: '1}' }),
        grow(0, 'input_json_delta', { partial_json: '' }),
        close(0),
        close(0),
        open(1, { ...search, id: 't', input: { q: 0 } }),
        grow(1, 'input_json_delta', { partial_json: '{"q' }),
        close(1),
        open(2, { ...search, id: 'u', input: { q: 0 } }),
        grow(2, 'input_json_delta', { partial_json: ' ' }),
        ...ended,
      ],
      [
        response,
        { type: 'progress' },
        { type: 'progress' },
        { type: 'metadata', metadata: { serverTools: [{ ...search, input: { q: 1 } }] } },
        { type: 'progress' },
        { type: 'metadata', metadata: { serverTools: [{ ...search, id: 't', input: { q: 0 } }] } },
        { type: 'progress' },
        { type: 'metadata', metadata: { serverTools: [{ ...search, id: 'u', input: { q: 0 } }] } },
        opaque(
          { ...search, input: { q: 1 } },
          { ...search, id: 't', input: { q: 0 } },
          { ...search, id: 'u', input: { q: 0 } },
        ),
        finish('end_turn'),
      ],
    ],
    [
      'each is shown when it is closed',
      [start, open(0, search), open(1, { ...search, id: 't' }), close(0), close(1), ...ended],
      [
        response,
        { type: 'metadata', metadata: { serverTools: [search] } },
        { type: 'metadata', metadata: { serverTools: [{ ...search, id: 't' }] } },
        opaque(search, { ...search, id: 't' }),
        finish('end_turn'),
      ],
    ],
    [
      'what is shown of them: tools of the server and their results',
      [
        start,
        ...[
          'mcp_tool_use',
          'container_upload',
          'web_fetch_tool_result',
          'my_server_tool_use',
          'server_tool_use_2',
          'a_tool_result_2',
        ].map((type, index) => open(index, { type })),
        open(9, { data: 'no type' }),
        ...ended,
      ],
      [
        response,
        ...['mcp_tool_use', 'container_upload', 'web_fetch_tool_result'].map((type) => ({
          type: 'metadata',
          metadata: { serverTools: [{ type }] },
        })),
        opaque(
          { type: 'mcp_tool_use' },
          { type: 'container_upload' },
          { type: 'web_fetch_tool_result' },
          { type: 'my_server_tool_use' },
          { type: 'server_tool_use_2' },
          { type: 'a_tool_result_2' },
        ),
        finish('end_turn'),
      ],
    ],
    [
      'a kind that is not known is kept, and its pieces mean nothing',
      [
        start,
        open(0, { type: 'hologram', pixels: 3 }),
        grow(0, 'hologram_delta', { pixels: 4 }),
        close(0),
        ...text(1, 'Hi'),
        ...ended,
      ],
      [
        response,
        { type: 'text', text: 'Hi' },
        opaque({ type: 'hologram', pixels: 3 }, { text: 2 }),
        finish('end_turn'),
      ],
    ],
    [
      'a call without a name is not a call, and is not sent back',
      [
        start,
        open(0, { type: 'tool_use', id: 'a', name: '', input: {} }),
        open(1, { type: 'tool_use', id: 'b', name: 7, input: {} }),
        open(2, { type: 'tool_use', id: 'c' }),
        ...ended,
      ],
      [response, finish('end_turn')],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(events)).toStrictEqual(expected))

  it.each<[string, object | undefined, object[] | undefined]>([
    ['a container alone', undefined, [{ text: 1 }, { call: 0 }]],
    ['a caller that is direct', { caller: { type: 'direct' } }, undefined],
    [
      'a caller in a sandbox',
      { caller: { type: 'code_execution' } },
      [{ text: 1 }, { caller: { type: 'code_execution' }, call: 0 }],
    ],
    ['a caller of another shape', { caller: 'direct' }, [{ text: 1 }, { caller: 'direct', call: 0 }]],
    ['another field', { extra: 1 }, [{ text: 1 }, { extra: 1, call: 0 }]],
  ])('an answer with a call is kept because of %s', (_, fields, blocks) => {
    const container = fields === undefined ? 'c1' : undefined
    const deltas = decode([
      start,
      ...text(0, 'a'),
      ...text(1),
      open(2, { type: 'tool_use', id: 'a', name: 'one', input: { m: 1 }, ...fields }),
      close(2),
      stop('tool_use', container === undefined ? {} : { container: { id: container } }),
      stop('tool_use', { container: { id: 7 } }),
      last,
    ])
    const kept = {
      type: 'opaque',
      protocol: 'anthropic',
      data: { provider: 'anthropic', blocks, ...(container !== undefined && { container }) },
    }
    expect(deltas).toStrictEqual([
      response,
      { type: 'text', text: 'a' },
      { type: 'toolDelta', index: 0, id: 'a', name: 'one', arguments: '{"m":1}' },
      { type: 'toolCall', call: { id: 'a', name: 'one', arguments: { m: 1 } } },
      ...(blocks ? [kept] : []),
      finish('tool_use', 'toolCalls'),
    ])
  })
})
