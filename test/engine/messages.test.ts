import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type ChatMessage,
  dataPart,
  linkPart,
  modelMessage,
  type Part,
  systemMessage,
  textOf,
  textPart,
  toolCallsOf,
  toolResultsOf,
  userMessage,
} from '../../src/messages/messages.ts'
import { type HistoryProblem, isFatal, validateHistory } from '../../src/messages/validateHistory.ts'

const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)))
const jsonObject = fc.dictionary(fc.string(), json).map((value) => JSON.parse(JSON.stringify(value)))
const text = fc.string({ unit: 'grapheme' })
const part = fc.oneof<fc.Arbitrary<Part>[]>(
  fc.record({ type: fc.constant('text'), text }),
  fc.record(
    { type: fc.constant('data'), mimeType: text, data: fc.base64String(), name: text },
    { requiredKeys: ['type', 'mimeType', 'data'] },
  ),
  fc.record(
    { type: fc.constant('link'), url: fc.webUrl(), mimeType: text, name: text },
    { requiredKeys: ['type', 'url'] },
  ),
  fc.record(
    {
      type: fc.constant('toolCall'),
      id: text,
      name: text,
      arguments: jsonObject,
      argumentsRaw: text,
      argumentsError: text,
    },
    { requiredKeys: ['type', 'id', 'name', 'arguments'] },
  ),
  fc.record(
    { type: fc.constant('toolResult'), id: text, name: text, result: text, isError: fc.boolean() },
    { requiredKeys: ['type', 'id', 'name', 'result'] },
  ),
)
const message: fc.Arbitrary<ChatMessage> = fc.record(
  { role: fc.constantFrom('system', 'user', 'model'), parts: fc.array(part), metadata: jsonObject },
  { requiredKeys: ['role', 'parts'] },
)

describe('27: messages', () => {
  test('are the same after a JSON round trip, whatever they hold', () => {
    fc.assert(
      fc.property(message, (each) => {
        expect(JSON.parse(JSON.stringify(each))).toEqual(each)
      }),
      { numRuns: 100 },
    )
  })

  test('are made from a text or from parts', () => {
    expect(userMessage('hi')).toEqual({ role: 'user', parts: [{ type: 'text', text: 'hi' }] })
    expect(modelMessage([textPart('a')], { k: 1 })).toEqual({
      role: 'model',
      parts: [{ type: 'text', text: 'a' }],
      metadata: { k: 1 },
    })
    expect(systemMessage('s').role).toBe('system')
    expect(Object.keys(userMessage('hi'))).toEqual(['role', 'parts'])
  })

  test('hold bytes as base64, and leave out what is not given', () => {
    expect(dataPart('image/png', new Uint8Array([0, 255, 16]))).toEqual({
      type: 'data',
      mimeType: 'image/png',
      data: 'AP8Q',
    })
    expect(dataPart('image/png', 'AP8Q', 'x.png')).toEqual({
      type: 'data',
      mimeType: 'image/png',
      data: 'AP8Q',
      name: 'x.png',
    })
    expect(linkPart('https://e.com')).toEqual({ type: 'link', url: 'https://e.com' })
    expect(linkPart('https://e.com', 'image/png', 'n')).toEqual({
      type: 'link',
      url: 'https://e.com',
      mimeType: 'image/png',
      name: 'n',
    })
  })

  test('dataPart takes only the bytes of a view into a larger buffer', () => {
    const view = new Uint8Array([1, 2, 3, 4]).subarray(1, 3)
    expect(dataPart('a/b', view).data).toBe(Buffer.from([2, 3]).toString('base64'))
  })

  test('are read by kind, in order', () => {
    fc.assert(
      fc.property(message, (each) => {
        expect(textOf(each)).toBe(each.parts.map((one) => (one.type === 'text' ? one.text : '')).join(''))
        expect(toolCallsOf(each)).toEqual(each.parts.filter(({ type }) => type === 'toolCall'))
        expect(toolResultsOf(each)).toEqual(each.parts.filter(({ type }) => type === 'toolResult'))
      }),
    )
  })
})

