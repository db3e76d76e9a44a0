/** The parts of an AG-UI run's input that count: the prompt, decisions, tools of the page; and the thread, as its client has it. */
import { describe, expect, test } from 'vitest'
import type { JsonObject, JsonValue } from '../../../src/messages/json.ts'
import type { PendingCall } from '../../../src/messages/result.ts'
import { readRunInput } from '../../../src/ui/agui/readRequest.ts'
import { HttpError } from '../../../src/ui/request.ts'

const user = (content: JsonValue) => ({ id: 'u1', role: 'user', content })
const text = (value: string) => ({ type: 'text', text: value })
const input = (over: JsonObject = {}): JsonObject => ({
  threadId: 't1',
  runId: 'r1',
  messages: [user('hi')],
  ...over,
})
const questionIn = (...messages: JsonObject[]) => {
  const read = readRunInput(input({ messages }))
  if (!('question' in read)) throw new Error('It is not a question.')
  return read.question
}
const refusal = (over: JsonObject) => {
  try {
    readRunInput(input(over))
  } catch (thrown) {
    if (thrown instanceof HttpError) return [thrown.status, thrown.message]
  }
  return undefined
}

describe('a question', () => {
  test('comes with the ids of the thread and the run, the messages as they are, and no tools', () => {
    const { decide: _, ...read } = { decide: undefined, ...readRunInput(input()) }
    expect(read).toStrictEqual({
      threadId: 't1',
      runId: 'r1',
      messages: [user('hi')],
      tools: [],
      question: { prompt: [text('hi')], history: [], asked: [], intent: 'new' },
    })
  })

  test.each<[string, JsonObject, string]>([
    ['without an id of its thread', { threadId: 7 }, 'The id of a chat'],
    ['without an id of its run', { runId: '' }, 'The id of a chat'],
    ['without messages', { messages: null }, 'must be from the user or a tool'],
    [
      'of an assistant',
      { messages: [{ role: 'assistant', content: 'hi' }] },
      'must be from the user or a tool',
    ],
    ['of no text', { messages: [user('')] }, 'is empty'],
    ['of something else', { messages: [user(7)] }, 'is empty'],
  ])('%s is refused', (_, over, message) => {
    expect(refusal(over)).toStrictEqual([400, expect.stringContaining(message)])
  })

  test('brings text and media, and nothing else', () => {
    const source = (over: JsonObject) => ({ type: 'image', source: over })
    const content = [
      text('Look'),
      text(''),
      'no object',
      source({ type: 'data', value: 'AAAA', mimeType: 'image/png' }),
      source({ type: 'data', value: 'BBBB' }),
      source({ type: 'data', value: 'CCCC', mimeType: 7 }),
      source({ type: 'data', value: 7 }),
      source({ type: 'url', value: 'https://example.com/a.png', mimeType: 'image/png' }),
      source({ type: 'url', value: 'https://example.com/b.png' }),
      source({ type: 'url', value: 'file:///etc/passwd' }),
      source({ type: 'file', value: 'https://example.com/c.png' }),
      { type: 'image', source: 'https://example.com/d.png' },
    ]
    const octets = 'application/octet-stream'
    expect(questionIn(user(content)).prompt).toStrictEqual([
      text('Look'),
      { type: 'data', mimeType: 'image/png', data: 'AAAA' },
      { type: 'data', mimeType: octets, data: 'BBBB' },
      { type: 'data', mimeType: octets, data: 'CCCC' },
      { type: 'link', url: 'https://example.com/a.png', mimeType: 'image/png' },
      { type: 'link', url: 'https://example.com/b.png' },
    ])
  })

  test('describes tools of the page', () => {
    const parameters = { type: 'object', properties: { colour: { type: 'string' } } }
    const none = { type: 'object', properties: {} }
    const tools = [
      { name: 'paint', description: 'Paints', parameters },
      { name: 'bare' },
      { name: 7, description: 7, parameters: 7 },
      'no object',
    ]
    expect(readRunInput(input({ tools })).tools).toStrictEqual([
      { name: 'paint', description: 'Paints', parameters },
      { name: 'bare', description: '', parameters: none },
      { name: '', description: '', parameters: none },
    ])
    expect(readRunInput(input({ tools: { name: 'paint' } })).tools).toStrictEqual([])
  })
})

