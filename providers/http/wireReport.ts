import type { SentRequest } from '../../src/model/chatModel.ts'
import type { HeaderReader, HttpRequest } from '../../src/transport/carriers.ts'
import { hidden, redact, withoutSecrets } from '../../src/transport/redact.ts'
import { secretName } from './credentials.ts'
import { requestIdHeaders } from './httpError.ts'

// Requests and answers as the inspector and other listeners to the wire get them: without secrets.

/** A request as a listener to the wire gets it. The secrets are copied: an endpoint forgets its old keys. */
export const sentRequest = (
  { method, url, headers, body = '' }: HttpRequest,
  secrets: readonly string[],
): SentRequest => {
  const own = [...secrets]
  const hide = (text: string) => withoutSecrets(text, own)
  return {
    method,
    url: withoutCredentials(url, hide),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        secretName.test(name) ? hiddenValue(value) : hide(value),
      ]),
    ),
    body: typeof body === 'string' ? body : '',
    hide,
    secrets: () => own,
  }
}

/** A name that says "credential" is enough: a signature is made of a key, and does not contain it. */
const hiddenValue = (value: string): string => `${/^(?:Bearer|Basic) /i.exec(value)?.[0] ?? ''}${hidden}`

const withoutCredentials = (url: URL, hide: (text: string) => string): string => {
  const query = [...url.searchParams].map(
    ([name, value]) =>
      `${encodeURIComponent(name)}=${secretName.test(name) ? hidden : encodeURIComponent(value)}`,
  )
  return hide(`${url.origin}${url.pathname}${query.length > 0 ? `?${query.join('&')}` : ''}`)
}

/** The headers of an answer that say something about the request, its limits and its retries. Never a cookie. */
export const answerHeaders = (header: HeaderReader, secrets: readonly string[]): Record<string, string> => {
  const found: Record<string, string> = {}
  for (const name of reportedHeaders) {
    const value = header(name)
    if (value !== undefined && value !== '') found[name] = redact(value, secrets).slice(0, 500)
  }
  return found
}

const amounts = ['limit', 'remaining', 'reset']

const reportedHeaders = [
  'content-type',
  ...requestIdHeaders,
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'openai-processing-ms',
  ...amounts.flatMap((amount) => [
    `ratelimit-${amount}`,
    `x-ratelimit-${amount}`,
    `x-ratelimit-${amount}-requests`,
    `x-ratelimit-${amount}-tokens`,
    `anthropic-ratelimit-requests-${amount}`,
    `anthropic-ratelimit-tokens-${amount}`,
    `anthropic-ratelimit-input-tokens-${amount}`,
    `anthropic-ratelimit-output-tokens-${amount}`,
  ]),
]
