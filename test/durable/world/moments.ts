/**
 * The moments at which a process can die that make a difference: before and after each write and each effect. They are
 * counted, and the process ends itself, as hard as `kill -9`, at the one it was told.
 */
let count = 0
let last = Number.POSITIVE_INFINITY

export const moment = (): void => {
  count += 1
  if (count === last) process.kill(process.pid, 'SIGKILL')
}

/** From now on so many moments are left. */
export const dieIn = (moments: number): void => {
  last = count + moments
}

export const momentsSoFar = (): number => count
