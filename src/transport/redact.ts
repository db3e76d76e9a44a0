import { toBase64 } from '../messages/base64.ts'
import type { ErrorData } from '../messages/errors.ts'

/** Replaces a secret. */
export const hidden = '***'

/** Shapes of credentials that servers echo: authorization headers, the well-known key prefixes, keys in query strings. */
const credentialPatterns: readonly [RegExp, string][] = [
  [/\bBearer\s+[^\s"',;]{6,}/gi, `Bearer ${hidden}`],
  [/\bBasic\s+(?=[a-z+/_-]*[\d=])[\w+/=-]{8,}/gi, `Basic ${hidden}`],
  [/\bsk-[-_A-Za-z0-9]{16,}/g, hidden],
  [/\b(?:rk|gsk|csk|pplx|nvapi|xai)[-_][-_A-Za-z0-9]{16,}/g, hidden],
  [/\bAIza[-_A-Za-z0-9]{16,}/g, hidden],
  [/([?&](?:api[-_]?key|key|token|access[-_]token|signature|sig)=)[^&\s"'#]+/gi, `$1${hidden}`],
]

/** The text without the given secrets, in any of their forms. */
export const withoutSecrets = (text: string, secrets: readonly string[]): string => {
  const pattern = secretPattern(secrets)
  return pattern ? text.replace(pattern, hidden) : text
}

/** The text without the secrets given, and without anything that looks like a credential. */
export const redact = (text: string, secrets: readonly string[]): string => {
  let safe = withoutSecrets(text, secrets)
  for (const [pattern, replacement] of credentialPatterns) safe = safe.replace(pattern, replacement)
  return safe
}

/** The longest text of an error. It is cut after the secrets are gone: half a key would not be recognised. */
const longest = 2000

/** Redacts everything that an error says. */
export const redactError = (error: ErrorData, secrets: readonly string[]): ErrorData => {
  const { name, cause, ...fields } = error
  const safe = Object.entries(fields).map(([field, value]) => [
    field,
    typeof value === 'string' ? redact(value, secrets).slice(0, longest) : value,
  ])
  return {
    ...(Object.fromEntries(safe) as typeof fields),
    name,
    ...(cause && {
      cause: {
        ...cause,
        name: redact(cause.name, secrets),
        message: redact(cause.message, secrets).slice(0, longest),
        ...(cause.code !== undefined && { code: redact(cause.code, secrets) }),
      },
    }),
  }
}

/*
 * A secret that a server gives back may be written in many ways, and in several of them at once: percent-encoded, once or
 * twice, with small or capital digits; escaped for JSON or HTML; in capitals; in base64, by itself or inside of something
 * longer. One pattern finds them all: letters and digits match themselves in either case, every other character for
 * itself or any of its encodings. Nothing in it can repeat without end, so that a text is searched in one go.
 */

/** The shortest secret that is looked for: shorter ones would be found everywhere. */
const shortestSecret = 4
const shortestBase64 = 8

const compiled = new WeakMap<readonly string[], { of: readonly string[]; pattern: RegExp | null }>()

/** The pattern of these secrets in any of their forms; null if there are none. Made once for each list, and again when it has grown. */
const secretPattern = (secrets: readonly string[]): RegExp | null => {
  const known = compiled.get(secrets)
  if (known && isSame(known.of, secrets)) return known.pattern
  const usable = [...new Set(secrets)].filter((secret) => secret.length >= shortestSecret)
  // The longest first: a part of it must not be taken for the whole.
  const forms = usable
    .sort((a, b) => b.length - a.length)
    .flatMap((secret) => [inText(secret), ...inBase64(secret)])
  const pattern = forms.length === 0 ? null : new RegExp(forms.join('|'), 'gi')
  compiled.set(secrets, { of: [...secrets], pattern })
  return pattern
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((secret, index) => secret === b[index])

const inText = (secret: string): string => [...secret].map(character).join('')

const character = (char: string): string =>
  /[a-z0-9]/i.test(char) ? `(?:${char}|${inPercent(char)})` : `(?:${encodings(char).join('|')})`

/** A letter or digit that was percent-encoded without need, in either case. */
const inPercent = (char: string): string => {
  const codes = new Set([char.toLowerCase(), char.toUpperCase()].map((each) => hex(each.charCodeAt(0), 2)))
  return `%(?:25){0,3}(?:${[...codes].join('|')})`
}

const encodings = (char: string): string[] => {
  const code = char.codePointAt(0) ?? 0
  const bytes = [...new TextEncoder().encode(char)]
  const units = Array.from({ length: char.length }, (_, at) => hex(char.charCodeAt(at), 4))
  const name = entities.get(char)
  return [
    // Also with the backslashes of JSON, of JSON in JSON, and so on.
    String.raw`\\{0,8}${literal(char)}`,
    units.map((unit) => String.raw`\\{1,8}u${unit}`).join(''),
    // The percent sign may be encoded in turn.
    bytes.map((byte) => `%(?:25){0,3}${hex(byte, 2)}`).join(''),
    `&(?:amp;){0,2}(?:#0{0,5}${code};|#x0{0,5}${hex(code, 1)};${name ? `|${name};` : ''})`,
    ...(char === ' ' ? [String.raw`\+`] : []),
  ]
}

const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, '0')

const literal = (char: string): string => char.replace(/[\\^$.*+?()[\]{}|/]/, String.raw`\$&`)

const entities = new Map([
  ['"', 'quot'],
  ['&', 'amp'],
  ["'", 'apos'],
  ['<', 'lt'],
  ['>', 'gt'],
  ['/', 'sol'],
  ['+', 'plus'],
  ['=', 'equals'],
  [':', 'colon'],
  ['.', 'period'],
  ['_', 'lowbar'],
  ['-', 'hyphen'],
  ['@', 'commat'],
  ['#', 'num'],
  ['%', 'percnt'],
  ['$', 'dollar'],
  ['!', 'excl'],
  ['*', 'ast'],
  [' ', 'nbsp'],
])

/**
 * The three ways to write a secret in base64, by where in a group of three bytes it begins: `key`, `user:key` and
 * `Bearer key` look quite different. Only the digits that no neighbour has a part in are looked for.
 */
const inBase64 = (secret: string): string[] => {
  const bytes = new TextEncoder().encode(secret)
  return [0, 1, 2].flatMap((offset) => {
    const digits = toBase64(Uint8Array.from([...new Uint8Array(offset), ...bytes]))
    const own = digits.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6))
    if (own.length < shortestBase64) return offset === 0 ? [base64Text(digits.replace(/=+$/, ''))] : []
    const digit = '[a-z0-9+/_-]?'
    return [`${offset === 0 ? '' : digit}${base64Text(own)}${digit}={0,2}`]
  })
}

/** Allows both versions of the two digits that are neither letter nor number: URLs have their own. */
const base64Text = (digits: string): string =>
  digits.replace(/[+/]/g, (digit) => `(?:${encodings(digit).join('|')}|${digit === '+' ? '-' : '_'})`)
