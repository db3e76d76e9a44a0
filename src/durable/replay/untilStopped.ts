import type { ReplayEngine } from './replay.ts'

/** A new one each time: all that waits for a promise is kept as long as the promise is. */
const never = () => new Promise<never>(() => {})

/**
 * The engine of a leg, up to the moment at which the leg is stopped, or the engine throws. After that nothing is recorded:
 * what is cut short then has not ended, and the next life does it again.
 */
export const untilStopped = (engine: ReplayEngine, signal: AbortSignal | undefined): ReplayEngine => {
  let isBroken = false
  const unlessOver = async <T>(work: Promise<T>): Promise<T> => {
    const value = await work
    return isBroken || signal?.aborted ? await never() : value
  }
  const noticing = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (thrown) {
      isBroken = true
      throw thrown
    }
  }
  return {
    step: (name, run) => unlessOver(noticing(engine.step(name, () => unlessOver(run())))),
    write: (chunks, isLive) =>
      isBroken || signal?.aborted ? never() : noticing(engine.write(chunks, isLive)),
    commands: (after) => engine.commands(after),
  }
}
