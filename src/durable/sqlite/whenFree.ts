import { setImmediate } from 'node:timers'
import { setTimeout as pause } from 'node:timers/promises'
import { LockedFile } from './storeErrors.ts'

/** Time that a caller waits for a file that others hold. Our own writes take a few milliseconds. */
const patienceMs = 5000

/**
 * Tries until the file is free. Other work of the process goes on meanwhile, and also where many callers come at the same time,
 * or one comes again and again: nothing of a try but its caller would be asynchronous.
 */
export const whenFree = async <T>(attempt: () => T): Promise<T> => {
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      return await inTurn(attempt)
    } catch (thrown) {
      if (!(thrown instanceof LockedFile) || performance.now() > deadline) throw thrown
    }
    await pause(10 + Math.random() * 40)
  }
}

/** Time for which tries follow each other; then something else gets its turn. */
const longMs = 50

/** The time that tries have taken in this turn of the process. */
let spentMs = 0
let isCounted = false
/** Tries that wait for the next turn. */
const waiting: (() => void)[] = []

/** Makes a try: now, or in one of the next turns, in the order in which they came. */
const inTurn = <T>(attempt: () => T): T | Promise<T> => {
  if (spentMs <= longMs && waiting.length === 0) return timed(attempt)
  return new Promise((resolve, reject) => {
    waiting.push(() => {
      try {
        resolve(timed(attempt))
      } catch (thrown) {
        reject(thrown)
      }
    })
  })
}

const timed = <T>(attempt: () => T): T => {
  if (!isCounted) setImmediate(nextTurn)
  isCounted = true
  const begun = performance.now()
  try {
    return attempt()
  } finally {
    spentMs += performance.now() - begun
  }
}

const nextTurn = (): void => {
  isCounted = false
  spentMs = 0
  while (spentMs <= longMs) {
    const next = waiting.shift()
    if (!next) return
    next()
  }
}
