import { describe, expect, it } from 'vitest'
import { openaiResponses } from '../../../providers/openai-responses/index.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import {
  added,
  completed,
  created,
  decode,
  done,
  finish,
  kept,
  messageItem,
  metadata,
  type Row,
  response,
  target,
  text,
  textDelta,
} from './responsesFixtures.ts'

// The deltas of each event, field by field: present, missing, of another type, in another order, repeated.

const thinking = (text: string) => ({ type: 'thinking', text })
const progress = { type: 'progress' }

describe('pieces', () => {
  it('are given without waiting, and nothing follows the end', () => {
    const decoder = openaiResponses.decoder(target())
    const push = (event: JsonObject) => decoder.push({ data: JSON.stringify(event) })
    expect(push(created())).toEqual([response])
    expect(push(textDelta(0, 'Hel'))).toEqual([text('Hel')])
    expect(push(textDelta(0, 'lo'))).toEqual([text('lo')])
    expect(push(completed({ output: [messageItem('Hello')] }))).toEqual([kept(), finish('stop')])
    expect(push(textDelta(0, 'late'))).toEqual([])
    expect(decoder.end()).toEqual([])
  })

  const part = (fields: JsonObject): JsonObject => ({ type: 'response.content_part.done', part: fields })
  const rows: [JsonObject, object, boolean][] = [
    [{ type: 'response.output_text.delta', delta: 'a' }, text('a'), false],
    [{ type: 'response.output_text.done', text: 'a' }, text('a'), true],
    [{ type: 'response.refusal.delta', delta: 'a' }, progress, false],
    [{ type: 'response.refusal.done', refusal: 'a' }, progress, true],
    [{ type: 'response.reasoning_summary_text.delta', delta: 'a' }, thinking('a'), false],
    [{ type: 'response.reasoning_summary_text.done', text: 'a' }, thinking('a'), true],
    [{ type: 'response.reasoning_text.delta', delta: 'a' }, thinking('a'), false],
    [{ type: 'response.reasoning_text.done', text: 'a' }, thinking('a'), true],
    [part({ type: 'output_text', text: 'a' }), text('a'), true],
    [part({ type: 'refusal', refusal: 'a' }), progress, true],
    [part({ type: 'reasoning_text', text: 'a' }), thinking('a'), true],
    [part({ type: 'summary_text', text: 'a' }), thinking('a'), true],
    [
      { type: 'response.reasoning_summary_part.done', part: { type: 'summary_text', text: 'a' } },
      thinking('a'),
      true,
    ],
  ]
  it.each(rows)('of %j are given, and a whole only once', (event, delta, isWhole) => {
    const deltas = decode(event, event, completed({ id: null }))
    const isRefusal = delta === progress
    const refusal = isWhole ? 'a' : 'aa'
    expect(deltas).toStrictEqual([
      delta,
      ...(isWhole ? [] : [delta]),
      ...(isRefusal ? [metadata({ refusal })] : []),
      finish(isRefusal ? 'contentFilter' : 'stop'),
    ])
  })

  it.each<JsonObject>([
    { type: 'response.output_text.delta' },
    { type: 'response.output_text.delta', delta: '' },
    { type: 'response.output_text.delta', delta: 7 },
    { type: 'response.refusal.delta', delta: '' },
    { type: 'response.output_text.annotation.added' },
    { type: 'response.output_text.annotation.added', annotation: 'x' },
    { type: 'response.output_item.added' },
    { type: 'response.output_item.added', item: 'x' },
    { type: 'response.output_item.done' },
    { type: 'response.function_call_arguments.delta' },
    { type: 'response.function_call_arguments.delta', delta: '' },
    { type: 'response.content_part.done' },
    { type: 'response.tomorrow', message: 'x', error: { message: 'x' } },
    { type: 'tomorrow', message: 'x' },
    {},
  ])('%j is nothing', (event) => {
    expect(decode(event, completed({ id: null }))).toStrictEqual([finish('stop')])
  })

  it.each<JsonObject>([
    { type: 'response.content_part.done', part: { type: 'tomorrow', text: 'x' } },
    { type: 'response.content_part.done', part: { type: 'output_text', text: '' } },
    { type: 'response.content_part.done', part: 'x' },
    { type: 'response.web_search_call.searching' },
  ])('%j is work that goes on', (event) => {
    expect(decode({ ...event, output_index: 0 }, completed({ id: null }))).toStrictEqual([
      progress,
      finish('stop'),
    ])
    expect(decode({ ...event, output_index: '0' }, completed({ id: null }))).toStrictEqual([finish('stop')])
  })

  it('of one item are distinguished by what they are and by their number', () => {
    const whole = (kind: string, place: JsonObject, written: string): JsonObject => ({
      type: `response.${kind}.done`,
      output_index: 0,
      text: written,
      ...place,
    })
    const events = [
      whole('reasoning_text', { content_index: 0 }, 'a'),
      whole('reasoning_summary_text', { summary_index: 0 }, 'b'),
      whole('reasoning_summary_text', { summary_index: 1 }, 'c'),
      whole('reasoning_text', { content_index: 1 }, 'd'),
    ]
    const again = [...events, whole('reasoning_text', {}, 'x')]
    expect(decode(...events, ...again, completed({ id: null }))).toStrictEqual([
      ...['a', '\n\nb', '\n\nc', '\n\nd'].map(thinking),
      finish('stop'),
    ])
  })
})

