import { describe, expect, it } from 'vitest'
import { redact, redactError } from '../../src/transport/redact.ts'

describe('redact', () => {
  it('hides the secrets it is given, but no text of three letters', () => {
    expect(redact('key a+b(c and abc', ['a+b(c', 'abc'])).toBe('key *** and abc')
  })

  it('hides the keys that joined the list since it was last used', () => {
    const secrets = ['first-key']
    expect(redact('first-key, second-key', secrets)).toBe('***, second-key')
    secrets.push('second-key')
    expect(redact('first-key, second-key', secrets)).toBe('***, ***')
    secrets.splice(0, 2, 'third-key', 'fourth-key')
    expect(redact('third%2Dkey, fourth-key', secrets)).toBe('***, ***')
  })

  it.each([
    ['Authorization: Bearer abc.def-123', 'Authorization: Bearer ***'],
    ['key sk-proj-Ab12_cdEFgh34ijKL56 rejected', 'key *** rejected'],
    ['google AIzaSyA-1234567890abc', 'google ***'],
    ['groq gsk_abcdefghijklmnop1234', 'groq ***'],
    ['GET https://x.test/v1?alt=sse&key=abc123&x=1', 'GET https://x.test/v1?alt=sse&key=***&x=1'],
    ['https://x.test/?api_key=abc', 'https://x.test/?api_key=***'],
  ])('hides what looks like a credential in "%s"', (text, expected) =>
    expect(redact(text, [])).toBe(expected),
  )

  it('leaves ordinary words alone', () => {
    const text = 'The task-force model risk-averse-1 needs a Bearer token; skip_the_rest, key = 5'
    expect(redact(text, [])).toBe(text)
  })
})

// Keys with the characters that encodings are about, and one with none of them.
const keys = [
  'planted/KEY+7f3a9c1e5b2d=0',
  'a+/=b&c<d>"e\'f:g',
  'p@ss w0rd/%25+=é🔑',
  'PlainKey0123456789abcdef',
]

const percent = (text: string): string => encodeURIComponent(text)
const lowerPercent = (text: string): string =>
  percent(text).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())
const eachSpecial = (text: string, encode: (char: string) => string): string =>
  [...text].map((char) => (/[a-z0-9]/i.test(char) ? char : encode(char))).join('')
const codeOf = (char: string): number => char.codePointAt(0) ?? 0
const named: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const html = (text: string): string => eachSpecial(text, (char) => named[char] ?? char)
const json = (text: string): string => JSON.stringify(text).slice(1, -1)

const encodings: [string, (key: string) => string][] = [
  ['as it is', (key) => key],
  ['in capitals', (key) => key.toUpperCase()],
  ['in small letters', (key) => key.toLowerCase()],
  ['percent-encoded', percent],
  ['percent-encoded in small letters', lowerPercent],
  ['percent-encoded twice', (key) => percent(percent(key))],
  ['percent-encoded twice in small letters', (key) => lowerPercent(lowerPercent(key))],
  ['percent-encoded three times', (key) => percent(percent(percent(key)))],
  ['as a URL leaves it', (key) => encodeURI(key)],
  ['in a form', (key) => new URLSearchParams({ key }).toString().slice(4)],
  ['for HTML', html],
  ['for HTML twice', (key) => html(html(key))],
  ['for HTML in decimals', (key) => eachSpecial(key, (char) => `&#${codeOf(char)};`)],
  ['for HTML in hexadecimals', (key) => eachSpecial(key, (char) => `&#x${codeOf(char).toString(16)};`)],
  [
    'for HTML in capital hexadecimals',
    (key) => eachSpecial(key, (char) => `&#X${codeOf(char).toString(16).toUpperCase()};`),
  ],
  [
    'for HTML by name',
    (key) => html(key).replaceAll('/', '&sol;').replaceAll('+', '&plus;').replaceAll('=', '&equals;'),
  ],
  ['in JSON', json],
  ['in JSON with escaped slashes', (key) => json(key).replaceAll('/', '\\/')],
  ['in JSON in JSON', (key) => json(json(key).replaceAll('/', '\\/'))],
  [
    'in JSON without a single odd character',
    (key) => key.replace(/[^a-z0-9]/gi, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  ],
]

describe.each(keys)('the key %s', (key) => {
  it.each(encodings)('is hidden %s', (_, encode) => {
    expect(redact(`It was ${encode(key)}, twice: ${encode(key)}`, [key])).toBe('It was ***, twice: ***')
  })

  const around = ['', 'a', 'ab', 'Bearer ', 'user:', 'key=']
  it.each(around.flatMap((before) => ['', '!', '; more'].map((after) => [before, after])))(
    'is hidden in base64 between "%s" and "%s"',
    (before, after) => {
      const start = Buffer.byteLength(before)
      const end = start + Buffer.byteLength(key)
      for (const alphabet of ['base64', 'base64url'] as const) {
        const digits = Buffer.from(before + key + after).toString(alphabet)
        // The digits that are made of the key alone.
        const own = digits.slice(Math.ceil((start * 8) / 6), Math.floor((end * 8) / 6))
        for (const encode of [(text: string) => text, percent, lowerPercent, json]) {
          const safe = redact(`x ${encode(digits)} y`, [key])
          expect(safe).toMatch(/^x \S*\*\*\*\S* y$/)
          for (let at = 0; at + 6 <= own.length; at += 1) expect(safe).not.toContain(own.slice(at, at + 6))
        }
      }
    },
  )
})

describe('redactError', () => {
  it('hides secrets in every word of an error and of its cause', () => {
    const [key = ''] = keys
    const error = redactError(
      {
        name: 'ModelError',
        message: `no ${key}`,
        code: key,
        requestId: `r-${percent(key)}`,
        rawFinishReason: lowerPercent(key),
        cause: { name: key, message: `unknown content-encoding ${key.toLowerCase()}`, code: key },
      },
      [key],
    )
    expect(error).toEqual({
      name: 'ModelError',
      message: 'no ***',
      code: '***',
      requestId: 'r-***',
      rawFinishReason: '***',
      cause: { name: '***', message: 'unknown content-encoding ***', code: '***' },
    })
  })
})
