import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'

/** It cannot be guessed: anyone who has the address can see and command the agents. */
export const newToken = (): string => randomBytes(24).toString('base64url')

export const isToken = (given: string, token: string): boolean => {
  const a = Buffer.from(given)
  const b = Buffer.from(token)
  return a.length === b.length && timingSafeEqual(a, b)
}

/** The page may load nothing from elsewhere, cannot be framed, and does not pass its address on. */
export const securityHeaders: OutgoingHttpHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Under another name, this is a foreign page whose domain was pointed here. */
export const isOwnHost = ({ headers: { host } }: IncomingMessage, port: number): boolean =>
  host === `127.0.0.1:${port}` || host === `localhost:${port}`

/** Whether a request comes from our own page, or from no page at all. */
export const isOwnOrigin = ({ headers }: IncomingMessage): boolean => {
  const { origin, host } = headers
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  return origin === undefined || origin === `http://${host}`
}
