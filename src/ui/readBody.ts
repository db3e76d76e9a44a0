import { isJsonObject, type JsonObject } from '../messages/json.ts'
import { isTooDeep, tooDeep } from '../messages/jsonDepth.ts'
import { Refusal } from './Refusal.ts'

/**
 * The JSON object that a request brings. Its size is checked while it is read, its depth before it is parsed. Any other
 * type of content is refused: a form of a foreign page could send that without asking the browser.
 */
export const readBody = async (request: Request, maxBytes: number): Promise<JsonObject> => {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\s*(;|$)/i.test(type))
    throw new Refusal(415, 'Send JSON, with the header content-type: application/json.')
  const text = decode(await bytesOf(request, maxBytes))
  if (isTooDeep(text)) throw new Refusal(400, `The body ${tooDeep}.`)
  const body = parse(text)
  if (!isJsonObject(body)) throw new Refusal(400, 'The body must be a JSON object.')
  return body
}

const tooLarge = (maxBytes: number) =>
  new Refusal(413, `The body is larger than ${maxBytes} bytes.`, 'too_large')

const bytesOf = async (request: Request, maxBytes: number): Promise<Uint8Array[]> => {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
  const reader = request.body?.getReader()
  const pieces: Uint8Array[] = []
  let size = 0
  for (;;) {
    const read = await reader?.read().catch(() => undefined)
    if (reader && !read) throw new Refusal(400, 'The body broke off.')
    if (!read?.value) return pieces
    size += read.value.length
    pieces.push(read.value)
    if (size > maxBytes) {
      void reader?.cancel().catch(() => {})
      throw tooLarge(maxBytes)
    }
  }
}

const decode = (pieces: readonly Uint8Array[]): string => {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    return pieces.map((piece) => decoder.decode(piece, { stream: true })).join('') + decoder.decode()
  } catch {
    throw new Refusal(400, 'The body is not UTF-8.')
  }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(400, 'The body is not JSON.')
  }
}
