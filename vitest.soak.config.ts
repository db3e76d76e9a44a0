import { defineConfig } from 'vitest/config'

/** `npm run soak`: the random runs of `npm test`, for as long as wanted. */
export default defineConfig({
  test: {
    include: ['test/proof/soak.test.ts'],
    env: {
      SOAK_MINUTES: process.env.SOAK_MINUTES ?? '5',
      SOAK_SEED: process.env.SOAK_SEED ?? `${Date.now() % 2 ** 31}`,
    },
    disableConsoleIntercept: true,
  },
})
