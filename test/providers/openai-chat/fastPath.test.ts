import { array, assert, constantFrom, oneof, option, property, record, string } from 'fast-check'
import { expect, test, vi } from 'vitest'
import { mistral } from '../../../providers/mistral/index.ts'
import { openaiChat } from '../../../providers/openai-chat/index.ts'
import type { Decoder } from '../../../providers/wire/protocol.ts'
import { plainProfile } from './plainProfile.ts'

// Chunks that differ in their text alone are read by their text alone. A field that changes with each chunk sends them
// the way of all others: both must say the same.

const target = { provider: 'acme', model: 'm1', profile: plainProfile }
const opening = '{"id":"r1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}'
const closing = '{"id":"r1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'

const shapes = {
  usual: (text: string) =>
    `{"id":"r1","choices":[{"index":0,"delta":{"content":${text}},"finish_reason":null}]}`,
  spaced: (text: string) => `{ "id": "r1", "choices": [ { "index": 0, "delta": { "content": ${text} } } ] }`,
  'with log probabilities': (text: string) =>
    `{"id":"r1","choices":[{"index":0,"logprobs":{"content":[{"content":"a"}]},"delta":{"content":${text}}}]}`,
  'with other words where the text was expected': (text: string) =>
    `{"id":"r1","service_tier":{"content":${text}},"choices":[{"index":0,"delta":{"content" :"a"}}]}`,
  'with the field twice': (text: string) =>
    `{"id":"r1","choices":[{"index":0,"delta":{"content":${text},"content":"a"}}]}`,
}

const texts = array(
  string({
    unit: constantFrom('a', '"', '\\', '\n', '{', '}', ':', ',', '"content":', '\u0000', '\ud800', 'é'),
  }),
)

test.each(Object.entries(shapes))('a chunk %s says the same as one that is read whole', (_, shape) => {
  const read = (decoder: Decoder, events: string[]) => {
    return [opening, ...events, closing, '[DONE]'].flatMap((data) => [...decoder.push({ data })])
  }
  assert(
    property(texts, (rest) => {
      const all = ['a', ...rest]
      const events = all.map((text) => shape(JSON.stringify(text)))
      const padded = events.map((event, index) => event.replace('{', `{"obfuscation":"${index}",`))
      for (const open of [() => openaiChat.decoder(target), () => mistral.decoder(target)])
        expect(read(open(), events)).toEqual(read(open(), padded))
    }),
  )
})

const pieces = {
  usual: (text: string, index: number) =>
    `{"id":"r1","choices":[{"index":0,"delta":{"tool_calls":[{"index":${index},"function":{"arguments":${text}}}]},"finish_reason":null}]}`,
  spaced: (text: string, index: number) =>
    `{ "id": "r1", "choices": [ { "index": 0, "delta": { "tool_calls": [ { "index": ${index}, "function": { "arguments": ${text} } } ] } } ] }`,
  'with its words elsewhere, too': (text: string, index: number) =>
    `{"id":"r1","model":{"arguments":${text}},"choices":[{"index":0,"delta":{"tool_calls":[{"index":${index},"function":{"arguments" :"a"}}]}}]}`,
  'with the field twice': (text: string, index: number) =>
    `{"id":"r1","choices":[{"index":0,"delta":{"tool_calls":[{"index":${index},"function":{"arguments":${text},"arguments":"a"}}]}}]}`,
  'with a name in each': (text: string, index: number) =>
    `{"id":"r1","choices":[{"index":0,"delta":{"tool_calls":[{"index":${index},"id":"c${index}","function":{"name":"f","arguments":${text}}}]}}]}`,
}

const pieceTexts = array(
  record({
    index: constantFrom(0, 0, 0, 1),
    text: string({ unit: constantFrom('a', '"', '\\', '{', '}', ':', ',', '"arguments":', '\ud800', 'é') }),
    isText: constantFrom(false, false, false, false, true),
  }),
)

test.each(Object.entries(pieces))('a piece of a call %s says the same as one read whole', (_, shape) => {
  const openCall = (index: number) =>
    `{"id":"r1","choices":[{"index":0,"delta":{"tool_calls":[{"index":${index},"id":"c${index}","type":"function","function":{"name":"f","arguments":""}}]}}]}`
  const read = (decoder: Decoder, events: string[]) =>
    [opening, ...events, closing, '[DONE]'].flatMap((data) => [...decoder.push({ data })])
  assert(
    property(pieceTexts, (rest) => {
      const events = rest.map(({ index, text, isText }) =>
        isText ? shapes.usual(JSON.stringify(text)) : shape(JSON.stringify(text), index),
      )
      const all = [openCall(0), ...events, openCall(1), ...events]
      // A field that no server has sends each the long way.
      const whole = all.map((event) => event.replace('{', '{"unknown":1,'))
      for (const open of [() => openaiChat.decoder(target), () => mistral.decoder(target)])
        expect(read(open(), all)).toEqual(read(open(), whole))
    }),
  )
})

