import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    // A promise nobody waits for is a bug of ours: it fails the run.
    dangerouslyIgnoreUnhandledErrors: false,
  },
})
