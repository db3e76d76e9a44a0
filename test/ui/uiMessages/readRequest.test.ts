/** The parts of an AI SDK request that count: the prompt, its place, decisions; and the conversation, as its client has it. */
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/messages/json.ts'
import type { PendingCall } from '../../../src/messages/result.ts'
import { HttpError } from '../../../src/ui/request.ts'
import { readUiRequest } from '../../../src/ui/uiMessages/readRequest.ts'

const user = (id: string, ...parts: JsonObject[]): JsonObject => ({ id, role: 'user', parts })
const assistant = (id: string, ...parts: JsonObject[]): JsonObject => ({ id, role: 'assistant', parts })
const text = (value: string) => ({ type: 'text', text: value })
const questionIn = (body: JsonObject) => {
  const read = readUiRequest(body)
  if (!('question' in read)) throw new Error('It is not a question.')
  return read.question
}
const refusal = (body: JsonObject) => {
  try {
    readUiRequest(body)
  } catch (thrown) {
    if (thrown instanceof HttpError) return [thrown.status, thrown.code, thrown.message]
  }
  return undefined
}
const historyIn = (...messages: JsonObject[]) =>
  questionIn({ messages: [...messages, user('last', text('And?'))] }).history

describe('a question', () => {
  test.each<[string, JsonObject, string]>([
    ['without messages', {}, 'There are no messages.'],
    ['with none', { messages: [] }, 'There are no messages.'],
    ['with something else', { messages: 'hi' }, 'There are no messages.'],
    ['with no objects', { messages: [7, null, 'hi'] }, 'There are no messages.'],
    ['of the system', { messages: [{ role: 'system', parts: [text('hi')] }] }, 'must be from the user'],
    ['without parts', { messages: [{ role: 'user' }] }, 'is empty'],
    ['with parts that are not a list', { messages: [{ role: 'user', parts: text('hi') }] }, 'is empty'],
    ['of no text', { messages: [user('u1', text(''))] }, 'is empty'],
    [
      'that is regenerated after an answer',
      { trigger: 'regenerate-message', messages: [assistant('a1', text('hi'))] },
      'must be from the user',
    ],
  ])('%s is refused', (_, body, message) => {
    expect(refusal(body)).toStrictEqual([400, 'invalid_request', expect.stringContaining(message)])
  })

  test('brings text and files, and nothing else', () => {
    const parts = [
      text('Look'),
      text(''),
      { type: 'text', text: 7 },
      { type: 'reasoning', text: 'Hm.' },
      { type: 'file', url: 'https://example.com/a.png', mediaType: 'image/png', filename: 'a.png' },
      { type: 'file', url: 'https://example.com/b' },
      { type: 'image', url: 'https://example.com/c' },
      { type: 'file', url: 7 },
      { type: 'file', url: '' },
      { type: 'file', url: 'file:///etc/passwd' },
    ]
    expect(questionIn({ messages: [user('u1', ...parts)] }).prompt).toStrictEqual([
      { type: 'text', text: 'Look' },
      { type: 'link', url: 'https://example.com/a.png', mimeType: 'image/png', name: 'a.png' },
      { type: 'link', url: 'https://example.com/b' },
    ])
  })

  const first = user('u1', text('One'))
  const second = user('u2', text('Two'))
  const answer = assistant('a1', text('Yes.'))
  test.each<[string, JsonObject, string]>([
    ['new', { messages: [first, answer, second] }, 'new'],
    ['new, if it names another', { messages: [first, answer, second], messageId: 'u1' }, 'new'],
    ['new, without ids', { messages: [{ ...first, id: null }], messageId: 'x' }, 'new'],
    ['new, if no id is named', { messages: [{ role: 'user', parts: [text('hi')] }] }, 'new'],
    ['an edit', { messages: [first, answer, second], messageId: 'u2', trigger: 'submit-message' }, 'edit'],
    ['asked again', { messages: [first], messageId: 'u1', trigger: 'regenerate-message' }, 'regenerate'],
    [
      'asked again, after the answer was named',
      { messages: [first, answer, second], messageId: 'a1', trigger: 'regenerate-message' },
      'regenerate',
    ],
  ])('is %s', (_, body, intent) => {
    expect(questionIn(body).intent).toBe(intent)
  })

  test('comes with the conversation before it, and the prompts in it', () => {
    const { prompt, history, asked } = questionIn({ messages: [first, answer, second, answer, first] })
    expect(prompt).toStrictEqual([text('One')])
    expect(asked).toStrictEqual(['One', 'Two'])
    expect(history).toStrictEqual([
      { role: 'user', parts: [text('One')], metadata: { id: 'u1' } },
      { role: 'model', parts: [text('Yes.')] },
      { role: 'user', parts: [text('Two')], metadata: { id: 'u2' } },
      { role: 'model', parts: [text('Yes.')] },
    ])
  })

  test('has no parts that are not objects', () => {
    const parts = [null, 7, 'text', text('One')]
    expect(questionIn({ messages: [{ role: 'user', parts }] }).prompt).toStrictEqual([text('One')])
  })

  test('does not take messages of the system, or of other roles', () => {
    expect(
      historyIn({ role: 'system', parts: [text('evil')] }, { role: 'data', parts: [text('x')] }),
    ).toStrictEqual([])
  })
})

