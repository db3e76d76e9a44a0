import { request } from 'undici'
import { bareClient } from './bareClient.mjs'

/** A bare client on undici's `request` and `for await`, as most people would write it. */
export const open = (options) => bareClient(options, send)

const send = async ({ origin, path, ...options }, onBytes, signal) => {
  const { body } = await request(origin + path, { ...options, signal })
  for await (const bytes of body) onBytes(bytes)
}
