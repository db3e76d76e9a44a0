/** Around a write, a request to the model, an acknowledgement or the effect of a tool; right after that effect began. */
export type MomentKind = 'write' | 'request' | 'answer' | 'effect' | 'begun'

/**
 * The moments at which it makes a difference that a process dies. They are counted, and the process ends itself, as hard
 * as `kill -9`, at the one it was given.
 */
let left = Number.POSITIVE_INFINITY
let counted: MomentKind | undefined
let signal: 'SIGKILL' | 'SIGSTOP' = 'SIGKILL'

export const moment = (kind: MomentKind): void => {
  if (counted !== undefined && counted !== kind) return
  left -= 1
  if (left === 0) process.kill(process.pid, signal)
}

type Moments = { moments: number; kind?: MomentKind; isPause?: boolean }

/** From now on so many moments are left, of one kind or of all. A process that is paused there can be continued. */
export const dieIn = ({ moments, kind, isPause = false }: Moments): void => {
  left = moments
  counted = kind
  signal = isPause ? 'SIGSTOP' : 'SIGKILL'
}
