import { redact } from '../transport/redact.ts'

/** What may become a credential when the rest of it arrives. */
const unfinished = /\b(?:sk-|(?:rk|gsk|csk|pplx|nvapi|xai)[-_]|AIza)[-_A-Za-z0-9]*$/

/** The text without secrets. One that is only beginning, at the end of a text that still grows, is left out, too. */
export const hideSecrets = (text: string, secrets: readonly string[]): string => {
  let safe = redact(text, secrets).replace(unfinished, '***')
  for (const secret of secrets) {
    const start = secret.length < 8 ? -1 : safe.lastIndexOf(secret.slice(0, 4))
    if (start !== -1 && secret.startsWith(safe.slice(start))) safe = `${safe.slice(0, start)}***`
  }
  return safe
}
