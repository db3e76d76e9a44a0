import type { ErrorData } from '../messages/errors.ts'
import { secretPattern } from './secretPattern.ts'

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

/** Longer texts are of no use. They are cut after the secrets are gone: half a key would not be recognised. */
const longest = 2000

/** The same for everything that an error says. */
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
