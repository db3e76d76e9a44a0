import { exit } from './exit.ts'

/**
 * Ctrl-C while something runs: the first one ends it in good order, the second one at once. Gives the function that
 * hands Ctrl-C back.
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