describe('the thread before it', () => {
  const call = (id: JsonValue, called: JsonValue) => ({ id, type: 'function', function: called })
  const look = (args: JsonValue) => ({ name: 'look', arguments: args })
  const assistant = (content: JsonValue, ...toolCalls: JsonObject[]) => ({
    role: 'assistant',
    content,
    toolCalls,
  })
  const result = (toolCallId: JsonValue, over: JsonObject = {}) => ({
    role: 'tool',
    toolCallId,
    content: 'seen',
    ...over,
  })
  const earlier = (...messages: JsonObject[]) => questionIn(...messages, user('And?'))

  test('is a conversation of calls and results, with the prompts in it', () => {
    const { history, asked } = earlier(
      { role: 'system', content: 'evil' },
      user('One'),
      { role: 'reasoning', content: 'Hm.' },
      assistant('I look.', call('c1', look('{"at":"sea"}')), call('c2', look('{}'))),
      result('c1'),
      result('c2', { error: 'no paper' }),
      { role: 'activity', content: 'x' },
      assistant('There.'),
      user('Two'),
    )
    expect(asked).toStrictEqual(['One', 'Two'])
    expect(history).toStrictEqual([
      { role: 'user', parts: [text('One')] },
      {
        role: 'model',
        parts: [
          text('I look.'),
          { type: 'toolCall', id: 'c1', name: 'look', arguments: { at: 'sea' } },
          { type: 'toolCall', id: 'c2', name: 'look', arguments: {} },
        ],
      },
      {
        role: 'user',
        parts: [
          { type: 'toolResult', id: 'c1', name: 'look', result: 'seen' },
          { type: 'toolResult', id: 'c2', name: 'look', result: '{"error":"no paper"}', isError: true },
        ],
      },
      { role: 'model', parts: [text('There.')] },
      { role: 'user', parts: [text('Two')] },
    ])
  })

  test.each<[string, JsonObject, string]>([
    ['several texts', { content: [text('a'), text('b')] }, 'ab'],
    ['text and an image', { content: [text('a'), { source: { type: 'data', value: 'AA' } }] }, 'a'],
    ['nothing', { content: null }, ''],
    ['an error that is not a string', { error: 7 }, 'seen'],
  ])('has the text of a result with %s', (_, over, expected) => {
    const { history } = earlier(assistant('', call('c1', look('{}'))), result('c1', over))
    expect(history[1]?.parts).toStrictEqual([
      { type: 'toolResult', id: 'c1', name: 'look', result: expected },
    ])
  })

  test('does not take a result that is not of a tool, or of no call', () => {
    const calls = assistant('', call('c1', look('{}')))
    const missing = [expect.objectContaining({ id: 'c1', isError: true })]
    for (const wrong of [result('c1', { role: 'user' }), result(7), result('c2')])
      expect(earlier(calls, wrong).history[1]?.parts.slice(0, 1)).toStrictEqual(missing)
  })

  test.each<[string, JsonObject, JsonObject | undefined]>([
    ['without arguments', call('c1', { name: 'look' }), {}],
    ['with arguments that are not a text', call('c1', look({ at: 'sea' })), {}],
    ['with arguments that are not JSON', call('c1', look('{"at')), {}],
    ['of a sub-agent', call('p/c1', look('{}')), undefined],
    ['without an id', call(7, look('{}')), undefined],
    ['without a function', call('c1', 'look'), undefined],
    ['without a name', call('c1', { arguments: '{}' }), undefined],
  ])('with a call %s is read', (_, each, args) => {
    const called = args && { type: 'toolCall', id: 'c1', name: 'look', arguments: args }
    expect(earlier(assistant('I look.', each)).history[0]?.parts).toStrictEqual(
      called ? [text('I look.'), called] : [text('I look.')],
    )
  })
})

describe('a decision', () => {
  const waiting = (id: string, kind: PendingCall['kind']): PendingCall => ({
    type: 'toolCall',
    id,
    name: 'look',
    arguments: {},
    kind,
  })
  const decisions = (over: JsonObject, ...calls: PendingCall[]) => {
    const read = readRunInput(input(over))
    if (!('decide' in read)) throw new Error('It is a question.')
    return read.decide(calls)
  }

  test.each<[string, JsonObject, object]>([
    ['yes', { status: 'resolved', payload: { approved: true } }, { c1: { approve: true } }],
    [
      'no, with a reason',
      { status: 'resolved', payload: { approved: false, reason: 'too far' } },
      { c1: { approve: false, reason: 'too far' } },
    ],
    [
      'a reason that is not a string',
      { status: 'resolved', payload: { approved: true, reason: 7 } },
      { c1: { approve: true } },
    ],
    ['cancelled', { status: 'cancelled' }, { c1: { approve: false, reason: 'cancelled' } }],
    ['neither', { status: 'resolved', payload: { approved: 'yes' } }, {}],
    ['without a payload', { status: 'resolved' }, {}],
    ['with another status', { status: 'pending', payload: { approved: true } }, {}],
    ['of another call', { status: 'cancelled', interruptId: 'c2' }, {}],
  ])('on an approval: %s', (_, entry, expected) => {
    const resume = [{ interruptId: 'c1', ...entry }]
    expect(decisions({ resume }, waiting('c1', 'approval'))).toStrictEqual(expected)
    expect(decisions({ resume }, waiting('c1', 'limit'))).toStrictEqual(expected)
    expect(decisions({ resume }, waiting('c1', 'answer'))).toStrictEqual({})
  })

  test('is an answer of the page, for its own tools only', () => {
    const messages = [
      { role: 'tool', toolCallId: 'c1', content: 'Oslo' },
      { role: 'tool', toolCallId: 'c2', content: 'x', error: 'no signal' },
      { role: 'tool', toolCallId: 'c3', content: 'x' },
      { role: 'user', toolCallId: 'c4', content: 'x' },
      { role: 'tool', toolCallId: 'c5', content: [text('a'), text('b')], error: 7 },
    ]
    const kinds = { c1: 'answer', c2: 'answer', c3: 'approval', c4: 'answer', c5: 'answer' } as const
    const calls = Object.entries(kinds).map(([id, kind]) => waiting(id, kind))
    expect(decisions({ messages }, ...calls)).toStrictEqual({
      c1: { result: 'Oslo' },
      c2: { result: 'no signal', isError: true },
      c5: { result: 'ab' },
    })
  })
})