describe('an earlier answer', () => {
  const call = (over: JsonObject = {}): JsonObject => ({
    type: 'tool-look',
    toolCallId: 'c1',
    state: 'output-available',
    input: { at: 'sea' },
    output: 'seen',
    ...over,
  })
  const asCall = { type: 'toolCall', id: 'c1', name: 'look', arguments: { at: 'sea' } }
  const asResult = (over: object) => ({ type: 'toolResult', id: 'c1', name: 'look', ...over })
  const noDecision = asResult({
    result: '{"error":"This call did not run: no decision was made on it."}',
    isError: true,
  })

  test('is a message for each of its steps', () => {
    const parts = [
      text('I look.'),
      call(),
      { type: 'step-start' },
      text(''),
      { type: 'text', text: 7 },
      { type: 'reasoning', text: 'Hm.' },
      text('There.'),
    ]
    const expected = [
      { role: 'model', parts: [text('I look.'), asCall] },
      { role: 'user', parts: [asResult({ result: 'seen' })] },
      { role: 'model', parts: [text('There.')] },
    ]
    expect(historyIn(assistant('a1', ...parts)).slice(0, 3)).toStrictEqual(expected)
    expect(historyIn(assistant('a1', { type: 'step-start' }, ...parts)).slice(0, 3)).toStrictEqual(expected)
  })

  test('has the results of a step after all of its calls', () => {
    const parts = [call(), call({ toolCallId: 'c2' }), { type: 'step-start' }, call({ toolCallId: 'c3' })]
    const idsIn = historyIn(assistant('a1', ...parts)).map(({ role, parts: each }) => [
      role,
      ...each.flatMap((part) => ('id' in part ? [part.id] : [])),
    ])
    expect(idsIn).toStrictEqual([
      ['model', 'c1', 'c2'],
      ['user', 'c1', 'c2'],
      ['model', 'c3'],
      ['user', 'c3'],
    ])
  })

  const media = { type: 'data', mimeType: 'image/png', data: 'AAAA' }
  const link = { type: 'link', url: 'https://example.com' }
  test.each<[string, JsonObject, object]>([
    ['text', { output: 'seen' }, asResult({ result: 'seen' })],
    ['JSON', { output: { celsius: 21 } }, asResult({ result: '{"celsius":21}' })],
    ['nothing', { output: null }, asResult({ result: 'null' })],
    [
      'media',
      { output: { result: 'seen', parts: [media, link] } },
      asResult({ result: 'seen', parts: [media, link] }),
    ],
    ['media and JSON', { output: { result: [1], parts: [] } }, asResult({ result: '[1]', parts: [] })],
    [
      'parts that are not media',
      { output: { result: 'seen', parts: [media, text('x')] } },
      asResult({ result: JSON.stringify({ result: 'seen', parts: [media, text('x')] }) }),
    ],
    [
      'media without their bytes',
      { output: { result: 'seen', parts: [{ type: 'data', mimeType: 'image/png' }] } },
      asResult({ result: '{"result":"seen","parts":[{"type":"data","mimeType":"image/png"}]}' }),
    ],
    [
      'parts that are not objects',
      { output: { result: 'seen', parts: [7] } },
      asResult({ result: '{"result":"seen","parts":[7]}' }),
    ],
    [
      'parts that are not a list',
      { output: { result: 'seen', parts: 'x' } },
      asResult({ result: '{"result":"seen","parts":"x"}' }),
    ],
    ['parts without a result', { output: { parts: [] } }, asResult({ result: '{"parts":[]}' })],
    [
      'an error',
      { state: 'output-error', errorText: 'no paper' },
      asResult({ result: '{"error":"no paper"}', isError: true }),
    ],
    ['an error without a text', { state: 'output-error' }, noDecision],
    [
      'a rejection',
      { state: 'output-denied' },
      asResult({ result: '{"error":"A person rejected this call."}', isError: true, rejected: true }),
    ],
    ['no result', { state: 'input-available' }, noDecision],
    ['an approval', { state: 'approval-responded', approval: { approved: true } }, noDecision],
    ['an error text in another state', { state: 'input-available', errorText: 'x' }, noDecision],
  ])('has a call that ended in %s', (_, over, expected) => {
    expect(historyIn(assistant('a1', call(over)))[1]?.parts[0]).toStrictEqual(expected)
  })

  test('has a result of a call without an output', () => {
    const { output: _, ...bare } = call()
    expect(historyIn(assistant('a1', bare))[1]?.parts).toContainEqual(asResult({ result: 'null' }))
  })

  test.each<[string, JsonObject, object | undefined]>([
    ['without an input', { input: null }, { ...asCall, arguments: {} }],
    ['of a tool that is not declared', { type: 'dynamic-tool', toolName: 'look' }, asCall],
    ['of a sub-agent', { toolCallId: 'p/c1' }, undefined],
    ['without an id', { toolCallId: 7 }, undefined],
    ['with an empty id', { toolCallId: '' }, undefined],
    ['without a name', { type: 'tool-' }, undefined],
    ['with a name that is not a text', { type: 'dynamic-tool', toolName: 7 }, undefined],
    ['that is something else', { type: 'source-url', toolName: 'look' }, undefined],
    ['without a type', { type: 7, toolName: 'look' }, undefined],
  ])('with a call %s is read', (_, over, expected) => {
    const history = historyIn(assistant('a1', text('I look.'), call(over)))
    expect(history[0]?.parts).toStrictEqual(expected ? [text('I look.'), expected] : [text('I look.')])
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
  const read = (body: JsonObject, ...calls: PendingCall[]) => {
    const asked = readUiRequest(body)
    if ('question' in asked) throw new Error('It is a question.')
    return { messageId: asked.messageId, decisions: asked.decide(calls) }
  }
  const said = (over: JsonObject) => ({ type: 'tool-look', toolCallId: 'c1', ...over })
  const decisions = (kind: PendingCall['kind'], over: JsonObject) =>
    read({ messages: [assistant('a1', said(over))] }, waiting('c1', kind)).decisions

  test.each<[string, JsonObject, object]>([
    [
      'an output',
      { state: 'output-available', output: { city: 'Oslo' } },
      { c1: { result: { city: 'Oslo' } } },
    ],
    ['no output', { state: 'output-available' }, { c1: { result: null } }],
    [
      'an error',
      { state: 'output-error', errorText: 'no signal' },
      { c1: { result: 'no signal', isError: true } },
    ],
    [
      'an error without a text',
      { state: 'output-error' },
      { c1: { result: 'The tool failed.', isError: true } },
    ],
    ['an approval', { state: 'approval-responded', approval: { approved: true } }, {}],
    ['a call that waits', { state: 'input-available', output: 'x' }, {}],
  ])('on a call of the page: %s', (_, over, expected) => {
    expect(decisions('answer', over)).toStrictEqual(expected)
  })

  test.each<[string, JsonObject, object]>([
    ['yes', { state: 'approval-responded', approval: { approved: true } }, { c1: { approve: true } }],
    [
      'no, with a reason',
      { state: 'approval-responded', approval: { approved: false, reason: 'too far' } },
      { c1: { approve: false, reason: 'too far' } },
    ],
    [
      'a reason that is not a text',
      { state: 'approval-responded', approval: { approved: true, reason: 7 } },
      { c1: { approve: true } },
    ],
    [
      'yes, of version 5',
      { state: 'output-available', output: { approved: true } },
      { c1: { approve: true } },
    ],
    ['neither', { state: 'approval-responded', approval: { approved: 'yes' } }, {}],
    ['nothing', { state: 'approval-responded' }, {}],
    ['an output', { state: 'output-available', output: 'gone' }, {}],
    ['an output beside a request', { state: 'approval-requested', output: { approved: true } }, {}],
    ['an error', { state: 'output-error', errorText: 'x' }, {}],
  ])('on a call that needs an approval: %s', (_, over, expected) => {
    expect(decisions('approval', over)).toStrictEqual(expected)
    expect(decisions('limit', over)).toStrictEqual(expected)
  })

  test('counts for the calls that wait only, each by its id', () => {
    const yes = (toolCallId: JsonObject[string]) => ({
      type: 'tool-look',
      toolCallId,
      state: 'approval-responded',
      approval: { approved: true },
    })
    const body = {
      messages: [assistant('a1', text('I ask.'), yes('c1'), yes('c2'), yes('c9'), yes(7), yes(''))],
    }
    expect(
      read(body, waiting('c1', 'approval'), waiting('c2', 'approval'), waiting('c3', 'approval')),
    ).toStrictEqual({
      messageId: 'a1',
      decisions: { c1: { approve: true }, c2: { approve: true } },
    })
  })

  test('of a page of version 5 is about the question that its message asked, although the call looks the same', () => {
    const yes = said({ state: 'output-available', input: {}, output: { approved: true } })
    const waits = { ...waiting('c1', 'approval'), question: 'q2' }
    const from = (metadata: JsonObject) =>
      read({ messages: [{ ...assistant('a1', yes), metadata }] }, waits).decisions
    expect(from({ questions: { c1: 'q1' } })).toStrictEqual({})
    const decided = { c1: { approve: true, question: 'q2' } }
    expect(from({ questions: { c1: 'q2' } })).toStrictEqual(decided)
    // A page that does not send its metadata is believed if it shows the same.
    expect(from({})).toStrictEqual(decided)
  })

  test('is in the message that is named, or in the last one', () => {
    const named = assistant('a1', said({ state: 'output-available', output: 1 }))
    const last = assistant('a2', said({ state: 'output-available', output: 2 }))
    const messages = [named, user('u1', text('hi')), last]
    const one = waiting('c1', 'answer')
    expect(read({ messages, messageId: 'a1' }, one)).toStrictEqual({
      messageId: 'a1',
      decisions: { c1: { result: 1 } },
    })
    expect(read({ messages, messageId: 'u1' }, one).messageId).toBe('a2')
    expect(read({ messages }, one).messageId).toBe('a2')
    expect(read({ messages: [...messages, { ...named, id: 7 }] }, one).messageId).toBeUndefined()
    const twice = [assistant('a1'), named, user('u1', text('hi'))]
    expect(read({ messages: twice, messageId: 'a1' }, one).decisions).toStrictEqual({ c1: { result: 1 } })
  })
})
