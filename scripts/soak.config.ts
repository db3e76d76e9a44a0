import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import './bareEnvironment.ts'

const { env } = process

/** `npm run soak`: the random runs and the random kills of `npm test`, for as long as wanted. */
export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    setupFiles: 'test/registry.ts',
    include: [
      'test/proof/soak.test.ts',
      'test/durable/kills.test.ts',
      'test/durable/deploySeries.test.ts',
      'test/durable/familyKills.test.ts',
      'test/durable/fences.test.ts',
      'test/durable/interleavings.test.ts',
      'test/durable/betweenWrites.test.ts',
      'test/durable/powerLoss.test.ts',
      'test/dbos/kills.test.ts',
      'test/dbos/familyKills.test.ts',
    ],
    // Each of them keeps the whole machine busy.
    fileParallelism: false,
    env: {
      SOAK_MINUTES: env.SOAK_MINUTES ?? '5',
      SOAK_SEED: env.SOAK_SEED ?? `${Date.now() % 2 ** 31}`,
      DURABLE_KILLS: env.DURABLE_KILLS ?? '200',
      DURABLE_RUNS: env.DURABLE_RUNS ?? '500',
      // Ten minutes of deploys, a third of them with nothing else.
      DEPLOYS: env.DEPLOYS ?? '600',
      DEPLOY_LOAD: env.DEPLOY_LOAD ?? '10',
      DURABLE_SEED: env.DURABLE_SEED ?? `${Date.now() % 2 ** 31}`,
      FAMILY_KILLS: env.FAMILY_KILLS ?? '500',
      FENCE_OWNERS: env.FENCE_OWNERS ?? '300',
      // All of them, and many random runs.
      INTERLEAVINGS: env.INTERLEAVINGS ?? '1',
      POWER_SEEDS: env.POWER_SEEDS ?? '50',
      DBOS_KILLS: env.DBOS_KILLS ?? '20',
      DBOS_RUNS: env.DBOS_RUNS ?? '100',
      DBOS_FAMILY_KILLS: env.DBOS_FAMILY_KILLS ?? '100',
      PROOF_SEED: env.PROOF_SEED ?? `${Date.now() % 1_000_000}`,
    },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    disableConsoleIntercept: true,
  },
})
