import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/messages/json.ts'
import {
  callItem,
  completed,
  created,
  decode,
  done,
  kept,
  messageItem,
  reasoningItem,
  textDelta,
} from './responsesFixtures.ts'

describe('what is kept of an answer', () => {
  const call = callItem('c1', 'one', '{}')
  const sent = { type: 'function_call', call: 0 }
  const thought = reasoningItem('r1', 'enc')
  const kind = { type: 'reasoning', id: 'r1', summary: [], encrypted_content: 'enc' }
  const said = (length: number, more: object = {}) => ({ type: 'message', length, ...more })
  const other = messageItem('bc', { id: 'msg_2' })

  it.each<[string, JsonObject[], object[] | undefined]>([
    ['a message and a call', [messageItem('a'), call], undefined],
    ['a call alone', [call], undefined],
    ['nothing', [], undefined],
    ['a call before a message', [call, messageItem('a')], [sent, said(1)]],
    ['a call before an empty message', [call, messageItem('')], undefined],
    ['two messages', [messageItem('a'), other], [said(1), said(2)]],
    ['a message with a phase', [messageItem('a', { phase: 'final' })], [said(1, { phase: 'final' })]],
    ['reasoning before a message', [thought, messageItem('a')], [kind, said(1)]],
    ['reasoning before a call', [messageItem('a'), thought, call], [said(1), kind, sent]],
    ['reasoning and nothing after it', [messageItem('a'), thought], undefined],
    ['reasoning that is not encrypted', [reasoningItem('r1', null), messageItem('a')], undefined],
    ['reasoning without an id', [{ ...thought, id: null }, messageItem('a')], undefined],
    [
      'reasoning with content and a summary',
      [
        {
          ...reasoningItem('r1', 'enc', 'Hm'),
          content: [{ type: 'reasoning_text', text: 'x' }],
        },
        call,
      ],
      [
        {
          ...kind,
          summary: [{ type: 'summary_text', text: 'Hm' }],
          content: [{ type: 'reasoning_text', text: 'x' }],
        },
        sent,
      ],
    ],
    [
      'reasoning that led to a tool of the server',
      [thought, { type: 'web_search_call', id: 'w' }, messageItem('a')],
      undefined,
    ],
    [
      'reasoning after a tool of the server',
      [{ type: 'web_search_call', id: 'w' }, thought, messageItem('a')],
      [kind, said(1)],
    ],
    [
      'a custom call',
      [{ type: 'custom_tool_call', id: 'f', call_id: 'c1', name: 'one', input: 'x' }],
      [{ type: 'custom_tool_call', call: 0 }],
    ],
    ['an item that is not known', [messageItem('a'), { type: 'tomorrow', id: 't' }], undefined],
  ])('%s', (_, output, layout) => {
    const opaque = (response: JsonObject) =>
      decode(created(), completed({ output, ...response })).filter(({ type }) => type === 'opaque')
    expect(opaque({})).toStrictEqual([kept({ responseId: 'resp_1', ...(layout && { layout }) })])
    expect(opaque({ store: false })).toStrictEqual(layout ? [kept({ layout })] : [])
    expect(opaque({ store: null, status: 'incomplete' })).toStrictEqual(layout ? [kept({ layout })] : [])
  })

  it.each<[string, JsonObject[], object[] | undefined]>([
    ['in order', [textDelta(0, 'a'), textDelta(1, 'b'), textDelta(1, 'c')], [said(1), said(2)]],
    ['the second first', [textDelta(1, 'b'), textDelta(0, 'a')], undefined],
    ['the first continued', [textDelta(0, 'a'), textDelta(1, 'b'), textDelta(0, 'c')], undefined],
    [
      'the first continued, both with the number 0',
      [
        done(0, messageItem('a')),
        done(0, messageItem('bc', { id: 'msg_2' })),
        textDelta(0, 'd', { item_id: 'msg_1' }),
      ],
      undefined,
    ],
    [
      'both with the number 0',
      [done(0, messageItem('a')), done(0, messageItem('bc', { id: 'msg_2' }))],
      [said(1), said(2)],
    ],
  ])('two messages, %s', (_, events, layout) => {
    const deltas = decode(...events, completed({ id: null }))
    expect(deltas.filter(({ type }) => type === 'opaque')).toStrictEqual(layout ? [kept({ layout })] : [])
  })

  it.each<[string, JsonObject[], boolean]>([
    ['each call has an id', [call, callItem('c2', 'one', '{}')], true],
    ['two calls have the same id', [call, { ...call, id: 'other', call_id: 'c1' }], false],
    ['a call has none', [callItem('', 'one', '{}')], false],
  ])('can be continued at the server if %s', (_, output, isKept) => {
    const deltas = decode(created(), ...output.map((item, at) => done(at, item)), completed())
    expect(deltas.filter(({ type }) => type === 'opaque')).toStrictEqual(isKept ? [kept()] : [])
  })
})
