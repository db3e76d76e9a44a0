import { request } from 'undici'
import { bareClient } from './bareClient.mjs'

/** A bare client on undici's `request` and `for await`, as a good engineer would write it: what all are measured against. */
export const open = (options) => bareClient(options, send)

const send = async ({ origin, path, ...options }, onBytes, signal) => {
  const { body } = await request(origin + path, { ...options, signal })
  for await (const bytes of body) onBytes(bytes)
}
