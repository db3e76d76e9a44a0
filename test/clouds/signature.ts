import { createHash, createHmac } from 'node:crypto'
import type { Received } from '../loopback.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** Every part of a path once more, as AWS signs all services but S3. */
const encodedPath = (path: string): string =>
  path
    .split('/')
    .map((part) =>
      encodeURIComponent(part).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`),
    )
    .join('/')

export type Signed = { credential: string; signedHeaders: string[]; signature: string; expected: string }

/** The signature of a request, and the signature that AWS would compute from what arrived. */
export const signatureOf = (request: Received, secretAccessKey: string): Signed => {
  const { authorization = '' } = request.headers
  const [, credential = '', names = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=(\S+), SignedHeaders=(\S+), Signature=(\S+)$/.exec(authorization) ?? []
  const [, date = '', region = '', service = ''] = credential.split('/')
  const [path = '', query = ''] = request.path.split('?')
  const signedHeaders = names.split(';')
  const canonical = [
    request.method,
    encodedPath(path),
    query.split('&').sort().join('&'),
    ...signedHeaders.map((name) => `${name}:${request.headers[name]}`),
    '',
    names,
    sha256(request.text),
  ].join('\n')
  const scope = `${date}/${region}/${service}/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const key = [region, service, 'aws4_request'].reduce(hmac, hmac(`AWS4${secretAccessKey}`, date))
  return { credential, signedHeaders, signature, expected: hmac(key, toSign).toString('hex') }
}
