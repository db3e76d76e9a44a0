import { defineConfig } from 'vitest/config'

/** `npm run walks`: the random walks, the changed snapshots and the stored paths of `npm test`, all of them. */
export default defineConfig({
  test: {
    include: ['test/api/{walk,tampering}.test.ts', 'test/machines/paths.test.ts'],
    env: {
      PROOF: '1',
      PROOF_SEED: process.env.PROOF_SEED ?? `${Date.now() % 2 ** 31}`,
      ...(process.env.PROOF_EPISODES && { PROOF_EPISODES: process.env.PROOF_EPISODES }),
    },
  },
})
