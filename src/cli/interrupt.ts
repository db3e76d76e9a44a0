import { exit } from './exit.ts'

/**
 * Ctrl-C while something runs: the first one ends it cleanly, the second one at once. Returns a function that restores
 * Ctrl-C.
 */
export const onInterrupt = (end: () => void): (() => void) => {
  let count = 0
  const interrupt = () => {
    count++
    if (count > 1) process.exit(exit.aborted)
    end()
  }
  process.on('SIGINT', interrupt)
  return () => process.off('SIGINT', interrupt)
}
