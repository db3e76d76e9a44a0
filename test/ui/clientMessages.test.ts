/** The conversation of a client in the form that models need: roles alternate, ids are used once, calls have results, files are read. */
import { expect, test } from 'vitest'
import type { ToolResultPart } from '../../src/messages/messages.ts'
import { type ClientMessage, historyOf, mediaPart, promptsIn } from '../../src/ui/clientMessages.ts'

const text = (value: string) => ({ type: 'text', text: value }) as const
const call = (id: string) => ({ type: 'toolCall', id, name: 'look', arguments: {} }) as const
const result = (id: string): ToolResultPart => ({ type: 'toolResult', id, name: 'look', result: 'seen' })
const noResult = (id: string) => ({
  type: 'toolResult',
  id,
  name: 'look',
  result: '{"error":"This call did not run: no decision was made on it."}',
  isError: true,
})
const model = (...parts: ClientMessage['parts']): ClientMessage => ({ role: 'model', parts })
const user = (...parts: ClientMessage['parts']): ClientMessage => ({ role: 'user', parts })

test.each<[string, ClientMessage[], object[]]>([
  ['nothing', [], []],
  ['messages without parts', [user(), model(), user(text('a'))], [user(text('a'))]],
  [
    'messages of one role',
    [user(text('a')), user(text('b')), model(text('c')), model(text('d'))],
    [user(text('a'), text('b')), model(text('c'), text('d'))],
  ],
  [
    'calls with their results, and others',
    [{ ...model(text('a'), call('c1'), call('c2')), results: new Map([['c2', result('c2')]]) }],
    [model(text('a'), call('c1'), call('c2')), { role: 'user', parts: [noResult('c1'), result('c2')] }],
  ],
  [
    'results before a prompt',
    [{ ...model(call('c1')), results: new Map([['c1', result('c1')]]) }, user(text('b'))],
    [model(call('c1')), user(result('c1'), text('b'))],
  ],
  [
    'an id that is used again, or empty',
    [model(call('c1'), call('c1'), call('')), model(call('c1')), model(text('b'), call('c1'))],
    [model(call('c1')), { role: 'user', parts: [noResult('c1')] }, model(text('b'))],
  ],
])('%s', (_, messages, history) => {
  expect(historyOf(messages)).toStrictEqual(history)
})

test('the messages of the client are not changed', () => {
  const messages = [user(text('a')), user(text('b'))]
  historyOf(messages)
  expect(messages).toStrictEqual([user(text('a')), user(text('b'))])
})

test('the prompts are the texts of the user', () => {
  expect(
    promptsIn([user(text('a'), text('b')), model(text('c')), user(call('c1')), user(text('d'))]),
  ).toEqual(['ab', '', 'd'])
})

const png = { type: 'data', mimeType: 'image/png', data: 'AAAA' }
const octets = 'application/octet-stream'
/** The comma at this index. */
const withComma = (index: number) => `data:${'x'.repeat(index - 12)};base64,AAAA`

test.each<[string, object | undefined]>([
  ['data:image/png;base64,AAAA', png],
  ['DATA:image/png;BASE64,AAAA', png],
  ['data:image/png;charset=x;base64,AAAA', png],
  ['data:image/png;base64,AA,AA', { ...png, data: 'AA,AA' }],
  ['data:;base64,AAAA', { ...png, mimeType: octets }],
  ['data:image/png,AAAA', undefined],
  ['data:base64,AAAA', undefined],
  ['data:image/png;base64;charset=x,AAAA', undefined],
  ['data:image/png;base64', undefined],
  ['data:;base64x', undefined],
  [withComma(200), { ...png, mimeType: 'x'.repeat(188) }],
  [withComma(201), undefined],
  ['xdata:image/png;base64,AAAA', undefined],
  ['https://example.com/a,b', { type: 'link', url: 'https://example.com/a,b' }],
  ['HTTP://example.com', { type: 'link', url: 'HTTP://example.com' }],
  ['https:example.com', undefined],
  [' https://example.com', undefined],
  ['file:///etc/passwd', undefined],
  ['ftp://example.com', undefined],
  ['', undefined],
])('%s', (url, expected) => {
  expect(mediaPart(url)).toStrictEqual(expected)
})

test('the type and the name that the client gives count', () => {
  expect(mediaPart('data:image/png;base64,AAAA', 'image/gif', 'a.gif')).toStrictEqual({
    type: 'data',
    mimeType: 'image/gif',
    data: 'AAAA',
    name: 'a.gif',
  })
  const url = 'https://example.com'
  expect(mediaPart(url, 'image/gif', 'a.gif')).toStrictEqual({
    type: 'link',
    url,
    mimeType: 'image/gif',
    name: 'a.gif',
  })
})
