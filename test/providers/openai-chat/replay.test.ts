import { describe, expect, it } from 'vitest'
import { imagePart } from '../../../providers/openai-chat/answerReader.ts'
import { ReasoningDetails, reasoningField, reasoningText } from '../../../providers/openai-chat/replay.ts'
import type { JsonObject, JsonValue } from '../../../src/messages/json.ts'

describe('the thoughts in a delta', () => {
  const details = (...reasoning_details: JsonValue[]): JsonObject => ({ reasoning_details })

  it.each<[JsonObject, string, string | undefined]>([
    [{}, '', undefined],
    [{ reasoning_content: 'a', reasoning: 'b' }, 'a', 'reasoning_content'],
    [{ reasoning_content: '', reasoning: 'b' }, 'b', 'reasoning'],
    [{ reasoning_content: 7, reasoning: null }, '', undefined],
    [{ reasoning: 'b', ...details({ text: 'c' }) }, 'b', 'reasoning'],
    [
      { reasoning: '', ...details({ text: 'c' }, null, 'x', { summary: 'd' }, { text: 7 }, {}) },
      'cd',
      undefined,
    ],
    [details({ text: 'c', summary: 'd' }), 'c', undefined],
    [{ reasoning_details: 'x' }, '', undefined],
  ])('%j', (delta, text, field) => {
    expect(reasoningText(delta)).toBe(text)
    expect(reasoningField(delta)).toBe(field)
  })
})

describe('details that are sent back', () => {
  const joined = (...pieces: JsonValue[]): JsonObject[] => {
    const details = new ReasoningDetails()
    for (const piece of pieces) details.add({ reasoning_details: [piece] })
    return details.items
  }
  const text = (fields: JsonObject): JsonObject => ({ type: 'reasoning.text', ...fields })

  it.each<[string, JsonValue[], JsonObject[]]>([
    [
      'grow in text and summary',
      [text({ text: 'a', summary: 'x' }), text({ text: 'b', summary: 'y' })],
      [text({ text: 'ab', summary: 'xy' })],
    ],
    [
      'take other fields from the latest piece',
      [text({ format: 'f', n: 1 }), text({ format: 'g', m: 2 })],
      [text({ format: 'g', n: 1, m: 2 })],
    ],
    [
      'do not lose a field to null',
      [text({ text: 'a', format: 'f' }), text({ text: null, format: null })],
      [text({ text: 'a', format: 'f' })],
    ],
    [
      'keep a null that is new',
      [text({ text: 'a' }), text({ signature: null })],
      [text({ text: 'a', signature: null })],
    ],
    ['keep a null until there is more', [text({ text: null }), text({ text: 'b' })], [text({ text: 'b' })]],
    ['replace a text that is not one', [text({ text: 7 }), text({ text: 'b' })], [text({ text: 'b' })]],
    ['take what is not a string', [text({ text: 'a' }), text({ text: 7 })], [text({ text: 7 })]],
    [
      'of another kind stay apart',
      [text({ text: 'a' }), { type: 'reasoning.summary', text: 'b' }],
      [text({ text: 'a' }), { type: 'reasoning.summary', text: 'b' }],
    ],
    [
      'at another index stay apart',
      [text({ index: 0 }), text({ index: 1 }), text({})],
      [text({ index: 0 }), text({ index: 1 }), text({})],
    ],
    [
      'with another id stay apart',
      [text({ id: 'a' }), text({ id: 'b' })],
      [text({ id: 'a' }), text({ id: 'b' })],
    ],
    [
      'with the same id are one',
      [text({ id: 'a', text: 'x' }), text({ id: 'a', text: 'y' })],
      [text({ id: 'a', text: 'xy' })],
    ],
    [
      'that get their id late are one',
      [text({ text: 'x' }), text({ id: 'a', text: 'y' }), text({ text: 'z' })],
      [text({ text: 'xyz', id: 'a' })],
    ],
    [
      'that are signed are over',
      [text({ text: 'x' }), text({ signature: 's' }), text({ text: 'y' })],
      [text({ text: 'x', signature: 's' }), text({ text: 'y' })],
    ],
    [
      'that are encrypted are whole',
      [
        { type: 'reasoning.encrypted', data: 'x' },
        { type: 'reasoning.encrypted', data: 'y' },
      ],
      [
        { type: 'reasoning.encrypted', data: 'x' },
        { type: 'reasoning.encrypted', data: 'y' },
      ],
    ],
    ['are objects', [null, 'x', text({ text: 'a' }), 7], [text({ text: 'a' })]],
  ])('%s', (_, pieces, expected) => {
    expect(joined(...pieces)).toStrictEqual(expected)
  })

  it('may be missing', () => {
    const details = new ReasoningDetails()
    details.add({})
    details.add({ reasoning_details: 'x' })
    expect(details.items).toStrictEqual([])
  })
})

describe('an image that the model made', () => {
  it.each<[string, unknown]>([
    ['data:image/png;base64,AA,BB', { type: 'data', mimeType: 'image/png', data: 'AA,BB' }],
    ['data:image/png;name=x;base64,AA', { type: 'data', mimeType: 'image/png', data: 'AA' }],
    ['data:image/svg+xml,<svg/>', undefined],
    ['data:image/png;base64;name=x,AA', undefined],
    ['data:;base64,AA', undefined],
    ['data:image/png;base64', undefined],
    ['data:image/png;base64x', undefined],
    ['data:', undefined],
    ['', undefined],
    ['https://x.test/a.png', { type: 'link', url: 'https://x.test/a.png' }],
    ['https://x.test/a;base64,AA', { type: 'link', url: 'https://x.test/a;base64,AA' }],
    [',image/png;base64', { type: 'link', url: ',image/png;base64' }],
    ['x-data:', { type: 'link', url: 'x-data:' }],
  ])('%s', (url, part) => {
    expect(imagePart({ image_url: { url } })).toStrictEqual(part)
    expect(imagePart({ image_url: url })).toStrictEqual(part)
  })

  it('needs a URL', () => {
    expect([{}, { image_url: {} }, { image_url: 7 }, { url: 'x' }].map(imagePart)).toStrictEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })
})