const call = (id: string): Part => ({ type: 'toolCall', id, name: 'echo', arguments: {} })
const result = (id: string): Part => ({ type: 'toolResult', id, name: 'echo', result: 'ok' })
const hi = userMessage('hi')
const asks = (...ids: string[]) => modelMessage(ids.map(call))
const answers = (...ids: string[]) => userMessage(ids.map(result))

describe('27: validateHistory', () => {
  test.each<[string, ChatMessage[]]>([
    ['nothing', []],
    ['a user message', [hi]],
    ['system, user, model', [systemMessage('s'), systemMessage('t'), hi, modelMessage('yes')]],
    ['a tool round', [hi, asks('a', 'b'), answers('b', 'a'), modelMessage('done')]],
    ['a round answered together with a text', [hi, asks('a'), userMessage([result('a'), textPart('and?')])]],
    ['an id used again in a later round', [hi, asks('a'), answers('a'), asks('a'), answers('a')]],
    ['an empty model message', [hi, modelMessage([])]],
  ])('accepts %s', (_, history) => {
    expect(validateHistory(history)).toEqual([])
  })

  test.each<[HistoryProblem['code'], number, ChatMessage[], RegExp]>([
    ['misplacedSystem', 1, [hi, systemMessage('late')], /after the conversation began/],
    ['notAlternating', 1, [hi, hi], /Two user messages/],
    ['notAlternating', 2, [hi, modelMessage('a'), modelMessage('b')], /Two model messages/],
    ['notAlternating', 0, [modelMessage('first')], /begins with a model message/],
    ['emptyId', 1, [hi, asks('')], /call of the tool "echo" has an empty id/],
    ['emptyId', 0, [answers('')], /result of the tool "echo" has an empty id/],
    ['duplicateCall', 1, [hi, asks('a', 'a'), answers('a')], /"a"/],
    ['missingResult', 1, [hi, asks('a')], /The call "a" of the tool "echo" has no result/],
    ['missingResult', 1, [hi, asks('a', 'b'), answers('a')], /"b"/],
    ['orphanResult', 0, [answers('a')], /"a"/],
    ['orphanResult', 4, [hi, asks('a'), answers('a'), modelMessage('x'), answers('a')], /"a"/],
    ['duplicateResult', 2, [hi, asks('a'), answers('a', 'a')], /"a" has more than one result/],
    ['misplacedPart', 0, [userMessage([call('a')])], /tool call is in a user message/],
    ['misplacedPart', 1, [hi, modelMessage([result('a')])], /tool result is in a model message/],
  ])('reports %s at message %d', (code, index, history, text) => {
    expect(validateHistory(history)).toEqual([{ code, index, message: expect.stringMatching(text) }])
  })

  test('reports every missing result of a round', () => {
    const problems = validateHistory([hi, asks('a', 'b'), userMessage('never mind')])
    expect(problems.map(({ code }) => code)).toEqual(['missingResult', 'missingResult'])
  })

  test('finds misplaced parts in system messages as well', () => {
    expect(validateHistory([systemMessage([result('a')]), hi]).map(({ code }) => code)).toEqual([
      'misplacedPart',
    ])
  })

  test('tolerates what mappers can mend, and nothing else', () => {
    const codes: HistoryProblem['code'][] = [
      'misplacedSystem',
      'notAlternating',
      'emptyId',
      'duplicateCall',
      'missingResult',
      'orphanResult',
      'duplicateResult',
      'misplacedPart',
    ]
    const fatal = codes.filter((code) => isFatal({ code, index: 0, message: '' }))
    expect(fatal).toEqual(codes.slice(2))
  })

  test('never throws and leaves the history as it is', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), (history) => {
        const before = JSON.stringify(history)
        validateHistory(history)
        expect(JSON.stringify(history)).toBe(before)
      }),
    )
  })
})
