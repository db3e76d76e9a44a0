import { createHash } from 'node:crypto'
import type { HostedFrom } from '../../agent/Agent.ts'

/**
 * The ids that a leg makes: the same ones in every life. A leg that continues from a snapshot makes other ids than the
 * legs before it, and each run of a leg, such as that of a sub-agent, counts for itself.
 */
export const replayIds = (from: HostedFrom): ((run: string) => string) => {
  const seed = createHash('sha256').update(JSON.stringify(from)).digest('hex')
  const made = new Map<string, number>()
  return (run) => {
    const nth = (made.get(run) ?? 0) + 1
    made.set(run, nth)
    return uuidOf(`${seed} ${run} ${nth}`)
  }
}

/** A UUID of version 8, which is free for any use, from a text. */
const uuidOf = (text: string): string => {
  const hash = createHash('sha256').update(text).digest('hex')
  const variant = ((Number.parseInt(hash.slice(16, 17), 16) & 0x3) | 0x8).toString(16)
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    variant + hash.slice(17, 20),
    hash.slice(20, 32),
  ].join('-')
}
