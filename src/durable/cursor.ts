import { ConfigurationError } from '../messages/errors.ts'
import type { StreamPosition } from './sqlite/StreamRows.ts'

/** The place of a chunk as readers keep it. */
export const cursorOf = ({ life, seq }: StreamPosition): string => `${life}.${seq}`

/** The place that a reader has kept: it may come from anywhere. */
export const readCursor = (cursor: unknown): StreamPosition => {
  const [, life, seq] = (typeof cursor === 'string' && /^(\d{1,9})\.(\d{1,15})$/.exec(cursor)) || []
  if (life === undefined || seq === undefined)
    throw new ConfigurationError('after must be the cursor of a chunk of stream(), such as "1.42".')
  return { life: Number(life), seq: Number(seq) }
}