test('what is not JSON in the place of the text ends the stream, as it does anywhere', () => {
  const decoder = openaiChat.decoder(target)
  const { usual } = shapes
  for (const data of [opening, usual('"a"'), usual('"b"')]) decoder.push({ data })
  expect(decoder.push({ data: usual('"a"b"') })).toMatchObject([
    { type: 'error', error: { code: 'invalid_json' } },
  ])
})

test.each([
  { name: 'chunks', shape: shapes.usual },
  { name: 'pieces of a call', shape: (text: string) => pieces.usual(text, 0) },
])('$name that differ in their text alone are parsed by their text alone', ({ shape }) => {
  const parse = vi.spyOn(JSON, 'parse')
  const parsed = (events: string[]): number => {
    const decoder = openaiChat.decoder(target)
    parse.mockClear()
    for (const data of events) decoder.push({ data })
    return parse.mock.calls.reduce((sum, [text]) => sum + text.length, 0)
  }
  const events = Array.from({ length: 100 }, () => shape('"abc"'))
  const padded = events.map((event, index) => event.replace('{', `{"obfuscation":"${index + 100}",`))
  const size = (list: string[]) => list.join('').length
  expect(parsed([opening, ...events])).toBeLessThan(size([opening, ...events.slice(0, 10)]))
  // Where they always differ in more, trying comes to an end.
  expect(parsed([opening, ...padded])).toBeLessThan(size([opening, ...padded, ...padded.slice(0, 3)]))
})

// Chunks with text alone take the fast path through the decoder. A field that is not known sends them the slow way:
// both must say the same, whatever else the chunk has.

const maybe = <T>(...values: T[]) => option(constantFrom(...values), { nil: undefined })

const calls = record({
  index: maybe<unknown>(0, 1, -1, '0', null),
  id: maybe<unknown>('a', 'b', '', null, 7),
  type: maybe('function', 'custom'),
  extra_content: maybe<unknown>({ signature: 's' }, null),
  function: maybe<unknown>(
    { name: 'f', arguments: '{}' },
    { name: 'f', arguments: '' },
    { name: null, arguments: '{"a":' },
    { arguments: '1}' },
    { arguments: { a: 1 } },
    { name: 'g', arguments: '{}', strict: true },
    null,
  ),
  custom: maybe<unknown>({ name: 'f', input: 'x' }),
})

const chunks = record({
  id: maybe('r1', 'r2', ''),
  object: maybe('chat.completion.chunk', 'error'),
  model: maybe('m'),
  usage: maybe<unknown>(null, { prompt_tokens: 3 }, {}),
  error: maybe<unknown>(null, { message: 'no' }, 'no'),
  citations: maybe<unknown>(null, ['a']),
  extraChoice: maybe({ index: 1, delta: { content: 'other' } }, null),
  choice: record({
    index: maybe<unknown>(0, 1, '0', null),
    finish_reason: maybe('stop', 'length', null),
    logprobs: maybe<unknown>(null, { content: [] }),
    error: maybe<unknown>({ message: 'no' }),
    delta: record({
      role: maybe('assistant'),
      content: option(string(), { nil: undefined }),
      reasoning_content: maybe<unknown>('hm', '', null),
      refusal: maybe<unknown>('no', null),
      images: maybe<unknown>([{ image_url: { url: 'https://a/b.png' } }]),
      tool_calls: oneof(maybe<unknown>(null, []), array(calls, { maxLength: 2 })),
      ['__proto__']: maybe<unknown>({ content: 'evil' }),
    }),
  }),
}).map(({ choice, extraChoice, ...rest }) => ({
  ...rest,
  choices: extraChoice === undefined ? [choice] : [choice, extraChoice],
}))

const targets = [
  { name: 'openai-chat', open: () => openaiChat.decoder(targetOf({})) },
  { name: 'with think tags', open: () => openaiChat.decoder(targetOf({ splitThinkTags: true })) },
  { name: 'mistral', open: () => mistral.decoder(targetOf({})) },
]
const targetOf = (quirks: object) => ({
  provider: 'acme',
  model: 'm1',
  profile: { ...plainProfile, ...quirks },
})

test.each(targets)('$name: says the same of a chunk whether or not it takes the short way', ({ open }) => {
  const first = { id: 'r1', choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }
  const read = (chunk: object, event: string | undefined): string => {
    const decoder = open()
    const deltas = [first, chunk, first, chunk].flatMap((each) => [
      ...decoder.push({ event, data: JSON.stringify(each) }),
    ])
    // An error may quote the chunk it was made of, and cuts it where it is long.
    return JSON.stringify(deltas, (key, value) =>
      key === 'message' ? value.replaceAll(',"unknown_field":1', '').slice(0, 100) : value,
    )
  }
  assert(
    property(chunks, maybe('error', 'message'), (chunk, event) => {
      expect(read(chunk, event)).toBe(read({ ...chunk, unknown_field: 1 }, event))
    }),
    { numRuns: 1000 },
  )
})
