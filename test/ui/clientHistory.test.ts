/** The conversation of a client in the form that models need: roles alternate, ids are used once, calls have results. */
import { expect, test } from 'vitest'
import type { ToolResultPart } from '../../src/messages/messages.ts'
import { historyOf, promptsIn, type ToldMessage } from '../../src/ui/clientHistory.ts'

const text = (value: string) => ({ type: 'text', text: value }) as const
const call = (id: string) => ({ type: 'toolCall', id, name: 'look', arguments: {} }) as const
const result = (id: string): ToolResultPart => ({ type: 'toolResult', id, name: 'look', result: 'seen' })
const noResult = (id: string) => ({
  type: 'toolResult',
  id,
  name: 'look',
  result: '{"error":"This call did not run: there was no decision on it."}',
  isError: true,
})
const model = (...parts: ToldMessage['parts']): ToldMessage => ({ role: 'model', parts })
const user = (...parts: ToldMessage['parts']): ToldMessage => ({ role: 'user', parts })

test.each<[string, ToldMessage[], object[]]>([
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
])('%s', (_, told, history) => {
  expect(historyOf(told)).toStrictEqual(history)
})

test('the messages of the client are not changed', () => {
  const told = [user(text('a')), user(text('b'))]
  historyOf(told)
  expect(told).toStrictEqual([user(text('a')), user(text('b'))])
})

test('the prompts are the texts of the user', () => {
  expect(
    promptsIn([user(text('a'), text('b')), model(text('c')), user(call('c1')), user(text('d'))]),
  ).toEqual(['ab', '', 'd'])
})
