/** Files that a client names by their address: bytes that are in it, links that a model may follow, and nothing else. */
import { expect, test } from 'vitest'
import { mediaPart } from '../../src/ui/mediaPart.ts'

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
