/**
 * What a failed request says of the connection: nothing; that it is gone, and the request never reached the server; or
 * that this is unknown.
 */
export type Loss = 'none' | 'unsent' | 'inDoubt'

/** Codes of a connection that never came about. */
const neverConnected: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Reads an error of the SDK, or of `fetch`, without its classes: there may be several copies of them. */
export const lossOf = (error: unknown): Loss => {
  const { code, status, message, cause } = fieldsOf(error)
  if (code === 'NOT_CONNECTED') return 'unsent'
  if (code === 'CONNECTION_CLOSED') return 'inDoubt'
  // A server that does not know the session has not looked at the request. Some say 400 where the protocol says 404.
  if (status === 404 || (status === 400 && /session/i.test(String(message)))) return 'unsent'
  if (message !== 'fetch failed') return 'none'
  return isUnreachable(cause) ? 'unsent' : 'inDoubt'
}

/** Whether no server answers there. */
export const isUnreachable = (error: unknown): boolean => {
  const { code, cause, errors } = fieldsOf(error)
  if (neverConnected.has(code)) return true
  // A host with several addresses: each of them was tried.
  if (Array.isArray(errors) && errors.length > 0) return errors.every(isUnreachable)
  return cause !== undefined && isUnreachable(cause)
}

type Fields = { code?: unknown; status?: unknown; message?: unknown; cause?: unknown; errors?: unknown }

const fieldsOf = (error: unknown): Fields => (typeof error === 'object' && error !== null ? error : {})
