import type { ChatCompletionStreamRequest$Outbound } from '@mistralai/mistralai/models/components'
import { describe, expect, it } from 'vitest'
import { mistral } from '../../../providers/mistral/index.ts'
import type { ChatMessage } from '../../../src/messages/messages.ts'
import { chunk, done, event, ofType, stop } from '../openai-chat/chunks.ts'
import { decodeAll, folded } from '../openai-chat/foldedDeltas.ts'
import { plainProfile } from '../openai-chat/plainProfile.ts'

const target = { provider: 'mistral', model: 'm1', profile: plainProfile }
const decode = (deltas: object[]) =>
  decodeAll(mistral.decoder(target), [...deltas.map((delta) => chunk(delta)), stop, done])

const think = (text: string, more: object = {}) => ({
  content: [{ type: 'thinking', thinking: [{ type: 'text', text }], ...more }],
})

/** The model message the engine would keep of a stream, sent again. */
const replayed = (deltas: object[], change: Partial<ChatMessage> = {}, model = 'm1') => {
  const all = decode(deltas)
  const { text } = folded(all)
  const metadata = Object.fromEntries(ofType(all, 'opaque').map(({ protocol, data }) => [protocol, data]))
  const message: ChatMessage = { role: 'model', parts: [{ type: 'text', text }], metadata, ...change }
  return mistral.request({ messages: [message] }, { ...target, model }).body.messages
}

describe('thinking', () => {
  it('is read where the content is a list, and text where it is a string', () => {
    const deltas = decode([
      { content: '' },
      think('I '),
      think('wonder'),
      { content: 'Oslo' },
      { content: '.' },
    ])
    expect(folded(deltas)).toMatchObject({ thinking: 'I wonder', text: 'Oslo.' })
    expect(ofType(deltas, 'thinking')).toHaveLength(2)
  })

  it('goes back as blocks in their order, with signatures and references', () => {
    const reference = { type: 'reference', reference_ids: [1] }
    const stream = [
      think('I '),
      think('wonder', { closed: true, signature: 'sig' }),
      { content: 'First. ' },
      { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'and' }, reference], closed: true }] },
      { content: [{ type: 'text', text: 'Second.' }, reference] },
    ]
    const golden = [
      {
        role: 'assistant',
        content: [
          {
            type: 'thinking',
            thinking: [{ type: 'text', text: 'I wonder' }],
            closed: true,
            signature: 'sig',
          },
          { type: 'text', text: 'First. ' },
          {
            type: 'thinking',
            thinking: [
              { type: 'text', text: 'and' },
              { type: 'reference', reference_ids: [1] },
            ],
            closed: true,
          },
          { type: 'text', text: 'Second.' },
          { type: 'reference', reference_ids: [1] },
        ],
        prefix: false,
      },
    ] satisfies ChatCompletionStreamRequest$Outbound['messages']
    expect(replayed(stream)).toEqual(golden)
  })

  it('comes before the text when the text is no longer what it was', () => {
    const parts = [{ type: 'text' as const, text: '{"city":"Oslo"}' }]
    expect(replayed([{ content: 'Oslo' }, think('hm')], { parts })).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
          { type: 'text', text: '{"city":"Oslo"}' },
        ],
        prefix: false,
      },
    ])
  })

  it('does not go to another model', () => {
    expect(replayed([think('hm'), { content: 'Oslo' }], {}, 'm2')).toEqual([
      { role: 'assistant', content: 'Oslo', prefix: false },
    ])
  })

  it('keeps nothing for the replay of a plain answer', () => {
    expect(ofType(decode([{ content: 'Oslo' }]), 'opaque')).toEqual([])
  })
})

describe('tool calls', () => {
  it('come whole and without an index', () => {
    const tool_calls = [
      { id: 'QAw0JBXkB', function: { name: 'plus', arguments: '{"a": 1}' } },
      { id: 'HlyhI5zAI', function: { name: 'minus', arguments: '{"a": 2}' } },
    ]
    const calls = ofType(decode([{ tool_calls }]), 'toolCall').map(({ call }) => [
      call.id,
      call.name,
      call.arguments,
    ])
    expect(calls).toEqual([
      ['QAw0JBXkB', 'plus', { a: 1 }],
      ['HlyhI5zAI', 'minus', { a: 2 }],
    ])
  })

  it('of a model hosted for others keep their own ids in the replay', () => {
    const id = 'chatcmpl-tool-9f149c74'
    const all = decode([{ tool_calls: [{ index: 0, id, function: { name: 'f', arguments: '{}' } }] }])
    const metadata = Object.fromEntries(ofType(all, 'opaque').map(({ protocol, data }) => [protocol, data]))
    const messages: ChatMessage[] = [
      { role: 'model', parts: [{ type: 'toolCall', id, name: 'f', arguments: {} }], metadata },
      { role: 'user', parts: [{ type: 'toolResult', id, name: 'f', result: 'ok' }] },
    ]
    const idsFor = (model: string) =>
      [
        ...JSON.stringify(mistral.request({ messages }, { ...target, model }).body).matchAll(
          /_id":"([^"]*)"/g,
        ),
      ].map((match) => match[1])
    expect(idsFor('m1')).toEqual([id])
    expect(idsFor('m2')[0]).toMatch(/^[a-z0-9]{9}$/)
  })
})

it('reads model_length as a length and error as an error', () => {
  const finish = (reason: string) =>
    decodeAll(mistral.decoder(target), [chunk({}, { finish_reason: reason }), done]).at(-1)
  expect(finish('model_length')).toMatchObject({ reason: 'length', raw: 'model_length' })
  expect(finish('error')).toMatchObject({ type: 'finish', reason: 'error' })
})

it('reads the errors of Mistral', () => {
  const body = { object: 'error', message: 'Service tier capacity exceeded', type: 'capacity', code: '3505' }
  expect(mistral.error(body)).toEqual({
    message: 'Service tier capacity exceeded',
    code: '3505',
    type: 'capacity',
  })
  expect(decodeAll(mistral.decoder(target), [event(body)]).at(-1)).toMatchObject({
    type: 'error',
    error: { code: '3505', retryable: true },
  })
})
