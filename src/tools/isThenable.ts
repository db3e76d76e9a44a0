/** Checks whether a value must be awaited: promises of other realms and libraries are not instances of ours. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'

/** Handles the rejection of a function that should not have returned a promise: it would end the process. */
export const ignoreRejection = (given: unknown): void => void Promise.resolve(given).catch(() => {})