describe('items', () => {
  const rows: Row[] = [
    [
      'that are whole',
      [
        done(0, {
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: 'a' }, null, 'x'],
          content: [{ type: 'reasoning_text', text: 'b' }],
        }),
        done(1, {
          type: 'message',
          content: [
            { type: 'output_text', text: 'c', annotations: [{ n: 1 }, 'x'] },
            { type: 'refusal', refusal: 'd' },
            'x',
            { type: 'output_text', text: 'e', annotations: [{ n: 2 }] },
          ],
        }),
        completed({ output: [null, 'x'], id: null }),
      ],
      [
        thinking('a'),
        thinking('\n\nb'),
        text('c'),
        progress,
        text('e'),
        metadata({ citations: [{ n: 1 }, { n: 2 }] }),
        metadata({ refusal: 'd' }),
        finish('contentFilter'),
      ],
    ],
    [
      'that were announced with their content, and never mentioned again',
      [
        added(
          0,
          messageItem('a', { content: [{ type: 'output_text', text: 'a', annotations: [{ n: 1 }] }] }),
        ),
        completed({ output: null, id: null }),
      ],
      [progress, text('a'), metadata({ citations: [{ n: 1 }] }), finish('stop')],
    ],
    [
      'that were cited as they came',
      [
        textDelta(0, 'a'),
        { type: 'response.output_text.annotation.added', output_index: 0, annotation: { n: 1 } },
        { type: 'response.output_text_annotation.added', output_index: 0, annotation: { n: 2 } },
        done(0, messageItem('a', { content: [{ type: 'output_text', text: 'a', annotations: [{ n: 1 }] }] })),
        completed({ id: null }),
      ],
      [text('a'), metadata({ citations: [{ n: 1 }] }), metadata({ citations: [{ n: 2 }] }), finish('stop')],
    ],
    [
      'whose whole comes twice',
      [
        done(0, messageItem('a', { content: [{ type: 'output_text', text: 'a', annotations: [{ n: 1 }] }] })),
        completed({
          id: null,
          output: [
            messageItem('a', { content: [{ type: 'output_text', text: 'a', annotations: [{ n: 1 }] }] }),
          ],
        }),
      ],
      [text('a'), metadata({ citations: [{ n: 1 }] }), finish('stop')],
    ],
    [
      'whose whole is empty the first time',
      [done(0, messageItem('')), completed({ id: null, output: [messageItem('a')] })],
      [text('a'), finish('stop')],
    ],
    [
      'of the server that were only announced',
      [added(0, { type: 'web_search_call', id: 'w' }), textDelta(1, 'a'), completed({ id: null })],
      [
        progress,
        text('a'),
        metadata({ serverTools: [{ type: 'web_search_call', id: 'w' }] }),
        finish('stop'),
      ],
    ],
    [
      'of the server: what is called, put out or listed',
      [
        ...[
          'web_search_call',
          'computer_call_output',
          'mcp_list_tools',
          'a_call_b',
          'a_output_b',
          'x_mcp_call_x',
          'tomorrow',
        ].map((type, position) => done(position, { type, id: type })),
        done(0, { type: 'web_search_call', id: 'web_search_call' }),
        completed({ id: null }),
      ],
      [
        ...['web_search_call', 'computer_call_output', 'mcp_list_tools'].map((type) =>
          metadata({ serverTools: [{ type, id: type }] }),
        ),
        finish('stop'),
      ],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(...events)).toStrictEqual(expected))

  it.each([
    [{ result: 'AA' }, 'image/png'],
    [{ result: 'AA', output_format: 'jpeg' }, 'image/jpeg'],
    [{ result: 'AA', output_format: 'x/jpeg' }, 'image/png'],
    [{ result: 'AA', output_format: 'jpeg;x' }, 'image/png'],
    [{ result: 'AA', output_format: '' }, 'image/png'],
    [{ result: '' }, undefined],
    [{ result: null }, undefined],
  ])('that are a picture %j have the type %s', (fields, mimeType) => {
    const { result, ...rest } = { type: 'image_generation_call', id: 'i', ...fields }
    expect(decode(done(0, { ...rest, result }), completed({ id: null }))).toStrictEqual([
      ...(mimeType ? [{ type: 'part', part: { type: 'data', mimeType, data: result } }] : []),
      metadata({ serverTools: [rest] }),
      finish('stop'),
    ])
  })

  it('with a result that are not a picture keep it', () => {
    const item = { type: 'mcp_call', id: 'm', result: 'AA' }
    expect(decode(done(0, item), completed({ id: null }))).toStrictEqual([
      metadata({ serverTools: [item] }),
      finish('stop'),
    ])
  })
})
