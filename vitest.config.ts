import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // The page of the inspector needs one file that is built.
    globalSetup: '.ci/page.ts',
    testTimeout: 30_000,
    // Many tests wait for processes and timers: two of them at a time keep even a small machine busy.
    maxWorkers: Math.max(2, Math.floor(availableParallelism() / 2)),
    // A promise nobody waits for is a bug of ours: it fails the run.
    dangerouslyIgnoreUnhandledErrors: false,
  },
})
