/** The exit codes of every command. */
export const exit = { complete: 0, failed: 1, usage: 2, aborted: 130 } as const

/** The command line was not understood, or names something that does not exist. */
export class UsageError extends Error {}
