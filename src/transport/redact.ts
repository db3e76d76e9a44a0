import { toBase64 } from '../messages/base64.ts'
import type { ErrorData } from '../messages/errors.ts'

const hidden = '***'

/** Shapes of credentials that servers echo: authorization headers, the well-known key prefixes, keys in query strings. */
const credentialPatterns: readonly [RegExp, string][] = [
  [/\bBearer\s+[^\s"',;]{6,}/gi, `Bearer ${hidden}`],
  [/\bBasic\s+(?=[a-z+/_-]*[\d=])[\w+/=-]{8,}/gi, `Basic ${hidden}`],
  [/\bsk-[-_A-Za-z0-9]{16,}/g, hidden],
  [/\b(?:rk|gsk|csk|pplx|nvapi|xai)[-_][-_A-Za-z0-9]{16,}/g, hidden],
  [/\bAIza[-_A-Za-z0-9]{16,}/g, hidden],
  [/([?&](?:api[-_]?key|key|token|access[-_]token|signature|sig)=)[^&\s"'#]+/gi, `$1${hidden}`],
]

/** The secrets as they may come back: as they are, and as URLs, JSON and base64 write them. The longest comes first. */
export const secretForms = (secrets: readonly string[]): string[] => {
  const forms = secrets
    .filter((secret) => secret.length >= 4)
    .flatMap((secret) => [
      secret,
      encodedOf(secret),
      JSON.stringify(secret).slice(1, -1),
      // Without the padding, which is often left out.
      base64Of(secret),
      base64Of(secret).replaceAll('+', '-').replaceAll('/', '_'),
    ])
  return [...new Set(forms)].sort((a, b) => b.length - a.length)
}

const base64Of = (secret: string): string => toBase64(new TextEncoder().encode(secret)).replace(/=+$/, '')

/** Half a surrogate pair cannot be written in a URL. */
const encodedOf = (secret: string): string => {
  try {
    return encodeURIComponent(secret)
  } catch {
    return secret
  }
}

/** The text without the secrets given, and without anything that looks like a credential. */
export const redact = (text: string, secrets: readonly string[]): string => {
  let safe = text
  for (const secret of secrets) if (secret.length >= 4) safe = safe.replaceAll(secret, hidden)
  for (const [pattern, replacement] of credentialPatterns) safe = safe.replace(pattern, replacement)
  return safe
}

/** Longer texts tell nobody more. They are cut after the secrets are gone: half a key would not be recognised. */
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
      },
    }),
  }
}
