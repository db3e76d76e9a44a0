import { describe, expect, it } from 'vitest'
import { google } from '../../../providers/google/index.ts'
import { type ChatMessage, userMessage } from '../../../src/messages/messages.ts'
import { decode, failed, metadata, opaque, parts, stop, stopped, target } from './wire.ts'

const truncated = (what: string, raw?: string) =>
  failed(
    {
      message: `The stream ended before it was complete: ${what} never came.`,
      code: 'truncated',
      retryable: true,
    },
    raw,
  )

describe('the end', () => {
  const content: [string, object, object | undefined][] = [
    ['text', { text: 'a' }, { type: 'text', text: 'a' }],
    ['a thought', { text: 'a', thought: true }, { type: 'thinking', text: 'a' }],
    ['a server tool', { toolCall: {} }, metadata({ serverTools: [{ toolCall: {} }] })],
    ['a medium', { fileData: { fileUri: 'u' } }, { type: 'part', part: { type: 'link', url: 'u' } }],
    [
      'a call',
      { functionCall: { name: 'one' } },
      { type: 'toolDelta', index: 0, name: 'one', arguments: '' },
    ],
    ['nothing', {}, undefined],
    ['an empty text', { text: '' }, undefined],
    ['an empty thought', { text: '', thought: true }, undefined],
  ]
  it.each(content)('without a finish reason, after %s', (_, part, delta) => {
    const deltas = decode([parts(part)])
    expect(deltas.at(0)).toStrictEqual(delta ?? { type: 'finish', reason: 'stop' })
    expect(deltas.at(-1)).toStrictEqual(
      delta ? truncated('a finish reason') : { type: 'finish', reason: 'stop' },
    )
  })

  it.each(content)('where the connection broke, after a finish reason beside %s', (_, part, delta) => {
    const whole = { candidates: [{ content: { parts: [part] }, finishReason: 'STOP' }] }
    const end = decode([whole], true).at(-1)
    expect(end).toMatchObject(delta ? truncated('the end of the answer', 'STOP') : stopped)
    expect(decode([whole]).at(-1)?.type).toBe('finish')
    // A chunk without content follows: nothing more was to come.
    expect(decode([whole, { usageMetadata: {} }], true).at(-1)?.type).toBe('finish')
  })

  const rows: [string, (object | string)[], boolean, object[]][] = [
    ['of nothing', [], false, [truncated('a finish reason')]],
    ['of nothing, broken', [], true, [truncated('a finish reason')]],
    ['of other JSON', [{ hello: 1 }], false, [truncated('a finish reason')]],
    ['of an empty answer', [{ candidates: [] }], false, [{ type: 'finish', reason: 'stop' }]],
    ['of an empty answer, broken', [{ candidates: [] }], true, [truncated('a finish reason')]],
    [
      'of one that has something else beside it',
      [{ modelVersion: 'm', x: 1 }],
      false,
      [{ type: 'finish', reason: 'stop' }],
    ],
    ['of feedback without a reason', [{ promptFeedback: {} }], false, [{ type: 'finish', reason: 'stop' }]],
    [
      'of an empty reason',
      [{ candidates: [{ finishReason: '' }] }, stop, { candidates: [{ finishReason: '' }] }],
      false,
      [stopped],
    ],
    [
      'of a prompt that was blocked',
      [
        { promptFeedback: { blockReason: 'SAFETY', blockReasonMessage: 'No.', safetyRatings: [1] } },
        { promptFeedback: {} },
      ],
      true,
      [
        metadata({ blockReason: 'SAFETY', blockReasonMessage: 'No.', safetyRatings: [1] }),
        { type: 'finish', reason: 'contentFilter' },
      ],
    ],
    [
      'of one that was blocked, and still has a reason',
      [
        { promptFeedback: { blockReason: 'SAFETY', blockReasonMessage: '' } },
        { candidates: [{ finishReason: 'MAX_TOKENS' }] },
      ],
      false,
      [metadata({ blockReason: 'SAFETY' }), { type: 'finish', reason: 'length', raw: 'MAX_TOKENS' }],
    ],
    [
      'with a message about an error',
      [{ candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage: 'Bad call' }] }],
      false,
      [
        metadata({ finishMessage: 'Bad call' }),
        { type: 'finish', reason: 'error', raw: 'MALFORMED_FUNCTION_CALL' },
      ],
    ],
    [
      'with an error and no message',
      [{ candidates: [{ finishReason: 'MALFORMED_RESPONSE', finishMessage: 7 }] }],
      false,
      [{ type: 'finish', reason: 'error', raw: 'MALFORMED_RESPONSE' }],
    ],
    [
      'with a message about nothing',
      [{ candidates: [{ finishReason: 'STOP', finishMessage: 'Fine' }] }],
      false,
      [stopped],
    ],
  ]
  it.each(rows)('%s', (_, chunks, isBroken, expected) => {
    expect(decode(chunks, isBroken)).toStrictEqual(expected)
  })

  it.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['MALFORMED_FUNCTION_CALL', 'error'],
    ['UNEXPECTED_TOOL_CALL', 'error'],
    ['TOO_MANY_TOOL_CALLS', 'error'],
    ['MISSING_THOUGHT_SIGNATURE', 'error'],
    ['MALFORMED_RESPONSE', 'error'],
    ['SAFETY', 'contentFilter'],
    ['RECITATION', 'contentFilter'],
    ['LANGUAGE', 'contentFilter'],
    ['BLOCKLIST', 'contentFilter'],
    ['PROHIBITED_CONTENT', 'contentFilter'],
    ['SPII', 'contentFilter'],
    ['IMAGE_SAFETY', 'contentFilter'],
    ['IMAGE_PROHIBITED_CONTENT', 'contentFilter'],
    ['IMAGE_RECITATION', 'contentFilter'],
    ['MODEL_ARMOR', 'contentFilter'],
    ['CONTINUATION', 'length'],
    ['TOMORROW', 'unspecified'],
  ])('with the word %s is %s', (finishReason, reason) => {
    expect(decode([{ candidates: [{ finishReason }] }])).toStrictEqual([
      { type: 'finish', reason, raw: finishReason },
    ])
  })
})

