import { type Accumulator, messageAccumulator } from '../../src/model/accumulator.ts'
import { isThenable } from '../../src/tools/isThenable.ts'
import { createToolExecutor, isOwnBatch, type ToolExecutor } from '../../src/tools/toolExecutor.ts'
import { copyOf } from './streamingState.ts'

/** A function that must answer at once: a promise is refused, and what it rejects with does not end the process. */
export const atOnce =
  <Args extends unknown[], T>(name: string, answer: (...args: Args) => T): ((...args: Args) => T) =>
  (...args) => {
    const given = answer(...args)
    if (!isThenable(given)) return given
    Promise.resolve(given).catch(() => {})
    throw new TypeError(`${name} must not return a promise.`)
  }

/** The accumulator, with the functions that you replaced. */
export const ownAccumulator = ({ accumulate, consolidate }: Partial<Accumulator> = {}): Accumulator => ({
  accumulate: accumulate ? atOnce('accumulate', accumulate) : messageAccumulator.accumulate,
  consolidate: consolidate ? atOnce('consolidate', consolidate) : messageAccumulator.consolidate,
})

/** The executor, with the functions that you replaced. They get copies: the calls are part of the conversation. */
export const ownExecutor = (
  { executeSingle, executeBatch }: Partial<ToolExecutor> = {},
  hide: (text: string) => string,
): Pick<ToolExecutor, 'executeSingle'> & Partial<ToolExecutor> => ({
  executeSingle: executeSingle
    ? (call, ...rest) => executeSingle(copyOf(call), ...rest)
    : createToolExecutor(hide).executeSingle,
  ...(executeBatch &&
    isOwnBatch(executeBatch) && { executeBatch: (calls, ...rest) => executeBatch(copyOf(calls), ...rest) }),
})
