/** The body of a request: its type, its size, its depth and its form are checked before anything else is. */
import { expect, test } from 'vitest'
import { HttpError, readBody } from '../../src/ui/request.ts'

const json = 'application/json'
const request = (
  body: NonNullable<RequestInit['body']> | null,
  headers: Record<string, string> = { 'content-type': json },
) =>
  new Request('http://localhost/', {
    method: 'POST',
    headers,
    body,
    ...(body instanceof ReadableStream && { duplex: 'half' }),
  })
const streamOf = (...pieces: Uint8Array[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece)
      controller.close()
    },
  })
const bytes = (text: string) => new TextEncoder().encode(text)
const refused = (status: number, message: string, code = 'invalid_request') =>
  expect.objectContaining({ status, code, message: expect.stringContaining(message) })

test.each([json, 'Application/JSON', `${json}; charset=utf-8`, `${json} ;charset=utf-8`])(
  'of the type %s is read',
  async (type) => {
    expect(await readBody(request('{"a":1}', { 'content-type': type }), 100)).toEqual({ a: 1 })
  },
)

test.each(['text/plain', 'application/jsonx', `text/${json}`, 'multipart/form-data', ''])(
  'of the type %j is refused',
  async (type) => {
    await expect(readBody(request('{"a":1}', { 'content-type': type }), 100)).rejects.toThrow(HttpError)
    await expect(readBody(request('{"a":1}', { 'content-type': type }), 100)).rejects.toEqual(
      refused(415, 'application/json'),
    )
  },
)

test('without a type is refused', async () => {
  await expect(readBody(request(bytes('{}'), {}), 100)).rejects.toEqual(refused(415, 'application/json'))
})

test('is read up to its largest size, and no further', async () => {
  expect(await readBody(request('{"a":1}'), 7)).toEqual({ a: 1 })
  const tooLarge = refused(413, 'larger than 6 bytes', 'too_large')
  await expect(readBody(request('{"a":1}'), 6)).rejects.toEqual(tooLarge)
})

test('that says it is too large is not read', async () => {
  const asked = request('{}', { 'content-type': json, 'content-length': '8' })
  await expect(readBody(asked, 7)).rejects.toEqual(refused(413, 'larger than 7', 'too_large'))
  expect(asked.bodyUsed).toBe(false)
  const honest = request('{"a":1}', { 'content-type': json, 'content-length': '7' })
  expect(await readBody(honest, 7)).toEqual({ a: 1 })
})

test('that does not end is left as soon as it is too large', async () => {
  let isLeft = false
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(bytes('xxxx')),
    cancel: () => {
      isLeft = true
    },
  })
  await expect(readBody(request(endless), 10)).rejects.toEqual(refused(413, 'larger than 10', 'too_large'))
  expect(isLeft).toBe(true)
})

test('that breaks off is refused', async () => {
  const broken = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(bytes('{')),
    pull: (controller) => controller.error(new Error('reset')),
  })
  await expect(readBody(request(broken), 100)).rejects.toEqual(refused(400, 'ended too early'))
})

test('may be cut anywhere, also within a character', async () => {
  const whole = bytes('{"a":"é日"}')
  const pieces = Array.from(whole, (byte) => new Uint8Array([byte]))
  expect(await readBody(request(streamOf(...pieces)), 100)).toEqual({ a: 'é日' })
})

test.each<[string, NonNullable<RequestInit['body']> | null, string]>([
  ['nothing', null, 'The body is not JSON.'],
  ['no JSON', '{"a":', 'The body is not JSON.'],
  ['a list', '[]', 'must be a JSON object'],
  ['null', 'null', 'must be a JSON object'],
  ['half a character', new Uint8Array([0x22, 0xe6, 0x97]), 'The body is not UTF-8.'],
  ['no UTF-8', new Uint8Array([0x7b, 0xff, 0x7d]), 'The body is not UTF-8.'],
  ['what is nested too deeply', `{"a":${'['.repeat(256)}${']'.repeat(256)}}`, 'nests deeper than 256'],
])('of %s is refused', async (_, body, message) => {
  await expect(readBody(request(body), 1000)).rejects.toEqual(refused(400, message))
})
