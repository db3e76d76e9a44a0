const hidden = '***'

/** Shapes of credentials that servers echo: bearer tokens, the well-known key prefixes, keys in query strings. */
const credentialPatterns: readonly [RegExp, string][] = [
  [/\bBearer\s+[^\s"',;]{6,}/gi, `Bearer ${hidden}`],
  [/\bsk-[-_A-Za-z0-9]{16,}/g, hidden],
  [/\b(?:rk|gsk|csk|pplx|nvapi|xai)[-_][-_A-Za-z0-9]{16,}/g, hidden],
  [/\bAIza[-_A-Za-z0-9]{16,}/g, hidden],
  [/([?&](?:api[-_]?key|key|token|access[-_]token|signature|sig)=)[^&\s"'#]+/gi, `$1${hidden}`],
]

/** The text without the secrets given, and without anything that looks like a credential. */
export const redact = (text: string, secrets: readonly string[]): string => {
  let safe = text
  for (const secret of secrets) if (secret.length >= 4) safe = safe.replaceAll(secret, hidden)
  for (const [pattern, replacement] of credentialPatterns) safe = safe.replace(pattern, replacement)
  return safe
}
