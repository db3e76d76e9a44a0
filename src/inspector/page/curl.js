// @ts-check

/** @import { ExchangeRow } from '../wireView.ts' */

/** Of no use when a request is tried by hand. */
const left = new Set(['user-agent', 'accept-encoding'])
/** Headers that carry the key of a provider. */
const keyHeaders = new Set(['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'])

/**
 * A request as a command for a shell. A variable stands where a credential was.
 *
 * @param {Pick<ExchangeRow, 'method' | 'url' | 'sentHeaders'>} request
 * @param {string} body
 * @param {string} keyVariable
 */
export const curl = ({ method, url, sentHeaders }, body, keyVariable) => {
  const key = keyVariable || 'API_KEY'
  const headers = Object.entries(sentHeaders)
    .filter(([name]) => !left.has(name))
    .map(([name, value]) => `-H ${quoted(`${name}: ${value}`, keyHeaders.has(name) ? key : variable(name))}`)
  return [
    `curl -N -X ${method} ${quoted(url, key)}`,
    ...headers,
    // A body may begin with an @, which would name a file.
    ...(body === '' ? [] : [`--data-raw ${plain(body)}`]),
  ].join(' \\\n  ')
}

/** @param {string} name */
const variable = (name) => name.toUpperCase().replace(/\W/g, '_')

/** @param {string} text */
const plain = (text) => `'${text.replaceAll("'", `'\\''`)}'`

/** @param {string} text @param {string} variable stands for a credential */
const quoted = (text, variable) =>
  text.includes('***')
    ? `"${text.replace(/[\\"$`]/g, String.raw`\$&`).replaceAll('***', `$${variable}`)}"`
    : plain(text)