describe('an answer that ends unusually', () => {
  it('waits for its continuation, and the request goes out again with the token alone', () => {
    const deltas = decode([
      parts({ text: 'Half' }),
      { candidates: [{ finishReason: 'CONTINUATION', continuationToken: 'dG9rZW4=' }] },
    ])
    expect(deltas.slice(-2)).toStrictEqual([
      {
        type: 'opaque',
        protocol: 'google',
        data: { provider: 'google', parts: [{ text: 4 }], continuationToken: 'dG9rZW4=' },
      },
      { type: 'finish', reason: 'unspecified', raw: 'CONTINUATION', pause: true },
    ])
    const paused: ChatMessage = {
      role: 'model',
      parts: [{ type: 'text', text: 'Half' }],
      metadata: { google: { provider: 'google', parts: [{ text: 4 }], continuationToken: 'dG9rZW4=' } },
    }
    const { body } = google.request({ messages: [userMessage('Write.'), paused] }, target)
    expect(body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Write.' }] }],
      continuationToken: 'dG9rZW4=',
    })
    const later = google.request({ messages: [userMessage('Write.'), paused, userMessage('More.')] }, target)
    expect(later.body).not.toHaveProperty('continuationToken')
  })

  it('is filtered where Model Armor blocked the prompt, and says why', () => {
    const promptFeedback = { blockReason: 'MODEL_ARMOR', blockReasonMessage: 'Blocked by Model Armor.' }
    expect(decode([{ promptFeedback, candidates: [{ finishReason: 'STOP' }] }])).toStrictEqual([
      metadata(promptFeedback),
      { type: 'finish', reason: 'contentFilter', raw: 'STOP' },
    ])
    expect(
      decode([{ candidates: [{ finishReason: 'MODEL_ARMOR', finishMessage: 'Blocked.' }] }]),
    ).toStrictEqual([
      metadata({ finishMessage: 'Blocked.' }),
      { type: 'finish', reason: 'contentFilter', raw: 'MODEL_ARMOR' },
    ])
  })

  it('does not hand a function to the client that Google has called itself', () => {
    const functionCall = { name: 'get_weather', args: { city: 'Rome' } }
    const functionResponse = { name: 'get_weather', response: { content: 'sunny' } }
    const deltas = decode([
      parts({ functionCall, thoughtSignature: 'sig' }, { functionResponse }),
      parts({ functionCall: { name: 'note', args: {} } }, { text: 'Sunny.' }),
      stop,
    ])
    expect(deltas.filter(({ type }) => type === 'toolCall')).toStrictEqual([
      { type: 'toolCall', call: { id: '', name: 'note', arguments: {} } },
    ])
    expect(deltas).toContainEqual(metadata({ serverTools: [{ functionCall, functionResponse }] }))
    expect(deltas).toContainEqual(
      opaque(
        { raw: { functionCall, thoughtSignature: 'sig' } },
        { raw: { functionResponse } },
        { call: 0, noId: true },
        { text: 6 },
      ),
    )
  })
})
