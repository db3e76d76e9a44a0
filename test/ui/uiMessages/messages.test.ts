/** A stored conversation as the first messages of a page. */
import { expect, test } from 'vitest'
import type { ChatMessage, ToolResultPart } from '../../../src/messages/messages.ts'
import { uiMessagesOf } from '../../../src/ui/uiMessages/messages.ts'

const call = (id: string) => ({ type: 'toolCall', id, name: 'look', arguments: { at: id } }) as const
const result = (id: string, over: Partial<ToolResultPart> = {}): ToolResultPart => ({
  type: 'toolResult',
  id,
  name: 'look',
  result: 'seen',
  ...over,
})
const shownCall = (id: string, over: object) => ({
  type: 'tool-look',
  toolCallId: id,
  input: { at: id },
  ...over,
})

test('all steps of an answer are one message, with thinking, calls and their results', () => {
  const history: ChatMessage[] = [
    { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
    { role: 'user', parts: [{ type: 'text', text: 'Look' }] },
    {
      role: 'model',
      metadata: { thinking: 'Hm.' },
      parts: [{ type: 'text', text: 'I look.' }, call('c1'), call('c2'), call('c3'), call('c4')],
    },
    {
      role: 'user',
      parts: [
        result('c1', { result: '{"celsius":21}' }),
        result('c2', { result: '{"error":"no paper"}', isError: true }),
        result('c3', { result: '{"error":"too far"}', isError: true, rejected: true }),
        result('unknown'),
      ],
    },
    { role: 'model', metadata: { thinking: 7 }, parts: [{ type: 'text', text: 'There.' }] },
    { role: 'user', parts: [{ type: 'text', text: 'Thanks' }] },
    { role: 'model', parts: [{ type: 'text', text: 'You are welcome.' }] },
  ]
  expect(uiMessagesOf(history)).toStrictEqual([
    { id: 'message-1', role: 'user', parts: [{ type: 'text', text: 'Look', state: 'done' }] },
    {
      id: 'answer-message-1',
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        { type: 'reasoning', text: 'Hm.', state: 'done' },
        { type: 'text', text: 'I look.', state: 'done' },
        shownCall('c1', { state: 'output-available', output: { celsius: 21 } }),
        shownCall('c2', { state: 'output-error', errorText: 'Something went wrong.' }),
        shownCall('c3', { state: 'output-denied', approval: { id: 'c3', approved: false } }),
        shownCall('c4', { state: 'input-available' }),
        { type: 'step-start' },
        { type: 'text', text: 'There.', state: 'done' },
      ],
    },
    { id: 'message-5', role: 'user', parts: [{ type: 'text', text: 'Thanks', state: 'done' }] },
    {
      id: 'answer-message-5',
      role: 'assistant',
      parts: [{ type: 'step-start' }, { type: 'text', text: 'You are welcome.', state: 'done' }],
    },
  ])
})

test('a result belongs to the newest call of its id', () => {
  const history: ChatMessage[] = [
    { role: 'model', parts: [call('c1')] },
    { role: 'user', parts: [result('c1', { result: 'first' })] },
    { role: 'model', parts: [call('c1')] },
    { role: 'user', parts: [result('c1', { result: 'second' })] },
  ]
  expect(uiMessagesOf(history)[0]?.parts).toStrictEqual([
    { type: 'step-start' },
    shownCall('c1', { state: 'output-available', output: 'first' }),
    { type: 'step-start' },
    shownCall('c1', { state: 'output-available', output: 'second' }),
  ])
  expect(uiMessagesOf([{ role: 'user', parts: [result('c1')] }])).toStrictEqual([])
})

test('files are shown by their address, with their name if they have one', () => {
  const history: ChatMessage[] = [
    {
      role: 'user',
      parts: [
        { type: 'data', mimeType: 'image/png', data: 'AAAA', name: 'a.png' },
        { type: 'link', url: 'https://example.com/b.pdf', mimeType: 'application/pdf', name: 'b.pdf' },
        { type: 'link', url: 'https://example.com/c' },
      ],
    },
  ]
  expect(uiMessagesOf(history)[0]?.parts).toStrictEqual([
    { type: 'file', url: 'data:image/png;base64,AAAA', mediaType: 'image/png', filename: 'a.png' },
    { type: 'file', url: 'https://example.com/b.pdf', mediaType: 'application/pdf', filename: 'b.pdf' },
    { type: 'file', url: 'https://example.com/c', mediaType: 'application/octet-stream' },
  ])
})
